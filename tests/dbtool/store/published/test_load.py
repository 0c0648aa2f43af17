"""Published releases come back into a database exactly; what clashes or is damaged is refused."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import duckdb
import pytest
from replica import plan_study, write_archive
from support.archives import contents, imported
from support.made_up import curve, write_shard
from support.published import (
    ABOUT,
    OTHERS,
    SGD,
    database,
    everything,
    loaded,
    published,
    rows,
    write_shards,
)

from dbtool.errors import DbtoolError, UsageError
from dbtool.release.merge import merge_shards
from dbtool.release.publish import Said
from dbtool.release.reduction import Reduction
from dbtool.release.verify import verify
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import find_shards, ingest
from dbtool.store.locate import bundled_database
from dbtool.store.published.load import load_published
from dbtool.store.published.manifest import read_published
from dbtool.store.published.views import open_published

if TYPE_CHECKING:
    from pathlib import Path

SAID = Said(ABOUT["title"], ABOUT["licence"], "@misc{made-up}")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards that name title, licence and citation, and so lie in a release folder of old form."""
    folder = tmp_path_factory.mktemp("shards")
    about = {**ABOUT, "citation": "@misc{made-up}", "reduction": Reduction()}
    plain = find_shards([write_shards(folder / "plain")])
    merge_shards(plain, folder / "old", release="made-up", **about)
    return folder / "old"


@pytest.fixture(scope="module")
def stored(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return database(tmp_path_factory.mktemp("stored") / "db", shards)


@pytest.fixture(scope="module")
def folder(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(stored, tmp_path_factory.mktemp("out") / "release")


def test_everything_comes_back(stored: Path, folder: Path, tmp_path: Path) -> None:
    """Into a database that holds other releases too."""
    path = database(tmp_path / "db", write_shards(tmp_path / "other", release="other"))
    before = everything(path, "other")
    [report] = loaded(path, folder).releases
    assert (report.added, report.already_there, report.refused) == (3, 0, ())
    assert (report.trials, report.measurements) == (6, 169)
    expected = everything(stored)
    assert everything(path) == expected
    assert everything(path, "other") == before
    assert all(expected.values())
    assert verify(path).problems == ()


def test_loading_again_adds_nothing(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "db"
    loaded(path, folder)
    before = everything(path)
    [report] = loaded(path, folder).releases
    assert (report.added, report.already_there, report.trials) == (0, 3, 0)
    assert everything(path) == before


def test_shards_and_what_was_published_of_them_are_the_same(
    shards: Path, stored: Path, folder: Path, tmp_path: Path
) -> None:
    """Whichever comes first, and if only some of them come first."""
    with open_for_writing(tmp_path / "after") as connection:
        load_published(connection, folder)
        report = ingest(connection, find_shards([shards]))
        assert (report.added, report.already_there, report.refused) == (0, 3, ())
    assert everything(tmp_path / "after") == everything(stored)
    [one] = find_shards([shards / SGD / "8"])
    path = database(tmp_path / "before", one)
    [found] = loaded(path, folder).releases
    assert (found.added, found.already_there, found.refused) == (2, 1, ())
    assert everything(path) == everything(stored)


def test_trials_that_came_later_go_into_their_study(tmp_path: Path) -> None:
    """A study of two shards, the first of which was loaded before."""
    first, second = (
        write_shard(
            tmp_path / name,
            trials=[(trial, "COMPLETE", {"a": 1.0}, curve([0.9, 0.5 / (trial + 1)]))],
            train_steps=10,
        )
        for trial, name in enumerate(("first", "second"))
    )
    both = database(tmp_path / "both", tmp_path / "first", tmp_path / "second")
    folder = published(both, tmp_path / "out", said=SAID)
    assert (first, second) != (None, None)
    path = database(tmp_path / "db", tmp_path / "first")
    [report] = loaded(path, folder).releases
    assert (report.added, report.trials, report.measurements) == (1, 1, 11)
    held = everything(both)
    for view in ("trials", "measurements", "improvements", "shards"):
        assert everything(path)[view] == held[view]
    assert verify(path).problems == ()


def test_an_archive_comes_back(tmp_path: Path) -> None:
    """With odd files, repeated steps in their order, and no shards."""
    plans = (
        plan_study("mnist/simple_cnn_base/nesterov_momentum", 1, odd=True),
        plan_study("open_images_v4/resnet_50/nesterov_momentum", 1_024),
        plan_study("mnist/fc_1024/sgd", 8, complete=0),
    )
    write_archive(tmp_path, studies=plans, seed=3, layout="folder")
    imported(tmp_path / "batch_science", tmp_path / "imported")
    folder = published(tmp_path / "imported", tmp_path / "out", "published")
    loaded(tmp_path / "db", folder)
    assert contents(tmp_path / "db") == contents(tmp_path / "imported")
    assert everything(tmp_path / "db", "published") == everything(
        tmp_path / "imported", "published"
    )
    # In the order in which they were, also where a step is there twice.
    ordered = (
        "SELECT workload, batch_size, measurement.* EXCLUDE (study_id) "
        "FROM stored.measurement JOIN stored.study USING (study_id) "
        "JOIN stored.workload USING (workload_id) "
        "ORDER BY workload, batch_size, trial_id, step, measurement.rowid"
    )
    with open_for_reading(tmp_path / "db") as one, open_for_reading(tmp_path / "imported") as two:
        assert str(one.execute(ordered).fetchall()) == str(two.execute(ordered).fetchall())
    assert verify(tmp_path / "db").problems == ()
    # Imported again, nothing is added.
    report = imported(tmp_path / "batch_science", tmp_path / "db")
    assert (report.trials, report.malformed) == (0, ())


def change(path: Path, statement: str) -> None:
    with duckdb.connect(path) as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            "UPDATE stored.trial SET status = 'INCOMPLETE' WHERE trial_id = 7",
            "its trial 7 is already there from trials-00007-00007-",
        ),
        (
            "UPDATE stored.trial SET metaparameters = MAP {'β': 0.25} WHERE trial_id = 7",
            "its trial 7 is already there from trials-00007-00007-",
        ),
        (
            "UPDATE stored.study SET train_steps = 41 WHERE batch_size = 32",
            "it differs from the stored study in train_steps (40, stored 41)",
        ),
    ],
)
def test_other_rows_of_a_study_are_refused(
    folder: Path, tmp_path: Path, statement: str, reason: str
) -> None:
    path = tmp_path / "db"
    loaded(path, folder)
    change(path, statement)
    before = everything(path)
    outcome = loaded(path, folder)
    [(study, found)] = outcome.refused
    assert study == f"{OTHERS}/32"
    assert found.startswith(reason)
    assert outcome.releases[0].already_there == 2
    assert everything(path) == before


def test_a_reduced_release_is_refused_beside_the_whole(
    stored: Path, folder: Path, tmp_path: Path
) -> None:
    small = published(stored, tmp_path / "small", reduction=Reduction(then_one_in=None))
    with pytest.raises(UsageError, match="hold the same workloads of the release 'made-up'"):
        loaded(tmp_path / "db", small, folder)
    loaded(tmp_path / "db", folder)
    assert len(loaded(tmp_path / "db", small).refused) == 3
    assert everything(tmp_path / "db") == everything(stored)


def test_a_shard_of_another_release_is_refused(
    shards: Path, folder: Path, stored: Path, tmp_path: Path
) -> None:
    path = database(tmp_path / "db", shards)
    change(path, "UPDATE stored.release SET release = 'other'")
    reasons = [reason for _, reason in loaded(path, folder).refused]
    assert len(reasons) == 3
    assert all("is already there as part of other, " in reason for reason in reasons)
    assert rows(path, "SELECT release FROM releases") == ["('other',)"]
    assert everything(path, "other")["measurements"] != everything(stored)["measurements"]


@pytest.mark.parametrize("file", ["tables/trials.parquet", "manifest.json"])
def test_a_damaged_table_is_named_and_nothing_goes_in(
    stored: Path, tmp_path: Path, file: str
) -> None:
    folder = published(stored, tmp_path / "out")
    damaged = bytearray((folder / file).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / file).write_bytes(damaged)
    with pytest.raises(DbtoolError) as caught:
        loaded(tmp_path / "db", folder)
    assert str(caught.value).startswith(f"{folder / file} ")
    assert "get the release anew" in str(caught.value)
    assert rows(tmp_path / "db", "FROM releases") == []


def test_a_damaged_workload_is_refused_and_the_rest_goes_in(stored: Path, tmp_path: Path) -> None:
    folder = published(stored, tmp_path / "out")
    file = folder / f"measurements/{OTHERS}.parquet"
    sound = file.read_bytes()
    file.write_bytes(sound[:-1])
    outcome = loaded(tmp_path / "db", folder)
    [(study, reason)] = outcome.refused
    assert (study, outcome.releases[0].added) == (f"{OTHERS}/32", 2)
    assert reason.startswith(f"{file} is damaged: it has ")
    file.write_bytes(sound)
    [report] = loaded(tmp_path / "db", folder).releases
    assert (report.added, report.already_there) == (1, 2)
    assert everything(tmp_path / "db") == everything(stored)


def test_another_schema_version_is_refused(stored: Path, tmp_path: Path) -> None:
    folder = published(stored, tmp_path / "out")
    newer = dataclasses.replace(read_published(folder), schema_version=99)
    (folder / "manifest.json").write_text(newer.to_json())
    with pytest.raises(DbtoolError, match="has schema version 99 and this dbtool reads"):
        loaded(tmp_path / "db", folder)


def test_a_path_out_of_the_folder_is_refused(stored: Path, tmp_path: Path) -> None:
    folder = published(stored, tmp_path / "out")
    manifest = read_published(folder)
    for path in ("../outside", "/etc/passwd", "a/../../b", "a//b"):
        first, *others = manifest.files
        files = (dataclasses.replace(first, path=path), *others)
        changed = dataclasses.replace(manifest, files=files)
        (folder / "manifest.json").write_text(changed.to_json())
        with pytest.raises(DbtoolError, match="is not a sound manifest"):
            read_published(folder)


def test_a_published_release_can_be_the_one_that_ships(folder: Path, stored: Path) -> None:
    told: list[tuple[int, int]] = []
    path = bundled_database(folder, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert everything(path) == everything(stored)
    assert bundled_database(folder) == path


def test_views_of_the_files_are_those_of_the_database(folder: Path, stored: Path) -> None:
    queries = [
        *(
            f"FROM {view}"
            for view in ("releases", "workloads", "studies", "trials", "measurements")
        ),
        "FROM steps_to_result(NULL, NULL, NULL, 0.45, 100)",
        "FROM best_measurements(NULL, NULL, NULL, NULL, NULL, 100)",
    ]
    with open_published(folder) as files:
        for query in queries:
            found = sorted(map(str, files.execute(query).fetchall()))
            assert found == rows(stored, query)
            assert found
