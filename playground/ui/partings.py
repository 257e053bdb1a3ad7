"""What the Compare board asks about two of its lanes: where they part and why, and how far they are apart.

Both are computed from the logits of the two lanes by the engine. The board sends ids and settings, which are
checked as any stranger's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from playground.codec import to_plain
from playground.comparing import first_difference, parting_of
from playground.figures.divergence import divergence as divergence_figure
from playground.trace import Draw, SamplingParams, TokenStep
from playground.ui.answers import answerer
from playground.ui.asked import (
    check_same_model,
    read_ids,
    read_list,
    read_object,
    read_params,
    read_whole,
)
from playground.ui.compare import MOST_KEPT
from playground.ui.compared import both_themes
from playground.ui.host import Engine
from playground.ui.records import Op
from playground.ui.run import Server

MOST_WAITING = 16  # questions of all visitors together
Answer = Callable[[Any], Awaitable[str]]


@dataclass(frozen=True)
class Pair:
    """Two lanes of one prompt, the reference first."""

    prompt_ids: list[int]
    numbers: tuple[int, int]  # of the lanes on the board
    answers: tuple[list[int], list[int]]
    params: tuple[SamplingParams, SamplingParams]
    forced: tuple[int, int]  # so many first ids of each were given, not picked
    owner: str = ""


def parting_teller(server: Server) -> Answer:
    """The server function `parting` of the board: a Parting as JSON, or {"error": one sentence}."""
    answer = answerer(server, read_pair, part, threads=1, most=MOST_WAITING)

    async def parting(asked: Any) -> str:
        return await answer(asked)

    return parting


def divergence_teller(server: Server) -> Answer:
    """The server function `divergence`: {"rows", "figure": {"light", "dark"}}, or {"error": one sentence}."""
    answer = answerer(server, read_pair, diverge, threads=1, most=MOST_WAITING)  # a long one takes seconds

    async def divergence(asked: Any) -> str:
        return await answer(asked)

    return divergence


def part(engine: Engine, pair: Pair) -> Op:
    """Where the lanes part, what both thought there, and what made the difference."""
    index = first_difference(*pair.answers)
    if index is None:
        return to_plain(parting_of(*pair.numbers, pair.answers, pair.params, None))
    before = pair.answers[0][:index]
    chosen = [answer[index] for answer in pair.answers]
    picks = engine.picks(pair.prompt_ids, before, index, list(pair.params), watched=chosen, owner=pair.owner)
    ours, theirs = (_step(picks[side][side], chosen[side], index < pair.forced[side]) for side in (0, 1))
    return to_plain(parting_of(*pair.numbers, pair.answers, pair.params, (ours, theirs), picks))


def _step(pick: TokenStep, token_id: int, given: bool) -> TokenStep:
    """The step that the lane made: as computed anew, with the token that it has there."""
    draw = Draw("forced", None, pick.draw.low, pick.draw.high) if given else pick.draw
    return replace(pick, token_id=token_id, draw=draw)


def diverge(engine: Engine, pair: Pair) -> Op:
    """How far the two distributions are apart at each index that both lanes have."""
    rows = engine.divergences(pair.prompt_ids, pair.answers, pair.params, owner=pair.owner)
    parts = first_difference(*pair.answers)
    texts = [engine.vocabulary.visible(token_id) for token_id in pair.answers[1][: len(rows)]]
    return {
        "rows": [to_plain(row) for row in rows],
        "figure": both_themes(divergence_figure, rows, texts, parts),
    }


def read_pair(asked: Any, engine: Engine, server: Server) -> Pair:
    """Checks what came from the page. Raises ValueError in a sentence."""
    asked = read_object(asked, "a question about two lanes")
    check_same_model(asked.get("model"), engine.info)
    limits, size = server.settings, engine.vocabulary.size
    prompt_ids = read_ids(asked.get("prompt_ids"), "prompt_ids", 1, limits.max_prompt_tokens, size)
    lanes = read_list(asked.get("lanes"), "lanes", 2, MOST_KEPT)
    numbers = tuple(
        read_whole(asked.get(name), f"the {name}", 0, len(lanes) - 1) for name in ("reference", "lane")
    )
    answers, params, forced = [], [], []
    for number in numbers:
        lane = read_object(lanes[number], "a lane")
        answers.append(read_ids(lane.get("ids"), "ids of a lane", 0, limits.max_new_tokens, size))
        params.append(server.check(read_params(lane.get("params"))))
        forced.append(read_whole(lane.get("forced", 0), "forced", 0, limits.max_new_tokens))
    if None in {each.seed for each in params}:
        raise ValueError("a lane that ran has a seed")
    lanes_of: tuple[Any, Any, Any, Any] = (numbers, tuple(answers), tuple(params), tuple(forced))
    return Pair(prompt_ids, *lanes_of, server.owner(asked))
