from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.text.stops import StopFilter


def feed(stops: list[str], pieces: list[str]) -> tuple[list[str], StopFilter]:
    stop = StopFilter(stops)
    return [stop.push(piece) for piece in pieces], stop


def test_b19_no_part_of_a_stop_is_shown() -> None:
    shown, stop = feed([", F, G"], [" D", ",", " E", ",", " F", ",", " G", ","])
    assert shown == [" D", "", ", E", "", "", "", "", ""]
    assert (stop.match, stop.match_start, stop.held) == (", F, G", 5, "")


def test_b19_text_that_became_no_stop_is_released() -> None:
    shown, stop = feed([", F, Q"], [" D", ",", " E", ",", " F", ",", " G"])
    assert shown == [" D", "", ", E", "", "", "", ", F, G"]
    assert stop.match is None


def test_b19_held_text_is_released_at_the_end() -> None:
    shown, stop = feed([", F, G"], [" D", ", F"])
    assert (shown, stop.held) == ([" D", ""], ", F")
    assert (stop.flush(), stop.held, stop.flush()) == (", F", "", "")


def test_b20_a_stop_inside_a_token() -> None:
    shown, stop = feed(["E"], [" D", ",", " E"])
    assert shown == [" D", ",", " "]
    assert (stop.match, stop.match_start) == ("E", 4)


@pytest.mark.parametrize("stops", [["F", ", F"], [", F", "F"]])
def test_b20_the_match_that_starts_earliest_wins(stops: list[str]) -> None:
    shown, stop = feed(stops, [" D", ",", " E", ",", " F"])
    assert "".join(shown) == " D, E"
    assert (stop.match, stop.match_start) == (", F", 5)


def test_b20_of_two_with_one_start_the_longer_wins() -> None:
    _, stop = feed(["ab", "abc", "a"], ["xabcd"])
    assert stop.match == "abc"


def test_nothing_comes_after_a_match() -> None:
    shown, stop = feed(["."], ["a.b", "c", ".d"])
    assert shown == ["a", "", ""]
    assert stop.flush() == ""


def test_no_stops_hold_nothing() -> None:
    assert feed([], ["a", "", "b"])[0] == ["a", "", "b"]


def test_an_empty_stop_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        StopFilter(["a", ""])


LETTERS = st.text("ab,é", max_size=5)


@given(st.lists(st.text("ab,é", min_size=1, max_size=4), max_size=4), st.lists(LETTERS, max_size=12))
def test_it_does_what_a_search_of_the_whole_text_does(stops: list[str], pieces: list[str]) -> None:
    stop, whole, shown = StopFilter(stops), "", ""
    for piece in pieces:
        whole += piece
        shown += stop.push(piece)
        matches = [(whole.find(item), -len(item), item) for item in stops if item in whole]
        if matches:
            start, _, item = min(matches)
            assert (stop.match, stop.match_start, stop.held, shown) == (item, start, "", whole[:start])
            return
        tails = (whole[start:] for start in range(len(whole)))
        held = next((tail for tail in tails if any(item.startswith(tail) for item in stops)), "")
        assert (stop.match, stop.held, shown) == (None, held, whole[: len(whole) - len(held)])
    assert shown + stop.flush() == whole
