"""The benchmarks of MLPerf, each over the rounds in which its target, model and data are the same.

schema/catalog/mlperf.csv lists them.
"""

import csv
import functools
import math
from typing import Literal

import msgspec

from dbtool.core.footer import Workload
from dbtool.core.resources import schema_folder

Place = Literal["epochs", "second_epoch", "samples", "steps", "tokens", "trained"]
# No run takes as many epochs: larger places are samples.
_MOST_EPOCHS = 20_000
_NOT_VERIFIED = "Steps are counted from what submitters logged and are not verified by MLCommons."
_CHECKPOINT = "Training goes on from a checkpoint, so that this is of late training."


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark over the rounds in which its target, model and data stayed the same.

    Attributes:
        benchmark: its name in logs.
        optimizer: what the rules allow.
        also: a second metric that logs give beside it; empty for most.
        goal: the target, which a run reaches when it is met exactly.
        place: what logs count until an evaluation. `second_epoch` are epochs after the first one,
            `trained` is samples, or nothing but the total at the end.
        train_examples: size of the training set; None where places need none.
        tokens: tokens an example has; None where places do not count them.
        parameters: of a language model, as its name or its authors have it; None for others.
        start: `checkpoint` where training goes on from one; None where it does not.
        why: why rounds share the workload, or do not.
    """

    workload: str
    benchmark: str
    suite: Literal["training", "hpc"]
    first: float
    last: float
    dataset: str
    model: str
    optimizer: str
    metric: str
    also: str
    goal: float
    place: Place
    train_examples: int | None
    tokens: int | None
    parameters: int | None
    start: Literal["checkpoint"] | None
    why: str

    def described(self, *, is_open: bool = False) -> Workload:
        """Return the workload as a footer has it; the open division, of other rules, is another."""
        collection = "mlperf_open" if is_open else "mlperf"
        caveats = [_NOT_VERIFIED, *([_CHECKPOINT] if self.start else [])]
        parameters = {"parameters": self.parameters} if self.parameters else {}
        return Workload(
            workload=f"{collection}/{self.workload.partition('/')[2]}",
            collection=collection,
            dataset=self.dataset,
            model=self.model,
            optimizer=self.optimizer,
            metric=self.metric,
            goal=self.goal,
            goal_inclusive=True,
            train_examples=self.train_examples,
            definition={"caveats": caveats, **parameters},
        )

    def counts_epochs(self, place: float) -> bool:
        """Return whether a place in a log is in epochs."""
        return self.place in {"epochs", "second_epoch"} and place <= _MOST_EPOCHS

    def steps(self, place: float, batch_size: int, epoch: float | None = None) -> int:
        """Return the number of updates until a place in a log, to the nearest.

        Args:
            place: what the log says, in the unit of `self.place`; in examples where it is too large
                for epochs.
            batch_size: examples a step.
            epoch: examples of an epoch; None: `train_examples`.
        """
        if self.place == "steps":
            return round(place)
        if self.place == "tokens":
            place /= self.tokens or 1
        elif self.counts_epochs(place):
            place = (epoch or self.train_examples or 1) * (place - (self.place == "second_epoch"))
        return math.floor(place / batch_size + 0.5)


@functools.cache
def benchmarks() -> tuple[Benchmark, ...]:
    """Return all benchmarks, in the order of the catalogue."""
    with (schema_folder() / "catalog" / "mlperf.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            {name: value or ("" if name == "also" else None) for name, value in row.items()}
            for row in csv.DictReader(file)
        ]
    return tuple(msgspec.convert(rows, tuple[Benchmark, ...], strict=False))


def benchmark_of(name: str, suite: str, version: float) -> Benchmark | None:
    """Return the benchmark that a log of a round names; None where it is not in the catalogue."""
    named = (each for each in benchmarks() if (each.benchmark, each.suite) == (name, suite))
    return next((each for each in named if each.first <= version <= each.last), None)


def newest_benchmark(name: str) -> Benchmark | None:
    """Return the benchmark that a log of no round names, as its last round has it."""
    named = (each for each in benchmarks() if each.benchmark == name)
    return max(named, key=lambda each: each.last, default=None)
