"""The queue for the engine's lanes."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.ui.seats import Seats


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Guest:
    """Somebody who takes seats and holds them until told to leave."""

    def __init__(self, seats: Seats, count: int = 1) -> None:
        self.places: list[int] = []
        self.seated = False
        self._leave = asyncio.Event()
        self.task = asyncio.ensure_future(self._visit(seats, count))

    async def _visit(self, seats: Seats, count: int) -> None:
        async with seats.seat(self.places.append, count):
            self.seated = True
            await self._leave.wait()

    async def leave(self) -> None:
        self._leave.set()
        await settle()

    async def cancel(self) -> None:
        self.task.cancel()
        await settle()


def test_guests_are_seated_in_order_and_hear_their_place() -> None:
    async def story() -> None:
        seats = Seats(1)
        first, second, third = Guest(seats), Guest(seats), Guest(seats)
        await settle()
        assert (first.seated, second.seated, third.seated) == (True, False, False)
        assert (seats.taken, seats.waiting, seats.free) == (1, 2, 0)
        assert (second.places, third.places) == ([1], [2])
        await first.leave()
        assert (second.seated, third.seated, third.places[-1]) == (True, False, 1)
        await second.leave()
        await third.leave()
        assert (seats.taken, seats.waiting, seats.free) == (0, 0, 1)

    asyncio.run(story())


def test_b53_who_leaves_the_queue_never_gets_a_seat() -> None:
    async def story() -> None:
        seats = Seats(1)
        first = Guest(seats)
        await settle()
        for _ in range(5):  # comes and goes
            visitor = Guest(seats)
            await settle()
            assert seats.waiting == 1
            await visitor.cancel()
            assert seats.waiting == 0
            assert not visitor.seated
        await first.leave()
        assert (seats.taken, seats.free) == (0, 1)

    asyncio.run(story())


def test_a_seat_given_to_somebody_who_is_just_leaving_is_passed_on() -> None:
    async def story() -> None:
        seats = Seats(1)
        first, second, third = Guest(seats), Guest(seats), Guest(seats)
        await settle()
        first._leave.set()
        await asyncio.sleep(0)  # first has left, second has been called but has not run yet
        second.task.cancel()
        await settle()
        assert not second.seated
        assert third.seated
        await third.leave()
        assert seats.free == 1

    asyncio.run(story())


def test_seats_of_one_visitor_come_together_and_nobody_overtakes() -> None:
    async def story() -> None:
        seats = Seats(4)
        first = Guest(seats, 2)
        await settle()
        many, single = Guest(seats, 3), Guest(seats)
        await settle()
        assert (many.seated, single.seated) == (False, False)  # one would fit, but would overtake
        assert (seats.taken, many.places, single.places) == (2, [1], [2])
        await first.leave()
        assert (many.seated, single.seated, seats.taken) == (True, True, 4)
        await many.leave()
        assert seats.taken == 1
        await single.leave()
        assert seats.free == 4

    asyncio.run(story())


def test_those_behind_go_on_when_somebody_who_needs_many_leaves_the_queue() -> None:
    async def story() -> None:
        seats = Seats(3)
        first = Guest(seats)
        await settle()
        many, single = Guest(seats, 3), Guest(seats, 2)
        await settle()
        await many.cancel()
        assert (many.seated, single.seated, seats.taken) == (False, True, 3)
        await first.leave()
        await single.leave()
        assert seats.free == 3

    asyncio.run(story())


def test_seats_given_to_somebody_who_is_just_leaving_are_passed_on_all_together() -> None:
    async def story() -> None:
        seats = Seats(3)
        first = Guest(seats)
        await settle()
        many, single = Guest(seats, 3), Guest(seats, 2)
        await settle()
        first._leave.set()
        await asyncio.sleep(0)  # many has been called but has not run yet
        many.task.cancel()
        await settle()
        assert (many.seated, single.seated, seats.taken) == (False, True, 2)
        await single.leave()
        assert seats.free == 3

    asyncio.run(story())


def test_more_seats_than_there_are_is_refused_in_a_sentence() -> None:
    async def story() -> None:
        seats = Seats(4)
        with pytest.raises(ValueError, match="needs 5 lanes at once and this server runs at most 4"):
            async with seats.seat(count=5):
                raise AssertionError("there is no such seat")
        assert (seats.free, seats.waiting) == (4, 0)

    asyncio.run(story())


@given(st.lists(st.tuples(st.sampled_from(["come", "leave", "cancel"]), st.integers(1, 5)), max_size=40))
def test_whatever_happens_seats_are_neither_lost_nor_given_twice(events: list[tuple[str, int]]) -> None:
    async def story() -> None:
        seats, guests = Seats(5), []
        for event, number in events:
            if event == "come":
                guests.append((Guest(seats, number), number))
            elif guests:
                guest = guests.pop(number % len(guests))[0]
                await (guest.leave() if event == "leave" and guest.seated else guest.cancel())
            await settle()
            assert seats.taken == sum(count for guest, count in guests if guest.seated) <= seats.total
            waiting = [count for guest, count in guests if not guest.seated]
            assert seats.waiting == len(waiting)
            assert not waiting or seats.free < waiting[0]
        for guest, _ in guests:
            await guest.cancel()
        assert (seats.taken, seats.waiting) == (0, 0)

    asyncio.run(story())
