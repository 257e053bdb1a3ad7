"""The left column: what a visitor types and sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from playground.ui.examples import EXAMPLES
from playground.ui.form import Form, read_form
from playground.ui.presets import DEFAULT, PRESETS


@dataclass(frozen=True)
class Range:
    """A slider: the setting's name, its label, from, to, in steps of, where it starts, one line of help."""

    name: str
    label: str
    low: float
    high: float
    step: float
    start: float
    help: str


_START = PRESETS[DEFAULT]
FILTERS = (
    Range(
        "temperature", "Temperature", 0, 2, 0.01, _START["temperature"],
        "Higher flattens the odds; 0 takes the likeliest.",
    ),
    Range("top_k", "Top-k", 0, 200, 1, _START["top_k"], "Only the k likeliest stay; 0 keeps all."),
    Range(
        "top_p", "Top-p", 0.01, 1, 0.01, _START["top_p"],
        "The likeliest that hold this share stay; 1 keeps all.",
    ),
    Range(
        "min_p", "Min-p", 0, 1, 0.01, _START["min_p"],
        "Tokens under this share of the best go; 0 keeps all.",
    ),
)  # fmt: skip
PENALTIES = (
    Range(
        "repetition_penalty", "Repetition penalty", 0.5, 2, 0.01, 1,
        "Over 1, tokens already there get rarer.",
    ),
    Range(
        "presence_penalty", "Presence penalty", -2, 2, 0.05, 0,
        "Taken once from each token of the answer.",
    ),
    Range("frequency_penalty", "Frequency penalty", -2, 2, 0.05, 0, "Taken for each time a token was used."),
)  # fmt: skip
RARE = (
    Range(
        "typical_p", "Typical-p", 0.01, 1, 0.01, 1,
        "The least surprising ones that hold this share stay; 1 keeps all.",
    ),
    Range("min_tokens", "Fewest new tokens", 0, 200, 1, 0, "Until then the end token cannot be picked."),
)  # fmt: skip
PACES = [("full speed", 0), ("5 tokens/s", 5), ("1/s", 1)]  # full speed is 0
NUMBERS = (*(each.name for each in (*FILTERS, *PENALTIES, *RARE)), "max_tokens")
WHOLE = {"top_k", "max_tokens", "min_tokens"}  # what Gradio's sliders send as a float
TEXTS = ("system", "prompt", "seed", "stops", "watched", "banned", "biases", "history")
FIELDS = ("mode", "ignore_eos", "thinking", *TEXTS, *NUMBERS)  # in the order in which the page sends them


def form_of(values: Sequence[Any], *, anew: bool = True) -> Form:
    """What the page sent, in the order of FIELDS. Raises ValueError in a sentence.

    A run that does not begin anew needs no prompt: it goes by the ids of its own.
    """
    sent = dict(zip(FIELDS, values, strict=True))
    if not anew:
        sent["prompt"] = sent["prompt"] or " "
    numbers = {
        name: int(sent[name]) if name in WHOLE and sent[name] is not None else sent[name] for name in NUMBERS
    }
    return read_form(
        sent["mode"],
        {name: sent[name] for name in TEXTS},
        numbers,
        ignore_eos=bool(sent["ignore_eos"]),
        thinking=None if sent["thinking"] is None else bool(sent["thinking"]),
    )


def make_controls(most_new_tokens: int) -> dict[str, Any]:
    """The components by name, laid out where this is called."""
    made: dict[str, Any] = {}
    with gr.Column(elem_classes="card", min_width=0):
        made["mode"] = gr.Radio(
            [("Chat", "chat"), ("Raw text", "raw")], value="chat", label="Mode", show_label=False,
            container=False, elem_id="mode", elem_classes="segments",
        )  # fmt: skip
        made["system"] = gr.Textbox(
            label="System message", placeholder="left empty: the template’s own, if it has one",
            lines=2, max_lines=8, elem_id="system",
        )  # fmt: skip
        made["prompt"] = gr.Textbox(
            label="Prompt", value="What is the capital of France?", lines=3, max_lines=14, elem_id="prompt"
        )
        made["thinking"] = gr.Checkbox(
            value=True, label="Think before answering", container=False, elem_id="thinking"
        )
        with gr.Row(elem_classes="buttons"):
            made["generate"] = gr.Button("Generate", variant="primary", elem_id="generate")
            made["step"] = gr.Button("Step", elem_id="step")
            made["stop"] = gr.Button("Stop", elem_id="stop")
        made["pace"] = gr.Radio(
            PACES, value=0, label="Pace", show_label=False, container=False,
            elem_id="pace", elem_classes="segments",
        )  # fmt: skip
        made["example"] = gr.Radio(
            list(EXAMPLES), label="Examples", show_label=False, container=False,
            elem_id="examples", elem_classes="pills",
        )  # fmt: skip
        made["history"] = gr.Textbox(visible=False)  # filled by strip/turns.js when Generate is pressed
        made["owner"] = gr.Textbox(visible=False)  # filled likewise, by share/owner.js
        made["press"] = gr.Number(visible=False, precision=0)
    with gr.Column(elem_classes="card", elem_id="sampling", min_width=0):
        made["preset"] = gr.Radio(
            list(PRESETS), value=DEFAULT, label="Preset", show_label=False,
            container=False, elem_id="preset", elem_classes="pills",
        )  # fmt: skip
        made |= _sliders(FILTERS)
        start = min(128, most_new_tokens)
        made |= _sliders(
            [Range("max_tokens", "Most new tokens", 1, most_new_tokens, 1, start, "The answer is cut here.")]
        )  # fmt: skip
        made["seed"] = gr.Textbox(
            label="Seed", placeholder="drawn anew for each run", info="The same seed rolls the same dice.",
            max_lines=1, elem_id="seed",
        )  # fmt: skip
        made["watched"] = gr.Textbox(
            label="Watched tokens", placeholder=" Paris",
            info="One text a line. The chance of its first token is followed at every step.",
            lines=1, max_lines=6, elem_id="watched",
        )  # fmt: skip
        with gr.Accordion("Stop strings and penalties", open=False, elem_id="more"):
            made["stops"] = gr.Textbox(
                label="Stop strings",
                info="One a line, taken literally. The answer ends before the first of them.",
                lines=2, max_lines=6, elem_id="stop-strings",
            )  # fmt: skip
            made |= _sliders(PENALTIES)
        with gr.Accordion("Bans, biases, typical-p and length", open=False, elem_id="rare"):
            made["banned"] = gr.Textbox(
                label="Banned tokens", info="One a line, each a single token: “ Paris” with its space.",
                lines=2, max_lines=6, elem_id="banned",
            )  # fmt: skip
            made["biases"] = gr.Textbox(
                label="Logit bias", placeholder=" Paris = -5",
                info="Added to the logits of single tokens, one a line: “ Paris = -5”, or by id “#123 = 2”.",
                lines=2, max_lines=6, elem_id="biases",
            )  # fmt: skip
            made |= _sliders(RARE)
            made["ignore_eos"] = gr.Checkbox(
                value=False, label="Ignore the end token", info="The answer goes on after it.",
                container=False, elem_id="ignore-eos",
            )  # fmt: skip
    return made


def _sliders(ranges: Sequence[Range]) -> dict[str, gr.Slider]:
    return {
        each.name: gr.Slider(
            each.low, each.high, each.start, step=each.step, label=each.label, info=each.help, buttons=[],
            elem_id=each.name.replace("_", "-"),
        )
        for each in ranges
    }  # fmt: skip
