"""How the lab speed tells what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.experiments.timing import left_out
from playground.findings.report import Axis, Block, Chart, Column, Part, Say, Series, Table, say, strong
from playground.findings.written import counted, times, written

if TYPE_CHECKING:
    from playground.experiments.speed import Busy, Pace, Size, Speed, Stretch

ALIKE = 0.1  # two times that differ by less than this share are called about the same
SAVES = 1.2  # times the tokens per second of fewer answers, from which sharing a pass is said to save
RANDOM = "random weights"


def report(found: Speed) -> tuple[Block, ...]:
    blocks: list[Block] = [_prompt_sentence(found.prompts)]
    if len(found.busy) > 1:
        blocks.append(_busy_sentence(found.busy))
    blocks += [_size_sentence(found.sizes[0], size) for size in found.sizes[1:]]
    if len(found.answer) > 1:
        blocks.append(_answer_sentence(found.answer[0], found.answer[-1]))
    if found.lanes_left_out and not found.busy:
        blocks.append(say(_lanes_left_out(found)))
    if found.not_available:
        blocks.append(say(found.not_available))
    blocks.append(_prompt_chart(found))
    if found.answer:
        blocks.append(_answer_chart(found))
    if found.busy:
        blocks += [_busy_chart(found), _busy_table(found.busy)]
    if len(found.sizes) > 2:  # two points are no line
        blocks.append(_size_chart(found.sizes))
    if len(found.sizes) > 1:
        blocks.append(_size_table(found.sizes))
    return (*blocks, _step_table(found))


# -- sentences ------------------------------------------------------------------------------------------


def _prompt_sentence(prompts: tuple[Pace, ...]) -> Say:
    """`before` counts the first token of the answer too, which came from the pass over the prompt."""
    first, last = prompts[0], prompts[-1]
    rest = f": {written(last.rate, 'per_s')} tokens/s."
    if len(prompts) > 1:
        rest = f", {_against(last, first, f'after {first.before - 1:,}')}."
    return say(
        f"After a prompt of {counted(last.before - 1, 'token')} a step takes ",
        strong(written(last.step_s, "seconds")),
        rest,
    )


def _answer_sentence(first: Stretch, last: Stretch) -> Say:
    early = f"tokens {first.first:,} to {first.last:,}"
    return say(
        f"Tokens {last.first:,} to {last.last:,} of an answer take ",
        strong(written(last.pace.step_s, "seconds")),
        f" each, {_against(last.pace, first.pace, early)}.",
    )


def _against(pace: Pace, other: Pace, what: str) -> str:
    """How the steps of one stand to those of another, `what`."""
    ratio = pace.step_s / other.step_s
    if abs(ratio - 1) < ALIKE:
        told = f"about as long as {what}"
    elif pace.quarter_s <= other.three_quarters_s and other.quarter_s <= pace.three_quarters_s:
        told = f"within the machine's noise as long as {what}"
    elif ratio > 1:
        told = f"{times(ratio)} as long as {what}"
    else:
        told = f"{ratio:.0%} as long as {what}"
    return f"{told} ({written(other.step_s, 'seconds')})"


def _busy_sentence(busy: tuple[Busy, ...]) -> Say:
    few, many = busy[0], busy[-1]
    gain = many.total / few.total
    fewer = "one" if few.lanes == 1 else f"{few.lanes}"
    parts: list[str | Part] = [
        f"{counted(many.lanes, 'answer')} at once gave ",
        strong(f"{gain:.1f} times the tokens per second"),
        f" of {fewer} ({written(many.total, 'per_s')} and {written(few.total, 'per_s')}), each at "
        f"{many.pace.rate / few.pace.rate:.0%} of its pace",
    ]
    if many.together >= many.lanes and gain >= SAVES:
        parts.append(": they share each pass, which needs the weights only once.")
    elif gain < SAVES:
        parts.append(": here it saves little to write them together.")
    else:
        parts.append(".")
    return say(*parts)


def _size_sentence(own: Size, size: Size) -> Say:
    return say(
        f"With {size.layers:,} layers instead of {own.layers:,}, and {RANDOM}, a model of this kind has "
        f"{size.parameters / own.parameters:.0%} of the parameters, and a step takes ",
        strong(f"{size.pace.step_s / own.pace.step_s:.0%} of the time"),
        ".",
    )


# -- charts and tables ----------------------------------------------------------------------------------


def _times(name: str, x: Axis, places: tuple[float, ...], paces: tuple[Pace, ...], note: str) -> Chart:
    return Chart(
        name,
        "lines",
        x,
        Axis("time of a step", "seconds"),
        (
            Series("step", places, tuple(pace.step_s for pace in paces), "choice"),
            Series("of it, in the model", places, tuple(pace.pass_s for pace in paces), dashed=True),
        ),
        note,
    )


def _prompt_chart(found: Speed) -> Chart:
    places = tuple(float(pace.before - 1) for pace in found.prompts)
    note = left_out(found.prompts_left_out, ())
    return _times(
        "By the length of the prompt", Axis("tokens of the prompt", "count"), places, found.prompts, note
    )


def _answer_chart(found: Speed) -> Chart:
    note = f"Each point stands at the last of its tokens; the prompt has {found.prompts[0].before - 1:,}."
    if found.shortened is not None:
        note += f" The answer was shortened to {counted(found.shortened, 'token')} to fit here."
    places = tuple(float(each.last) for each in found.answer)
    paces = tuple(each.pace for each in found.answer)
    return _times("Along one answer", Axis("token of the answer", "count"), places, paces, note)


def _step_table(found: Speed) -> Table:
    columns = (
        Column("steps"),
        Column("before", "count"),
        Column("median", "seconds"),
        Column("a quarter in", "seconds"),
        Column("three quarters in", "seconds"),
        Column("timed", "count"),
    )
    named = [(f"prompt of {pace.before - 1:,}", pace) for pace in found.prompts]
    named += [(f"tokens {each.first:,} to {each.last:,}", each.pace) for each in found.answer]
    rows = tuple(
        (name, pace.before, pace.step_s, pace.quarter_s, pace.three_quarters_s, pace.steps)
        for name, pace in named
    )
    return Table("How far the steps spread", columns, rows, "Before: tokens held when they begin.")


def _busy_chart(found: Speed) -> Chart:
    x = tuple(float(each.lanes) for each in found.busy)
    return Chart(
        "Answers at once",
        "lines",
        Axis("answers at once", "count"),
        Axis("tokens/s", "per_s"),
        (
            Series("all together", x, tuple(each.total for each in found.busy)),
            Series("each", x, tuple(each.pace.rate for each in found.busy), "choice"),
        ),
        _lanes_left_out(found),
    )


def _lanes_left_out(found: Speed) -> str:
    lanes = ", ".join(str(lanes) for lanes in found.lanes_left_out)
    return f"Left out, since the engine has fewer lanes free: {lanes} at once." if lanes else ""


def _busy_table(busy: tuple[Busy, ...]) -> Table:
    columns = (
        Column("answers", "count"),
        Column("step", "seconds"),
        Column("in the model", "seconds"),
        Column("most in a pass", "count"),
        Column("same tokens", "yes"),
        Column("steps timed", "count"),
    )
    rows = tuple(
        (each.lanes, each.pace.step_s, each.pace.pass_s, each.together, each.same, each.pace.steps)
        for each in busy
    )
    note = "A step of several waits until the tokens of all are chosen and noted down, one after another."
    return Table("Steps at once", columns, rows, note)


def _size_chart(sizes: tuple[Size, ...]) -> Chart:
    own, others = sizes[0], sorted(sizes[1:], key=lambda size: size.layers)
    return Chart(
        "By the number of layers",
        "lines",
        Axis("layers", "count"),
        Axis("time of a step", "seconds"),
        (
            Series("this model", (float(own.layers),), (own.pace.step_s,), "choice"),
            Series(
                RANDOM,
                tuple(float(size.layers) for size in others),
                tuple(size.pace.step_s for size in others),
                "open",
                dashed=True,
            ),
        ),
        "What has random weights is here for its pace alone.",
    )


def _size_table(sizes: tuple[Size, ...]) -> Table:
    columns = (
        Column("model"),
        Column("layers", "count"),
        Column("parameters", "count"),
        Column("weights", "bytes"),
        Column("step", "seconds"),
        Column("tokens/s", "per_s"),
    )
    rows = tuple(
        (
            RANDOM if size.random else "this model", size.layers, size.parameters, size.weights,
            size.pace.step_s, size.pace.rate,
        )
        for size in sizes
    )  # fmt: skip
    return Table("Another size", columns, rows, "Random weights: only its pace means anything.")
