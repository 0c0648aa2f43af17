"""The configuration of a sweep: which studies to train, and how, in commands and in plans.

Every field with an `Option` is an option of `dbtool produce`; those of `Plan` and `Sweep` are keys
of a plan file, too. None stands for what was not given.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

import msgspec
from msgspec import Meta, Struct

from dbtool.core.errors import UsageError
from dbtool.core.files import expanded
from producers.lockstep import LockstepRule

DEFAULT_TRIALS = 100
_LARGEST = sys.float_info.max
_OF_LOCKSTEP = ("dropping", "reaching")
_OF_WINDOW = ("wide_trials", "wide_at")
_SLICE = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)

_Text = Annotated[str, Meta(pattern=r"\S")]
_Natural = Annotated[int, Meta(ge=0, le=2**63 - 1, description="a whole number from 0")]
_Positive = Annotated[int, Meta(ge=1, le=2**63 - 1, description="a whole number from 1")]
_Trials = Annotated[int, Meta(ge=1, le=1_000_000)]
_Multiple = Annotated[float, Meta(gt=0, le=1_000, description="a number above 0, at most 1,000")]


@dataclass(frozen=True)
class Option:
    """How a field is given on the command line, in the words of Typer."""

    help: str
    metavar: str | None = None
    envvar: str | None = None


class Sweep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Studies that are trained alike: a table [[sweep]] of a plan."""

    workloads: Annotated[
        tuple[_Text, ...],
        Meta(min_length=1, description='a list of names or patterns, such as ["mnist/fc_*"]'),
    ]
    batch_sizes: Annotated[
        Annotated[
            tuple[_Positive, ...],
            Meta(min_length=1, description="a list of whole numbers from 1, such as [1, 64]"),
        ]
        | None,
        Option("Global batch sizes; by default those that the workload lists.", "B,B,…"),
    ] = None
    batch_schedule: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^[1-9][0-9]{0,8}@[1-9][0-9]{0,8}(,[1-9][0-9]{0,8}@[1-9][0-9]{0,8})*$",
                description="whole factors at steps, such as 2@500,4@2000",
            ),
        ]
        | None,
        Option(
            "Train with batches, and learning rates, that grow: 2@500,4@2000 makes batches two "
            "times as large as the batch size after step 500, and four times after step 2000. "
            "Workloads are then named batch_x2_at_500_x4_at_2000/…. By default batches stay.",
            "K@N,K@N,…",
        ),
    ] = None
    trials: Annotated[
        _Trials | None,
        Option(
            f"Train the trials 0 to N - 1 of each study; by default {DEFAULT_TRIALS}, or as many "
            "as the preset has.",
            "N",
        ),
    ] = None
    feasible: Annotated[
        Annotated[int, Meta(ge=0, le=100_000)] | None,
        Option(
            "Add trials until N of a study did not diverge, up to 5 N in all; by default 0, or as "
            "many as the preset has.",
            "N",
        ),
    ] = None
    steps: Annotated[
        Annotated[int, Meta(ge=1, le=100_000_000)] | None,
        Option(
            "Steps of each trial; by default those of the workload, which "
            "`dbtool workloads --show` prints.",
            "N",
        ),
    ] = None
    budget: Annotated[
        Annotated[float, Meta(ge=0, le=100)] | None,
        Option(
            "Multiply the workload's number of steps by X; by default 1, or as the preset has it.",
            "X",
        ),
    ] = None
    search: Annotated[
        Literal["fixed", "lockstep", "window"] | None,
        Option(
            "`fixed`, the default: every trial trains to its end, as in the papers. `lockstep`: a "
            "study ends when the first of its trials is past the goal. `window`: as lockstep, but "
            "only one batch size searches the whole ranges of the metaparameters, and each other "
            "one searches near the best trial of its neighbour."
        ),
    ] = None
    dropping: Annotated[
        Annotated[float, Meta(gt=1, le=1_000)] | None,
        Option(
            "With --search lockstep or window: drop a trial whose best value after n steps is "
            "worse than that of a trial near the goal after n / X steps. 4 is safe for fully "
            "connected networks, 8 for convolutional ones.",
            "X",
        ),
    ] = None
    reaching: Annotated[
        _Trials | None,
        Option(
            "With --search lockstep or window: end a study when N of its trials are past the "
            "goal; by default 1. More trials show how lucky the first was.",
            "N",
        ),
    ] = None
    wide_trials: Annotated[
        _Trials | None,
        Option(
            "With --search window: trials of the study that searches the whole ranges; by default "
            "50.",
            "N",
        ),
    ] = None
    wide_at: Annotated[
        _Positive | None,
        Option(
            "With --search window: the study at the batch size closest to B searches the whole "
            "ranges; by default 64.",
            "B",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse what no field can tell alone."""
        sizes = self.batch_sizes or ()
        if len(set(sizes)) < len(sizes):
            raise ValueError("batch_sizes has one of them twice; leave it out")
        if self.steps is not None and self.budget is not None:
            raise ValueError("steps and budget both say how long to train; leave one out")
        given = [name for name in (*_OF_LOCKSTEP, *_OF_WINDOW) if getattr(self, name) is not None]
        needed = "window" if set(given) & set(_OF_WINDOW) else "lockstep"
        search = self.search or "fixed"
        if given and search not in {needed, "window"}:
            raise ValueError(
                f"{' and '.join(given)} say{'s' * (len(given) == 1)} how to go about search "
                f"{needed}, and not search {search}; give the one or leave out the other"
            )
        if search != "fixed" and self.feasible:
            raise ValueError(f"search {search} adds trials by itself; leave out feasible")

    def rule(self) -> LockstepRule | None:
        """Return the rule of a search in lockstep; None if every trial trains to its end."""
        if self.search in {None, "fixed"}:
            return None
        given = {name: getattr(self, name) for name in (*_OF_LOCKSTEP, *_OF_WINDOW)}
        given = {name: value for name, value in given.items() if value is not None}
        return LockstepRule(window=self.search == "window", **given)


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a release trains; no study may be in two of its sweeps."""

    sweep: Annotated[
        tuple[Sweep, ...],
        Meta(min_length=1, description="one or more tables [[sweep]] that say what to train"),
    ]
    from_: Annotated[
        _Text | None,
        Option(
            "A Python file of yours that defines workloads, with their models, optimizers and data "
            "sets; all of its workloads are trained unless some are named.",
            "FILE",
        ),
    ] = msgspec.field(default=None, name="from")
    replace: Annotated[
        Annotated[
            tuple[_Text, ...],
            Meta(
                min_length=1,
                description='a list of SOURCE=NAME:FOLDER, such as ["mnist=mine:digits"]',
            ),
        ],
        Option(
            "Train on the files in FOLDER instead of the data set SOURCE, whose format they have; "
            "workloads are then named replaced/NAME/…. May be given more than once.",
            "SOURCE=NAME:FOLDER",
        ),
    ] = ()
    goal: Annotated[
        Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST, description="a number, such as 0.03")]
        | None,
        Option("The goal of workloads whose data is replaced; by default none.", "X"),
    ] = None
    release: Annotated[
        Annotated[str, Meta(pattern=r"\S", description='a name, such as "measured"')],
        Option(
            "The release that the measurements belong to; by default `local`, or the preset's.",
            "NAME",
        ),
    ]
    seed: Annotated[
        _Natural, Option("The seed that every random number follows from; by default 0.", "N")
    ] = 0
    batches: Annotated[
        Literal["own", "shared"] | None,
        Option(
            "Give each trial of a study batches of its own, or all the same ones; by default "
            "`shared` for ImageNet, Open Images, LM1B and Common Crawl, whose examples are then "
            "read once for all, and `own` for others."
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse what no field can tell alone."""
        if self.goal is not None and not self.replace:
            raise ValueError(
                "goal is for data that replace names: registered workloads have goals of their own"
            )

    def own_file(self, base: Path = Path()) -> Path | None:
        """Return the file that `from` names, relative to a folder; None if there is none."""
        return None if self.from_ is None else base / expanded(self.from_)


@dataclass(frozen=True)
class Slice:
    """The share of that number, from 1, of so many shares of a sweep."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a slice, such as 3/16: the third of sixteen."""
        written = _SLICE.fullmatch(text.strip())
        if written is None:
            raise UsageError(
                f"slice {text!r} is not a number, a stroke and how many slices there are; "
                "give the third of sixteen as --slice 3/16"
            )
        number, count = int(written[1]), int(written[2])
        if not 1 <= number <= count:
            raise UsageError(
                f"there is no slice {text.strip()}: with --slice I/N, I goes from 1 to N, "
                "as the tasks of `sbatch --array=1-N` do"
            )
        return cls(number, count)

    def has(self, block: int) -> bool:
        """Return whether the slice trains the sweep's block of that number, counted from 1."""
        return (block - self.number) % self.count == 0

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


class SweepOptions(Struct, frozen=True, kw_only=True):
    """How to train; of these rows depend on dtype alone, but for the last digits of floats."""

    block: Annotated[_Positive, Option("The most trials that are trained together.", "N")] = 100
    datasets: Annotated[
        Path | None, Option("Look for data sets here first.", "DIR", envvar="DBTOOL_DATASETS")
    ] = None
    copy_to: Annotated[
        _Text | None,
        Option(
            "Keep a copy of --out and of its checkpoints at a URL such as s3://BUCKET/runs or "
            "gs://BUCKET/runs; what lies there and not in --out is copied back first.",
            "URL",
        ),
    ] = None
    slice: Annotated[
        str | None,
        Option("Train share I of N of the trials, as each task of a job array does.", "I/N"),
    ] = None
    on: Annotated[
        Literal["ray"] | None,
        Option("Train on the Ray cluster at RAY_ADDRESS, or else on one of this machine alone."),
    ] = None
    cpus_per_task: Annotated[
        _Positive, Option("CPU cores of a block's worker on a cluster.", "N")
    ] = 1
    gpus_per_task: Annotated[_Natural, Option("GPUs of a block's worker on a cluster.", "N")] = 0
    dtype: Annotated[
        Literal["bfloat16", "float32"],
        Option("What models compute in; weights and losses are float32 in either case."),
    ] = "float32"
    devices_per_trial: Annotated[
        _Positive,
        Option("Devices that share each batch of a trial; the others train other trials.", "N"),
    ] = 1
    side_by_side: Annotated[
        _Positive | None,
        Option(
            "The most trials that a device trains at the same time; the others of a block follow. "
            "By default one on a CPU core, and as many as fit the memory of other devices.",
            "N",
        ),
    ] = None
    micro_batch: Annotated[
        _Positive | None,
        Option(
            "The most examples of a batch that pass through the model at a time; gradients of "
            "larger batches are accumulated. By default whole batches do, or as many as fit the "
            "memory of a GPU or TPU.",
            "N",
        ),
    ] = None
    remat: Annotated[
        bool,
        Option(
            "Compute again in the backward pass what it needs of Transformers, the LSTM and "
            "ResNet-50, instead of keeping it, and logits of texts a part of the positions at a "
            "time: less memory for up to a third more computation. Other models train as "
            "without it."
        ),
    ] = False
    checkpoint_minutes: Annotated[
        Annotated[float, Meta(ge=0)],
        Option(
            "Save the trials in training every X minutes; the same command goes on from there.", "X"
        ),
    ] = 10.0
    distributed: Annotated[
        bool,
        Option(
            "Train on the devices of all hosts that run this command, such as those of a TPU pod. "
            "They must share a file system for --out."
        ),
    ] = False
    measure: Annotated[
        tuple[
            Literal[
                "gradient_noise_scale",
                "gradient_lipschitz_constant",
                "largest_hessian_eigenvalue",
                "seconds",
            ],
            ...,
        ],
        Option(
            "Also measure gradient_noise_scale, gradient_lipschitz_constant or "
            "largest_hessian_eigenvalue, or at each evaluation the seconds since training began, "
            "in which all trials of a block train together. May be given more than once.",
            "NAME",
        ),
    ] = ()
    branch_at: Annotated[
        tuple[_Positive, ...] | None,
        Option(
            "Train branches of trials, which measure critical batch sizes without a sweep: from "
            "these steps of the trials of each study that passed the goal later, at most --trials "
            "of them, go on with larger batches for a while.",
            "N,N,…",
        ),
    ] = None
    branch_from: Annotated[
        Path | None,
        Option(
            "With --branch-at: the release folder that holds the trials; by default that of --out.",
            "DIR",
        ),
    ] = None
    branch_factors: Annotated[
        tuple[_Positive, ...] | None,
        Option(
            "With --branch-at: how many times as large batches are; by default 2,4,8,16, and "
            "always 1, which the others are compared with.",
            "K,K,…",
        ),
    ] = None
    branch_rates: Annotated[
        tuple[_Multiple, ...] | None,
        Option(
            "With --branch-at: train each branch with these multiples of its scaled learning rate, "
            "such as 0.5,1,2,4, of which the best counts; by default 1 alone.",
            "X,X,…",
        ),
    ] = None
    branch_window: Annotated[
        _Positive | None,
        Option(
            "With --branch-at: training examples of each branch; by default 16 batches of the "
            "largest.",
            "N",
        ),
    ] = None
    vocabulary: Annotated[
        Path | None,
        Option("A SentencePiece model for data sets of texts; by default one is trained.", "FILE"),
    ] = None

    @property
    def part(self) -> Slice | None:
        """Return the slice of the sweep to train; None for all of it.

        A slice adds no trials to reach a number of feasible ones, which needs the results of all.
        """
        return None if self.slice is None else Slice.parse(self.slice)
