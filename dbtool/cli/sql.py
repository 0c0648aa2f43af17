"""The command that runs a query of the user's own."""

import contextlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.options import Database, Format, Limit, OutputFormat
from dbtool.errors import UsageError, unknown

if TYPE_CHECKING:
    import duckdb

_WHOLE = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def command(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUERY]",
            help="One SELECT statement in quotes; - reads it from standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    file: Annotated[
        Path | None,
        typer.Option(
            "-f", "--file", metavar="FILE", help="Read the query from a file.", show_default=False
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="The value of $NAME in the query; may be given more than once. "
            "What looks like a number is one, all else is text.",
            show_default=False,
        ),
    ] = None,
    db: Database = None,
    fetch_up_to: Annotated[
        int,
        typer.Option(
            "--fetch-up-to",
            min=0,
            metavar="MB",
            help="Of a release on a server, fetch so many megabytes for a query without asking.",
        ),
    ] = 100,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """Run one SQL query over the database and print its rows.

    The query reads the views releases, workloads, studies, trials and measurements; it cannot
    write, and cannot read other files. `dbtool sql 'DESCRIBE measurements'` lists a view's columns.

    Example: dbtool sql 'SELECT workload, trials FROM workloads WHERE goal < $goal' --param goal=0.5
    """
    from dbtool.cli.database import reading
    from dbtool.cli.fetching import ask_before_fetching
    from dbtool.cli.output import require_printable

    require_printable(output_format)
    query = _query_text(text, file)
    values = parse_parameters(param or [])
    with reading(db) as connection:
        ask_before_fetching(connection, query, values, fetch_up_to)
        _run(connection, query, values, output_format, limit)


def parse_parameters(words: list[str]) -> dict[str, int | float | str]:
    """The query's named values, from words such as goal=0.03.

    Args:
        words: each NAME=VALUE; a value that looks like a whole or decimal number becomes one.

    Raises:
        UsageError: a word has no name or no equals sign, or a name comes twice.
    """
    values: dict[str, int | float | str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.removeprefix("$")
        if not equals or not name:
            raise UsageError(f"--param {word!r} is not NAME=VALUE, such as --param goal=0.03")
        if name in values:
            raise UsageError(f"--param {name} is given twice; give each name once")
        values[name] = _typed(value)
    return values


def _typed(value: str) -> int | float | str:
    if _WHOLE.fullmatch(value):
        return int(value)
    return float(value) if _DECIMAL.fullmatch(value) else value


def _query_text(text: str | None, file: Path | None) -> str:
    """The query, from the one place that was named."""
    if (text is None) == (file is None):
        raise UsageError(
            "give one query: `dbtool sql QUERY`, `dbtool sql -f FILE` or `dbtool sql -`"
        )
    if file is None:
        return sys.stdin.read() if text == "-" else str(text)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"the query file {str(file)!r} cannot be read: {reason}") from error


def _run(
    connection: "duckdb.DuckDBPyConnection",
    query: str,
    values: dict[str, int | float | str],
    output_format: Format,
    limit: int | None,
) -> None:
    """Runs a query that is one statement and only reads, and prints its rows."""
    from dbtool.cli.query_progress import watched
    from dbtool.store.statements import one_query

    statement = one_query(connection, query)
    _check_parameters(statement.named_parameters, values)
    with contextlib.ExitStack() as progress:
        progress.enter_context(watched(connection))
        result = connection.execute(statement, values)
        if sys.stdout.isatty():
            # Rows on the terminal take the place of the progress; a file or a pipe leaves it there.
            progress.close()
        _print(result, statement.type, output_format, limit)


def _print(
    result: "duckdb.DuckDBPyConnection",
    kind: "duckdb.StatementType",
    output_format: Format,
    limit: int | None,
) -> None:
    import duckdb

    from dbtool.cli.output import print_rows

    if kind == duckdb.StatementType.EXPLAIN and output_format is Format.TABLE:
        # A plan is a drawing over many lines, which the cell of a table cannot hold.
        sys.stdout.writelines(plan for _, plan in result.fetchall())
        return
    print_rows(result, output_format, limit)


def _check_parameters(named: set[str], values: dict[str, int | float | str]) -> None:
    """Makes sure that the query's named values are those that are given."""
    for name in sorted(named - set(values)):
        raise UsageError(
            f"the query needs a value for ${name}; give it with `--param {name}=VALUE`"
        )
    for name in values:
        if name not in named:
            raise unknown("parameter", name, named, "dbtool sql --help")
