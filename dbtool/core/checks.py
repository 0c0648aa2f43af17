"""Checks of numbers, JSON and TOML from users; all messages about faults in them are here."""

import json
import math
import operator
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct, inspect
from msgspec.structs import FieldInfo

from dbtool.core.contract import is_share
from dbtool.core.errors import DbtoolError, UsageError, closest, printable
from dbtool.core.files import decoded, read_small

T = TypeVar("T")
_LONGEST = 60
_HUGE, _LARGEST = 2**53, 2**63 - 1
_KINDS = {
    inspect.AnyType: "a value",
    inspect.BoolType: "true or false",
    inspect.DictType: "a table of names and values",
    inspect.FloatType: "a number",
    inspect.IntType: "a whole number",
    inspect.ListType: "a list",
    inspect.StrType: "text",
    inspect.StructType: "a table of names and values",
    inspect.VarTupleType: "a list",
}
_BOUNDS = (("ge", "from"), ("gt", "above"), ("le", "to"), ("lt", "below"))


class InvalidError(DbtoolError):
    """A text out of its expected form; each argument is a fault, without the text's name."""


def require_whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number as an int; NumPy integers are accepted.

    Raises:
        UsageError: the value is not a whole number, or is out of range.

    Example:
        >>> require_whole("trials", 0)
        Traceback (most recent call last):
            ...
        dbtool.core.errors.UsageError: trials is 0, and should be a whole number from 1
    """
    try:
        found = operator.index(value)
    except TypeError:
        found = least - 1
    if not least <= found <= _LARGEST:
        end = f" to {_LARGEST}" if found > _LARGEST else ""
        raise UsageError(f"{name} is {value!r}, and should be a whole number from {least}{end}")
    return found


def require_number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf
) -> float:
    """Return a finite number as a float.

    Raises:
        UsageError: the value is not a finite number, or is out of range.

    Example:
        >>> require_number("level", 2, 0.5, 0.999)
        Traceback (most recent call last):
            ...
        dbtool.core.errors.UsageError: level is 2, and should be a number from 0.5 to 0.999
    """
    try:
        found = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    # This form of the condition also rejects NaN.
    if not (least <= found <= most and math.isfinite(found)):
        words = "a finite number" if math.isinf(least) else f"a number from {least:.4g}"
        words += "" if math.isinf(most) else f" to {most:.4g}"
        raise UsageError(f"{name} is {value!r}, and should be {words}")
    return found


def require_goal(goal: float, metric: str | None) -> None:
    """Raise a UsageError for a goal that no value of a metric can pass, or every value does."""
    require_number("goal", goal)
    if metric is not None and is_share(metric) and not 0 <= goal <= 1:
        likely = f"; {goal:g} % is {goal / 100:g}" if 1 < goal <= 100 else ""
        raise UsageError(f"the goal {goal:g} is not a share from 0 to 1, as {metric} is{likely}")


def parse_json(text: bytes, kind: type[T]) -> T:
    """Parse JSON, which is UTF-8, into a value of some type, such as a Struct with constraints.

    NaN and infinities, which JSON lacks and many programs write, are accepted. A whole number may
    be written as 10.0.

    Raises:
        InvalidError: the text does not fit the type.

    Example:
        >>> parse_json(b'{"shards": [3, -1]}', dict[str, list[Annotated[int, msgspec.Meta(ge=0)]]])
        Traceback (most recent call last):
            ...
        dbtool.core.checks.InvalidError: shards.1 is -1, and should be a whole number from 0
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # The standard library accepts more, and `convert` explains the fault.
        pass
    try:
        value = json.loads(text.decode("utf-8-sig"), parse_float=_json_number)
        # Half of a surrogate pair cannot be stored as text.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidError("it is not readable JSON") from error
    return convert(value, kind)


def read_toml(path: Path, kind: type[T], what: str) -> T:
    """Read a TOML file, `what` in messages, into a value of some type, or raise a UsageError."""
    try:
        return convert(tomllib.loads(decoded(read_small(path))), kind)
    except InvalidError as error:
        raise UsageError(*(f"the {what} {path}: {fault}" for fault in error.args)) from error
    except OSError as error:
        raise UsageError(f"cannot read the {what} {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error
        raise UsageError(f"the {what} {path} is no TOML: {reason}") from error


def convert(value: Any, kind: type[T], name: str = "") -> T:
    """Convert plain values to one of some type, or raise an InvalidError that names the value."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidError(*_faults(value, kind, name, error)) from error
    except RecursionError as error:
        raise InvalidError("it is nested too deeply") from error


def _faults(value: Any, kind: Any, name: str, error: Exception) -> list[str]:
    """List all faults of a value, each with what would be valid."""
    where = name or "it"
    for option in _options(kind):
        fields, known = _fields(option), _known_keys(option)
        found = []
        if isinstance(value, dict):
            found = [
                f"{where} knows no {_in_message(key)}; closest: {', '.join(closest(key, known))}"
                for key in value
                if known is not None and key not in known
            ]
            missing = (key for key, field in fields.items() if field.required and key not in value)
            found += [f"{where} has no {key}" for key in missing]
        for key, part, part_kind in _parts_of_value(value, option, fields):
            try:
                msgspec.convert(part, part_kind)
            except msgspec.ValidationError as inner:
                found += _faults(part, part_kind, f"{name}.{key}".lstrip("."), inner)
        if not found and fields and isinstance(value, dict):
            # The Struct's own check failed, on what types cannot express.
            reason = str(error).partition(" - at `$")[0]
            found.append(f"{name}: {reason}" if name else reason)
        if found:
            return found
    wanted = _words_for(inspect.type_info(kind))
    if isinstance(value, int) and abs(value) > _HUGE and "whole number" in wanted:
        wanted += " that is not as large"
    return [f"{where} is {_in_message(value)}, and should be {wanted}"]


def _options(kind: Any) -> Iterator[Any]:
    """Yield the types in a union, without their constraints."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(inspect.type_info(kind), inspect.UnionType):
        for option in get_args(kind):
            yield from _options(option)
    else:
        yield kind


def _fields(kind: Any) -> dict[str, FieldInfo]:
    """Return the fields of a Struct by name; none for other types."""
    origin = get_origin(kind) or kind
    if not (isinstance(origin, type) and issubclass(origin, Struct)):
        return {}
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _known_keys(kind: Any) -> list[str] | None:
    """Return the names that a table of a type may have; None for any."""
    info = inspect.type_info(kind)
    if isinstance(info, inspect.StructType) and info.forbid_unknown_fields:
        return [field.encode_name for field in info.fields]
    if isinstance(info, inspect.DictType) and isinstance(info.key_type, inspect.LiteralType):
        return list(map(str, info.key_type.values))
    return None


def _parts_of_value(
    value: Any, kind: Any, fields: dict[str, FieldInfo]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts of a value: name, value and expected type."""
    origin = get_origin(kind) or kind
    if isinstance(value, dict):
        yield from ((key, value[key], fields[key].type) for key in fields if key in value)
        if origin is dict:
            yield from ((key, part, get_args(kind)[1]) for key, part in value.items())
    elif isinstance(value, list) and origin in {list, tuple}:
        yield from ((str(number), part, get_args(kind)[0]) for number, part in enumerate(value))


def _words_for(kind: inspect.Type) -> str:
    """Return the words for a type in messages: its own description, where it has one."""
    if isinstance(kind, inspect.Metadata):
        return (kind.extra_json_schema or {}).get("description") or _words_for(kind.type)
    if isinstance(kind, inspect.UnionType):
        options = (each for each in kind.types if not isinstance(each, inspect.NoneType))
        return ", or ".join(map(_words_for, options))
    if isinstance(kind, inspect.LiteralType):
        return f"one of {', '.join(map(str, kind.values))}"
    parts = [_KINDS[type(kind)]]
    for name, word in _BOUNDS:
        limit = getattr(kind, name, None)
        # A limit that nobody would exceed is not worth a word.
        if limit is not None and abs(limit) < _HUGE:
            parts.append(f"{word} {limit}")
    if getattr(kind, "min_length", None):
        parts.append("that is not empty")
    return " ".join(parts)


def _in_message(value: Any) -> str:
    """Return a value as a message shows it."""
    try:
        text = printable(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, RecursionError):
        return "endless"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _json_number(digits: str) -> int | float:
    """Parse a number with a decimal point or an exponent."""
    value = float(digits)
    return int(value) if value.is_integer() else value
