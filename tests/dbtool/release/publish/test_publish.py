"""Published release folders: what is in them, the same bytes for the same release, reductions."""

from __future__ import annotations

import hashlib
import json
import subprocess
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_up import curve, shard_metadata, shard_table, write_shard
from support.published import (
    OTHERS,
    SGD,
    bytes_of,
    database,
    everything,
    loaded,
    publish,
    published,
    write_shards,
)

from dbtool.errors import DbtoolError, UsageError
from dbtool.release.merge import merge_shards
from dbtool.release.publish import Said
from dbtool.release.reduction import Reduction
from dbtool.resources import schema_folder
from dbtool.store.contract import STUDY_KEY, shard_name
from dbtool.store.ingest import find_shards
from dbtool.store.published.layout import measurements_path
from dbtool.store.published.manifest import read_published, sums

if TYPE_CHECKING:
    from pathlib import Path

BIBTEX = (
    "@misc{made-up,\n  title = {{Made-up} numbers},\n  author = {Doe, Jane and {The Others}},\n"
    "  year = 2025,\n}"
)
SMALL = Reduction(every_loss_up_to=3, then_one_in=16, loss_bits=8)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shards(tmp_path_factory.mktemp("shards"))


@pytest.fixture(scope="module")
def stored(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return database(tmp_path_factory.mktemp("stored") / "db", shards)


@pytest.fixture(scope="module")
def folder(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    said = Said("Made-up numbers", "CC0-1.0", BIBTEX)
    return published(stored, tmp_path_factory.mktemp("out") / "release", said=said)


def test_the_folder_holds_what_it_says(folder: Path) -> None:
    assert sorted(bytes_of(folder)) == [
        "CITATION.cff",
        "README.md",
        "SHA256SUMS",
        "citation.bib",
        "croissant.json",
        "manifest.json",
        f"measurements/{SGD}.parquet",
        f"measurements/{OTHERS}.parquet",
        *(
            f"tables/{table}.parquet"
            for table in ("improvements", "releases", "shards", "studies", "trials", "workloads")
        ),
    ]
    manifest = read_published(folder)
    for file in manifest.files:
        content = (folder / file.path).read_bytes()
        assert (file.sha256, file.bytes) == (hashlib.sha256(content).hexdigest(), len(content))
        if file.table is not None:
            assert pq.read_metadata(folder / file.path).num_rows == file.rows
    # 2 and 3 of batch size 8 have 41 and 4 rows, 0 and 1 41 and 1, the others 41 each.
    assert {file.workload: file.rows for file in manifest.measurements().values()} == {
        SGD: 41 + 4 + 41 + 1 + 41,
        OTHERS: 41,
    }
    assert {name: manifest.rows(name) for name in ("studies", "trials", "shards")} == {
        "studies": 3,
        "trials": 6,
        "shards": 4,
    }


def test_ids_follow_workload_and_batch_size(folder: Path) -> None:
    studies = pq.read_table(folder / "tables/studies.parquet").to_pylist()
    assert [(row["study_id"], row["workload_id"], row["batch_size"]) for row in studies] == [
        (1, 1, 8),
        (2, 1, 64),
        (3, 2, 32),
    ]
    rows = pq.read_table(folder / f"measurements/{SGD}.parquet").to_pylist()
    places = [(row["study_id"], row["trial_id"], row["step"]) for row in rows]
    assert places == sorted(places)
    assert {(row["study_id"], row["workload"], row["batch_size"]) for row in rows} == {
        (1, SGD, 8),
        (2, SGD, 64),
    }
    trials = pq.read_table(folder / "tables/trials.parquet").to_pylist()
    # The shard of trials 0 and 1 comes first by its name.
    assert [(row["study_id"], row["trial_id"], row["shard_id"]) for row in trials] == [
        *((1, 0, 1), (1, 1, 1), (1, 2, 2), (1, 3, 2)),
        *((2, 0, 3), (3, 7, 4)),
    ]


def test_all_files_of_measurements_have_one_schema(folder: Path) -> None:
    first, second = (
        pq.read_schema(folder / f"measurements/{name}.parquet") for name in (SGD, OTHERS)
    )
    assert first == second


def test_the_sums_are_those_of_sha256sum(folder: Path) -> None:
    done = subprocess.run(
        ["sha256sum", "--strict", "-c", "SHA256SUMS"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stdout.splitlines()) == len(bytes_of(folder)) - 1
    assert (folder / "SHA256SUMS").read_text() == sums(read_published(folder))


def test_the_manifest_follows_its_schema(folder: Path, stored: Path, tmp_path: Path) -> None:
    schema = json.loads((schema_folder() / "published_manifest.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    reduced = published(stored, tmp_path / "reduced", reduction=SMALL)
    for each in (folder, reduced):
        jsonschema.validate(json.loads((each / "manifest.json").read_text()), schema)
    assert read_published(reduced).reduced == (SMALL.to_json(),)


def test_the_same_release_gives_the_same_bytes(shards: Path, stored: Path, tmp_path: Path) -> None:
    """Also from a database that holds other releases, and was loaded in another order."""
    other = write_shards(tmp_path / "other", release="other")
    pieces = [path.parent for path in reversed(find_shards([shards]))]
    path = database(tmp_path / "db", other, *pieces)
    first = bytes_of(published(stored, tmp_path / "first"))
    assert bytes_of(published(stored, tmp_path / "again")) == first
    assert bytes_of(published(path, tmp_path / "second")) == first
    loaded(tmp_path / "third.db", tmp_path / "first")
    assert bytes_of(published(tmp_path / "third.db", tmp_path / "third")) == first


def test_row_groups_end_where_studies_do(tmp_path: Path) -> None:
    """So that a reader can take each study for a file of its own."""
    for batch_size, evaluations in ((1, 6001), (2, 3001), (4, 15001)):
        trials = [(0, "COMPLETE", {}, curve([0.5] * evaluations))]
        write_shard(tmp_path / "shards", workload=SGD, batch_size=batch_size, trials=trials)
    path = published(database(tmp_path / "db", tmp_path / "shards"), tmp_path / "out")
    metadata = pq.read_metadata(path / f"measurements/{SGD}.parquet")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [60_001, 30_001, 100_000, 50_001]
    spans = [(group.column(0).statistics.min, group.column(0).statistics.max) for group in groups]
    assert spans == [(1, 1), (2, 2), (3, 3), (3, 3)]


@pytest.mark.parametrize("reduction", [SMALL, Reduction(then_one_in=None), Reduction(5, None, 3)])
def test_reductions_give_the_rows_of_the_old_form(
    shards: Path, stored: Path, tmp_path: Path, reduction: Reduction
) -> None:
    merge_shards(find_shards([shards]), tmp_path / "old", release="made-up", reduction=reduction)
    published(stored, tmp_path / "new", reduction=reduction)
    database(tmp_path / "old.db", tmp_path / "old")
    assert loaded(tmp_path / "new.db", tmp_path / "new").refused == ()
    old, new = everything(tmp_path / "old.db"), everything(tmp_path / "new.db")
    for view in ("workloads", "measurements", "improvements"):
        assert new[view] == old[view]
    again = published(tmp_path / "new.db", tmp_path / "again", reduction=reduction)
    assert bytes_of(again) == bytes_of(tmp_path / "new")
    # Without an option, what was left out before is still said.
    assert bytes_of(published(tmp_path / "new.db", tmp_path / "kept")) == bytes_of(again)


STEPS = range(1, 400)
REDUCTIONS = st.builds(
    Reduction, st.sampled_from([0, 5, 9]), st.sampled_from([None, 1, 2, 6, 8]), st.integers(5, 23)
)


def kept(reduction: Reduction) -> set[int]:
    """The steps at which batch losses stay."""
    if reduction.then_one_in is None:
        return {step for step in STEPS if step <= reduction.every_loss_up_to}
    return {
        step
        for step in STEPS
        if step <= reduction.every_loss_up_to or step % reduction.then_one_in == 0
    }


@given(REDUCTIONS, REDUCTIONS)
def test_reductions_one_after_the_other(first: Reduction, second: Reduction) -> None:
    both = second.after(first)
    if both is None:
        assert first.every_loss_up_to != second.every_loss_up_to
        assert 1 not in {first.then_one_in, second.then_one_in}
    else:
        assert kept(both) == kept(first) & kept(second)
        assert both.loss_bits == min(first.loss_bits, second.loss_bits)
    again = first.after(first)
    assert again is not None
    assert kept(again) == kept(first)


def test_reductions_that_no_single_one_stands_for() -> None:
    """Of steps 4 to 9, the first keeps 4, 6 and 8; later 12, 24, … are left, that both keep."""
    first, second = Reduction(3, 2), Reduction(9, 12)
    assert second.after(first) is None
    assert sorted(kept(first) & kept(second))[:8] == [1, 2, 3, 4, 6, 8, 12, 24]
    assert Reduction(9, 2).after(Reduction(3, 12)) == Reduction(3, 12)


def test_what_a_reduction_cannot_go_on_from_is_refused(stored: Path, tmp_path: Path) -> None:
    published(stored, tmp_path / "out", reduction=Reduction(3, 16))
    loaded(tmp_path / "db", tmp_path / "out")
    with pytest.raises(UsageError, match="give --every-loss-up-to 3 and as --then-one-in"):
        published(tmp_path / "db", tmp_path / "again", reduction=Reduction(30, 5))
    assert not (tmp_path / "again").exists()


def test_goals_of_batch_losses_are_reached_in_what_is_left(tmp_path: Path) -> None:
    """Losses 2 / (1 + step), of which steps 0 to 2 and 16, 32 are left, in one bit of mantissa."""
    rows = [row for row in curve([0.5] * 4) if row["step"]]
    write_shard(
        tmp_path / "shards",
        trials=[(0, "COMPLETE", {}, rows)],
        metric="batch_cross_entropy_error",
        goal=0.1,
    )
    stored = database(tmp_path / "db", tmp_path / "shards")
    published(stored, tmp_path / "out", reduction=Reduction(2, 16, 1))
    found = pq.read_table(tmp_path / "out/tables/improvements.parquet").to_pylist()
    values = {1: 1.0, 2: 0.75, 10: 0.1875, 16: 0.125, 20: 0.09375, 30: 0.0625}
    assert {row["step"]: row["value"] for row in found} == {
        step: float(np.float32(value)) for step, value in values.items()
    }


def write_shard_of(folder: Path, workload: str) -> None:
    """A shard of a workload whose name need not be one of folders."""
    trials = [(0, "COMPLETE", {}, curve([0.9]))]
    metadata = shard_metadata(trials, workload="a/b/c")
    metadata[STUDY_KEY]["workload"]["workload"] = workload
    text = {key: json.dumps(value) for key, value in metadata.items()}
    folder.mkdir(parents=True)
    pq.write_table(shard_table(trials).replace_schema_metadata(text), folder / "shard")
    digest = hashlib.sha256((folder / "shard").read_bytes()).hexdigest()
    (folder / "shard").rename(folder / shard_name(0, 0, digest))


def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    names = ["../up", "/etc/x", "a//b", ".hidden/x", "a", "a.parquet/b", "ü/%2E/*", "x" * 300]
    for number, name in enumerate(names):
        write_shard_of(tmp_path / "shards" / str(number), name)
    stored = database(tmp_path / "db", tmp_path / "shards")
    published(stored, tmp_path / "out")
    held = {path for path in bytes_of(tmp_path / "out") if path.startswith("measurements/")}
    assert held == {measurements_path(name) for name in names}
    assert len(held) == len(names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "out", "shards"]
    assert loaded(tmp_path / "other.db", tmp_path / "out").refused == ()
    assert everything(tmp_path / "other.db")["workloads"] == everything(stored)["workloads"]


def test_paths_of_workloads_by_hand() -> None:
    assert measurements_path("mnist/fc_64/sgd") == "measurements/mnist/fc_64/sgd.parquet"
    assert measurements_path("../a b") == "measurements/%2E%2E/a%20b.parquet"
    assert measurements_path("/.x") == "measurements/%/%2Ex.parquet"
    assert measurements_path("a.parquet/b") == "measurements/a%2Eparquet/b.parquet"


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_no_two_workloads_share_a_file(names: list[str]) -> None:
    first, second = (measurements_path(name) for name in names)
    assert first != second
    # Nor is the one's file the other's folder.
    assert not second.startswith(f"{first}/")
    for path in (first, second):
        assert path.isascii()
        assert not any(part.startswith(".") for part in path.split("/"))


def test_what_is_there_already_is_left_alone(stored: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        published(stored, tmp_path / "there")
    (tmp_path / "file").write_text("made up")
    with pytest.raises(DbtoolError, match="choose another folder with --out"):
        published(stored, tmp_path / "file" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]


def test_nothing_is_left_of_what_failed(stored: Path, tmp_path: Path) -> None:
    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        published(stored, tmp_path / "out", on_progress=stop)
    assert list(tmp_path.iterdir()) == []
    # What a killed process left goes with the next one.
    (tmp_path / ".out-publish-left").mkdir()
    published(stored, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_licence_is_always_named(stored: Path, tmp_path: Path) -> None:
    manifest = publish(stored, tmp_path / "out", "made-up")
    assert (manifest.title, manifest.licence, manifest.citation) == (None, "CC-BY-4.0", None)
