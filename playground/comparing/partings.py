"""Where two lanes part, and what made the difference: the settings, the dice, or something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from playground.findings import Parting, Rival
from playground.findings.compare import Cause
from playground.params import SamplingParams
from playground.trace import Candidate, TokenStep, Trace

# Of both lanes, the reference first.
Params = tuple[SamplingParams, SamplingParams]
Steps = tuple[TokenStep, TokenStep]
Picks = Sequence[Sequence[TokenStep]]  # [settings][dice], 0 the reference's and 1 the lane's

# The settings that decide a pick, as people call them.
SETTINGS = {
    "temperature": "temperature", "top_k": "top-k", "top_p": "top-p", "min_p": "min-p",
    "typical_p": "typical-p", "repetition_penalty": "repetition penalty",
    "presence_penalty": "presence penalty", "frequency_penalty": "frequency penalty",
    "logit_bias": "logit bias", "banned": "ban", "min_tokens": "least number of tokens",
}  # fmt: skip


def first_difference(first: Sequence[int], second: Sequence[int]) -> int | None:
    """The first index at which two answers, as ids, differ; None where one is the start of the other.

    An end token is an id, so an answer that ends by one differs there from an answer that goes on.
    """
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (one, other) in pairs if one != other), None)


def parting(reference: int, lane: int, traces: Sequence[Trace], picks: Picks | None = None) -> Parting:
    """Where lane `lane` leaves lane `reference`, both numbers into `traces`. See `parting_of`."""
    first, second = traces[reference], traces[lane]
    answers = first.answer_ids, second.answer_ids
    index = first_difference(*answers)
    steps = None if index is None else (first.steps[index], second.steps[index])
    return parting_of(reference, lane, answers, (first.params, second.params), steps, picks)


def parting_of(
    reference: int,
    lane: int,
    answers: tuple[Sequence[int], Sequence[int]],
    params: Params,
    steps: Steps | None,
    picks: Picks | None = None,
) -> Parting:
    """Where two lanes part and why, from their ids and their steps there; the reference stands first.

    steps  of both lanes at the first difference; None where there is none
    picks  what each lane's settings pick there with each lane's dice, [settings][dice], with both tokens
           among the candidates. Without them numbers come from what the steps list, and the cause from
           what is certain without a look at the logits.
    """
    if steps is None:
        sentence = _no_parting(*map(len, answers))
        return Parting(reference, lane, None, None, None, "unknown", sentence)
    ours, theirs = steps
    looked = picks or ((ours, ours), (theirs, theirs))
    cause = _cause(params, steps, picks)
    return Parting(
        reference,
        lane,
        ours.index,
        _rival(ours, ours, theirs, looked),
        _rival(theirs, ours, theirs, looked),
        cause,
        f"{_lead(ours.index)} {_why(cause, params, steps, picks)}",
    )


def shown(step: TokenStep) -> str:
    """The visible form of a step's token."""
    chosen = _listed((step,), step.token_id)
    return step.text if chosen is None else chosen.text


def _listed(steps: Iterable[TokenStep], token_id: int) -> Candidate | None:
    """The token as the first of `steps` that lists it has it."""
    return next((each for step in steps for each in step.candidates if each.token_id == token_id), None)


def _rival(picked: TokenStep, ours: TokenStep, theirs: TokenStep, looked: Picks) -> Rival:
    """The token of `picked` as both lanes saw it: the run's own numbers where it lists them."""
    token_id = picked.token_id
    by_reference, by_lane = _listed((ours, looked[0][0]), token_id), _listed((theirs, looked[1][1]), token_id)
    either = by_reference or by_lane
    return Rival(
        token_id=token_id,
        text=shown(picked),
        prob=None if either is None else either.prob,
        reference_final=None if by_reference is None else by_reference.final_prob,
        lane_final=None if by_lane is None else by_lane.final_prob,
        removed_by_reference=None if by_reference is None else by_reference.removed_by,
        removed_by_lane=None if by_lane is None else by_lane.removed_by,
    )


def _cause(params: Params, steps: Steps, picks: Picks | None) -> Cause:
    ours, theirs = steps
    if "forced" in (ours.draw.method, theirs.draw.method):
        return "given"
    if picks is None:
        return _certain(params, steps)
    if (picks[0][0].token_id, picks[1][1].token_id) != (ours.token_id, theirs.token_id):
        return "rounding"
    by_settings = picks[1][0].token_id == theirs.token_id
    by_dice = picks[0][1].token_id == theirs.token_id
    if by_settings:
        return "either" if by_dice else "settings"
    return "dice" if by_dice else "both"


def _certain(params: Params, steps: Steps) -> Cause:
    """The cause as far as it follows from settings and dice alone."""
    (first, second), (ours, theirs) = params, steps
    settings = bool(_differing(params))
    if ours.draw.method == theirs.draw.method:
        dice = ours.draw.u != theirs.draw.u
    else:  # one of them takes the likeliest, whatever it would have rolled
        dice = first.seed != second.seed
    if settings and dice:
        return "unknown"
    return "settings" if settings else "dice" if dice else "rounding"


def _differing(params: Params) -> list[str]:
    first, second = params
    return [name for name in SETTINGS if getattr(first, name) != getattr(second, name)]


# The sentence. A token stands in it in its visible form, in quotation marks, since it may be a comma.


def _no_parting(first: int, second: int) -> str:
    """Of answers of so many tokens."""
    if 0 in (first, second):
        return "There is nothing to compare: one of these lanes has no token."
    same = f"Both lanes have the same {_tokens(min(first, second))}"
    if first == second:
        return f"{same}."
    return f"{same}; then {'the reference' if first < second else 'this lane'} ends."


def _tokens(count: int) -> str:
    return "token" if count == 1 else f"{count} tokens"


def _lead(index: int) -> str:
    if index == 0:
        return "The lanes part at their first token."
    return f"Up to here both lanes read the same {_tokens(index)}."


def _why(cause: Cause, params: Params, steps: Steps, picks: Picks | None) -> str:
    ours, theirs = steps
    here, there = f"“{shown(theirs)}”", f"“{shown(ours)}”"
    names = _differing(params)
    settings = f"the {SETTINGS[names[0]]}" if len(names) == 1 else "the settings"
    match cause:
        case "given":
            return _given(steps, here, there)
        case "settings":
            luck = "" if ours.draw.method == theirs.draw.method == "greedy" else ", not the luck"
            return f"{_by_settings(steps, here, there)}: {settings} made the difference{luck}."
        case "dice":
            again = "The settings are the same" if not names else "Either lane's settings would do"
            return f"{again}; the roll landed on {here} instead of {there}: the dice made the difference."
        case "either":
            return (
                f"Either would have done: {settings} with the reference's dice, or this lane's dice with "
                f"the reference's settings, both give {here} instead of {there}."
            )
        case "both":
            assert picks is not None
            by_settings, by_dice = shown(picks[1][0]), shown(picks[0][1])
            return (
                f"It took both to get {here} instead of {there}: this lane's settings pick “{by_settings}” "
                f"with the reference's dice, and the reference's settings “{by_dice}” with this lane's dice."
            )
        case "rounding":
            return _by_rounding(bool(names) or ours.draw.u != theirs.draw.u, here, there)
        case "unknown":
            return (
                f"Settings and dice both differ, so from these records alone it cannot be told which of them "
                f"gave {here} instead of {there}."
            )


def _given(steps: Steps, here: str, there: str) -> str:
    given = [step.draw.method == "forced" for step in steps]
    if all(given):
        return f"Nothing was picked: {there} was given to the reference and {here} to this lane."
    if given[1]:
        return f"This lane did not pick {here}: it was given, where the reference picked {there}."
    return f"The reference did not pick {there}: it was given, where this lane picked {here}."


def _by_settings(steps: Steps, here: str, there: str) -> str:
    ours, theirs = steps
    methods = ours.draw.method, theirs.draw.method
    if methods == ("greedy", "greedy"):
        return f"No dice are rolled; the likeliest token left is {here} here and {there} in the reference"
    if methods == ("greedy", "sampled"):
        return f"The reference takes the likeliest token, {there}, and this lane's roll landed on {here}"
    if methods == ("sampled", "greedy"):
        return f"This lane takes the likeliest token, {here}, and the reference's roll landed on {there}"
    if ours.draw.u == theirs.draw.u:
        return f"With the same dice the roll landed on {here} instead of {there}"
    return f"With the reference's dice too this lane's settings pick {here} instead of {there}"


def _by_rounding(differ: bool, here: str, there: str) -> str:
    if differ:
        return (
            f"Computed anew, this step no longer gives {here} and {there}: rounding decided, so it cannot be "
            f"told what settings or dice did."
        )
    return (
        f"Settings and dice are the same, yet this lane picked {here} and the reference {there}: the logits "
        f"were rounded differently, which in 16 bit depends on how many lanes share a pass."
    )
