"""Releases that are published and loaded in tests, and what databases hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dbtool.release.publish import publish_release
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import find_shards, ingest
from dbtool.store.load import load
from support.made_up import curve, write_shard

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.store.load import Loaded
    from dbtool.store.published.manifest import PublishedManifest

ABOUT = {"title": "Made-up numbers", "licence": "CC0-1.0"}
SGD = "digits/simple_cnn_base/sgd"
OTHERS = "letters/fc_64/adam"
VIEWS = ("releases", "workloads", "studies", "trials", "measurements")


def write_shards(folder: Path, release: str = "made-up") -> Path:
    """Three studies of two workloads, one in two shards, with NULL, NaN, inf and other metrics."""
    errors = [0.9, 0.5, 0.3, 0.2, 0.05]
    fast, slow = {"learning_rate": 0.1, "momentum": 0.9}, {"momentum": 0.5, "learning_rate": 0.01}
    odd = [
        {"step": 0, "val_classification_error": 0.9, "other_metrics": {"b": 1.5, "a": math.nan}},
        {"step": 1, "batch_cross_entropy_error": math.inf, "train_cross_entropy_error": -0.0},
        {"step": 2, "batch_cross_entropy_error": math.nan, "val_average_precision": 0.25},
        {"step": 3, "batch_cross_entropy_error": 0.1, "other_metrics": {}},
    ]
    common: dict[str, Any] = {"release": release}
    write_shard(
        folder,
        workload=SGD,
        batch_size=8,
        trials=[(2, "COMPLETE", fast, curve(errors)), (3, "INFEASIBLE", slow, odd)],
        train_steps=40,
        **common,
    )
    write_shard(
        folder,
        workload=SGD,
        batch_size=8,
        trials=[(0, "COMPLETE", slow, curve(errors[::-1])), (1, "INCOMPLETE", {}, curve([0.9]))],
        train_steps=40,
        **common,
    )
    write_shard(
        folder, workload=SGD, batch_size=64, trials=[(0, "COMPLETE", fast, curve(errors))], **common
    )
    write_shard(
        folder,
        workload=OTHERS,
        batch_size=32,
        trials=[(7, "COMPLETE", {"β": 0.5}, curve(errors, metric="test_average_precision"))],
        metric="test_average_precision",
        maximize=True,
        goal=0.6,
        goal_inclusive=True,
        **common,
    )
    return folder


def database(path: Path, *folders: Path) -> Path:
    """A database of shards, loaded folder by folder."""
    with open_for_writing(path) as connection:
        for folder in folders:
            assert ingest(connection, find_shards([folder])).refused == ()
    return path


def published(database: Path, out: Path, release: str = "made-up", **options: Any) -> Path:
    """A release of a database, published; returns the folder."""
    publish(database, out, release, **options)
    return out


def publish(database: Path, out: Path, release: str, **options: Any) -> PublishedManifest:
    with open_for_reading(database) as connection:
        return publish_release(connection, out, release=release, **options)


def loaded(path: Path, *paths: Path) -> Loaded:
    """Loads what is named into a database."""
    with open_for_writing(path) as connection:
        return load(connection, paths)


def rows(database: Path, *queries: str) -> list[str]:
    """The rows of queries as text, sorted, so that NaN equals NaN and -0 is not 0."""
    with open_for_reading(database) as connection:
        return sorted(str(row) for query in queries for row in connection.execute(query).fetchall())


_STUDIES = (
    "stored.study JOIN stored.workload USING (workload_id) JOIN stored.release USING (release_id)"
)
_EVERYTHING = {view: f"SELECT * FROM {view}" for view in VIEWS} | {
    "improvements": "SELECT workload, batch_size, trial_id, step, value FROM stored.improvement "
    f"JOIN ({_STUDIES}) USING (study_id)",
    "shards": "SELECT workload, batch_size, sha256, name, shard.measurements, producer "
    f"FROM stored.shard AS shard JOIN ({_STUDIES}) USING (study_id)",
    "definitions": "SELECT workload, definition FROM stored.workload "
    "JOIN stored.release USING (release_id)",
    "digests": "SELECT workload, batch_size, trial_id, digest FROM stored.trial AS trial "
    f"JOIN ({_STUDIES}) USING (study_id)",
}


def everything(database: Path, release: str = "made-up") -> dict[str, list[str]]:
    """Every row of every view about a release, its improvements and the hashes of its shards."""
    with open_for_reading(database) as connection:
        return {
            name: sorted(
                map(str, connection.execute(f"{query} WHERE release = ?", [release]).fetchall())
            )
            for name, query in _EVERYTHING.items()
        }


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
