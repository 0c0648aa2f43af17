"""The command that runs the user's own query, or an analysis that ships with the program."""

import contextlib
import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from dbtool.cli import options
from dbtool.cli.database import reading
from dbtool.cli.messages import query_bar, tell
from dbtool.cli.table import View
from dbtool.core.errors import UsageError
from dbtool.core.files import read_small, read_to_end
from dbtool.store.questions import (
    Question,
    check_values,
    chosen_workloads,
    is_analysis,
    lack_of,
    of_workloads,
    query_text,
)

if TYPE_CHECKING:
    from dbtool.database import Database

_WHOLE_NUMBER = re.compile(r"[+-]?\d+")
_MOST_DIGITS = 38
_DECIMAL_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Command(TyperCommand):
    """The command; its help lists the analyses."""

    def format_epilog(self, ctx: object, formatter: Any) -> None:  # noqa: ARG002 (Typer's signature)
        """Write each analysis with the question that it answers."""
        with formatter.section("Analyses"):
            formatter.write_dl(options.analysis_names())


def sql(
    text: Annotated[str | None, typer.Argument(autocompletion=options.analysis_names)] = None,
    workload: options.AnyWorkloads = None,
    *,
    file: Annotated[Path | None, typer.Option("-f", "--file")] = None,
    param: Annotated[list[str] | None, typer.Option("--param", "-p")] = None,
    with_: Annotated[list[str] | None, typer.Option("--with")] = None,
    dialect: Annotated[str | None, typer.Option(autocompletion=options.dialects)] = None,
    db: str | None = None,
    fetch_up_to: options.FetchUpTo = options.FETCH_UP_TO,
    wide: options.Wide = False,
    output_format: options.OutputFormat = options.Format.TABLE,
    limit: options.Limit = None,
) -> None:
    """Run one SQL query and print its rows.

    The query reads the views releases, workloads, studies, trials, measurements and evaluations; it
    cannot write, and reads no files but those that --with adds. `dbtool sql 'DESCRIBE
    measurements'` lists a view's columns. The analyses that ship run by their names, as in `dbtool
    sql summary`, and --dialect prints any query as other engines run it.

    Example: dbtool sql 'SELECT workload, trials FROM workloads WHERE goal < $goal' --param goal=0.5

    Args:
        text (QUERY|NAME): One SELECT statement in quotes, or the name of an analysis; - reads a
            statement from standard input.
        workload (WORKLOAD): With the name of an analysis: only rows of these workloads.
        file (FILE): Read the query from a file.
        param (NAME=VALUE): The value of $NAME in the query; may be given more than once. What looks
            like a number is one, all else is text.
        with_ (NAME=FILE): A table that the query may join: a CSV, Parquet or JSON Lines file, told
            by its ending; may be given more than once.
        dialect (NAME): Print the query in another dialect instead, over tables RELEASE.workloads,
            .studies, .trials and .measurements: spark, polars, datafusion or clickhouse.
    """
    import duckdb

    from dbtool.cli.output import print_rows, require_printable
    from dbtool.store.statements import one_query

    require_printable(output_format)
    if workload and not (text and is_analysis(text)):
        raise UsageError(
            f"unexpected word: {workload[0]}; put the query in quotes, as in `dbtool sql 'SELECT "
            "1'`, or name an analysis before the workload"
        )
    query = _query_text(text, file)
    values = parse_parameters(param or [])
    tables = _named_values(with_ or [], "--with", "FILE", "runs=my.csv", may_be_empty=False)
    if dialect is not None and tables:
        raise UsageError("--dialect prints a query over releases alone: leave out --with")
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(reading(db, fetch_up_to=fetch_up_to))
        if workload:
            query = of_workloads(query, chosen_workloads(database, workload))
        if dialect is not None:
            _print_translated(query, dialect, values, database)
            return
        cursor = stack.enter_context(database.cursor(query, tables=tables))
        statement = one_query(cursor, query)
        check_values(statement.named_parameters, values, "give it with `--param {name}=VALUE`")
        with query_bar(cursor) as ended:
            if (
                statement.type == duckdb.StatementType.EXPLAIN
                and output_format is options.Format.TABLE
            ):
                # A plan is a drawing over many lines, which do not fit in the cell of a table.
                sys.stdout.writelines(
                    plan for _, plan in cursor.execute(statement, values).fetchall()
                )
                return
            # A bar ends when rows go to the terminal, and stays while they go to a file or a pipe.
            on_rows = ended if sys.stdout.isatty() else lambda: None
            question, view = Question(statement, values), View(wide=wide)
            has_rows = print_rows(cursor, question, output_format, limit, on_rows, view)
    if not has_rows and text is not None and (lack := lack_of(text)):
        tell(lack)


def parse_parameters(given: list[str]) -> dict[str, int | float | str]:
    """Parse the query's named values.

    Args:
        given: each NAME=VALUE; a value that looks like a whole or decimal number becomes one.

    Raises:
        UsageError: an item has no name or no equals sign, or a name is repeated.
    """
    named = _named_values(given, "--param", "VALUE", "goal=0.03")
    return {name: _parameter_value(name, value) for name, value in named.items()}


def _named_values(
    given: list[str], option: str, noun: str, example: str, *, may_be_empty: bool = True
) -> dict[str, str]:
    """Split each NAME=VALUE of an option; the name may stand as in the query, as $NAME."""
    values: dict[str, str] = {}
    for each in given:
        name, equals, value = each.removeprefix("$").partition("=")
        if not name or not equals or not (value or may_be_empty):
            raise UsageError(f"{option} {each!r} is not NAME={noun}, such as {option} {example}")
        if name in values:
            raise UsageError(f"{option} {name} is given twice; give each name once")
        values[name] = value
    return values


def _parameter_value(name: str, value: str) -> int | float | str:
    if not _DECIMAL_NUMBER.fullmatch(value):
        return value
    # As in SQL, longer ones are decimals.
    if _WHOLE_NUMBER.fullmatch(value) and len(value.lstrip("+-")) <= _MOST_DIGITS:
        return int(value)
    number = float(value)
    if math.isinf(number):
        raise UsageError(
            f"--param {name} is a number beyond {sys.float_info.max:.1e}, the largest of SQL"
        )
    return number


def _query_text(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise UsageError(
            "give one query: `dbtool sql QUERY`, `dbtool sql NAME`, `dbtool sql -f FILE` or "
            "`dbtool sql -`"
        )
    if file is None and text != "-":
        return query_text(str(text))
    source = "standard input" if file is None else f"the query file {str(file)!r}"
    try:
        if file is not None:
            return read_small(file).decode()
        with open(0, "rb", closefd=False) as standard_input:
            return read_to_end(standard_input, source).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"{source} cannot be read: {reason}") from error


def _print_translated(
    query: str, dialect: str, values: dict[str, int | float | str], database: "Database"
) -> None:
    """Print a query as another engine runs it."""
    from dbtool.core.manifest import About
    from dbtool.dialects.translation import translated

    rows = database.sql("SELECT release, title, licence, citation FROM releases").polars()
    typer.echo(translated(query, dialect, [About(**row) for row in rows.to_dicts()], values))
