"""Options that commands share, as annotated types."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.completion import held_releases, held_workloads


class Format(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    PARQUET = "parquet"
    ARROW = "arrow"


BINARY = (Format.PARQUET, Format.ARROW)


Database = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="FILE|URL",
        help="The database file, or to read the URL or folder of a published release; without it "
        "the one DBTOOL_DB names, the one in the user's data "
        "folder, or the release that ships with dbtool.",
        show_default=False,
    ),
]

Release = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="NAME",
        help="Only rows of this release; see `dbtool releases`.",
        autocompletion=held_releases,
        show_default=False,
    ),
]

OutputFormat = Annotated[
    Format,
    typer.Option(
        "--format",
        case_sensitive=False,
        metavar="|".join(Format),
        help="How rows are printed. In json and jsonl, NaN and infinite numbers become null; "
        "arrow is an IPC stream.",
    ),
]

Limit = Annotated[
    int | None,
    typer.Option("--limit", min=0, metavar="N", help="Print at most N rows.", show_default=False),
]

Workloads = Annotated[
    list[str],
    typer.Argument(
        metavar="WORKLOAD...",
        help="Names of workloads, or patterns in quotes such as 'mnist/fc_*'; "
        "see `dbtool workloads`.",
        autocompletion=held_workloads,
        show_default=False,
    ),
]

BatchSizes = Annotated[
    list[int] | None,
    typer.Option(
        "--batch-size",
        min=1,
        metavar="B",
        help="Only this batch size; may be given more than once.",
        show_default=False,
    ),
]
