"""The contents of a shard's footer as checked values: its study, trials and producer."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from dbtool.core.checks import InvalidError, parse_json
from dbtool.core.contract import SHARD_FORMAT, SPLITS, is_maximized
from dbtool.core.errors import DbtoolError, UsageError

Status = Literal["COMPLETE", "INCOMPLETE", "INFEASIBLE"]
STATUSES = get_args(Status)
Scalar = float | int | bool | str
# A folder has this name, and file systems allow 255 bytes.
_LONGEST_NAME = 240
_Name = Annotated[str, Meta(min_length=1)]
# The bounds of a shard's numbers, which own runs share.
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
SmallCount = Annotated[int, Meta(ge=0, le=2**31 - 1)]
BatchSize = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Sparsity = Annotated[float, Meta(ge=0, lt=1)]


ONE_SETTING = {"design": "one setting"}
"""The search of a study that searched nothing: its trials are replicates of one setting, chosen
by those who trained them.
"""


class FooterError(DbtoolError):
    """A footer out of contract; the message names the fault without the file's name."""


class Workload(Struct, frozen=True, kw_only=True):
    """A data set, model and optimizer, with the metric and its goal.

    Attributes:
        workload: its name, such as mnist_subsets/mnist_6875/simple_cnn_base/sgd.
        collection: the folder above the data set, such as mnist_subsets; None for most.
        sparsity: share of weights pruned before training, from 0 to below 1.
        metric: column of the goal, such as val_classification_error.
        goal: target value of the metric; None where it is not known.
        goal_inclusive: whether a value equal to the goal reaches it.
        train_examples: size of the training split; None where it is not known.
        definition: the producer's full definition; None where there is none.
    """

    workload: _Name
    collection: _Name | None = None
    dataset: _Name
    model: _Name
    optimizer: _Name
    sparsity: Sparsity = 0.0
    metric: str
    goal: float | None = None
    goal_inclusive: bool = False
    train_examples: Count | None = None
    definition: dict[str, Any] | None = None

    @property
    def maximize(self) -> bool:
        """Whether higher values of the metric are better."""
        return is_maximized(self.metric)

    def is_past(self, values: Any) -> Any:
        """Return whether a number, or each of a series, is past the goal, which there has to be."""
        past = values > self.goal if self.maximize else values < self.goal
        return past | ((values == self.goal) & self.goal_inclusive)


class Study(Struct, frozen=True, kw_only=True):
    """A workload at one batch size, with the search of its metaparameters.

    Attributes:
        batch_size: global batch size, in examples.
        train_steps: fewest updates of a COMPLETE trial; 0 where the budget was time.
        early_stopping: whether trials were stopped early.
        search_space: metaparameter to its type, range or points.
        seed: source of every random number; None where it is not known.
        search: how the search ran in lockstep and where it stopped, or `ONE_SETTING`; of runs that
            stopped past the goal, it and most_steps, which they could have taken; None where
            trials train to their end.
    """

    workload: Workload
    batch_size: BatchSize
    train_steps: Count
    early_stopping: bool = False
    search_space: dict[str, dict[str, Any]] = {}
    seed: Integer | None = None
    search: dict[str, Any] | None = None

    @property
    def key(self) -> tuple[str, int]:
        """The name of the workload and the batch size."""
        return self.workload.workload, self.batch_size


class Trial(Struct, frozen=True, kw_only=True):
    """One training run of a study, in which its trial_id is unique.

    Attributes:
        steps: the last update of the run.
        metaparameters: name to value; numbers that JSON lacks are "nan", "inf" and "-inf".
        seed: seed of the initialisation and batch order; None where it is not known.
        name: its name in the tool it comes from; None where the tool has no names.
        source: digest of the imported files; None where there were none.
        measurements: number of rows; 0 before they are written.
    """

    trial_id: SmallCount
    status: Status
    steps: Count
    metaparameters: Mapping[str, Scalar]
    seed: Integer | None = None
    name: str | None = None
    source: str | None = None
    measurements: Count = 0


class Footer(Struct, frozen=True, kw_only=True):
    """All that the index needs to know about a shard, whose trials are sorted by trial_id.

    Attributes:
        producer: origin of the rows: versions, device, revision.
        reduced: what a release dropped from the rows, see `dbtool.release.reduction`.
        repeated_steps: whether a trial may have several rows of one step, as in archives.
    """

    study: Study
    trials: tuple[Trial, ...]
    producer: dict[str, Any]
    reduced: dict[str, Any] | None = None
    repeated_steps: bool = False
    shard_format: SmallCount = SHARD_FORMAT


class _FooterFormat(Struct, frozen=True):
    shard_format: SmallCount


# msgspec inspects a type on first use, and threads that do so at the same time can crash.
msgspec.json.Decoder(_FooterFormat)
msgspec.json.Decoder(Footer)


def encode_footer(footer: Footer) -> bytes:
    """Return the JSON of a footer, equal for equal ones, or raise a FooterError."""
    _check_goal(footer.study.workload.goal)
    try:
        text = msgspec.json.encode(footer, order="deterministic")
    except UnicodeEncodeError as error:
        raise FooterError("its footer holds text that is not Unicode") from error
    decode_footer(text)
    return text


def decode_footer(text: bytes) -> Footer:
    """Parse the JSON of a footer; raise a FooterError where it is out of contract."""
    try:
        written = parse_json(text, _FooterFormat).shard_format
        if written != SHARD_FORMAT:
            raise FooterError(f"its shard format is {written} and this dbtool reads {SHARD_FORMAT}")
        footer = parse_json(text, Footer)
    except InvalidError as error:
        raise FooterError(f"its footer is out of contract: {error}") from error
    _check_footer(footer)
    return footer


def plain(value: float | bool | str) -> Scalar:
    """Return a metaparameter as JSON can store it; NaN and infinities become strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def as_json(value: Any) -> str:
    """Return the JSON of an object for the index; equal objects give equal text."""
    return msgspec.json.encode(value, order="deterministic").decode()


def workload_names(name: str, option: str) -> dict[str, str]:
    """Return the parts of a workload's name by the fields of `Workload`.

    Raises:
        UsageError: the name, which came with an option, has other parts.

    Example:
        >>> workload_names("mnist/fc_1024/sgd", "--workload")
        {'dataset': 'mnist', 'model': 'fc_1024', 'optimizer': 'sgd'}
    """
    parts = name.split("/")
    if len(parts) not in {3, 4} or not all(part.strip() for part in parts):
        raise UsageError(
            f"{option} {name!r} is not DATASET/MODEL/OPTIMIZER, such as cifar_10/resnet_8/adam, "
            "nor that after a collection"
        )
    fields = ("collection", "dataset", "model", "optimizer")
    return dict(zip(fields[-len(parts) :], parts, strict=True))


def check_names(workload: Workload) -> None:
    """Raise a FooterError for names that no folder can have or that a terminal does not print."""
    for name in ("workload", "collection", "dataset", "model", "optimizer", "metric"):
        value = getattr(workload, name)
        if value is not None and (value.isspace() or not value.isprintable()):
            raise FooterError(f"its workload's {name} {value!r} is not a name that can be printed")
    if len(quote(workload.workload, safe="")) > _LONGEST_NAME:
        raise FooterError(f"its workload's name {workload.workload!r} is too long")


def check_workload(workload: Workload) -> None:
    """Raise a FooterError for what the types of a workload cannot express."""
    check_names(workload)
    _check_goal(workload.goal)
    # Metrics without a column of their own are in other_metrics.
    if workload.metric.partition("_")[0] not in SPLITS:
        raise FooterError(f"its workload's metric {workload.metric!r} is none of the columns")


def _check_footer(footer: Footer) -> None:
    """Check what the types cannot express."""
    study, trials = footer.study, footer.trials
    check_workload(study.workload)
    if not trials:
        raise FooterError("it lists no trials")
    ids = [trial.trial_id for trial in trials]
    for before, after in pairwise(ids):
        if before >= after:
            raise FooterError(f"it lists trial {after} after trial {before}")
    if b"\\u0000" in msgspec.json.encode([study, trials, footer.producer]):
        raise FooterError("its footer holds a null character")


def _check_goal(goal: float | None) -> None:
    if goal is not None and not math.isfinite(goal):
        raise FooterError(f"its workload's goal {goal} is not a finite number")
