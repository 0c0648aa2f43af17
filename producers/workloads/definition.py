"""What a workload is: data set, model, optimizer, search space and rules of measurement."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from producers.search import search_space_json

if TYPE_CHECKING:
    from producers.search import Metaparameter


@dataclass(frozen=True)
class EvaluationRule:
    """At which steps a trial is evaluated: dense early, spaced later.

    The validation split is evaluated at step 0, and then whenever the steps have grown by a
    factor of 2 ** (1 / validation_per_doubling), but not before a step has taken in
    `examples_between` training examples since the last evaluation: evaluating more often than
    that would cost more than the training it watches. The training subset and the test split are
    evaluated at one in `other_splits_every` of these; all of them at the last step.

    Attributes:
        validation_per_doubling: evaluations of the validation split while the steps double.
        other_splits_every: one in so many of these evaluates the other splits as well.
        examples_between: fewest training examples from one evaluation to the next.
        training_subset: how many training examples stand for the training split: the first ones.
    """

    validation_per_doubling: int = 8
    other_splits_every: int = 8
    examples_between: int = 1
    training_subset: int = 5_000

    def schedule(self, train_steps: int, batch_size: int) -> dict[int, bool]:
        """The evaluation steps in order, each with whether every split is evaluated."""
        fewest_steps = max(1, math.ceil(self.examples_between / batch_size))
        factor = 2 ** (1 / self.validation_per_doubling)
        steps: dict[int, bool] = {}
        step = 0
        while step < train_steps:
            steps[step] = len(steps) % self.other_splits_every == 0
            step = max(step + fewest_steps, round(step * factor))
        return {**steps, train_steps: True}


@dataclass(frozen=True)
class StepBudget:
    """How long the trials of a study train, from its batch size.

    Steps to a goal fall as 1 / B at small batch sizes and level off at large ones, and so does the
    budget: fewest + examples / B.

    Attributes:
        fewest: steps that every batch size gets.
        examples: training examples that are shared out as steps of the study's batch size.
    """

    fewest: int
    examples: int

    def steps(self, batch_size: int) -> int:
        """Steps of a trial at a batch size."""
        return self.fewest + math.ceil(self.examples / batch_size)


@dataclass(frozen=True)
class Workload:
    """A data set, model and optimizer, with everything that its measurements depend on.

    Attributes:
        collection: the folder above the data set, such as mnist_subsets; None for most.
        dataset: as the archive's path names it, such as mnist_6875.
        source: the data set its examples come from, such as mnist.
        model: a name that `producers.models.registry` knows.
        optimizer: a name that `producers.training.optimizers` knows.
        schedule: a name that `producers.training.schedules` knows.
        search_space: name and range of each metaparameter.
        metric: the column that the goal is about.
        goal: steps to result count up to the first value strictly past it.
        maximize: whether higher values of the metric are better.
        train_examples: size of the training split.
        batch_sizes: those of the published study.
        budget: how long trials train.
        evaluation: at which steps they are evaluated.
        certainty: setting to stated, recalled or chosen: whose choice it is.
    """

    collection: str | None
    dataset: str
    source: str
    model: str
    optimizer: str
    schedule: str
    search_space: tuple[tuple[str, Metaparameter], ...]
    metric: str
    goal: float
    maximize: bool
    train_examples: int
    batch_sizes: tuple[int, ...]
    budget: StepBudget
    evaluation: EvaluationRule
    certainty: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The workload's path in the archive."""
        folders = [self.collection] if self.collection else []
        return "/".join([*folders, self.dataset, self.model, self.optimizer])

    def definition(self) -> dict[str, Any]:
        """The definition as a shard records it (schema/shard.toml)."""
        fields = asdict(self)
        fields["workload"] = self.name
        fields["sparsity"] = 0.0
        fields["search_space"] = search_space_json(dict(self.search_space))
        fields["certainty"] = dict(self.certainty)
        fields["batch_sizes"] = list(self.batch_sizes)
        return fields
