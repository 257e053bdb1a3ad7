"""What looks computed, kept within a bound of bytes so that the next view of the same run costs nothing."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any


class Kept:
    """Values by key; what was used longest ago is dropped once all together pass `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self._values: OrderedDict[object, tuple[Any, int]] = OrderedDict()
        self._door = threading.Lock()

    def get(self, key: object) -> Any:
        """The value, or None if there is none (any more)."""
        with self._door:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: object, value: Any, size: int) -> None:
        """Keep `value`, which takes `size` bytes. One that is larger than the bound is not kept."""
        with self._door:
            if size > self.most_bytes:
                return
            if key in self._values:
                self.bytes -= self._values.pop(key)[1]
            self._values[key] = value, size
            self.bytes += size
            while self.bytes > self.most_bytes:
                _, (_, freed) = self._values.popitem(last=False)
                self.bytes -= freed

    def __len__(self) -> int:
        return len(self._values)
