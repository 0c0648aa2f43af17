"""The options of `dbtool produce`, as annotated types: what to train, how much, and where."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.completion import presets, trainable_workloads
from producers.limits import BUDGET, DEFAULT_TRIALS, FEASIBLE, STEPS, TRIALS
from producers.lockstep.words import Search


class Place(StrEnum):
    """What trains a sweep."""

    RAY = "ray"


Patterns = Annotated[
    list[str] | None,
    typer.Argument(
        help="Workloads, or patterns such as 'mnist/fc_*'.",
        autocompletion=trainable_workloads,
        show_default=False,
    ),
]

BatchSizeList = Annotated[
    str | None,
    typer.Option(
        metavar="B,B,…",
        help="Global batch sizes; without it those of the published study.",
        show_default=False,
    ),
]

Everything = Annotated[bool, typer.Option("--all", help="Train every workload.")]

PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="Train what a TOML file says, instead of workloads and options that say what: its "
        "release, its seed, data to replace, and tables [[sweep]] of workloads, each with "
        "batch_sizes, trials, feasible, and steps or budget.",
        show_default=False,
    ),
]

PresetName = Annotated[
    str | None,
    typer.Option(
        metavar="smoke|laptop|paper",
        help="How much to train: `smoke`, a few steps on made-up data; `laptop`, a fifth of the "
        "trials and steps at small batch sizes; `paper`, all of the published study. Other options "
        "come before what it says.",
        autocompletion=presets,
        show_default=False,
    ),
]

Trials = Annotated[
    int | None,
    typer.Option(
        min=TRIALS.least,
        max=TRIALS.most,
        metavar="N",
        help="Train the trials 0 to N - 1 of each study; without it "
        f"{DEFAULT_TRIALS}, or the preset's.",
        show_default=False,
    ),
]

Feasible = Annotated[
    int | None,
    typer.Option(
        min=FEASIBLE.least,
        max=FEASIBLE.most,
        metavar="N",
        help="Add trials until N of a study did not diverge, at most 5 N in all; without it 0, or "
        "the preset's.",
        show_default=False,
    ),
]

Steps = Annotated[
    int | None,
    typer.Option(
        min=STEPS.least,
        max=STEPS.most,
        metavar="N",
        help="Steps of each trial; without it the workload's budget.",
        show_default=False,
    ),
]

Budget = Annotated[
    float | None,
    typer.Option(
        min=BUDGET.least,
        max=BUDGET.most,
        metavar="X",
        help="Multiplies the workload's budget of steps; without it 1, or the preset's.",
        show_default=False,
    ),
]

SearchName = Annotated[
    Search | None,
    typer.Option(
        help="`fixed`, every trial trains to its end, as in the papers; `lockstep`, a study ends "
        "when the first of its trials is past the goal; `window`, also search the whole space at "
        "one batch size alone and near the last optimum at the others. Without it `fixed`.",
        show_default=False,
    ),
]

Dropping = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Drop a trial whose best value after n steps is worse than the leader's after n / X; "
        "4 is safe for fully connected networks, 8 for convolutional ones.",
        show_default=False,
    ),
]

Reaching = Annotated[
    int | None,
    typer.Option(
        min=TRIALS.least,
        max=TRIALS.most,
        metavar="N",
        help="End a study when N of its trials are past the goal; without it 1. More tell how "
        "lucky the first was.",
        show_default=False,
    ),
]

WideTrials = Annotated[
    int | None,
    typer.Option(
        min=TRIALS.least,
        max=TRIALS.most,
        metavar="N",
        help="Trials of the study that searches the whole space; without it 50.",
        show_default=False,
    ),
]

WideAt = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="B",
        help="The study at the batch size closest to B searches the whole space; without it 64.",
        show_default=False,
    ),
]

Replacements = Annotated[
    list[str] | None,
    typer.Option(
        "--replace",
        metavar="SOURCE=NAME:FOLDER",
        help="Train on what is in the folder, called NAME, instead of the data set SOURCE whose "
        "format it has; workloads are then named replaced/NAME/…. May be given more than once.",
        show_default=False,
    ),
]

Goal = Annotated[
    float | None,
    typer.Option(
        "--goal",
        metavar="X",
        help="The goal of workloads whose data is replaced; without it they have none.",
        show_default=False,
    ),
]

Out = Annotated[
    Path, typer.Option(metavar="DIR", help="Where the shards go, and where the sweep goes on.")
]

ReleaseName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The release that the measurements belong to; without it `local`, or the preset's.",
        show_default=False,
    ),
]

Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Every random number of the sweep follows from it; without it 0.",
        show_default=False,
    ),
]

Block = Annotated[
    int, typer.Option(min=1, metavar="N", help="Most trials that are trained together.")
]

SharedBatches = Annotated[
    bool, typer.Option("--shared-batches", help="Give all trials of a study the same batches.")
]

Datasets = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="DBTOOL_DATASETS",
        help="Look for data sets here first.",
        show_default=False,
    ),
]

SliceOfSweep = Annotated[
    str | None,
    typer.Option(
        "--slice",
        metavar="I/N",
        help="Train the I-th of N shares of the sweep, as the tasks of a job array do.",
        show_default=False,
    ),
]

On = Annotated[
    Place | None,
    typer.Option(
        metavar="ray",
        help="Train on the Ray cluster of RAY_ADDRESS, else on one of this machine alone.",
        show_default=False,
    ),
]

CpusPerTask = Annotated[
    int, typer.Option(min=1, metavar="N", help="CPU cores of a block's worker on a cluster.")
]

GpusPerTask = Annotated[
    int, typer.Option(min=0, metavar="N", help="GPUs of a block's worker on a cluster.")
]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would run and train nothing.")]

ListWorkloads = Annotated[
    bool,
    typer.Option("--list", help="Print the workloads, their goals and published batch sizes."),
]
