"""The examples that studies train on, and whether the user's own are still the same."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbtool.core.errors import DbtoolError
from dbtool.core.index import Index
from dbtool.core.release import shard_paths
from dbtool.core.shards import read_footer
from producers.configuration import SweepOptions
from producers.datasets.registry import dataset_definition, load_dataset
from producers.datasets.split import Dataset
from producers.plan import StudyPlan
from producers.sweep.run import held_index, work_folders
from producers.training.saved import saved_blocks
from producers.workloads.definition import Workload


def load_data(study: StudyPlan, options: SweepOptions) -> Dataset:
    """Load the examples of a study.

    Raises:
        DbtoolError: a user's own loader returns others than the workload was planned with.
    """
    workload = study.workload
    data = load_dataset(
        workload.source,
        form=workload.form,
        subset=workload.subset,
        train_examples=workload.train_limit,
        folder=study.replacement,
        datasets_dir=options.datasets,
        vocabulary=options.vocabulary,
        held_out=workload.held_out,
    )
    if _is_own(workload) and workload.data_sha256 not in (None, data.sha256):
        raise DbtoolError(
            f"the loader of {workload.source} returned other examples than when the command "
            "began; have it return the same at every call and on every machine"
        )
    return data


def with_own_data(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions
) -> list[StudyPlan]:
    """Return studies whose workloads record the digest of what the user's own loaders return.

    What was begun in the folder before digests were recorded goes on without one.
    """
    index = held_index(out)
    own = [study for study in studies if _is_own(study.workload)]
    without = {
        study.workload.name
        for study in own
        for definition in _definitions(study, out, index)
        if "data_sha256" not in (definition or {})
    }
    digests: dict[Workload, str] = {}
    for study in own:
        if study.workload.name not in without and study.workload not in digests:
            digests[study.workload] = load_data(study, options).sha256
    return [
        replace(study, workload=replace(study.workload, data_sha256=digests[study.workload]))
        if study.workload in digests
        else study
        for study in studies
    ]


def _is_own(workload: Workload) -> bool:
    return dataset_definition(workload.source).is_own


def _definitions(study: StudyPlan, out: Path, index: Index) -> Iterator[dict[str, Any] | None]:
    """Yield the definitions with which what is there of a study's workload was begun."""
    if held := index.workloads.get(study.workload.name):
        yield held.definition
    folder, *rounds = work_folders(study, out)
    for each in (folder, *rounds):
        for (held_study, *_), _ in saved_blocks(each):
            yield held_study["workload"]["definition"]
    for each in rounds:
        for path in shard_paths(each):
            yield read_footer(each / path).study.workload.definition
