"""Runs that others published, one at a time, as the shards of their studies."""

import hashlib
import itertools
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from dbtool.core.footer import (
    ONE_SETTING,
    Footer,
    Scalar,
    Status,
    Study,
    Trial,
    Workload,
    workload_names,
)
from dbtool.core.manifest import About
from dbtool.core.rows import with_other_metrics
from dbtool.sources.base import Addition, NewShard


class PublishedRun(NamedTuple):
    """A training run that others published.

    Attributes:
        batch_size: examples a step.
        name: where it was published; unique in its study.
        steps: updates before each evaluation, increasing, [evaluations].
        values: metric to its values, [evaluations]; NaN where there is none.
        trained: its last update; None: that of its last evaluation.
        search_space: the space that its metaparameters were drawn from; None where none was
            searched, so that the runs of its study are replicates of one setting.
    """

    workload: Workload
    batch_size: int
    name: str
    status: Status
    metaparameters: Mapping[str, Scalar]
    steps: Sequence[int]
    values: Mapping[str, Sequence[float]]
    seed: int | None = None
    trained: int | None = None
    search_space: Mapping[str, dict[str, Any]] | None = None


@dataclass(frozen=True)
class RunsSource(ABC):
    """A repository of runs, as archives or folders; see `dbtool.sources.base.Source`."""

    paths: tuple[Path, ...]
    about: About

    producer: ClassVar[Mapping[str, str]] = {}
    """What the footer tells about the runs, beside the name of their source."""

    @abstractmethod
    def runs(self, addition: Addition) -> Iterator[PublishedRun]:
        """Yield the runs, in any order; tell the report what is not used."""

    def studies(self, addition: Addition) -> Iterator[NewShard]:
        """Yield a shard a study, after all files were read.

        Runs that the release already has keep their numbers; others follow in the order of their
        names.
        """
        producer = {"source": self.about.release, **self.producer}
        studies: dict[tuple[str, int], list[PublishedRun]] = defaultdict(list)
        for run in self.runs(addition):
            studies[run.workload.workload, run.batch_size].append(run)
        for key in sorted(studies):
            held = addition.held.trials_of(*key)
            numbers = {row["name"]: number for number, row in held.items()}
            following = itertools.count(max(held, default=-1) + 1)
            named = sorted(studies[key], key=lambda run: run.name)
            members = [
                (numbers[run.name] if run.name in numbers else next(following), run)
                for run in named
            ]
            members.sort(key=lambda pair: pair[0])
            trials = tuple(_trial(number, run) for number, run in members)
            least = min((each.steps for each in trials if each.status == "COMPLETE"), default=0)
            known = addition.held.studies.get(key)
            space = named[0].search_space
            study = Study(
                workload=named[0].workload,
                batch_size=key[1],
                train_steps=known.train_steps if known else least,
                search_space=dict(space or {}),
                search=None if space else ONE_SETTING,
            )
            yield Footer(study=study, trials=trials, producer=producer), [_rows(members)]


def workload_of(name: str, metric: str, **more: Any) -> Workload:
    """Return the workload COLLECTION/DATASET/MODEL/OPTIMIZER, with more of its fields."""
    fields = {"workload": name, **workload_names(name, "workload"), "metric": metric, **more}
    return msgspec.convert(fields, Workload)


def _trial(number: int, run: PublishedRun) -> Trial:
    trial = Trial(
        trial_id=number,
        status=run.status,
        steps=max(run.trained or 0, run.steps[-1] if len(run.steps) else 0),
        metaparameters=dict(run.metaparameters),
        seed=run.seed,
        name=run.name,
    )
    digest = hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(trial, trial_id=0)))
    digest.update(np.asarray(run.steps, np.int64).tobytes())
    for metric in sorted(run.values):
        digest.update(metric.encode() + np.asarray(run.values[metric], np.float64).tobytes())
    return msgspec.structs.replace(trial, source=digest.hexdigest(), measurements=len(run.steps))


def _rows(members: Sequence[tuple[int, PublishedRun]]) -> pa.Table:
    runs = [run for _, run in members]
    counts = [len(run.steps) for run in runs]
    numbers = np.array([number for number, _ in members], np.int32)
    columns = {
        "trial_id": pa.array(np.repeat(numbers, counts)),
        "step": pa.array(np.concatenate([np.asarray(run.steps, np.int64) for run in runs])),
    }
    for metric in sorted({name for run in runs for name in run.values}):
        values = np.concatenate(
            [run.values.get(metric, np.full(len(run.steps), np.nan)) for run in runs]
        )
        columns[metric] = pa.array(values, mask=np.isnan(values))
    return with_other_metrics(columns)
