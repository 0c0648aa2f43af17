"""The command that tells how far larger batches help."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.options import (
    AnyWorkloads,
    Database,
    Format,
    Goal,
    Metric,
    OutputFormat,
    Release,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from dbtool.analysis.answers import Answer
    from dbtool.analysis.scaling import Settings

_WIDTH = 80


def command(
    workload: AnyWorkloads = None,
    *,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Steps to result of any origin in place of a database's: a table with the columns "
            "batch_size, steps and, if there are several, workload.",
        ),
    ] = None,
    goal: Goal = None,
    metric: Metric = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="Compare the best of K trials; without it of as many as every study has.",
        ),
    ] = None,
    overhead: Annotated[
        float,
        typer.Option(
            min=0.001,
            metavar="X",
            help="The share by which steps exceed linear scaling at the critical batch size of "
            "that definition.",
        ),
    ] = 0.2,
    start: Annotated[
        float | None,
        typer.Option(
            "--from",
            min=1e-9,
            metavar="B",
            help="The batch size from which scaling is linear; without it the smallest.",
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, metavar="P", help="The level of all intervals.")
    ] = 0.95,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
) -> None:
    """Tell how far larger batches help on a workload, and how sure that is.

    First in words, then a row a workload with its critical batch size by two definitions: at the
    tradeoff a run takes twice the fewest steps and twice the fewest examples; at the overhead steps
    exceed linear scaling by a share. Searches are compared at equal numbers of trials, and what the
    data cannot tell is said. Other formats print a row a workload and definition.

    Example: dbtool scaling 'mnist/fc_*'
    """
    from dbtool.analysis.answers import answers_of_csv, answers_of_database, rows
    from dbtool.analysis.scaling import Settings
    from dbtool.cli.database import reading
    from dbtool.cli.output import print_table, require_printable
    from dbtool.core.errors import UsageError

    require_printable(output_format)
    settings = Settings(level=level, overhead=overhead, start=start, trials=trials)
    if csv is not None:
        for name, value in {"WORKLOAD": workload, "--db": db, "--trials": trials}.items():
            if value:
                raise UsageError(f"--csv takes the place of a database; leave out {name}")
        found = answers_of_csv(csv, settings)
    else:
        with reading(db, release) as database:
            found = answers_of_database(
                database, workload or "*", settings, goal=goal, metric=metric, release=release
            )
    if output_format == Format.TABLE:
        for answer in found:
            _print_words(answer, settings)
        print_table(_in_short(found), output_format)
    else:
        print_table(rows(found, settings).to_arrow(), output_format)


def _in_short(answers: "list[Answer]") -> "pa.Table":
    """A row a workload."""
    import pyarrow as pa

    from dbtool.analysis.words import in_short

    made = [
        {
            "workload": answer.workload,
            "tradeoff": in_short(answer.scaling.tradeoff),
            "overhead": in_short(answer.scaling.overhead),
        }
        for answer in answers
    ]
    schema = pa.schema([(name, pa.string()) for name in ("workload", "tradeoff", "overhead")])
    return pa.Table.from_pylist(made, schema=schema)


def _print_words(answer: "Answer", settings: "Settings") -> None:
    from dbtool.analysis.words import sentences

    heading = answer.workload or "steps"
    if answer.release is not None:
        heading += f" ({answer.release}), {answer.metric} past {answer.goal:g}"
    typer.echo(heading)
    for sentence in sentences(answer.scaling, settings):
        typer.echo(textwrap.fill(sentence, _WIDTH, initial_indent="  ", subsequent_indent="    "))
    typer.echo()
