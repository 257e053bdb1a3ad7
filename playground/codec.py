"""Frozen dataclasses to plain JSON values and back, strictly.

The types say everything: bytes become lower-case hex, mappings with integer keys get decimal string keys,
and a number that is not finite becomes null (in this project only minus infinity can occur: a token that
the model or a bias excluded). Reading accepts exactly what writing makes: a missing, unknown or ill-typed
field raises ValueError with the path to it. Strings may hold anything, lone surrogates included, since the
standard json module writes those as escapes.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """A dataclass (or a tuple, mapping, bytes, number of one) as dicts, lists and JSON scalars."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind in (str, int, bool) or value is None:
        return value
    if kind is bytes:
        return value.hex()
    if kind in (tuple, list):
        return [to_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    return {name: to_plain(getattr(value, name)) for name in kind.__dataclass_fields__}


def read_object(text: str | bytes, name: str, version: int) -> dict[str, Any]:
    """The JSON object in `text`, whose "version" is `version`. `name` says what it should be.

    Raises ValueError, in one sentence, for anything else, constants outside JSON (NaN) included.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(f"this is not a {name}: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"this is not a {name}: not valid JSON ({error})") from None
    if not isinstance(value, dict) or "version" not in value:
        raise ValueError(f"this is not a {name}: it has no version")
    if value["version"] != version:
        raise ValueError(f"this {name} has version {value['version']!r:.40}; this program reads {version}")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def from_plain(cls: type[T], value: Any, path: str = "") -> T:
    """The dataclass `cls` that `value` (from json.loads) describes.

    Raises ValueError naming the field that is missing, unknown or of the wrong type or range.
    """
    made: T = _reader(cls)(value, path or cls.__name__)  # type: ignore[arg-type]  # a class is hashable
    return made


@cache
def _reader(kind: Any) -> Callable[[Any, str], Any]:
    """A function that checks one JSON value against one type annotation."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if is_dataclass(kind):
        return _dataclass_reader(kind)
    if origin is tuple and arguments[-1] is Ellipsis:
        return _sequence_reader(_reader(arguments[0]))
    if origin is tuple:
        return _fixed_reader(tuple(_reader(argument) for argument in arguments))
    if origin in (dict, Mapping):
        return _mapping_reader(_reader(arguments[1]))
    if origin in (typing.Union, types.UnionType):
        inner = _reader(next(argument for argument in arguments if argument is not type(None)))
        return lambda value, path: None if value is None else inner(value, path)
    if origin is typing.Literal:
        return _literal_reader(arguments)
    return _SCALARS[kind]


def _dataclass_reader(cls: Any) -> Callable[[Any, str], Any]:
    hints = typing.get_type_hints(cls)
    readers = {field.name: _reader(hints[field.name]) for field in fields(cls)}
    required = {field.name for field in fields(cls) if _has_no_default(field)}

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"{path} must be an object, got {_name(value)}")
        if missing := required - value.keys():
            raise ValueError(f"{path} has no field {min(missing)!r}")
        if unknown := value.keys() - readers.keys():
            raise ValueError(f"{path} has an unknown field {min(unknown)!r}")
        made = {name: readers[name](item, f"{path}.{name}") for name, item in value.items()}
        try:
            return cls(**made)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    return read


def _has_no_default(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _sequence_reader(item: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise ValueError(f"{path} must be a list, got {_name(value)}")
        return tuple(item(entry, f"{path}[{index}]") for index, entry in enumerate(value))

    return read


def _fixed_reader(items: tuple[Callable[[Any, str], Any], ...]) -> Callable[[Any, str], Any]:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise ValueError(f"{path} must be a list of {len(items)}, got {_name(value)}")
        return tuple(
            item(entry, f"{path}[{i}]") for i, (item, entry) in enumerate(zip(items, value, strict=True))
        )

    return read


def _mapping_reader(item: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"{path} must be an object, got {_name(value)}")
        made = {}
        for key, entry in value.items():
            if not (key.isascii() and key.isdecimal()):
                raise ValueError(f"{path} has the key {key!r}, which is not a token id")
            made[int(key)] = item(entry, f"{path}[{key}]")
        return made

    return read


def _literal_reader(allowed: tuple[Any, ...]) -> Callable[[Any, str], Any]:
    def read(value: Any, path: str) -> Any:
        if value not in allowed:
            raise ValueError(f"{path} must be one of {', '.join(map(str, allowed))}, got {value!r:.80}")
        return value

    return read


def _read_float(value: Any, path: str) -> float:
    if value is None:
        return -math.inf
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:  # a whole number beyond any float
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{path} must be a number, got {_name(value)}")
    return number


def _read_int(value: Any, path: str) -> int:
    if type(value) is not int:
        raise ValueError(f"{path} must be a whole number, got {_name(value)}")
    return value


def _read_bool(value: Any, path: str) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{path} must be true or false, got {_name(value)}")
    return value


def _read_str(value: Any, path: str) -> str:
    if type(value) is not str:
        raise ValueError(f"{path} must be text, got {_name(value)}")
    return value


def _read_bytes(value: Any, path: str) -> bytes:
    try:
        return bytes.fromhex(_read_str(value, path))
    except ValueError:
        raise ValueError(f"{path} must be bytes in hex, got {value!r:.80}") from None


def _name(value: Any) -> str:
    return "null" if value is None else f"{value!r:.80}"


_SCALARS: dict[Any, Callable[[Any, str], Any]] = {
    float: _read_float,
    int: _read_int,
    bool: _read_bool,
    str: _read_str,
    bytes: _read_bytes,
}
