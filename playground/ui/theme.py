"""Our Gradio theme: the colours of strip/theme.css given to Gradio's own controls."""

from __future__ import annotations

import gradio as gr

SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
MONO = ["ui-monospace", "SF Mono", "Cascadia Mono", "Menlo", "DejaVu Sans Mono", "monospace"]

# Gradio's variable -> ours. One value serves light and dark, since ours change with the theme.
_COLOURS = {
    "body_background_fill": "bg",
    "body_text_color": "ink",
    "body_text_color_subdued": "mute",
    "background_fill_primary": "surface",
    "background_fill_secondary": "sunk",
    "border_color_primary": "line",
    "border_color_accent": "accent",
    "color_accent": "accent",
    "color_accent_soft": "accent-soft",
    "block_background_fill": "surface",
    "block_border_color": "line",
    "block_label_text_color": "mute",
    "block_title_text_color": "ink",
    "block_info_text_color": "mute",
    "panel_background_fill": "surface",
    "input_background_fill": "sunk",
    "input_background_fill_focus": "surface",
    "input_border_color": "line",
    "input_border_color_focus": "accent",
    "input_placeholder_color": "faint",
    "slider_color": "accent",
    "button_primary_background_fill": "accent",
    "button_primary_background_fill_hover": "accent-strong",
    "button_primary_border_color": "accent",
    "button_primary_text_color": "on-accent",
    "button_secondary_background_fill": "surface",
    "button_secondary_background_fill_hover": "sunk",
    "button_secondary_border_color": "line",
    "button_secondary_text_color": "ink",
    "error_text_color": "error",
    "link_text_color": "accent",
}


def theme() -> gr.themes.Base:
    colours = {name: f"var(--tp-{ours})" for name, ours in _COLOURS.items()}
    made = gr.themes.Base(font=SANS, font_mono=MONO, text_size="sm", spacing_size="sm", radius_size="md")
    dark = {f"{name}_dark": value for name, value in colours.items() if hasattr(made, f"{name}_dark")}
    return made.set(
        **colours,
        **dark,
        block_shadow="none",
        block_border_width="0px",
        block_padding="0px",
        input_border_width="1px",
        input_shadow="none",
        input_shadow_focus="0 0 0 3px var(--tp-accent-soft)",
        button_primary_shadow="none",
        button_secondary_shadow="none",
    )
