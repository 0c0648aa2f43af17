"""Releases of made-up numbers, what is published of them, and what they hold."""

import atexit
import math
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.core.files import sha256_of
from dbtool.core.manifest import MANIFEST, SUMS, ReleaseFile, encode_manifest, read_manifest
from dbtool.database import open_database
from dbtool.release.layout import sums
from dbtool.release.publish import publish
from dbtool.sources.base import Report, add_source
from dbtool.sources.ingest import ReleaseSource
from dbtool.store.shard_files import read_whole
from tests.support.made_up import DIGITS, RELEASE, MadeTrial, curve, write_shard

LICENCE = "CC0-1.0"
SGD = DIGITS
OTHERS = "letters/fc_64/adam"
VIEWS = ("releases", "workloads", "studies", "trials", "measurements")


def write_shards(folder: Path, release: str = RELEASE) -> Path:
    """Three studies of two workloads, one in two shards, with NULL, NaN, inf and other metrics."""
    return shutil.copytree(_written_shards(release), folder, dirs_exist_ok=True)


@cache
def _written_shards(release: str) -> Path:
    """Written once by each process, since many tests begin with a folder of them."""
    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made)
    folder = Path(made) / "release"
    errors = [0.9, 0.5, 0.3, 0.2, 0.05]
    fast, slow = {"learning_rate": 0.1, "momentum": 0.9}, {"momentum": 0.5, "learning_rate": 0.01}
    odd: list[Any] = [
        {"step": 0, "val_classification_error": 0.9, "other_metrics": {"b": 1.5, "a": math.nan}},
        {"step": 1, "batch_cross_entropy_error": math.inf, "train_cross_entropy_error": -0.0},
        {"step": 2, "batch_cross_entropy_error": math.nan, "val_average_precision": 0.25},
        {"step": 3, "batch_cross_entropy_error": 0.1, "other_metrics": {}},
    ]
    write = partial(write_shard, folder, release=release)
    trials: list[MadeTrial]
    trials = [(2, "COMPLETE", fast, curve(errors)), (3, "INFEASIBLE", slow, odd)]
    write(workload=SGD, batch_size=8, trials=trials)
    trials = [(0, "COMPLETE", slow, curve(errors[::-1])), (1, "INCOMPLETE", {}, curve([0.9]))]
    write(workload=SGD, batch_size=8, trials=trials)
    write(workload=SGD, batch_size=64, trials=[(0, "COMPLETE", fast, curve(errors))])
    goal: dict[str, Any] = {"metric": "test_average_precision", "goal": 0.6, "goal_inclusive": True}
    trials = [(7, "COMPLETE", {"β": 0.5}, curve(errors, metric=goal["metric"]))]
    write(workload=OTHERS, batch_size=32, trials=trials, **goal)
    return folder


def write_swapped(folder: Path) -> Path:
    """Two studies of one trial, each in the place of the other, though every hash is right."""
    for batch_size, error in ((8, 0.2), (64, 0.3)):
        trials: Any = [(0, "COMPLETE", {}, curve([0.9, error]))]
        write_shard(folder, batch_size=batch_size, trials=trials)
    first, second = (folder / file.path for file in read_manifest(folder).shards)
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    for path in (first, second):
        list_as_it_is(folder, path.relative_to(folder).as_posix())
    return folder


def published(folder: Path, out: Path, **options: Any) -> Path:
    """A release folder, published; returns the new folder."""
    publish(folder, out, **{"licence": LICENCE, **options})
    return out


def add_release(folder: Path, into: Path, **options: Any) -> Report:
    """Adds the shards of one release folder to another."""
    return add_source(ReleaseSource(folder, read_whole(folder)), into, **options)


def texts_of(frame: pl.DataFrame) -> list[str]:
    """The rows as text, sorted, so that NaN equals NaN and -0 is not 0."""
    return sorted(map(str, frame.rows()))


def rows(folder: Path, *queries: str) -> list[str]:
    """The rows of queries as text, sorted, so that NaN equals NaN and -0 is not 0."""
    with open_database(folder) as db:
        return sorted(str(row) for query in queries for row in db.sql(query).rows())


def everything(folder: Path) -> dict[str, list[str]]:
    """Every row of every view about the release `made-up`, as `rows` has them."""
    with open_database(folder) as db:
        return {
            view: sorted(map(str, db.sql(f"FROM {view} WHERE release = '{RELEASE}'")))
            for view in VIEWS
        }


def rewrite(folder: Path, **changes: Any) -> None:
    """Changes values of the manifest, whose own digest and SHA256SUMS stay right."""
    manifest = msgspec.structs.replace(read_manifest(folder), **changes)
    (folder / MANIFEST).write_bytes(encode_manifest(manifest))
    if (folder / SUMS).exists():
        (folder / SUMS).write_text(sums(manifest))


def list_as_it_is(folder: Path, path: str, *, instead: str | None = None) -> None:
    """Lists a file as it is now, in place of another one where that is named."""
    file = folder / path
    try:
        rows = pq.read_metadata(file).num_rows
    except pa.ArrowInvalid:
        rows = None
    listed = ReleaseFile(path=path, sha256=sha256_of(file), bytes=file.stat().st_size, rows=rows)
    others = [each for each in read_manifest(folder).files if each.path not in {path, instead}]
    rewrite(folder, files=tuple(sorted([*others, listed], key=lambda each: each.path)))


def flipped(content: bytes, at: int, bit: int = 0) -> bytes:
    """A content with a bit of a byte turned."""
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but the locks, which are hidden."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
