"""What all figures have in common: colours with their meaning, type, axes, and the empty state."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import plotly.graph_objects as go


class Palette(NamedTuple):
    """Colours with the meaning they have everywhere: blue the model, grey openness, violet the end, amber
    the choice, and of hatching what was cut."""

    model: str
    open: str
    end: str
    choice: str
    cut: str
    ink: str
    mute: str
    line: str
    surface: str


_LIGHT = Palette(
    "#2b4acb", "#9aa3bd", "#6546ab", "#a85505", "#cfcabf", "#1d1c1a", "#645f56", "#e9e6df", "#ffffff"
)
_DARK = Palette(
    "#8fa4ff", "#6b7492", "#bda4f2", "#f0a94b", "#41434b", "#eceae4", "#a9a59c", "#2b2e37", "#1b1d23"
)
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'

# The page's ramp from expected to surprising, in oklch (strip/theme.css): lightness, chroma, hue.
_RAMP_LIGHT = ((0.985, 0.02, 95.0), (0.80, 0.15, 20.0))
_RAMP_DARK = ((0.27, 0.02, 95.0), (0.46, 0.135, 20.0))


def palette(dark: bool) -> Palette:
    return _DARK if dark else _LIGHT


def axis(colours: Palette, **more: Any) -> dict[str, Any]:
    """An axis that nobody zooms, with quiet lines."""
    return {
        "gridcolor": colours.line,
        "zeroline": False,
        "linecolor": colours.line,
        "tickfont": {"color": colours.mute, "size": 11},
        "fixedrange": True,
        "automargin": False,
        **more,
    }


def ticks(count: int) -> dict[str, Any]:
    """Ticks of an axis of the tokens 1 … count: whole numbers."""
    return {"tickformat": ",d", **({"tick0": 1, "dtick": 1} if count <= 16 else {"nticks": 10})}


def layout(colours: Palette, **more: Any) -> go.Layout:
    """A figure on the page's own ground, with none of plotly's looks."""
    return go.Layout(
        template=go.layout.Template(),
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": _FONT, "size": 12, "color": colours.mute},
        hoverlabel={"bgcolor": colours.surface, "bordercolor": colours.line,
                    "font": {"color": colours.ink, "size": 12}},
        dragmode=False,
        **more,
    )  # fmt: skip


def legend(**more: Any) -> dict[str, Any]:
    """Names in a line above the plot; a click hides nothing."""
    return {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom",
            "font": {"size": 11}, "itemclick": False, "itemdoubleclick": False, **more}  # fmt: skip


def unit(text: str, colours: Palette, **place: Any) -> dict[str, Any]:
    """The unit of an axis, small, above it."""
    return {"text": text, "xref": "paper", "yref": "paper", "y": 1.02, "yanchor": "bottom",
            "showarrow": False, "font": {"size": 11, "color": colours.mute}, **place}  # fmt: skip


def empty(why: str, colours: Palette) -> go.Figure:
    """A figure without a value: it says why."""
    return go.Figure(
        layout=layout(
            colours,
            xaxis={"visible": False, "fixedrange": True},
            yaxis={"visible": False, "fixedrange": True},
            annotations=[{"text": why, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5,
                          "showarrow": False, "font": {"size": 12, "color": colours.mute}}],
        )
    )  # fmt: skip


def ramp(dark: bool, stops: int = 16) -> list[list[Any]]:
    """The page's ramp as a plotly colour scale, [[0, colour], …, [1, colour]], even to the eye."""
    first, last = _RAMP_DARK if dark else _RAMP_LIGHT
    shares = [place / (stops - 1) for place in range(stops)]
    mixed = [tuple(a + (b - a) * share for a, b in zip(first, last, strict=True)) for share in shares]
    return [[share, oklch(*colour)] for share, colour in zip(shares, mixed, strict=True)]


def scale(dark: bool) -> list[list[Any]]:
    """From nothing towards the model's blue, as plotly's scale; text in ink can be read on all of it."""
    return [[0.0, palette(dark).surface], [1.0, "#4660c8" if dark else "#8fa3ee"]]


def mixed(first: str, last: str, share: float) -> str:
    """The colour `share` of the way from #rrggbb `first` to `last`, straight in sRGB."""
    pairs = [(int(first[at : at + 2], 16), int(last[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def thinned(count: int, most: int) -> list[int]:
    """At most `most` places of 0 … count - 1, evenly far apart, the first among them."""
    step = max(1, math.ceil(count / most))
    return list(range(0, count, step))


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """An oklch colour as #rrggbb, clipped to sRGB; hue in degrees.

    Matrices: B. Ottosson, "A perceptual color space for image processing", 2020.
    """
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _companded(part)):02x}" for part in linear)


def _companded(linear: float) -> float:
    """A linear part of a colour as sRGB has it, in [0, 1]."""
    linear = min(1.0, max(0.0, linear))
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
