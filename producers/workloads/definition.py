"""Workload definitions: data set, model, optimizer, search space and rules of measurement."""

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from dbtool.core.errors import UsageError, joined
from dbtool.core.footer import Workload as RecordedWorkload
from producers.datasets.forms import GREY_28, Form
from producers.datasets.registry import DATASETS
from producers.datasets.split import RANDOM_5_000, HeldOut
from producers.search import SCRAMBLED, Metaparameter, Sobol, StepsRange, search_space_json
from producers.training.batches import BatchSchedule, Phase, phases
from producers.training.optimizers import optimizer_definition

SearchSpace = tuple[tuple[str, Metaparameter | StepsRange], ...]
Pruning: TypeAlias = Literal["snip", "snip_with_biases"]
Subset: TypeAlias = Literal["half_classes", "half_images"]
DType: TypeAlias = Literal["float32", "bfloat16"]
_CHOICES = {
    "pruning": (None, *get_args(Pruning)),
    "subset": (None, *get_args(Subset)),
    "dtype": get_args(DType),
}

BATCH_SIZE_STUDY = "1811.03600"
SPARSITY_STUDY = "2003.11316"

CERTAINTIES = ("stated", "recalled", "chosen", "chosen by experiment")
"""How sure a setting is: the authors say so, from memory of the paper, ours, or ours for what it
gave beside the published results."""


@dataclass(frozen=True)
class EvaluationRule:
    """At which steps a trial is evaluated: dense early, spaced later.

    The validation split is evaluated at step 0, and then whenever the steps have grown by a
    factor of 2 ** (1 / validation_per_doubling), but not before a step has taken in
    `examples_between` training examples since the last evaluation: evaluating more often than
    that would cost more than the training it watches. The training subset and the test split are
    evaluated at one in `other_splits_every` of these; all of them at the last step. Where `every`
    is given, the validation split is evaluated every so many steps instead.

    Attributes:
        validation_per_doubling: evaluations of the validation split while the steps double.
        other_splits_every: one in so many of these evaluates the other splits as well.
        examples_between: fewest training examples from one evaluation to the next.
        training_subset: how many training examples stand for the training split: the first ones.
        every: steps from one evaluation of the validation split to the next.

    Example:
        >>> EvaluationRule(other_splits_every=2, every=100).schedule(250, batch_size=64)
        {0: True, 100: False, 200: True, 250: True}
    """

    validation_per_doubling: int = 8
    other_splits_every: int = 8
    examples_between: int = 1
    training_subset: int = 5_000
    every: int | None = None

    def schedule(
        self, train_steps: int, batch_size: int, batch_schedule: BatchSchedule = ()
    ) -> dict[int, bool]:
        """Return the evaluation steps in order, each with whether every split is evaluated."""
        of_trial = tuple(phases(batch_size, batch_schedule, train_steps))
        steps: dict[int, bool] = {}
        step = 0
        while step < train_steps:
            steps[step] = len(steps) % self.other_splits_every == 0
            step = self.after(step, of_trial)
        return {**steps, train_steps: True}

    def after(self, step: int, of_trial: Sequence[Phase]) -> int:
        """Return the step of the evaluation after that at a step, which may be beyond the last."""
        if self.every is not None:
            return step + self.every
        following, left = step, self.examples_between
        for phase in of_trial:
            if following < phase.end and left > 0:
                steps = min(math.ceil(left / phase.batch_size), phase.end - following)
                following, left = following + steps, left - steps * phase.batch_size
        return max(following, step + 1, round(step * 2 ** (1 / self.validation_per_doubling)))


@dataclass(frozen=True)
class StepBudget:
    """How long the trials of a study train, from its batch size.

    Steps to a goal fall as 1 / B at small batch sizes and level off at large ones, and so does the
    budget: fewest + examples / B.

    Attributes:
        fewest: steps that every batch size gets.
        examples: training examples that are shared out as steps of the study's batch size.

    Example:
        >>> StepBudget(fewest=500, examples=1_000).steps(batch_size=3)
        834
    """

    fewest: int
    examples: int

    def steps(self, batch_size: int) -> int:
        """Return the steps of a trial at a batch size."""
        return self.fewest + math.ceil(self.examples / batch_size)


@dataclass(frozen=True)
class Origin:
    """Code outside this package that defines a workload.

    Attributes:
        name: of the file, or of the installed distribution.
        sha256: of the file, or of the module that the distribution's entry point names.
        version: of the distribution; None of a file.
    """

    name: str
    sha256: str
    version: str | None = None

    def __str__(self) -> str:
        release = "" if self.version is None else f" {self.version}"
        return f"{self.name}{release} (sha256 {self.sha256[:8]})"


@dataclass(frozen=True)
class Workload:
    """A data set, model and optimizer, with everything that its measurements depend on.

    Attributes:
        collection: the folder above the data set, such as mnist_subsets; None for most.
        dataset: as the archive's path names it, such as mnist_6875.
        source: the data set its examples come from, such as mnist.
        model: a name that `producers.models.registry` knows.
        optimizer: a name that `producers.training.optimizers` knows.
        schedule: likewise.
        search_space: name and range of each metaparameter.
        metric: the column that the goal is about.
        goal: steps to result count up to the first value strictly past it; None where there is
            none.
        maximize: whether higher values of the metric are better.
        train_examples: size of the training split.
        batch_sizes: those of its studies where no others are asked for.
        budget: how long trials train.
        evaluation: at which steps they are evaluated.
        certainty: setting to one of CERTAINTIES: whose choice it is; that of a single
            metaparameter's range as `search_space: NAME`, and of parts of others likewise. A
            setting of the model may be surer in this workload than in general: `model: NAME`.
        form: what the examples look like.
        sparsity: share of the weights that pruning removes before training.
        pruning: how they are chosen, and whether biases are among them; None where none are
            removed.
        goal_inclusive: whether a value equal to the goal has reached it.
        subset: the part of the source that is trained on, of sources that have named parts.
        augmentation: whether training images are cropped and flipped at random.
        dtype: what the model computes in; weights and losses are float32 in either case.
        replaces: the data set that the examples stand in for; None where they are its own.
        data_sha256: of the files or the list of files that stand in for it, or of what the
            user's own loader returned.
        paper: the arXiv number of the study that the workload is of; None where it is of none.
        held_out: the official training examples that are for validation, of MNIST, Fashion MNIST
            and CIFAR-10; the loaders of the others say themselves.
        sobol: the quasi-random sequence that the trials' metaparameters are points of.
        objective: the loss, a name that `producers.training.objectives` knows; "" for that of the
            form.
        origin: the code that defines it; None where this package does.
        batch_schedule: the steps after which batches are larger than a study's batch size,
            increasing, each with how many times as large; the learning rate grows with them.

    Raises:
        UsageError: there is no such pruning, subset or dtype, or one of sparsity and pruning is
            given without the other.
    """

    collection: str | None
    dataset: str
    source: str
    model: str
    optimizer: str
    schedule: str
    search_space: SearchSpace
    metric: str
    goal: float | None
    maximize: bool
    train_examples: int
    batch_sizes: tuple[int, ...]
    budget: StepBudget
    evaluation: EvaluationRule
    certainty: tuple[tuple[str, str], ...]
    form: Form = GREY_28
    sparsity: float = 0.0
    pruning: Pruning | None = None
    goal_inclusive: bool = False
    subset: Subset | None = None
    augmentation: bool = False
    replaces: str | None = None
    dtype: DType = "float32"
    data_sha256: str | None = None
    paper: str | None = BATCH_SIZE_STUDY
    held_out: HeldOut = RANDOM_5_000
    sobol: Sobol = SCRAMBLED
    objective: str = ""
    origin: Origin | None = None
    batch_schedule: BatchSchedule = ()

    def __post_init__(self) -> None:
        """Refuse settings that would train as something else than they say."""
        for setting, choices in _CHOICES.items():
            if (value := getattr(self, setting)) not in choices:
                raise UsageError(
                    f"the {setting} of {self.name} is {value!r:.60}, and should be "
                    f"{joined(map(repr, choices), 'or')}"
                )
        if bool(self.sparsity) != bool(self.pruning):
            raise UsageError(
                f"{self.name} has sparsity={self.sparsity} and pruning={self.pruning}; "
                "give both where weights are pruned, such as sparsity=0.9 and pruning='snip'"
            )

    @property
    def name(self) -> str:
        """Return the workload's path in the archive."""
        folders = [self.collection] if self.collection else []
        return "/".join([*folders, self.dataset, self.model, self.optimizer])

    @property
    def stated_goal(self) -> str:
        """Return the goal as an inequality; of a workload without one the metric alone."""
        if self.goal is None:
            return f"{self.metric} without a goal"
        sign = (">" if self.maximize else "<") + ("=" if self.goal_inclusive else "")
        return f"{self.metric} {sign} {self.goal:g}"

    @property
    def depends_on_budget(self) -> bool:
        """Return whether a step depends on how many follow, as of a rate that decays over them."""
        return any(isinstance(each, StepsRange) for _, each in self.search_space)

    @property
    def train_limit(self) -> int | None:
        """Return how many training examples to request; None where the loader takes all it finds.

        The sizes of the large data sets are known as published alone.
        """
        exact = self.replaces is not None or not DATASETS[self.source].is_streamed
        return self.train_examples if exact else None

    def definition(self) -> dict[str, Any]:
        """Return the definition as a shard records it (schema/shard.toml).

        Settings with a default are left out where they hold it: the definitions in shards of
        workloads that were trained before there was such a setting stay what they are.
        """
        described = _without_defaults(self)
        described["evaluation"] = _without_defaults(self.evaluation, keep=_FIRST_RULES)
        if "form" in described:
            described["form"] = _without_defaults(self.form, keep=_FIRST_FORMS)
        described["workload"] = self.name
        described["sparsity"] = self.sparsity
        described["search_space"] = search_space_json(dict(self.search_space))
        described["certainty"] = dict(self.certainty)
        described["batch_sizes"] = list(self.batch_sizes)
        return described


def powers(first: int, last: int) -> tuple[int, ...]:
    """Return the powers of two from one to another, both included."""
    return tuple(2**k for k in range(first.bit_length() - 1, last.bit_length()))


def search_space(optimizer: str, *more: tuple[str, Metaparameter | StepsRange]) -> SearchSpace:
    """Return the metaparameters of an optimizer, and more."""
    return (*optimizer_definition(optimizer).search_space, *more)


def recorded_workload(workload: Workload) -> RecordedWorkload:
    """Return a workload as shards record it."""
    own = {"workload": workload.name, "definition": json.loads(json.dumps(workload.definition()))}
    shared = [name for name in RecordedWorkload.__struct_fields__ if name not in own]
    return RecordedWorkload(**own, **{name: getattr(workload, name) for name in shared})


# Recorded whether or not they hold their defaults.
_FIRST_RULES = {
    "validation_per_doubling",
    "other_splits_every",
    "examples_between",
    "training_subset",
}
# Of forms likewise.
_FIRST_FORMS = {"multi_label", "mean", "deviation"}


def _without_defaults(
    value: Workload | EvaluationRule | Form, keep: Collection[str] = ()
) -> dict[str, Any]:
    """Return the fields of a value, less those that hold their defaults and are not to be kept."""
    left_out = {
        field.name
        for field in fields(value)
        if field.name not in keep and getattr(value, field.name) == field.default
    }
    return {name: held for name, held in asdict(value).items() if name not in left_out}
