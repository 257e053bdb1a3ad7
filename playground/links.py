"""The settings link: everything that a visitor can set, in the part of an address that no server sees.

    #s= + base64url without padding ( raw deflate ( UTF-8 ( JSON ) ) )

The JSON is one object: "v" (1), then the fields of `Setup` under their own names. A field at its default is
left out, here and in the objects inside. The defaults belong to the format: to change one is to raise "v".
What JSON or JavaScript cannot say: minus infinity in `logit_bias` is null, token ids are keys of decimal
digits, a seed above 2^53 - 1 is a string of decimal digits, and a lone surrogate is its escape, \\udXXX.

A browser writes the same, though its deflate may find other bytes for it:

    const json = new Blob([JSON.stringify(setup)]).stream();
    const packed = new Response(json.pipeThrough(new CompressionStream('deflate-raw')));
    const bytes = new Uint8Array(await packed.arrayBuffer());
    const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
    location.hash = 's=' + text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

Reading believes nothing: sizes are bounded before and while unpacking, and a field that nobody knows is
refused, `__proto__` too. What a value means (whether a model has that token, whether this server allows so
many) is checked where a typed value is. To open a link fills the form; it runs and loads nothing.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, Literal

from playground.codec import from_plain, to_plain
from playground.packing import RAW, deflate, inflate
from playground.params import LARGEST_COUNT, LARGEST_SEED, SamplingParams

VERSION = 1
LONGEST_LINK = 8_000  # characters of the fragment: what mail and chat programs carry whole
LARGEST_LINK = 2**20  # bytes of JSON that a link may unpack to
LARGEST_FILE = 2**24  # characters of JSON in a file
MOST_CHARACTERS = 2_000_000  # of all texts together
MOST_ENTRIES = 1_000  # of a list
MOST_LANES = 6
LONGEST_NAME = 80  # of a lane
_EXACT = 2**53 - 1  # the largest whole number that JavaScript tells from its neighbours
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"  # of a model's name on a hub


class LinkError(ValueError):
    """Why a link, or a file of settings, cannot be used: one plain sentence."""


class LinkTooLong(LinkError):
    """These settings fit no link; a file holds them."""


@dataclass(frozen=True)
class Message:
    """A message of an earlier turn."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A column of a comparison. The Playground tab has one, without a name."""

    name: str = ""
    params: SamplingParams = field(default_factory=SamplingParams)


@dataclass(frozen=True, kw_only=True)
class Range:
    """What a sweep goes over: `steps` values of a setting from `low` to `high`, `tokens` of each answer."""

    setting: str
    low: float
    high: float
    steps: int
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a visitor typed and set. Raises ValueError, naming the field, for what no page could send."""

    kind: Literal["run", "lanes", "samples", "sweep"] = "run"  # of the Playground tab, or of a comparison
    mode: Literal["chat", "raw"] = "chat"
    system: str = ""
    messages: tuple[Message, ...] = ()  # of the turns before the prompt
    prompt: str = ""
    thinking: bool | None = None  # None: whatever the template does by itself
    model: str = ""  # a name on a hub or of the bundled model; "" is whichever runs
    seed: int | None = None  # of all lanes that have none of their own
    watched: tuple[str, ...] = ()  # texts whose first token is followed
    banned: tuple[str, ...] = ()  # texts whose token may not be picked
    biases: tuple[str, ...] = ()  # lines such as " Paris = -5"
    lanes: tuple[Lane, ...] = (Lane(),)
    reference: int = 0  # the lane that the others are compared with
    same_dice: bool = True
    exact: bool = False  # lane by lane
    samples: int = 8  # of kind samples
    sweep: Range | None = None  # of kind sweep

    def __post_init__(self) -> None:
        if self.model and (not re.fullmatch(f"{_PART}(/{_PART})?", self.model) or ".." in self.model):
            raise ValueError(f"model must be a model's name such as org/name, got {self.model!r:.80}")
        for name, value, least, most in (
            ("seed", self.seed or 0, 0, LARGEST_SEED),
            ("samples", self.samples, 1, LARGEST_COUNT),
            ("the number of lanes", len(self.lanes), 1, MOST_LANES),
            ("reference", self.reference, 0, len(self.lanes) - 1),
            ("steps", self.sweep.steps if self.sweep else 1, 1, LARGEST_COUNT),
            ("tokens", self.sweep.tokens if self.sweep else 1, 1, LARGEST_COUNT),
        ):
            if not least <= value <= most:
                raise ValueError(f"{name} must be in [{least}, {most}], got {value!r:.80}")
        if self.sweep and not (math.isfinite(self.sweep.low) and math.isfinite(self.sweep.high)):
            raise ValueError("a sweep must go from one number to another")
        self._check_sizes()

    def _check_sizes(self) -> None:
        for lane in self.lanes:
            if len(lane.name) > LONGEST_NAME:
                raise ValueError(f"a lane's name must have at most {LONGEST_NAME} characters")
        for name in ("messages", "watched", "banned", "biases"):
            if len(getattr(self, name)) > MOST_ENTRIES:
                raise ValueError(f"{name} must have at most {MOST_ENTRIES:,} entries")
        if sum(map(len, self._texts())) > MOST_CHARACTERS:
            raise ValueError(f"all texts together must have at most {MOST_CHARACTERS:,} characters")

    def _texts(self) -> Iterator[str]:
        yield from (self.system, self.prompt, *self.watched, *self.banned, *self.biases)
        yield from (message.content for message in self.messages)
        yield from (text for lane in self.lanes for text in lane.params.stop)

    def to_json(self) -> str:
        """The link's JSON, which is also what a file holds."""
        text = json.dumps({"v": VERSION, **_plain(self)}, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace").decode()  # lone surrogates as the escapes of JSON

    @classmethod
    def from_json(cls, text: str) -> Setup:
        """Read what `to_json` or a browser wrote. Raises LinkError, in one sentence, for anything else."""
        if len(text) > LARGEST_FILE:
            raise LinkError(f"This file is too large: settings have at most {LARGEST_FILE:,} characters.")
        try:
            value = json.loads(text, parse_constant=_refuse_constant, object_hook=_with_whole_seed)
        except (RecursionError, ValueError):
            raise LinkError("These settings cannot be read: they are not valid JSON.") from None
        if not isinstance(value, dict) or "v" not in value:
            raise LinkError("These settings cannot be read: they do not say their version.")
        version = value.pop("v")
        if type(version) is not int or version != VERSION:
            raise LinkError(
                f"These settings have version {version!r:.40}, and this program reads version {VERSION}."
            )
        try:
            return from_plain(cls, value, "settings")
        except ValueError as error:
            raise LinkError(f"These settings cannot be used: {error!s:.300}.") from None

    def to_fragment(self) -> str:
        """The link from its "#" on. Raises LinkTooLong, in one sentence, if a link cannot hold it."""
        data = self.to_json().encode()
        packed = base64.urlsafe_b64encode(deflate(data, RAW)).rstrip(b"=").decode()
        fragment = f"#s={packed}"
        if len(fragment) > LONGEST_LINK or len(data) > LARGEST_LINK:
            raise LinkTooLong(
                f"This is too much for a link of at most {LONGEST_LINK:,} characters: save it as a file."
            )
        return fragment

    @classmethod
    def from_fragment(cls, fragment: str) -> Setup:
        """Read a link from its "#" on, or from after it. Raises LinkError, in one sentence."""
        opening, _, packed = fragment.removeprefix("#").partition("=")
        if opening != "s":
            raise LinkError("This link holds no settings.")
        if len(fragment) > LONGEST_LINK:
            raise LinkTooLong(f"This link is too long: the most is {LONGEST_LINK:,} characters.")
        if not re.fullmatch("[A-Za-z0-9_-]*", packed) or len(packed) % 4 == 1:
            raise LinkError("This link is broken: some of it was lost or changed.")
        try:
            data = inflate(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), LARGEST_LINK, RAW)
            text = data.decode()
        except UnicodeDecodeError:
            raise LinkError("This link is broken: it is not text.") from None
        except ValueError as error:
            raise LinkError(f"This link is broken: {error}.") from None
        return cls.from_json(text)


def _plain(value: Any) -> Any:
    """`value` as JSON values, without the fields of dataclasses that are at their defaults."""
    if is_dataclass(value):
        pairs = ((item, getattr(value, item.name)) for item in fields(value))
        return {item.name: _plain(held) for item, held in pairs if held != _default(item)}
    if type(value) is tuple:
        return [_plain(item) for item in value]
    return str(value) if type(value) is int and value > _EXACT else to_plain(value)


def _default(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


def _with_whole_seed(value: dict[str, Any]) -> dict[str, Any]:
    seed = value.get("seed")
    if isinstance(seed, str) and re.fullmatch("[0-9]{1,20}", seed):
        value["seed"] = int(seed)
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
