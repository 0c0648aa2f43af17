"""Archives in the published format for tests: tiny ones written by hand, and replicas."""

import io
import json
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dbtool.database import Database, open_database
from dbtool.sources.archive.source import ArchiveSource
from dbtool.sources.base import Report, add_source
from tests.replica import StudyPlan, plan_study, write_archive
from tests.support.rules import StudyFrames, read_archive

ROOT = "batch_science"
WORKLOAD = "made_up/simple_cnn_base/sgd"
STUDY = f"{WORKLOAD}/32"
CNN = "mnist/simple_cnn_base/nesterov_momentum"
# Studies of every metric of the published archive, some with unusual files.
PLANS = (
    plan_study(CNN, 1, odd=True),
    plan_study(CNN, 64, complete=30, incomplete=10),
    plan_study("solution_quality/" + CNN, 64),
    plan_study("imagenet/resnet_50/nesterov_momentum", 512, odd=True),
    plan_study("open_images_v4/resnet_50/nesterov_momentum", 1_024, odd=True),
    plan_study("lm1b/lstm/nesterov_momentum", 16),
)
HEADER = "step,train/cross_entropy_error,val/classification_error\n"
LINES = HEADER + "0,2.302585,0.9\n10,1.5,0.01\n"


def study_json(batch_size: int = 32, /, **changes: Any) -> bytes:
    """A sound study.json; changes replace or add keys."""
    value = {
        "batch_size": batch_size,
        "dataset": "made_up",
        "model": "simple_cnn_base",
        "optimizer": "sgd",
        "early_stopping": False,
        "train_steps": 10,
        "parameter_configs": {
            "learning_rate": {
                "type": "DOUBLE",
                "min_value": 1e-4,
                "max_value": 10.0,
                "scale": "LOG_SCALE",
            }
        },
        **changes,
    }
    return json.dumps(value).encode()


def metadata_json(trial_id: int, /, **changes: Any) -> bytes:
    """A sound metadata.json; changes replace or add keys."""
    value = {
        "trial_id": trial_id,
        "status": "COMPLETE",
        "steps": 10,
        "parameters": {"learning_rate": 0.1},
        "_internal_study_name": "made up",
        "_internal_trial_id": trial_id,
        **changes,
    }
    return json.dumps(value).encode()


def trial(
    trial_id: int, lines: str = LINES, study: str = STUDY, **changes: Any
) -> dict[str, bytes]:
    """The two files of a trial by their names below the root."""
    return {
        f"{study}/{trial_id}/metadata.json": metadata_json(trial_id, **changes),
        f"{study}/{trial_id}/measurements.csv": lines.encode(),
    }


def small_study(*lines: str, study: str = STUDY, **changes: Any) -> dict[str, bytes]:
    """study.json, and a trial for each of the measurements.csv, numbered from 1."""
    batch_size = int(study.rpartition("/")[2])
    files = {f"{study}/study.json": study_json(batch_size, **changes)}
    for number, text in enumerate(lines, 1):
        files |= trial(number, text, study)
    return files


def write_tar(
    path: Path,
    files: Mapping[str, bytes] | Iterable[tuple[str, bytes]],
    mode: Literal["w", "w:bz2"] = "w",
    first: Iterable[tuple[str, bytes, dict[str, Any]]] = (),
) -> Path:
    """Writes files below the root into a tar file; before them other members, as `add` has them."""
    pairs = files.items() if hasattr(files, "items") else files
    with tarfile.open(path, mode) as archive:
        for name, contents, header in first:
            add(archive, name, contents, **header)
        for name, contents in pairs:
            add(archive, f"{ROOT}/{name}", contents)
    return path


def add(archive: tarfile.TarFile, name: str, contents: bytes = b"", **header: Any) -> None:
    """Adds a member of any kind; header values are those of `tarfile.TarInfo`."""
    info = tarfile.TarInfo(name)
    info.size = len(contents)
    for key, value in header.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(contents))


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes files into a folder, by their paths there; returns the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def write_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Writes files below the root into a folder; returns the root."""
    return write_files(folder / ROOT, files)


def imported(path: Path, folder: Path, **options: Any) -> Report:
    """Imports an archive into a release folder, which is made where it is not there."""
    return add_source(ArchiveSource(path, **options), folder)


@dataclass(frozen=True)
class Replica:
    """Studies of the replica writer.

    Attributes:
        root: the files that an archive of them unpacks into.
        studies: what these hold.
        folder: the release that such an archive was imported into.
        db: that release.
    """

    root: Path
    studies: list[StudyFrames]
    folder: Path
    db: Database


def opened_replica(folder: Path, plans: Sequence[StudyPlan]) -> Iterator[Replica]:
    """Writes studies as files, and imports them from a tar file in which they are mixed."""
    write_archive(folder, studies=plans, seed=3, layout="folder")
    path, root = folder / "a.tar", folder / ROOT
    write_archive(path, studies=plans, seed=3, layout="tar", order="interleaved")
    assert not imported(path, folder / "db").malformed
    with open_database(folder / "db") as db:
        yield Replica(root, read_archive(root), folder / "db", db)


def query(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    with open_database(folder) as db:
        return db.sql(sql).rows()


def contents(folder: Path) -> dict[str, list[str]]:
    """Every row of every view, in order; text, so that nan equals nan.

    The shards' names are left out: an import that was stopped cuts a study into several.
    """
    views = ("releases", "workloads", "studies", "trials", "measurements")
    columns = {"trials": "* EXCLUDE (shard)"}
    with open_database(folder) as db:
        return {
            view: sorted(map(str, db.sql(f"SELECT {columns.get(view, '*')} FROM {view}")))
            for view in views
        }
