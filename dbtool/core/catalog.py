"""The published archive's own table of studies, its 35 workloads, and the curves of figures.

All are shipped as CSV files in schema/catalog, so they are available without the archive.
"""

import csv
import functools
from typing import Literal, TypeAlias, TypeVar

import msgspec

from dbtool.core.resources import schema_folder

Certainty: TypeAlias = Literal["stated", "recalled", "chosen"]
T = TypeVar("T")


class PublishedStudy(msgspec.Struct, frozen=True):
    """A row of the release's table: a study with its number of trials of each status.

    Its names are those of the archive's path; that of a data set has its collection before it.
    """

    dataset: str
    model: str
    optimizer: str
    batch_size: int
    complete: int
    incomplete: int
    infeasible: int

    @property
    def workload(self) -> str:
        """Return the workload's path in the archive."""
        return f"{self.dataset}/{self.model}/{self.optimizer}"

    @property
    def path(self) -> str:
        """Return the study's folder, below the archive's root."""
        return f"{self.workload}/{self.batch_size}"

    @property
    def trials(self) -> int:
        """Return how many trials of the study the archive has, whatever their status."""
        return self.complete + self.incomplete + self.infeasible


class CatalogWorkload(msgspec.Struct, frozen=True):
    """A workload of the published archive, with its known settings.

    Attributes:
        workload: its path in the archive.
        metric: the column of the goal.
        goal: steps to result count up to the first value strictly past it.
        goal_certainty: how sure the goal is: stated (by the release or its paper), recalled (from
            memory of the paper) or chosen (by us).
        maximize: whether higher values of the metric are better.
        train_examples: size of the training split; None where it is not known to the example.
        trial_limit: how many COMPLETE trials of a study the authors' figures use, by trial id.
        notes: what the settings do not cover; None where there is nothing to add.
    """

    workload: str
    metric: str
    goal: float
    goal_certainty: Certainty
    maximize: bool
    train_examples: int | None
    train_examples_certainty: Certainty | None
    trial_limit: int
    notes: str | None

    @property
    def collection(self) -> str | None:
        """Return the folder above the data set, such as mnist_subsets; None for most."""
        return "/".join(self.workload.split("/")[:-3]) or None

    @property
    def studies(self) -> list[PublishedStudy]:
        """List its studies in the release's table, by batch size."""
        found = [study for study in published_studies() if study.workload == self.workload]
        return sorted(found, key=lambda study: study.batch_size)

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """Return the batch size of each study, in ascending order."""
        return tuple(study.batch_size for study in self.studies)


@functools.cache
def published_studies() -> tuple[PublishedStudy, ...]:
    """Return the 454 studies of the release's table, in its order."""
    return _catalog_rows("published_studies.csv", PublishedStudy)


@functools.cache
def catalog() -> tuple[CatalogWorkload, ...]:
    """Return the 35 published workloads, sorted by name."""
    return _catalog_rows("published_workloads.csv", CatalogWorkload)


def figure_curves() -> list[dict[str, str]]:
    """Return the curves of figures, each without the columns that it has no value of."""
    return [{name: text for name, text in row.items() if text} for row in _texts("figures.csv")]


def _catalog_rows(name: str, kind: type[T]) -> tuple[T, ...]:
    return tuple(
        msgspec.convert({key: text or None for key, text in row.items()}, kind, strict=False)
        for row in _texts(name)
    )


def _texts(name: str) -> list[dict[str, str]]:
    with (schema_folder() / "catalog" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
