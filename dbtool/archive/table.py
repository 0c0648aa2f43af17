"""The published archive's own table of studies, and its 35 workloads with their goals and sizes.

Both are shipped as CSV files in schema/catalog, so that they are known without the archive.
"""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from dbtool.resources import schema_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

Certainty: TypeAlias = Literal["stated", "recalled", "chosen"]


@dataclass(frozen=True)
class PublishedStudy:
    """A row of the release's table.

    Attributes:
        workload: the workload's path in the archive.
        batch_size: the global batch size.
        complete: how many trials of each status the archive holds.
        incomplete: the same.
        infeasible: the same.
    """

    workload: str
    batch_size: int
    complete: int
    incomplete: int
    infeasible: int

    @property
    def path(self) -> str:
        """The study's folder, below the archive's root."""
        return f"{self.workload}/{self.batch_size}"

    @property
    def trials(self) -> int:
        """How many trials the archive holds of the study, whatever their status."""
        return self.complete + self.incomplete + self.infeasible


@dataclass(frozen=True)
class CatalogWorkload:
    """A workload of the published archive, as far as its settings are known.

    Attributes:
        workload: its path in the archive.
        collection: the folder above the data set, such as mnist_subsets; None for most.
        dataset: as the path names it.
        model: as the path names it.
        optimizer: as the path names it.
        metric: the column that the goal is about.
        goal: steps to result count up to the first value strictly past it.
        maximize: whether higher values of the metric are better.
        train_examples: size of the training split; None where it is not known to the example.
        trial_limit: how many COMPLETE trials of a study the authors' figures use, by trial id.
        batch_sizes: one a study, in ascending order.
        complete: how many trials of each status the release's table has, all studies together.
        incomplete: the same.
        infeasible: the same.
        certainty: setting to stated (the release or its paper says so), recalled (from memory of
            the paper) or chosen (ours), for the settings that are known.
        notes: what the settings leave out; None where nothing is to be said.
    """

    workload: str
    collection: str | None
    dataset: str
    model: str
    optimizer: str
    metric: str
    goal: float
    maximize: bool
    train_examples: int | None
    trial_limit: int
    batch_sizes: tuple[int, ...]
    complete: int
    incomplete: int
    infeasible: int
    certainty: tuple[tuple[str, Certainty], ...]
    notes: str | None


@functools.cache
def published_studies() -> tuple[PublishedStudy, ...]:
    """The 454 studies of the release's table, in its order."""
    return tuple(
        PublishedStudy(
            workload=f"{row['dataset']}/{row['model']}/{row['optimizer']}",
            batch_size=int(row["batch_size"]),
            complete=int(row["complete"]),
            incomplete=int(row["incomplete"]),
            infeasible=int(row["infeasible"]),
        )
        for row in _rows("published_studies.csv")
    )


@functools.cache
def catalog() -> tuple[CatalogWorkload, ...]:
    """The 35 published workloads, sorted by name."""
    return tuple(_workload(row) for row in _rows("published_workloads.csv"))


def _workload(row: dict[str, str]) -> CatalogWorkload:
    """A workload with what its studies add up to."""
    *collection, dataset, model, optimizer = row["workload"].split("/")
    studies = [study for study in published_studies() if study.workload == row["workload"]]
    certainty = {
        "batch_sizes": "stated",
        "goal": row["goal_certainty"],
        "train_examples": row["train_examples_certainty"],
        "trial_limit": "stated",
    }
    return CatalogWorkload(
        workload=row["workload"],
        collection="/".join(collection) or None,
        dataset=dataset,
        model=model,
        optimizer=optimizer,
        metric=row["metric"],
        goal=float(row["goal"]),
        maximize=row["maximize"] == "true",
        train_examples=int(row["train_examples"]) if row["train_examples"] else None,
        trial_limit=int(row["trial_limit"]),
        batch_sizes=tuple(sorted(study.batch_size for study in studies)),
        complete=sum(study.complete for study in studies),
        incomplete=sum(study.incomplete for study in studies),
        infeasible=sum(study.infeasible for study in studies),
        certainty=tuple((name, cast("Certainty", how)) for name, how in certainty.items() if how),
        notes=row["notes"] or None,
    )


def _rows(name: str) -> Iterator[dict[str, str]]:
    """The rows of a CSV file in schema/catalog."""
    with (schema_folder() / "catalog" / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
