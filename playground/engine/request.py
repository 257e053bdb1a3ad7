"""What a lane is asked for, and the checks on it before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from playground.trace import ModelInfo, Prompt, SamplingParams, TokenStep

MEGABYTE = 2**20


@dataclass(frozen=True)
class Request:
    """What a lane is asked for. `params` has a seed."""

    prompt: Prompt
    params: SamplingParams
    forced: tuple[int, ...] = ()  # the first ids of the answer
    known: int = 0  # of the forced ids: their steps are not made, since the reader has them
    recorded: tuple[TokenStep, ...] = ()  # steps of the same ids under the same settings, from an older run
    watched: tuple[int, ...] = ()
    top_n: int = 20
    reuse: bool = True
    cache: bool = True
    exact: bool = False  # alone in its passes, whatever else runs, and nothing taken over from others
    owner: str = ""  # whose run it is: how long a run takes must not tell others what this one asked

    @property
    def public(self) -> int:
        """How many leading tokens of the prompt the template wrote by itself: those tell nobody anything."""
        segments = self.prompt.segments
        count = 0
        for token in self.prompt.tokens:
            if not segments[token.segment].added_by_template:
                break
            count += 1
        return count


def check_request(request: Request, model: ModelInfo, needed: int, allowed: int) -> None:
    """Raise ValueError, in one sentence, for what this model cannot do.

    `needed` and `allowed` are bytes of KV cache: what the run may come to, and what all runs may take.
    """
    check_ids("the prompt", request.prompt.ids, model)
    check_ids("forced", request.forced, model)
    check_ids("watched", request.watched, model)
    request.params.check_vocabulary(model.vocabulary)
    if type(request.top_n) is not int or request.top_n < 1:
        raise ValueError(f"top_n must be a whole number from 1 on, got {request.top_n!r:.40}")
    if type(request.known) is not int or not 0 <= request.known <= len(request.forced):
        raise ValueError(f"known must be in [0, {len(request.forced)}], got {request.known!r:.40}")
    prompt, given, context = len(request.prompt.ids), len(request.forced), model.context
    if prompt == 0:
        raise ValueError("the prompt is empty, so there is nothing to go on from")
    if context is not None and (prompt >= context or prompt + given > context):
        answer = f" and {given} tokens of the answer" if given else ""
        raise ValueError(
            f"the prompt has {prompt} tokens{answer}, but this model reads {context} in all, its answer "
            "included: shorten the prompt"
        )
    if given > request.params.max_tokens:
        raise ValueError(
            f"{given} tokens of the answer are given, but max_tokens is {request.params.max_tokens}: raise it"
        )
    if request.cache and needed > allowed:
        raise ValueError(
            f"this run may need {needed // MEGABYTE} MB of KV cache, {allowed // MEGABYTE} MB are allowed: "
            "ask for fewer new tokens or shorten the prompt"
        )


def check_ids(what: str, ids: Iterable[int], model: ModelInfo) -> None:
    """Raise ValueError, naming the id, if `ids` holds one that the model does not have."""
    for token_id in ids:
        if type(token_id) is not int or not 0 <= token_id < model.vocabulary:
            last = model.vocabulary - 1
            raise ValueError(f"{what} has token {token_id!r:.40}, but the ids of this model are 0 to {last}")
