"""Who sits where: the rows of all lanes, the batches they form, and the byte budget they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from playground.engine.lane import Lane
from playground.engine.pool import Prefix, PrefixStore
from playground.engine.seats import LoneSeat, OwnCacheSeat, UncachedSeat
from playground.engine.slots import Slot, SlotBatch, fits_slots, token_bytes

Seat = Slot | LoneSeat


class Seating:
    """The seats of the running lanes.

    One pass more costs reading the weights once; padding costs reading keys and values of positions that
    nobody needs. So lanes of different lengths share a batch as long as the padding is fewer bytes than the
    weights, and part when it is more.
    """

    def __init__(self, model: Any, kv_bytes: int) -> None:
        self.model = model
        self.budget = kv_bytes
        self.weight_bytes = sum(part.numel() * part.element_size() for part in model.parameters())
        self.batched = fits_slots(model)
        self.token_bytes = token_bytes(model.config, model.dtype) if self.batched else 0
        self.batches: list[SlotBatch] = []
        self.prefixes = PrefixStore()
        self.seats: dict[Lane, Seat] = {}
        self.by_slot: dict[Slot, Lane] = {}

    # -- room -------------------------------------------------------------------------------------

    def needed(self, lane: Lane) -> int:
        """Bytes that the lane's row may come to."""
        if not lane.request.cache:
            return 0
        return self.needed_for(len(lane.prompt_ids), lane.request.params.max_tokens, lane.model.context)

    def needed_for(self, prompt: int, answer: int, context: int | None) -> int:
        """Bytes of a row of `prompt` and at most `answer` tokens in a model of `context` positions."""
        longest = prompt + answer if context is None else min(prompt + answer, context)
        return longest * self.token_bytes

    def has_room(self, lane: Lane) -> bool:
        taken = sum(self.needed(other) for other in self.seats)
        return not self.seats or taken + self.needed(lane) <= self.budget

    def _room_for_prefixes(self) -> int:
        return max(0, self.budget - sum(batch.total_bytes for batch in self.batches))

    # -- coming -----------------------------------------------------------------------------------

    def shares_more_with(self, lane: Lane, reading: list[Lane]) -> bool:
        """Whether a lane that is still being read will soon hold more of its prefix than anyone now."""
        if not self._reuses(lane):
            return False
        ids = np.asarray(lane.ids)
        _, now = self._longest(lane)
        soon = [
            Prefix(np.asarray(other.ids), [], [], other.request.owner).usable(
                ids, lane.request.owner, lane.request.public
            )
            for other in reading
            if other.request.reuse
        ]
        return max(soon, default=0) > now + 1

    def _reuses(self, lane: Lane) -> bool:
        request = lane.request
        return self.batched and request.cache and request.reuse and not request.exact

    def _longest(self, lane: Lane) -> tuple[Prefix | None, int]:
        live = [
            Prefix(
                np.asarray(other.ids[: seat.length]),
                seat.snapshot(seat.length),
                other.scores,
                other.request.owner,
            )
            for other, seat in self.seats.items()
            if isinstance(seat, Slot) and seat.length
        ]
        request = lane.request
        return self.prefixes.longest(np.asarray(lane.ids), live, owner=request.owner, public=request.public)

    def sit(self, lane: Lane) -> None:
        """Give the lane a seat, with the longest prefix that is at hand and leaves no number out."""
        seat: Seat
        if not lane.request.cache:
            seat = UncachedSeat(self.model)
        elif not self.batched:
            seat = OwnCacheSeat(self.model)
        else:
            seat = self._slot(lane)
        self.seats[lane] = seat
        if isinstance(seat, Slot):
            self.by_slot[seat] = lane

    def _slot(self, lane: Lane) -> Slot:
        prefix, shared = None, 0
        if self._reuses(lane):
            prefix, shared = self._longest(lane)
        batch = SlotBatch(self.model.config, capacity=len(lane.ids) + 1)
        if prefix is None:
            return batch.add()
        unscored = lane.adopt_scores(prefix.scores[:shared])
        reused = max(
            0, min(shared, lane.first_missing_row(), unscored - 1)
        )  # its score needs the row before it
        lane.reused = min(reused, len(lane.prompt_ids))
        return batch.add(prefix.states, reused) if reused else batch.add()

    def join(self, lane: Lane) -> None:
        """The lane has read its ids: from now on it decodes in a batch with others where that pays."""
        seat = self.seats[lane]
        if not isinstance(seat, Slot):
            return
        for batch in () if lane.request.exact else self._shared():
            lengths = [*(slot.length for slot in batch.slots), seat.length]
            if self._pays(lengths):
                batch.adopt(seat)
                return
        self.batches.append(seat.batch)

    def _shared(self) -> list[SlotBatch]:
        """The batches that others may join."""
        return [batch for batch in self.batches if not self.by_slot[batch.slots[0]].request.exact]

    def _pays(self, lengths: list[int]) -> bool:
        padding = len(lengths) * max(lengths) - sum(lengths)
        return padding * self.token_bytes <= self.weight_bytes

    # -- going ------------------------------------------------------------------------------------

    def leave(self, lane: Lane, *, broken: bool = False) -> None:
        """Give the seat back; what was read stays as a prefix for others, unless it may be `broken`."""
        seat = self.seats.pop(lane)
        if not isinstance(seat, Slot):
            return
        del self.by_slot[seat]
        if seat.length and not broken:
            self._keep(lane, seat)
        batch = seat.batch
        batch.remove(seat, clear=broken)
        if batch in self.batches and not batch.slots:
            self.batches.remove(batch)
        self._merge()

    def _keep(self, lane: Lane, seat: Slot) -> None:
        states, room = seat.snapshot(seat.length), self._room_for_prefixes()
        try:
            self.prefixes.keep(
                lane.ids[: seat.length], states, lane.scores[: seat.length], room, lane.request.owner
            )
        except Exception:  # out of memory, most likely: what is kept for later must not cost anybody a run
            self.prefixes.shrink(0)

    def settle(self) -> None:
        """After a pass: part rows whose lengths have grown too far apart; keep inside the budget."""
        for batch in list(self.batches):
            while len(batch.slots) > 1 and not self._pays([slot.length for slot in batch.slots]):
                longest = max(batch.slots, key=lambda slot: slot.length)
                alone = SlotBatch(self.model.config, capacity=longest.length + 1)
                alone.adopt(longest)
                self.batches.append(alone)
        self.prefixes.shrink(self._room_for_prefixes())

    def _merge(self) -> None:
        """Two batches that fit become one, with twice the margin so that they do not part again at once."""
        for batch in self._shared():
            for other in self._shared():
                lengths = [slot.length for slot in (*batch.slots, *other.slots)]
                if other is not batch and self._pays(lengths * 2):
                    for slot in list(batch.slots):
                        other.adopt(slot)
                    self.batches.remove(batch)
                    break
