"""Objects of JSON and YAML as names and texts; nested names have dots, such as config.lr."""

import contextlib
import json
import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dbtool.store.table_files import BLANKS, Position

if TYPE_CHECKING:
    import yaml

T = TypeVar("T")
_MOST_VALUES = 1_000_000
_LONGEST_NAME = 1_000


class _Literal(str):
    """A number, a truth or NaN, as JSON and YAML write them without quotes."""

    __slots__ = ()


def json_object(position: Position, text: str) -> dict[str, str]:
    """Return the contents of a JSON object, whose numbers stay text, or raise a RunsError."""
    wanted = "each line is one" if position.line else "the whole file is one"
    # Numbers stay text. nan and infinity are accepted, which JSON lacks and many tools write.
    decoder = json.JSONDecoder(
        parse_float=_Literal,
        parse_int=_Literal,
        parse_constant=_Literal,
        object_pairs_hook=partial(_once, position=position),
    )
    try:
        value = decoder.decode(text)
        if "\\u" in text:
            # Half of a surrogate pair is not text that can be stored.
            json.dumps(value, ensure_ascii=False).encode()
        if not isinstance(value, dict):
            raise position.error(None, f"it is no JSON object; {wanted}")
        return _with_dots(value, position)
    except (ValueError, RecursionError) as error:
        raise position.error(None, f"it is no JSON; {wanted} object") from error


def _once(pairs: list[tuple[str, T]], position: Position) -> dict[str, T]:
    """Return names and values; refuse a name with two values."""
    found: dict[str, T] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise position.error(name, "it is there twice: rename one of them")
    return found


def yaml_object(position: Position, text: str) -> dict[str, str]:
    """Return the contents of a YAML object as JSON would write them, or raise a RunsError."""
    import yaml

    try:
        # The nodes alone: no Python objects are built.
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = _yaml_value(node, position, {})
        size = _size(value, {})
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise position.error(None, "it is no YAML") from error
    if size > _MOST_VALUES:
        raise position.error(None, f"its anchors stand for more than {_MOST_VALUES:,} values")
    if not isinstance(value, dict):
        raise position.error(None, "it holds no names and values")
    return _with_dots(value, position)


def _yaml_value(node: "yaml.Node | None", position: Position, known: dict[int, Any]) -> Any:
    """Return a node as JSON has it, with numbers as text in their usual spelling."""
    import yaml

    if node is None or id(node) in known:
        return known.get(id(node))
    value: Any = node.value
    kind = node.tag.rpartition(":")[2]
    if isinstance(node, yaml.MappingNode):
        pairs = [
            (key.tag.endswith(":merge"), str(key.value), _yaml_value(each, position, known))
            for key, each in value
        ]
        value = _once([(name, inner) for merges, name, inner in pairs if not merges], position)
        for base in (inner for merges, _, inner in pairs if merges):
            # Of several, earlier ones count.
            for each in base if isinstance(base, list) else [base]:
                value = {**each, **value}
    elif isinstance(node, yaml.SequenceNode):
        value = [_yaml_value(each, position, known) for each in value]
    elif kind == "null":
        value = None
    elif kind == "bool":
        value = value.lower() in {"yes", "true", "on"}
    # 007 stays as it is, and so does 1:30 for minutes.
    elif kind in {"int", "float"} and not re.match(r"[+-]?0[0-9_]", value):
        plain = value.lower().replace(".inf", "inf").replace(".nan", "nan")
        with contextlib.suppress(ValueError):
            value = str(int(plain, 0) if kind == "int" else float(plain))
    known[id(node)] = value
    return value


def _size(value: Any, known: dict[int, int]) -> int:
    """Count the values in a document, each as often as aliases repeat it."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_size(each, known) for each in inner)
    return known[id(value)]


def _with_dots(value: dict[str, Any], position: Position) -> dict[str, str]:
    """Return the contents of an object, nested objects with dots in their names."""
    leaves = []
    for name, leaf in _leaves(value, ""):
        if len(name) > _LONGEST_NAME:
            raise position.error(None, f"a name in it has more than {_LONGEST_NAME:,} letters")
        leaves.append((name, leaf))
    return _once(leaves, position)


def _leaves(value: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, inner in value.items():
        name = f"{prefix}{key.strip(BLANKS)}"
        if isinstance(inner, dict):
            yield from _leaves(inner, f"{name}.")
        elif isinstance(inner, bool):
            yield name, _Literal(str(inner).lower())
        elif inner is not None and inner != "":
            yield name, inner if isinstance(inner, str) else json.dumps(inner)
