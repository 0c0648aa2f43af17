"""The commands that list what the database holds."""

from typing import Annotated, Any

import typer

from dbtool.cli.completion import held_workloads, trainable_workloads
from dbtool.cli.options import BatchSizes, Database, Format, Limit, OutputFormat, Release, Workloads


def releases(
    db: Database = None, output_format: OutputFormat = Format.TABLE, limit: Limit = None
) -> None:
    """List the releases the database holds.

    Example: dbtool releases --format markdown
    """
    from dbtool.cli.database import reading

    with reading(db) as connection:
        _print(connection, "releases", {}, output_format, limit)


def workloads(
    *,
    catalog: Annotated[
        bool,
        typer.Option(
            "--catalog",
            help="List the 35 workloads of the published archive instead, whether or not their "
            "data is there: goals, sizes, trials by status, and the releases that hold them. "
            "Settings are stated by the release, recalled from the paper, or chosen here.",
        ),
    ] = False,
    show: Annotated[
        str | None,
        typer.Option(
            "--show",
            metavar="NAME",
            help="Print every setting of a workload that can be trained instead, each stated by "
            "the paper or its release, recalled from the paper, or chosen here.",
            autocompletion=trainable_workloads,
            show_default=False,
        ),
    ] = None,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """List the workloads with their goals and sizes.

    Example: dbtool workloads --format csv > workloads.csv
    """
    if show is not None:
        from dbtool.cli.workloads import print_settings

        print_settings(show, output_format, limit)
        return
    if catalog:
        from dbtool.cli.catalog import print_catalog

        print_catalog(db, release, output_format, limit)
        return
    from dbtool.cli.database import reading
    from dbtool.store.names import check_release

    with reading(db) as connection:
        check_release(connection, release)
        _print(connection, "workloads", {"release": release}, output_format, limit)


def studies(
    workload: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORKLOAD...]",
            help="Names of workloads, or patterns in quotes; without any, all studies.",
            autocompletion=held_workloads,
            show_default=False,
        ),
    ] = None,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """List the studies: one batch size of one workload each.

    Example: dbtool studies 'mnist/*'
    """
    from dbtool.cli.database import reading
    from dbtool.store.names import matching_workloads

    with reading(db) as connection:
        names = matching_workloads(connection, workload or ["*"], release)
        values = {"workloads": names, "release": release}
        _print(connection, "studies", values, output_format, limit)


def trials(
    workload: Workloads,
    *,
    batch_size: BatchSizes = None,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """List the trials of a workload.

    Example: dbtool trials 'mnist/*' --batch-size 64 --limit 20
    """
    from dbtool.cli.database import reading
    from dbtool.store.names import check_batch_sizes, matching_workloads

    with reading(db) as connection:
        names = matching_workloads(connection, workload, release)
        check_batch_sizes(connection, names, release, batch_size or [])
        values = {"workloads": names, "release": release, "batch_sizes": batch_size}
        _print(connection, "trials", values, output_format, limit)


def _print(
    connection: Any,  # a DuckDB connection; its module is imported by the commands, not here
    query_name: str,
    values: dict[str, Any],
    output_format: Format,
    limit: int | None,
) -> None:
    """Runs one of the queries in queries/browse and prints its rows."""
    from dbtool.cli.output import print_rows, require_printable
    from dbtool.resources import query

    require_printable(output_format)
    print_rows(connection.execute(query(query_name), values), output_format, limit)
