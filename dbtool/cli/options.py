"""Options that commands share, as annotated types, and what a shell completes them with.

Unreadable sources offer no names: a shell shows no errors while a person types.
"""

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    LATEX = "latex"
    PARQUET = "parquet"
    ARROW = "arrow"


BINARY = (Format.PARQUET, Format.ARROW)
FOR_READERS = (Format.TABLE, Format.MARKDOWN, Format.LATEX)
"""The formats whose numbers are rounded."""


def held_workloads(context: typer.Context) -> list[str]:
    """List the workloads of the releases that are read, or of the release named before."""
    return _names_in_database(context, "held_workloads", release=context.params.get("release"))


def held_releases(context: typer.Context) -> list[str]:
    """List the releases that are read."""
    return _names_in_database(context, "releases")


def trainable_workloads() -> list[str]:
    """List the workloads that can be trained."""
    from producers.workloads.registry import WORKLOADS

    return list(WORKLOADS)


def figures() -> list[tuple[str, str]]:
    """List the figures, each with its title."""
    from dbtool.figures.specs import FIGURES

    return [*((spec.name, spec.title) for spec in FIGURES), ("all", "Every figure that has data")]


def analysis_names() -> list[tuple[str, str]]:
    """List the analyses, each with the question that it answers."""
    from dbtool.store.questions import analyses

    return list(analyses().items())


def dialects() -> list[str]:
    """List the SQL dialects that queries are translated to."""
    from dbtool.dialects.translation import DIALECTS

    return list(DIALECTS)


def _names_in_database(context: typer.Context, query_name: str, **values: str | None) -> list[str]:
    """Return the first column of one of the queries in queries/browse."""
    from dbtool.core.errors import DbtoolError
    from dbtool.database import open_database
    from dbtool.store.questions import index_question

    try:
        with open_database(context.params.get("db")) as db:
            return [row[0] for row in db.result(index_question(query_name, **values))]
    except (DbtoolError, OSError, RuntimeError):
        return []


SHARED = f"""
    db (FOLDER|URL): A release folder, a folder of them, or the URL of one (to read only); without
        it what DBTOOL_DB names, or your own releases and the one that ships with dbtool.
    release (NAME): Only rows of this release; see `dbtool releases`.
    workload (WORKLOAD): Names of workloads, or patterns in quotes such as 'mnist/fc_*'; without
        any, all.
    batch_size (B): Only this batch size; may be given more than once.
    goal (X): The value of the metric to get past: below it or, where more is better, above it; in
        place of each workload's own.
    metric (NAME): The column whose values are to get past the goal, such as
        val_classification_error; without it each workload's own metric.
    trials (N): Count the first N trials of each study; of replicates, the first N settings.
    sustained (N): Count the first of N evaluations in a row that are all past the goal; without it
        the first evaluation past it.
    columns (NAME,NAME,…): Print these columns in this order; a table leaves out some unless they
        are named.
    wide: Print a table with all columns, however wide the terminal is.
    output_format ({"|".join(Format)}): How rows are printed. In json and jsonl, NaN and infinite
        numbers become null; arrow is an IPC stream; latex is a tabular of the package booktabs.
    limit (N): Print at most N rows.
    fetch_up_to (MB): Of a release on a server, fetch at most so many megabytes.
    retries (N): Give up after so many tries that bring nothing new.
    timeout (SECONDS): Give up a connection on which nothing comes for so long.
"""
"""The parameters that commands share, described as in a docstring, unless a command has its own."""

Destination = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="The release folder to add to, or the folder of releases in which it is or is to be; "
        "without it what DBTOOL_DB names, or your own releases.",
    ),
]
Workloads = Annotated[
    list[str],
    typer.Argument(
        metavar="WORKLOAD",
        help="Names of workloads, or patterns in quotes such as 'mnist/fc_*'; "
        "see `dbtool workloads`.",
        autocompletion=held_workloads,
    ),
]
AnyWorkloads = Annotated[list[str] | None, typer.Argument(autocompletion=held_workloads)]
WorkloadOption = Annotated[list[str] | None, typer.Option(autocompletion=held_workloads)]
Release = Annotated[str | None, typer.Option(autocompletion=held_releases)]
Wide = Annotated[bool, typer.Option("--wide")]
OutputFormat = Annotated[Format, typer.Option("--format", case_sensitive=False)]
Limit = Annotated[int | None, typer.Option(min=0, max=10**15, show_default=False)]
FETCH_UP_TO = 100
FetchUpTo = Annotated[int, typer.Option(min=0)]
Retries = Annotated[int, typer.Option(min=0, max=1000)]
Timeout = Annotated[float, typer.Option(min=0.1, max=3600.0)]
