"""The tree of samples: where answers to one prompt under one setting part."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from playground.findings import Branch, SampleTree
from playground.trace import Trace


def sample_tree(traces: Sequence[Trace], visible: Callable[[int], str]) -> SampleTree:
    """The tree of the traces' answers, lanes numbered as they stand in `traces` (at least one).

    visible  the visible form of a token id
    A final probability is the first sample's where several share a token. `held` sums the answers that no
    other one continues, so that an answer which was stopped is not counted twice.
    """
    root = _branch(tuple(range(len(traces))), 0, traces, visible)
    return SampleTree(len(traces), root, min(1.0, math.fsum(_leaves(root, 1.0))))


def _branch(
    samples: tuple[int, ...], start: int, traces: Sequence[Trace], visible: Callable[[int], str]
) -> Branch:
    """The stretch of tokens from `start` on that all `samples` share, and what follows it."""
    answers = {sample: traces[sample].answer_ids for sample in samples}
    first = answers[samples[0]]
    shortest = min(map(len, answers.values()))
    end = start
    while end < shortest and all(answer[end] == first[end] for answer in answers.values()):
        end += 1
    groups: dict[int, list[int]] = {}
    for sample, answer in answers.items():
        if len(answer) > end:
            groups.setdefault(answer[end], []).append(sample)
    children = [_branch(tuple(group), end, traces, visible) for group in groups.values()]
    return Branch(
        ids=first[start:end],
        text="".join(map(visible, first[start:end])),
        samples=samples,
        share=len(samples) / len(traces),
        prob=math.prod(step.final_prob for step in traces[samples[0]].steps[start:end]),
        children=tuple(sorted(children, key=lambda child: (-len(child.samples), child.samples))),
        ended=tuple(sample for sample in samples if len(answers[sample]) == end),
    )


def _leaves(branch: Branch, prob: float) -> list[float]:
    """The probabilities of the answers below `branch`, whose own start has probability `prob`."""
    prob *= branch.prob
    if not branch.children:
        return [prob]
    return [leaf for child in branch.children for leaf in _leaves(child, prob)]
