"""What `dbtool verify` finds: any flipped byte, any row or file that does not belong."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from dbtool.core.footer import encode_footer
from dbtool.core.index import TABLES
from dbtool.core.manifest import MANIFEST, SUMS, SWEEP_LOCK, read_manifest
from dbtool.core.release import rebuild
from dbtool.release.verify import verify
from tests.support.made_up import (
    curve,
    whole_footer,
    whole_table,
    write_shard,
    write_table,
)
from tests.support.published import (
    SGD,
    bytes_of,
    flipped,
    list_as_it_is,
    published,
    rewrite,
    write_shards,
)

FLIPS = 2
SAMPLE: Any = (0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, 0.3]))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    return published(write_shards(folder / "own"), folder / "published")


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    copied: Path = shutil.copytree(sound, tmp_path / "release")
    return copied


def reasons(folder: Path) -> dict[str, str]:
    """What is wrong, by the path below the folder."""
    return {
        problem.path.relative_to(folder).as_posix(): problem.reason
        for problem in verify(folder).problems
    }


def test_a_sound_release_passes(sound):
    told: list[tuple[int, int]] = []
    found = verify(sound, lambda *each: told.append(each))
    assert (found.problems, found.releases, found.shards, found.measurements) == ((), 1, 4, 169)
    total = sum(file.bytes for file in read_manifest(sound).shards)
    assert told[-1] == (total, total)
    assert told == sorted(told)
    both = verify(sound.parent)
    assert (both.problems, both.releases, both.shards) == ((), 2, 8)


def assert_flips_are_found(folder: Path, flips: int | None) -> None:
    """Flips a bit of the first, the last and some more bytes of each file, or of every byte."""
    for name, content in bytes_of(folder).items():
        chance = random.Random(name)
        some = [0, len(content) - 1, *(chance.randrange(len(content)) for _ in range(flips or 0))]
        for position in range(len(content)) if flips is None else some:
            (folder / name).write_bytes(flipped(content, position, chance.randrange(8)))
            assert list(reasons(folder)) == [name], position
        (folder / name).write_bytes(content)
    assert reasons(folder) == {}


def test_flipped_bytes_of_every_file_are_found(folder):
    assert len(bytes_of(folder)) == 13
    assert_flips_are_found(folder, FLIPS)


@pytest.mark.slow
def test_every_flipped_byte_is_found(tmp_path):
    write_shard(tmp_path, trials=[SAMPLE])
    assert_flips_are_found(tmp_path, None)


def test_cut_missing_and_extra_files_are_found(folder):
    for name, content in bytes_of(folder).items():
        path = folder / name
        path.write_bytes(content[:-1])
        assert list(reasons(folder)) == [name]
        path.unlink()
        assert list(reasons(folder)) == [name]
        path.write_bytes(content)
    (folder / "notes.txt").write_text("made up")
    (folder / ".gitattributes").write_text("what a host puts there")
    [problem] = verify(folder).problems
    assert str(problem) == f"{folder / 'notes.txt'}: the manifest does not list it; move it away"
    (folder / "notes.txt").unlink()
    new = write_shard(folder.parent / "other", trials=[SAMPLE], batch_size=128)
    shard = folder / new.relative_to(folder.parent / "other")
    shard.parent.mkdir(parents=True)
    shutil.copy(new, shard)
    [problem] = verify(folder).problems
    assert str(problem).endswith(
        f"the manifest does not list it; list it with `dbtool index {folder}`"
    )
    shard.write_bytes(shard.read_bytes()[:-1])
    [problem] = verify(folder).problems
    assert str(problem).endswith(f"{shard.name}: the manifest does not list it; move it away")


def test_new_shards_and_an_index_in_flux_are_no_problems_beside_a_sweep(tmp_path):
    folder, other = tmp_path / "runs", tmp_path / "other"
    write_shard(folder)
    shutil.copytree(folder, other)
    write_shard(other, batch_size=32)
    # As a sweep leaves them between its listings.
    shutil.copytree(other / "measurements", folder / "measurements", dirs_exist_ok=True)
    shutil.copy(other / TABLES[-1], folder)
    with FileLock(folder / f"{SWEEP_LOCK}-1-3"):
        found = verify(folder)
        assert (found.problems, found.releases) == ((), 1)
        assert found.notes == (f"a sweep is at work in {folder}, and 1 sound shard not listed yet",)
        (folder / "measurements" / "cut.parquet").write_bytes(b"PAR1")
        assert list(reasons(folder)) == ["measurements/cut.parquet"]
        (folder / "measurements" / "cut.parquet").unlink()
    assert len(verify(folder).problems) == 2
    rebuild(folder)
    assert (verify(folder).problems, verify(folder).notes) == ((), ())


def test_a_missing_manifest_is_one_sentence(folder):
    (folder / MANIFEST).unlink()
    for path in (folder, folder.parent):
        [problem] = verify(path).problems
        assert str(problem).startswith(f"{folder / MANIFEST} cannot be read: No such file")
        assert str(problem).endswith("nothing else of that release was checked")


def test_an_index_that_contradicts_its_shards_is_found(folder):
    """Though every hash is right, as where a program of another make wrote the folder."""
    path = folder / TABLES[-1]
    rows = pq.read_table(path)
    for wrong in (rows.slice(1), rows.drop_columns(["measurements"])):
        pq.write_table(wrong, path)
        list_as_it_is(folder, TABLES[-1])
        [problem] = verify(folder).problems
        assert str(problem) == (
            f"{path}: its rows are not those that the shards tell; run `dbtool index {folder}`"
        )


def test_what_a_manifest_leaves_out_is_found(folder):
    shard, *_ = read_manifest(folder).shards
    rewrite(folder, files=tuple(each for each in read_manifest(folder).files if each != shard))
    # Its rows would be dropped silently.
    assert set(reasons(folder)) == {shard.path, *TABLES}


def test_rows_that_do_not_go_with_the_footer_are_found(folder):
    """Though every hash is right; see the tests of shards for what is found."""
    old = read_manifest(folder).shards[0].path
    (folder / old).unlink()
    rows, footer = whole_table([SAMPLE]).slice(1), encode_footer(whole_footer([SAMPLE]))
    path = write_table(folder, rows, footer).relative_to(folder).as_posix()
    list_as_it_is(folder, path, instead=old)
    assert reasons(folder) == {path: "it has 20 rows and its footer lists 21"}


def test_numbers_of_rows_that_contradict_a_shard_are_found(folder):
    [first, *others] = read_manifest(folder).shards
    files = [each for each in read_manifest(folder).files if each.path != first.path]
    wrong = msgspec.structs.replace(first, rows=7)
    rewrite(folder, files=tuple(sorted([wrong, *files], key=lambda each: each.path)))
    assert len(others) == 3
    assert reasons(folder) == {first.path: f"it has {first.rows} rows and the manifest lists 7"}


def test_a_shard_of_a_name_of_another_study_is_found(folder):
    old = read_manifest(folder).shards[0].path
    new = old.replace("batch_size=", "batch_size=9")
    (folder / new).parent.mkdir(parents=True)
    (folder / old).rename(folder / new)
    list_as_it_is(folder, new, instead=old)
    assert reasons(folder) == {new: "its name is not that of its study and its contents"}


def test_trials_that_are_there_twice_are_found(folder):
    other = (0, "COMPLETE", {"learning_rate": 0.2}, curve([0.9, 0.5, 0.3, 0.2, 0.05]))
    shard = write_shard(folder.with_name("other"), trials=[other], workload=SGD, batch_size=64)
    path = shard.relative_to(folder.with_name("other")).as_posix()
    shutil.copy(shard, folder / path)
    list_as_it_is(folder, path)
    [problem] = verify(folder).problems
    assert "contradicts the other shards: its trial 0 is already there from" in str(problem)


NO_FILES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": os.mkdir,
}


@pytest.mark.parametrize("kind", NO_FILES)
def test_nothing_that_is_no_file_is_waited_for(folder, kind):
    for name in (MANIFEST, SUMS, TABLES[0], read_manifest(folder).shards[0].path):
        path = folder / name
        content = path.read_bytes()
        path.unlink()
        NO_FILES[kind](path)
        assert "it is not a file" in reasons(folder).get(name, ""), name
        path.rmdir() if kind == "folder" else path.unlink()
        path.write_bytes(content)
    if kind == "pipe":
        os.mkfifo(folder / "more")
        os.mkfifo(folder / "measurements" / "more.parquet")
        assert set(reasons(folder)) == {"more", "measurements/more.parquet"}
