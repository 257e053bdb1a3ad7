"""The colours of figures are those of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from playground.figures import look
from playground.figures.look import empty, oklch, palette, ramp

THEME = Path(look.__file__).parents[1] / "ui" / "strip" / "theme.css"


def page_colours(dark: bool) -> dict[str, str]:
    light, night = THEME.read_text().split(".dark {")
    return dict(re.findall(r"--tp-([\w-]+): ([^;]+);", night if dark else light))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_mean_what_they_mean_on_the_page(dark: bool) -> None:
    page, ours = page_colours(dark), palette(dark)
    assert (ours.model, ours.end, ours.choice) == (page["accent"], page["special"], page["choice"])
    assert (ours.cut, ours.ink, ours.mute) == (page["cut"], page["ink"], page["mute"])
    start, end = (
        oklch(float(page[f"l{place}"]), float(page[f"c{place}"]), hue) for place, hue in ((0, 95), (1, 20))
    )
    assert (ramp(dark)[0], ramp(dark)[-1]) == ([0, start], [1, end])


@pytest.mark.parametrize(
    ("colour", "srgb"),
    [
        ((1, 0, 0), "#ffffff"),
        ((0, 0, 0), "#000000"),
        ((0.627955, 0.257683, 29.2339), "#ff0000"),
        ((0.866440, 0.294827, 142.4953), "#00ff00"),
        ((0.452014, 0.313214, 264.0520), "#0000ff"),
        ((0.599871, 0, 0), "#808080"),
    ],
)
def test_oklch_of_known_colours(colour: tuple[float, float, float], srgb: str) -> None:
    """Values of the CSS Color 4 conversion for sRGB's own corners."""
    assert oklch(*colour) == srgb


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_on_every_colour_of_the_ramp(dark: bool) -> None:
    ink = luminance(palette(dark).ink)
    for _, colour in ramp(dark):
        high, low = sorted((ink, luminance(colour)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5  # WCAG AA


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_an_empty_figure_says_why() -> None:
    figure = empty("Nothing yet.", palette(False))
    assert not figure.data
    assert [note.text for note in figure.layout.annotations] == ["Nothing yet."]
