"""What is in the studies of a made-up archive, before a number of theirs is drawn."""

import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbtool.core.catalog import catalog, published_studies
from producers.search import Choice, Range, SearchSpace, search_space_json

# Trained for a time rather than a number of steps: study.json says train_steps 0.
TIME_BUDGET = frozenset({"lm1b/lstm/nesterov_momentum"})
# Batch sizes up to these never get to the goal, so that their figures have gaps.
GOAL_MISSED_UP_TO = {"mnist/fc_64_64_64/sgd": 2}
DECAYED_MODELS = frozenset({"resnet_8", "resnet_50", "vgg_11"})


@dataclass(frozen=True)
class StudyPlan:
    """A study to write.

    The best of its first `trial_limit` COMPLETE trials gets past the goal, a decimal of at most six
    digits, at `steps_to_goal`; None: none does. Most COMPLETE trials end at `last_step`, with so
    many evaluations after the one of step 0; `train_steps`, as study.json gives it, is 0 for a
    budget of time. Where it is odd, some files are unusual, as `study.Oddity` says, and a
    metaparameter is searched that the published studies do not have.
    """

    workload: str
    batch_size: int
    complete: int
    incomplete: int
    infeasible: int
    metric: str
    goal: float
    maximize: bool
    trial_limit: int
    steps_to_goal: int | None
    last_step: int
    evaluations: int
    train_steps: int
    odd: bool = False

    @property
    def path(self) -> str:
        """The study's folder, below the archive's root."""
        return f"{self.workload}/{self.batch_size}"

    @property
    def trials(self) -> int:
        """How many trials are written, whatever their status."""
        return self.complete + self.incomplete + self.infeasible

    @property
    def names(self) -> tuple[str, str, str]:
        """Data set, model and optimizer, as the path names them."""
        dataset, model, optimizer = self.workload.split("/")[-3:]
        return dataset, model, optimizer

    def rng(self, seed: int) -> np.random.Generator:
        """The study's own random numbers, whichever other studies are written."""
        return np.random.default_rng([seed, zlib.crc32(self.path.encode())])

    def search_space(self) -> SearchSpace:
        """Name and range of each metaparameter that the study searches."""
        _, model, optimizer = self.names
        space: SearchSpace = {"learning_rate": Range(1e-4, 10.0, "LOG_SCALE")}
        if optimizer != "sgd":
            space["momentum"] = Range(0.9, 0.9999, "REVERSE_LOG_SCALE")
        if model in DECAYED_MODELS:
            steps = max(self.last_step, 2)
            space["end_learning_rate_factor"] = Range(1e-4, 0.1, "LOG_SCALE")
            space["learning_rate_decay_steps"] = Range(steps // 2, steps, integer=True)
        if model == "resnet_50":
            space["label_smoothing"] = Choice((0.0, 0.01, 0.1))
        if self.odd:
            space["weight_decay"] = Range(1e-6, 1e-2, "LOG_SCALE")
        return space

    def study_json(self) -> dict[str, Any]:
        """The contents of study.json, with a key that marks the study as made up."""
        dataset, model, optimizer = self.names
        configs = search_space_json(self.search_space())
        for config in configs.values():
            if config["type"] == "INTEGER":
                config["scale"] = ""
        return {
            "_made_up": "every number of this study was made up by tests/replica",
            "batch_size": self.batch_size,
            "dataset": dataset,
            "early_stopping": self.incomplete > self.complete,
            "model": model,
            "optimizer": optimizer,
            "parameter_configs": configs,
            "train_steps": self.train_steps,
        }


def plan_study(
    workload: str,
    batch_size: int,
    *,
    complete: int = 12,
    incomplete: int = 4,
    infeasible: int = 4,
    evaluations: int = 20,
    seed: int = 0,
    odd: bool = False,
) -> StudyPlan:
    """A study of a published workload with as many trials as asked for, at any batch size.

    `dataclasses.replace` gives the plan any other workload. There are at least 12 evaluations.
    """
    published = {known.workload: known for known in catalog()}[workload]
    rng = np.random.default_rng([seed, zlib.crc32(workload.encode())])
    # S_min in steps and B_crit in examples, of all studies of the workload.
    least, critical = int(10 ** rng.uniform(2.8, 3.6)), float(2 ** rng.uniform(5, 11))
    steps = math.ceil(least * (1 + critical / batch_size))
    last_step = max(3 * steps, 3 * evaluations)
    return StudyPlan(
        workload=workload,
        batch_size=batch_size,
        complete=complete,
        incomplete=incomplete,
        infeasible=infeasible,
        metric=published.metric,
        goal=published.goal,
        maximize=published.maximize,
        trial_limit=published.trial_limit,
        steps_to_goal=None if batch_size <= GOAL_MISSED_UP_TO.get(workload, 0) else steps,
        last_step=last_step,
        evaluations=evaluations,
        train_steps=0 if workload in TIME_BUDGET else last_step,
        odd=odd,
    )


def published_plans(
    share: float = 1.0, *, evaluations: int = 490, seed: int = 0, odd: bool = False
) -> tuple[StudyPlan, ...]:
    """All 454 studies of the release's table, with a share of their trials, rounded.

    They have so many evaluations on average, at least 24.
    """
    lengths = np.random.default_rng(seed).uniform(0.5, 1.5, len(published_studies()))
    return tuple(
        plan_study(
            study.workload,
            study.batch_size,
            complete=round(study.complete * share),
            incomplete=round(study.incomplete * share),
            infeasible=round(study.infeasible * share),
            evaluations=round(evaluations * length),
            seed=seed,
            odd=odd,
        )
        for study, length in zip(published_studies(), lengths, strict=True)
    )
