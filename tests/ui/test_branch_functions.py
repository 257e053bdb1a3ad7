"""The board's pure functions of forks and edits."""

from __future__ import annotations

from typing import Any

from playground.ui.assets import script
from tests.ui.fake_engine import EMOJI, FakeVocabulary
from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node
BRANCHES = script("branches")


def branch(
    node: int, parent: int | None, at: int, words: list[str], given: list[Any] | None = None
) -> dict[str, Any]:
    steps = [{"id": index, "text": word} for index, word in enumerate(words)]
    return {"node": node, "parent": parent, "at": at, "steps": steps, "given": given or []}


TREE = [
    branch(0, None, 0, list("abcdefgh")),
    branch(1, 0, 3, list("abcXYZ"), [[7, "X"]]),
    branch(2, 1, 5, list("abcXYQ")),
    branch(3, 0, 3, list("abcW"), [[8, "W"], [9, "V"]]),
]


def of_branches(expression: str, **values: Any) -> Any:
    return evaluate(f"(() => {{ {BRANCHES}; return {expression}; }})()", **values)


def test_children_stand_under_their_parents() -> None:
    rows = of_branches("treeRows(tree).map((row) => [row.branch.node, row.depth, row.above])", tree=TREE)
    assert rows == [[0, 0, None], [1, 1, 0], [2, 2, 1], [3, 1, 0]]


def test_a_cut_inside_the_shared_part_parts_from_who_owns_it() -> None:
    ask = "places.map(([node, at]) => parentAt(tree, node, at).node)"
    places = [[2, 6], [2, 5], [2, 4], [2, 3], [2, 1], [1, 3], [0, 0]]
    assert of_branches(ask, tree=TREE, places=places) == [2, 1, 1, 0, 0, 0, 0]


def test_a_departure_names_both_tokens() -> None:
    found = of_branches("tree.map((each) => departureOf(tree, each))", tree=TREE)
    assert found == [
        None,
        {"at": 4, "was": "d", "is": ["X"], "more": False},
        {"at": 6, "was": "Z", "is": ["Q"], "more": False},
        {"at": 4, "was": "d", "is": ["W", "V"], "more": False},
    ]


def test_a_changed_prompt_is_told_by_what_differs_between_the_ends_that_both_have() -> None:
    prompts = [[1, 2, 3, 4], [1, 2, 9, 4], [1, 2, 4], [1, 2, 3, 3, 4], [], [5], [1, 2, 3, 4]]
    found = of_branches(
        "prompts.map((ids) => promptChange(first.map((id) => ({ id })), ids.map((id) => ({ id }))))"
        ".map(({ at, was, is }) => [at, was.map((each) => each.id), is.map((each) => each.id)])",
        prompts=prompts, first=prompts[0],
    )  # fmt: skip
    assert found == [
        [4, [], []], [2, [3], [9]], [2, [3], []], [3, [], [3]],
        [0, [1, 2, 3, 4], []], [0, [1, 2, 3, 4], [5]], [4, [], []],
    ]  # fmt: skip


def test_an_order_says_who_wrote_which_ids() -> None:
    segments = [["template", 1], ["user", 0], ["template", 1]]
    owners = [[0, 0, 1, 2], [1], [], [0, 1, 0]]
    parts = of_branches(
        "owners.map((each) => partsOf(segments, each.map((segment) => ({ segment }))))",
        segments=segments, owners=owners,
    )  # fmt: skip
    assert parts == [
        [["template", 1, 2], ["user", 0, 1], ["template", 1, 1]],
        [["user", 0, 1]],
        [],
        [["template", 1, 1], ["user", 0, 1], ["template", 1, 1]],
    ]


def test_tokens_of_the_prompt_are_named_as_those_of_the_answer() -> None:
    pieces = [
        *tokens(b" Paris", b"a b ", b"\n", b"\xf0\x9f", b"\xff"),
        {"hex": "", "special": False, "id": 7},
    ]
    assert of_branches("pieces.map(promptTokenName)", pieces=pieces) == [
        "␣Paris", "a b␣", "⏎", "‹F0 9F›", "‹FF›", "‹id 7›",
    ]  # fmt: skip


def test_only_what_changes_the_odds_or_the_dice_makes_other_settings() -> None:
    base = {"temperature": 1, "seed": 5, "max_tokens": 20}
    others = [
        {**base, "max_tokens": 40},
        {**base, "seed": "5"},
        {**base, "seed": 6},
        {**base, "temperature": 0.5},
        None,
    ]
    same = of_branches("others.map((other) => sameSettings(base, other))", base=base, others=others)
    assert same == [True, True, False, False, False]


def test_what_can_go_on() -> None:
    steps = [{"id": 1}]
    lanes = [
        {"steps": steps, "end": end and {"reason": end}}
        for end in (None, "stopped", "max_tokens", "end_token")
    ]
    assert of_branches("lanes.map(canGoOn)", lanes=[*lanes, {"steps": [], "end": None}]) == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_what_was_forced_and_has_not_come_is_due() -> None:
    steps, due = [{"id": 1}, {"id": 2}, {"id": 3}], {"at": 2, "ids": [3, 4, 5]}
    lanes = [{"steps": steps, "due": due}, {"steps": steps}, {"steps": [], "due": {"at": 0, "ids": [9]}}]
    assert of_branches("lanes.map(idsDue)", lanes=lanes) == [[4, 5], [], [9]]
    assert of_branches("canGoOn(lane)", lane=lanes[2]) is True  # a fork at the first token, stopped before it


def tokens(*pieces: bytes) -> list[dict[str, Any]]:
    return [{"hex": piece.hex(), "special": False} for piece in pieces]


def kept(pieces: list[dict[str, Any]], *texts: str) -> Any:
    ask = "texts.map((text) => keptOf(pieces, text)).map((found) => [found.kept, found.rest, found.changed])"
    return evaluate(ask, pieces=pieces, texts=texts)


def test_tokens_before_the_first_changed_character_stay() -> None:
    pieces = tokens(b"The", b" capital", b" of", b" France")
    assert kept(
        pieces, "The capital of France", "The capital of Lyon", "The capital", "The capitals of France",
        "", "Der", "The capital of France!",
    ) == [
        [4, "", False], [3, " Lyon", True], [2, "", True], [2, "s of France", True],
        [0, "", True], [0, "Der", True], [4, "!", True],
    ]  # fmt: skip


def test_half_characters_stay_together() -> None:
    halves = [EMOJI[i : i + 2] for i in range(0, 8, 2)]
    pieces = tokens(b"a", *halves, b"b")
    person, tone = "\U0001f469", "\U0001f3fd"
    assert kept(pieces, f"a{person}{tone}c", f"a{person}x", "a\U0001f468") == [
        [5, "c", True], [3, "x", True], [1, "\U0001f468", True],
    ]  # fmt: skip


def test_line_breaks_are_those_of_a_text_field() -> None:
    assert kept(tokens(b"a\r\n", b"b"), "a\nb", "a\nc") == [[2, "", False], [1, "c", True]]


def test_kept_and_encoded_are_the_answer_again() -> None:
    words = FakeVocabulary()
    made = [
        words.bytes_of(token_id) for token_id in words.encode("The capital of France is Paris, 👩🏽 Zürich")
    ]
    pieces = tokens(*made)
    text = b"".join(made).decode()
    for cut in range(len(text)):
        changed = text[:cut] + "Q" + text[cut:]
        ((number, rest, different),) = kept(pieces, changed)
        assert different
        assert b"".join(made[:number]).decode() + rest == changed


def test_the_counts_are_said_in_words() -> None:
    said = evaluate(
        "[{ kept: 3, rest: ' Lyon', changed: true }, { kept: 1, rest: 'é', changed: true }, "
        "{ kept: 2, rest: '', changed: true }, { kept: 5, rest: '', changed: false }]"
        ".map((found) => keptInWords(found, 5))"
    )
    assert said == [
        "3 tokens stay of 5, by their ids; 5 characters after them are encoded anew.",
        "1 token stays of 5, by their ids; 1 character after them is encoded anew.",
        "2 tokens stay of 5, by their ids; nothing is encoded anew.",
        "Nothing is changed yet.",
    ]
