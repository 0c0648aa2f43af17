"""The options of `dbtool produce` that say how the devices train, as annotated types."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from producers.sweep.tasks import TrainingOptions


class Dtype(StrEnum):
    """What models compute in."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


ComputationType = Annotated[
    Dtype,
    typer.Option(
        "--dtype",
        help="What models compute in; weights and losses are float32 in either case.",
    ),
]

DevicesPerTrial = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Devices that share each batch of a trial; the others train other trials.",
    ),
]

MicroBatch = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Most examples of a batch that pass through the model at a time; gradients of larger "
        "batches are accumulated. Without it whole batches do.",
        show_default=False,
    ),
]

Distributed = Annotated[
    bool,
    typer.Option(
        "--distributed",
        help="Train on the devices of all hosts that run this command, such as those of a TPU pod; "
        "they need a file system in common for --out.",
    ),
]

CheckpointMinutes = Annotated[
    float,
    typer.Option(
        min=0.0,
        metavar="X",
        help="Save a checkpoint of the trials in training every so often.",
    ),
]

Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAME",
        help="Measure besides: gradient_noise_scale, gradient_lipschitz_constant or "
        "largest_hessian_eigenvalue. May be given more than once.",
        show_default=False,
    ),
]

Vocabulary = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A SentencePiece model for data sets of texts; without it one is trained.",
        show_default=False,
    ),
]


def training_options(
    devices_per_trial: int,
    micro_batch: int | None,
    checkpoint_minutes: float,
    measures: list[str] | None,
    vocabulary: Path | None,
) -> "TrainingOptions":
    """The options as the sweep takes them.

    Raises:
        UsageError: there is no measurement of a name.
    """
    from dbtool.errors import unknown
    from producers.sweep.tasks import TrainingOptions
    from producers.training.measures import MEASURES

    for name in measures or []:
        if name not in MEASURES:
            raise unknown("measurement", name, MEASURES, "dbtool produce --help")
    return TrainingOptions(
        devices_a_trial=devices_per_trial,
        micro_batch=micro_batch,
        measures=tuple(dict.fromkeys(measures or [])),
        checkpoint_minutes=checkpoint_minutes,
        vocabulary=vocabulary,
    )
