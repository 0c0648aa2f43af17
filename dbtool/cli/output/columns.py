"""SQL expressions that convert columns of any type to what JSON and CSV can represent."""

from __future__ import annotations

from duckdb.sqltypes import DuckDBPyType

NESTED = frozenset({"map", "struct", "tuple", "list", "array", "union"})
# Types whose text in CSV is read back as the same value.
PLAIN = frozenset(
    {"boolean", "varchar", "tinyint", "smallint", "integer", "bigint", "float", "double"}
    | {"utinyint", "usmallint", "uinteger", "ubigint"}
)
# A lambda's parameter must not be the name of a column.
_EACH = '"dbtool each"'


def quoted(name: str) -> str:
    """Return a column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def for_json(expression: str, kind: DuckDBPyType) -> str:
    """Return an expression that DuckDB writes as valid JSON: NaN and infinite numbers become NULL.

    Args:
        expression: SQL of the value.
        kind: the value's DuckDB type.
    """
    match kind.id:
        case "double":
            return f"(CASE WHEN isfinite({expression}) THEN {expression} END)"
        case "float":
            # Through its text, since 0.1 would be written as 0.10000000149011612 otherwise.
            return f"(CASE WHEN isfinite({expression}) THEN {expression}::VARCHAR::DOUBLE END)"
        case "map":
            value = for_json(f"{_EACH}.value", _children(kind)["value"])
            entries = (
                f"list_transform(map_entries({expression}), "
                f"lambda {_EACH}: {{k: {_EACH}.key, v: {value}}})"
            )
            return f"map_from_entries({entries})"
        case "list" | "array":
            item = for_json(_EACH, _children(kind)["child"])
            return f"list_transform({expression}, lambda {_EACH}: {item})"
        case "struct" | "tuple":
            return _struct(expression, kind)
    return f"{expression}::JSON" if str(kind) == "JSON" else expression


def _children(kind: DuckDBPyType) -> dict[str, DuckDBPyType]:
    return {name: child for name, child in kind.children if isinstance(child, DuckDBPyType)}


def _struct(expression: str, kind: DuckDBPyType) -> str:
    """Return a struct as an object; as a list if its fields have no names, as those of row()."""
    values = [
        (name, for_json(f"struct_extract_at({expression}, {position})", child))
        for position, (name, child) in enumerate(kind.children, 1)
        if isinstance(child, DuckDBPyType)
    ]
    if all(name for name, _ in values):
        made = f"{{{', '.join(f'{quoted(name)}: {value}' for name, value in values)}}}"
    else:
        made = f"json_array({', '.join(value for _, value in values)})"
    return f"(CASE WHEN {expression} IS NOT NULL THEN {made} END)"


def for_csv(expression: str, kind: DuckDBPyType) -> str:
    """Return an expression for a number, a boolean or text; nested values become JSON."""
    if kind.id in NESTED:
        return f"to_json({for_json(expression, kind)})::VARCHAR"
    return expression if kind.id in PLAIN else f"{expression}::VARCHAR"
