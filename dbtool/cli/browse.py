"""The commands that list what the database holds."""

from typing import Annotated

import typer

from dbtool.cli.completion import trainable_workloads
from dbtool.cli.options import (
    AnyWorkloads,
    BatchSizes,
    Database,
    Format,
    Limit,
    OutputFormat,
    Release,
    Workloads,
)


def releases(
    db: Database = None, output_format: OutputFormat = Format.TABLE, limit: Limit = None
) -> None:
    """List the releases with their sizes.

    Example: dbtool releases --format markdown
    """
    from dbtool.cli.database import print_answer, reading
    from dbtool.store.questions import listed

    with reading(db) as database:
        print_answer(database, listed("releases"), output_format, limit)


def workloads(
    *,
    catalog: Annotated[
        bool,
        typer.Option(
            "--catalog",
            help="List instead the 35 workloads of the archive of 2018, also without its data: "
            "goals, sizes, trials by status, and which releases here hold them.",
        ),
    ] = False,
    show: Annotated[
        str | None,
        typer.Option(
            "--show",
            metavar="NAME",
            help="Print instead every setting of a workload that can be trained, and whether it is "
            "stated by the paper or its release, recalled from the paper, or chosen here.",
            autocompletion=trainable_workloads,
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
        from dbtool.cli.workloads import print_catalog

        print_catalog(db, release, output_format, limit)
        return
    from dbtool.cli.database import print_answer, reading
    from dbtool.store.questions import listed

    with reading(db, release) as database:
        print_answer(database, listed("workloads", release=release), output_format, limit)


def studies(
    workload: AnyWorkloads = None,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """List the studies: one batch size of one workload each.

    Example: dbtool studies 'mnist/*'
    """
    from dbtool.cli.database import print_answer, reading
    from dbtool.store import questions

    with reading(db, release) as database:
        print_answer(
            database, questions.studies(database, workload or None, release), output_format, limit
        )


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
    from dbtool.cli.database import print_answer, reading
    from dbtool.store import questions

    with reading(db, release) as database:
        question = questions.trials(database, workload, batch_size or None, release)
        print_answer(database, question, output_format, limit)
