"""JSON and TOML as checked values: the one place that says what is wrong with them."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct, inspect

from dbtool.core.errors import DbtoolError, UsageError, closest, printable
from dbtool.core.files import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from msgspec.structs import FieldInfo

T = TypeVar("T")
_LONGEST = 60
_HUGE = 2**53
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
    """A text is not what it should be; a sentence a fault says in what, without the text's name."""


def parse_json(text: bytes, kind: type[T]) -> T:
    """The value that a JSON text is.

    Numbers that JSON lacks, as many programs write them, are taken for numbers, and whole numbers
    may be written as 10.0.

    Args:
        text: UTF-8.
        kind: what it should be, such as a Struct with constraints.

    Raises:
        InvalidError: it is something else.

    Example:
        >>> parse_json(b'{"shards": [3, -1]}', dict[str, list[Annotated[int, Meta(ge=0)]]])
        InvalidError: shards.1 is -1, and should be a whole number from 0
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # The standard library takes more, and `convert` says what is wrong.
        pass
    try:
        value = json.loads(text.decode("utf-8-sig"), parse_float=_number)
        # Half of a surrogate pair is not text that could be stored.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidError("it is not readable JSON") from error
    return convert(value, kind)


def read_toml(path: Path, kind: type[T], what: str) -> T:
    """The value that a TOML file is.

    Args:
        path: the file.
        kind: what it should be.
        what: the word for such a file, such as "mapping".

    Raises:
        UsageError: it cannot be read, or is something else.
    """
    try:
        with open_file(path) as file:
            return convert(tomllib.load(file), kind)
    except InvalidError as error:
        faults = (f"the {what} {path}: {fault}" for fault in error.args)
        raise UsageError(*faults) from error
    except OSError as error:
        raise UsageError(f"cannot read the {what} {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error
        raise UsageError(f"the {what} {path} is no TOML: {reason}") from error


def convert(value: Any, kind: type[T], name: str = "") -> T:
    """A value of plain dictionaries, lists, numbers and texts as what it should be.

    Args:
        value: the value.
        kind: what it should be.
        name: of the value, for messages.

    Raises:
        InvalidError: it is something else.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidError(*_faults(value, kind, name, error)) from error
    except RecursionError as error:
        raise InvalidError("it is nested too deeply") from error


def _faults(value: Any, kind: Any, name: str, error: Exception) -> list[str]:
    """All that is wrong with a value, and what would be right.

    Args:
        value: the value.
        kind: what it should be.
        name: of the value; empty for the whole.
        error: why it cannot be converted.
    """
    where = name or "it"
    for option in _options(kind):
        fields = _fields(option)
        found = []
        if isinstance(value, dict):
            found += [f"{where} {reason}" for reason in _wrong_keys(value, option, fields)]
        for key, part, part_kind in _parts(value, option, fields):
            try:
                msgspec.convert(part, part_kind)
            except msgspec.ValidationError as inner:
                found += _faults(part, part_kind, f"{name}.{key}".lstrip("."), inner)
        if not found and fields is not None and isinstance(value, dict):
            # Its own check of what types cannot tell.
            reason = str(error).partition(" - at `$")[0]
            found.append(f"{name}: {reason}" if name else reason)
        if found:
            return found
    wanted = _wanted(inspect.type_info(kind))
    if isinstance(value, int) and abs(value) > _HUGE and "whole number" in wanted:
        wanted += " that is not as large"
    return [f"{where} is {_shown(value)}, and should be {wanted}"]


def _options(kind: Any) -> Iterator[Any]:
    """The types that a type stands for, without their constraints."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(inspect.type_info(kind), inspect.UnionType):
        for option in get_args(kind):
            yield from _options(option)
    else:
        yield kind


def _fields(kind: Any) -> dict[str, FieldInfo] | None:
    """The fields of a Struct by name; None of other types."""
    origin = get_origin(kind) or kind
    if not (isinstance(origin, type) and issubclass(origin, Struct)):
        return None
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _wrong_keys(
    value: dict[str, Any], kind: Any, fields: dict[str, FieldInfo] | None
) -> Iterator[str]:
    """In what the keys of a table are wrong."""
    origin = get_origin(kind) or kind
    known: list[str] | None = None
    if fields is not None and origin.__struct_config__.forbid_unknown_fields:
        known = list(fields)
    elif origin is dict:
        keys = inspect.type_info(get_args(kind)[0])
        known = list(map(str, keys.values)) if isinstance(keys, inspect.LiteralType) else None
    for key in value:
        if known is not None and key not in known:
            yield f"knows no {_shown(key)}; closest: {', '.join(closest(key, known))}"
    for key, field in (fields or {}).items():
        if field.required and key not in value:
            yield f"has no {key}"


def _parts(
    value: Any, kind: Any, fields: dict[str, FieldInfo] | None
) -> Iterator[tuple[str, Any, Any]]:
    """What a value holds: names, values and what these should be."""
    origin = get_origin(kind) or kind
    if isinstance(value, dict):
        if fields is not None:
            yield from ((key, value[key], fields[key].type) for key in fields if key in value)
        elif origin is dict:
            yield from ((key, part, get_args(kind)[1]) for key, part in value.items())
    elif isinstance(value, list) and origin in {list, tuple}:
        yield from ((str(number), part, get_args(kind)[0]) for number, part in enumerate(value))


def _wanted(kind: inspect.Type) -> str:
    """What a value of a type is called: its own description, where it has one."""
    if isinstance(kind, inspect.Metadata):
        return (kind.extra_json_schema or {}).get("description") or _wanted(kind.type)
    if isinstance(kind, inspect.UnionType):
        options = (each for each in kind.types if not isinstance(each, inspect.NoneType))
        return ", or ".join(map(_wanted, options))
    if isinstance(kind, inspect.LiteralType):
        return f"one of {', '.join(map(str, kind.values))}"
    parts = [_KINDS[type(kind)]]
    for name, word in _BOUNDS:
        limit = getattr(kind, name, None)
        # What no person would exceed needs no saying.
        if limit is not None and abs(limit) < _HUGE:
            parts.append(f"{word} {limit}")
    if getattr(kind, "min_length", None):
        parts.append("that is not empty")
    return " ".join(parts)


def _shown(value: Any) -> str:
    """A value as a message shows it."""
    try:
        text = printable(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, RecursionError):
        return "endless"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _number(digits: str) -> int | float:
    """A number with a decimal point or an exponent."""
    value = float(digits)
    return int(value) if value.is_integer() else value
