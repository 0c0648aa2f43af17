"""Converts the files of one study of an archive into a shard's footer and rows."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, TypeVar

from msgspec import Struct

from dbtool.core.catalog import catalog
from dbtool.core.checks import InvalidError, parse_json
from dbtool.core.contract import archive_columns
from dbtool.core.errors import counted
from dbtool.core.footer import (
    Count,
    Footer,
    FooterError,
    SmallCount,
    Status,
    Study,
    Trial,
    Workload,
    encode_footer,
    plain,
)
from dbtool.core.index import Index, differences
from dbtool.core.shards import Shard
from dbtool.sources.archive.measurements import TrialText, parse_measurements, split_header
from dbtool.sources.archive.members import MEASUREMENTS, METADATA, STUDY, Gathered
from dbtool.sources.base import Addition, MalformedError, NewShard

T = TypeVar("T", bound=Struct)
# Candidates for the metric of a workload outside the catalog: its files' first one counts.
_METRICS = tuple(
    f"{split}_{metric}"
    for split in ("val", "test", "train")
    for metric in ("average_precision", "classification_error", "cross_entropy_error")
)


class StudyDescription(Struct, frozen=True):
    """Contents of study.json, see `Study`; the first number is the name of its folder.

    The ranges of metaparameters are there by name, or in a list with their names.
    """

    batch_size: Count
    train_steps: Count
    early_stopping: bool
    parameter_configs: dict[str, dict[str, Any]] | list[dict[str, Any]]

    def __post_init__(self) -> None:
        if isinstance(self.parameter_configs, list):
            names = [_name(config) for config in self.parameter_configs]
            if not all(isinstance(name, str) for name in names):
                raise ValueError("parameter_configs has a metaparameter without a name")
            if len(set(names)) < len(names):
                raise ValueError("parameter_configs names a metaparameter twice")
        try:
            json.dumps(self.parameter_configs, allow_nan=False)
        except ValueError as error:
            raise ValueError("parameter_configs holds a number that JSON does not have") from error

    @property
    def search_space(self) -> dict[str, dict[str, Any]]:
        """Return the type, range or points of each metaparameter."""
        if isinstance(self.parameter_configs, dict):
            return self.parameter_configs
        return {_name(config): config for config in self.parameter_configs}


class TrialDescription(Struct, frozen=True):
    """Contents of metadata.json, see `Trial`; the first number is the name of its folder."""

    trial_id: SmallCount
    status: Status
    steps: Count
    parameters: dict[str, float]


def parse_description(kind: type[T], path: str, body: bytes, folder: str) -> T:
    """Read study.json or metadata.json from a folder named by the batch size or the trial's id.

    Raises:
        MalformedError: the file is malformed, or belongs to another folder.
    """
    if b"\\u0000" in body:
        raise MalformedError(path, "it holds a null character")
    try:
        description = parse_json(body, kind)
    except InvalidError as error:
        raise MalformedError(path, str(error)) from error
    name = kind.__struct_fields__[0]
    number = getattr(description, name)
    if str(number) != folder:
        raise MalformedError(path, f"its {name} {number} is not that of its folder, {folder}")
    return description


def _name(config: dict[str, Any]) -> Any:
    """Return the name of a metaparameter in a list."""
    return config.get("name", config.get("parameter_name"))


class StudyReader:
    """Reader of studies one after another, beside those in the release.

    Trials may arrive after their study was complete, and before it is stored: what was read is
    remembered.
    """

    def __init__(self, addition: Addition) -> None:
        self._addition = addition
        self._report = addition.report
        self._read = Index()

    def read(self, gathered: Gathered) -> NewShard | None:
        """Return the shard of a study's new and sound trials; None where it has none.

        What is dropped or unusual goes into the report.
        """
        report = self._report
        try:
            study = self._study(gathered)
        except MalformedError as error:
            trials = len(gathered.trials)
            reason = f"{error.reason}; {counted(trials, 'trial')} left out"
            report.leave_out(MalformedError(error.path, reason), trials)
            return None
        new = sorted(self._new_trials(gathered), key=lambda pair: pair[0].trial_id)
        path = gathered.path
        parsed = parse_measurements(
            TrialText(each.trial_id, f"{path}/{each.trial_id}/{MEASUREMENTS}", body, each.steps)
            for each, body in new
            if body is not None
        )
        for malformed in parsed.malformed:
            report.leave_out(malformed)
        parsed.oddities["trials without measurements.csv"] = sum(body is None for _, body in new)
        report.oddities += parsed.oddities
        sound = [trial for trial, body in new if body is None or trial.trial_id in parsed.sound]
        if not sound:
            return None
        footer = Footer(
            study=study,
            trials=tuple(sound),
            producer={"archive": path},
            repeated_steps=parsed.oddities["repeated steps"] > 0,
        )
        try:
            encode_footer(footer)
        except FooterError as error:
            report.leave_out(MalformedError(path, str(error)), len(sound))
            return None
        self._read.add(Shard("", "", 0, footer))
        return footer, [parsed.table]

    def _study(self, gathered: Gathered) -> Study:
        """Return the contents of study.json; for late trials, its earlier contents."""
        path, held, read = f"{gathered.path}/{STUDY}", self._addition.held, self._read
        name, size = gathered.key
        before = held.studies.get(gathered.key) or read.studies.get(gathered.key)
        body = gathered.read("", STUDY)
        if body is None:
            if before is None:
                raise MalformedError(path, "it is missing")
            return before
        description = parse_description(StudyDescription, path, body, str(size))
        known = held.workloads.get(name) or read.workloads.get(name)
        study = Study(
            workload=known or _workload(name, gathered),
            batch_size=description.batch_size,
            train_steps=description.train_steps,
            early_stopping=description.early_stopping,
            search_space=description.search_space,
        )
        if differing := ", ".join(differences(before, study)):
            raise MalformedError(path, f"it differs from the stored study in {differing}")
        return study

    def _new_trials(self, gathered: Gathered) -> Iterator[tuple[Trial, bytes | None]]:
        """Yield the trials that the release lacks, each with its measurements.csv."""
        known = self._addition.held, self._read
        held = [row for each in known for row in each.trials_of(*gathered.key).values()]
        sources = {row["trial_id"]: row["source"] for row in held}
        for folder in gathered.trials:
            path = f"{gathered.path}/{folder}"
            metadata = gathered.read(folder, METADATA)
            if metadata is None:
                self._report.leave_out(MalformedError(path, f"it has no {METADATA}"))
                continue
            try:
                name = f"{path}/{METADATA}"
                description = parse_description(TrialDescription, name, metadata, folder)
            except MalformedError as error:
                self._report.leave_out(error)
                continue
            measurements = gathered.read(folder, MEASUREMENTS)
            parameters = description.parameters.items()
            trial = Trial(
                trial_id=description.trial_id,
                status=description.status,
                steps=description.steps,
                metaparameters={key: plain(value) for key, value in parameters},
                source=_digest(metadata, measurements),
            )
            if trial.trial_id not in sources:
                yield trial, measurements
            elif sources[trial.trial_id] == trial.source:
                self._report.already_there += 1
            else:
                reason = "the release holds this trial already, with other contents"
                self._report.leave_out(MalformedError(path, reason))


def _digest(metadata: bytes, measurements: bytes | None) -> str:
    """Return 16 hex digits that identify a trial's two files."""
    digest = hashlib.sha256(len(metadata).to_bytes(8) + metadata)
    if measurements is not None:
        digest.update(b"\1")
        digest.update(measurements)
    return digest.hexdigest()[:16]


def _workload(name: str, gathered: Gathered) -> Workload:
    """Return a workload from the catalog, or from its path and its files."""
    *collection, dataset, model, optimizer = name.split("/")
    known = next((known for known in catalog() if known.workload == name), None)
    return Workload(
        workload=name,
        collection="/".join(collection) or None,
        dataset=dataset,
        model=model,
        optimizer=optimizer,
        metric=known.metric if known else _likely_metric(gathered),
        goal=known.goal if known else None,
        train_examples=known.train_examples if known else None,
    )


def _likely_metric(gathered: Gathered) -> str:
    """Return the metric to judge trials by, from the first file that has a header."""
    for trial in gathered.trials:
        line = (gathered.read(trial, MEASUREMENTS) or b"").partition(b"\n")[0]
        try:
            names = split_header(line)
        except ValueError:
            continue
        return next((each for each in _METRICS if archive_columns()[each] in names), _METRICS[1])
    return _METRICS[1]
