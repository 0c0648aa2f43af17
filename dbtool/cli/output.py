"""Prints the rows of a query on standard output, in any of the formats, as they arrive."""

import itertools
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from dbtool.cli.options import BINARY, FOR_READERS, Format
from dbtool.cli.table import View, print_text
from dbtool.core.errors import DbtoolError, UsageError, first_sentence
from dbtool.store.statements import RowStream, streamed

if TYPE_CHECKING:
    from dbtool.store.questions import Question

_NESTED = frozenset({"map", "struct", "tuple", "list", "array", "union"})
# Types whose text in CSV is read back as the same value.
_READ_BACK = frozenset(
    {"boolean", "varchar", "tinyint", "smallint", "integer", "bigint", "float", "double"}
    | {"utinyint", "usmallint", "uinteger", "ubigint"}
)
# A lambda's parameter must not be the name of a column.
_EACH = '"dbtool each"'
# A quarter of a row group of DuckDB's, since rows of text take a lot of memory.
_ROWS_OF_A_BATCH = 30_720


@dataclass(frozen=True)
class TypedRows(RowStream):
    """Rows as they arrive, with no two columns of the same name.

    Attributes:
        converter: a connection of its own to convert them with.
    """

    converter: duckdb.DuckDBPyConnection

    @property
    def nested(self) -> list[bool]:
        """Whether the values of each column are nested; `plain` has them as JSON."""
        return [kind.id in _NESTED for kind in self.types]

    def plain(self) -> Iterator[pa.Table]:
        """Yield the rows as numbers, booleans and text."""
        columns = zip(map(_quoted, self.schema.names), self.types, strict=True)
        return self._converted(
            ", ".join(f"{_for_csv(name, kind)} AS {name}" for name, kind in columns)
        )

    def documents(self) -> Iterator[str]:
        """Yield each row as a JSON object on one line."""
        columns = zip(map(_quoted, self.schema.names), self.types, strict=True)
        items = ", ".join(f"{name}: {_for_json(name, kind)}" for name, kind in columns)
        for table in self._converted(f"to_json({{{items}}})::VARCHAR AS line"):
            yield from table["line"].to_pylist()

    def _converted(self, selected: str) -> Iterator[pa.Table]:
        # One query over all batches would run ahead of a slow reader and keep its rows in memory.
        for batch in self.batches:
            self.converter.register("incoming", pa.Table.from_batches([batch]))
            yield self.converter.sql(f"SELECT {selected} FROM incoming").to_arrow_table()  # noqa: S608 (quoted)


def require_printable(output_format: Format) -> None:
    """Refuse a binary format on a terminal with a UsageError, before a query runs."""
    if output_format in BINARY and sys.stdout.isatty():
        raise UsageError(
            f"--format {output_format} is not for a terminal; "
            f"send it to a file with `> rows.{output_format}`"
        )


def print_rows(
    cursor: duckdb.DuckDBPyConnection,
    question: "Question",
    output_format: Format,
    limit: int | None = None,
    on_rows: Callable[[], None] = lambda: None,
    view: View = View(),
) -> bool:
    """Run a query, print its rows, a batch at a time, and return whether there are any.

    Args:
        cursor: runs the query.
        question: the query.
        output_format: how its rows are printed.
        limit: print at most this many rows; None for all.
        on_rows: called before the first row is printed.
        view: which columns are printed.

    Raises:
        UsageError: a requested column does not exist.
        DbtoolError: the format cannot store a column.
        duckdb.Error: the query fails, maybe after some rows.
    """
    with (
        streamed(cursor, question.sql, question.values, _ROWS_OF_A_BATCH) as stream,
        duckdb.connect() as converter,
    ):
        # The query begins to fail, if it does, before anything is printed.
        first = next(stream.batches, None)
        on_rows()
        batches = itertools.chain([] if first is None else [first], stream.batches)
        _print(
            TypedRows(stream.schema, stream.types, batches, converter), output_format, limit, view
        )
        return bool(first)


def print_table(
    rows: pa.Table,
    output_format: Format,
    limit: int | None = None,
    view: View = View(),
    documents: Collection[str] = (),
) -> None:
    """Print rows from memory as `print_rows` does; the text of columns in `documents` is JSON."""
    require_printable(output_format)
    replaced = ", ".join(
        f"{name}::JSON AS {name}" for name in documents if name in rows.schema.names
    )
    columns = f"* REPLACE ({replaced})" if replaced else "*"
    with duckdb.connect() as converter:
        converter.register("rows", rows)
        relation = converter.sql(f"SELECT {columns} FROM rows")  # noqa: S608 (ours)
        table = relation.to_arrow_table()
        batches = iter(table.to_batches(max_chunksize=_ROWS_OF_A_BATCH))
        typed = TypedRows(table.schema, relation.types, batches, converter)
        _print(typed, output_format, limit, view)


def _print(rows: TypedRows, output_format: Format, limit: int | None, view: View) -> None:
    names = _distinct(rows.schema.names)
    chosen = view.positions(names)
    schema = pa.schema([rows.schema.field(at).with_name(names[at]) for at in chosen])
    types = [rows.types[at] for at in chosen]
    batches = _limited((batch.select(chosen) for batch in rows.batches), schema, limit)
    rows = TypedRows(schema, types, batches, rows.converter)
    if output_format in FOR_READERS:
        print_text(rows, output_format, view)
        return
    try:
        _write_for_programs(rows, output_format, sys.stdout.buffer)
    except pa.ArrowException as error:
        raise DbtoolError(
            f"writing --format {output_format} failed: {first_sentence(error)}; "
            "cast the column in the query or choose another --format"
        ) from error
    sys.stdout.buffer.flush()


def _limited(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, limit: int | None
) -> Iterator[pa.RecordBatch]:
    left = limit
    while left is None or left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        batch = batch.slice(0, left)
        left = None if left is None else left - batch.num_rows
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names that differ even if case is ignored; repeated names get a number."""
    taken: set[str] = set()
    distinct = []
    for name in names:
        candidates = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(1)))
        free = next(each for each in candidates if each.lower() not in taken)
        taken.add(free.lower())
        distinct.append(free)
    return distinct


def _write_for_programs(rows: TypedRows, output_format: Format, output: BinaryIO) -> None:
    match output_format:
        case Format.CSV:
            # Polars takes a while to import.
            import polars as pl

            header = pl.DataFrame(schema=dict.fromkeys(rows.schema.names, pl.String))
            output.write(header.write_csv().encode())
            # Where Polars writes by itself, its errors do not tell what the system says.
            output.writelines(
                pl.DataFrame(table).write_csv(include_header=False).encode()
                for table in rows.plain()
            )
        case Format.JSON:
            before = "[\n"
            for line in rows.documents():
                output.write(f"{before}{line}".encode())
                before = ",\n"
            output.write(b"[]\n" if before == "[\n" else b"\n]\n")
        case Format.JSONL:
            output.writelines(f"{line}\n".encode() for line in rows.documents())
        case Format.PARQUET:
            import pyarrow.parquet as pq

            with pq.ParquetWriter(output, rows.schema, compression="zstd") as parquet:
                for batch in rows.batches:
                    parquet.write_batch(batch)
        case Format.ARROW:
            with pa.ipc.new_stream(output, rows.schema) as stream:
                for batch in rows.batches:
                    stream.write_batch(batch)


def _quoted(name: str) -> str:
    """Return a column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _for_json(expression: str, kind: DuckDBPyType) -> str:
    """Return an expression that becomes valid JSON: NaN and infinite numbers become NULL."""
    match kind.id:
        case "double":
            return f"(CASE WHEN isfinite({expression}) THEN {expression} END)"
        case "float":
            # Through its text, since 0.1 would be written as 0.10000000149011612 otherwise.
            return f"(CASE WHEN isfinite({expression}) THEN {expression}::VARCHAR::DOUBLE END)"
        case "map":
            value = _for_json(f"{_EACH}.value", dict(_children(kind))["value"])
            entries = (
                f"list_transform(map_entries({expression}), "
                f"lambda {_EACH}: {{k: {_EACH}.key, v: {value}}})"
            )
            return f"map_from_entries({entries})"
        case "list" | "array":
            item = _for_json(_EACH, dict(_children(kind))["child"])
            return f"list_transform({expression}, lambda {_EACH}: {item})"
        case "struct" | "tuple":
            values = [
                (name, _for_json(f"struct_extract_at({expression}, {position})", child))
                for position, (name, child) in enumerate(_children(kind), 1)
            ]
            # JSON has the fields of row(), which are without names, as a list.
            fields = ", ".join(
                f"{_quoted(name)}: {value}" if name else value for name, value in values
            )
            made = f"{{{fields}}}" if all(name for name, _ in values) else f"row({fields})"
            return f"(CASE WHEN {expression} IS NOT NULL THEN {made} END)"
    return f"{expression}::JSON" if str(kind) == "JSON" else expression


def _children(kind: DuckDBPyType) -> list[tuple[str, DuckDBPyType]]:
    return [(name, child) for name, child in kind.children if isinstance(child, DuckDBPyType)]


def _for_csv(expression: str, kind: DuckDBPyType) -> str:
    """Return an expression for a number, a boolean or text; nested values become JSON."""
    if kind.id in _NESTED:
        return f"to_json({_for_json(expression, kind)})::VARCHAR"
    return expression if kind.id in _READ_BACK else f"{expression}::VARCHAR"
