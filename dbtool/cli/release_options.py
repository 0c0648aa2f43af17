"""The options of commands that write a release or fetch one, as annotated types."""

from pathlib import Path
from typing import Annotated

import typer

Title = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="One line on what it is; without it what the shards or the release say.",
        show_default=False,
    ),
]

Licence = Annotated[
    str | None,
    typer.Option(
        metavar="SPDX",
        help="Licence of the measurements; without it the one that the shards or the release "
        "name, or CC-BY-4.0.",
        show_default=False,
    ),
]

Citation = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="BibTeX by which to cite it, which `dbtool cite` prints; without it what the shards "
        "or the release say.",
        show_default=False,
    ),
]

LossBits = Annotated[
    int, typer.Option(min=1, max=23, metavar="N", help="Mantissa bits of batch losses to keep.")
]

EveryLossUpTo = Annotated[
    int, typer.Option(min=0, metavar="STEP", help="Keep all batch losses up to this step.")
]

ThenOneIn = Annotated[
    int, typer.Option(min=1, metavar="N", help="Of later batch losses, keep one in N.")
]

EvaluationsOnly = Annotated[
    bool, typer.Option("--evaluations-only", help="Keep no later losses between evaluations.")
]

Retries = Annotated[
    int,
    typer.Option(min=0, max=1000, metavar="N", help="Retries in a row that bring nothing new."),
]

Timeout = Annotated[
    float,
    typer.Option(
        min=0.1,
        max=3600.0,
        metavar="SECONDS",
        help="Give up a connection on which nothing comes for so long.",
    ),
]
