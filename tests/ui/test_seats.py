"""The queue for the engine's lanes."""

from __future__ import annotations

import asyncio

from playground.ui.seats import Seats


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Guest:
    """Somebody who takes a seat and holds it until told to leave."""

    def __init__(self, seats: Seats) -> None:
        self.places: list[int] = []
        self.seated = False
        self._leave = asyncio.Event()
        self.task = asyncio.ensure_future(self._visit(seats))

    async def _visit(self, seats: Seats) -> None:
        async with seats.seat(self.places.append):
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
