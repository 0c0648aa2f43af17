"""Release folders are added to by any number of writers, and harmed by none."""

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.footer import FooterError
from dbtool.core.index import TABLES, ClashError
from dbtool.core.manifest import MANIFEST, About, read_manifest
from dbtool.core.release import read_release, rebuild, shard_paths
from dbtool.core.shards import Shard
from dbtool.core.writer import ReleaseWriter
from dbtool.release.verify import verify
from tests.support.made_up import reaching, shard_footer, shard_table, write_release, write_shard
from tests.support.published import bytes_of, everything, rewrite, write_shards

ABOUT = About(release="made-up")


def write(writer: ReleaseWriter, *trials: Any, **study: Any) -> Shard:
    return writer.write(shard_footer(trials, **study), [shard_table(trials)])


def is_sound(folder: Path) -> bool:
    return verify(folder).problems == ()


def test_what_is_written_is_listed_with_what_was_there(tmp_path):
    folder = tmp_path / "a" / "release"
    with ReleaseWriter(folder, ABOUT) as writer:
        first = write(writer, reaching(0))
        assert not (folder / MANIFEST).exists()
    with ReleaseWriter(folder, About(release="made-up", title="Numbers")) as writer:
        assert writer.index.trials_of(first.footer.study.workload.workload, 64).keys() == {0}
        second = write(writer, reaching(1))
        writer.list_new()
        assert [file.path for file in read_manifest(folder).shards] == sorted(
            [first.path, second.path]
        )
        write(writer, reaching(0), batch_size=8)
    manifest, tables = read_release(folder)
    assert (manifest.release, manifest.title, len(manifest.shards)) == ("made-up", "Numbers", 3)
    assert [len(tables[name]) for name in TABLES] == [1, 2, 3]
    assert is_sound(folder)


def test_a_writer_that_adds_nothing_changes_nothing(tmp_path):
    with ReleaseWriter(tmp_path / "empty", ABOUT):
        pass
    assert bytes_of(tmp_path / "empty") == {}
    folder = write_shards(tmp_path / "release")
    before = bytes_of(folder)
    with ReleaseWriter(folder, About(release="made-up", title="another")) as writer:
        [shard] = [writer.index.trials["shard"][0].as_py()]
        assert shard in before
    assert bytes_of(folder) == before


def test_what_clashes_or_no_folder_can_be_named_is_not_written(tmp_path):
    folder = tmp_path / "release"
    with ReleaseWriter(folder, ABOUT) as writer:
        write(writer, reaching(0))
    before = bytes_of(folder)
    clash = r"at batch size 64 cannot be added to .*: its "
    for reason, again, study in (
        (clash, reaching(0, 0.2), {}),
        (clash, reaching(1), {"seed": 9}),
        ("is too long", reaching(0), {"workload": "x" * 300 + "/b/c"}),
    ):
        with pytest.raises(DbtoolError, match=reason), ReleaseWriter(folder, ABOUT) as writer:
            write(writer, again, **study)
        assert bytes_of(folder) == before


def test_a_shard_costs_what_it_adds_and_not_what_is_there(tmp_path):
    """By the lines of code that run, of which each row that is looked at takes one."""
    writer = ReleaseWriter(tmp_path, ABOUT)
    lines = [0]

    def count(_frame: Any, event: str, _arg: Any) -> Any:
        lines[-1] += event == "line"
        return count

    before = sys.gettrace()
    for number in range(30):
        shard = Shard(f"{number}", "", 0, shard_footer([reaching(number)]))
        lines.append(0)
        sys.settrace(count)
        try:
            writer.add(shard)
        finally:
            sys.settrace(before)
    assert lines[10] == lines[-1]


def test_another_release_is_left_alone(tmp_path):
    folder = write_shards(tmp_path / "release")
    with pytest.raises(UsageError, match="holds the release 'made-up' and not 'mine': name anoth"):
        ReleaseWriter(folder, About(release="mine"))
    (folder / MANIFEST).write_text("{}")
    with pytest.raises(DbtoolError, match="is not a sound manifest"):
        ReleaseWriter(folder, ABOUT)


def test_of_two_writers_that_clash_the_one_who_lists_first_wins(tmp_path):
    folder = tmp_path / "release"
    first, second = ReleaseWriter(folder, ABOUT), ReleaseWriter(folder, ABOUT)
    write(first, reaching(1))
    written = [write(second, reaching(number, 0.2)) for number in range(3)]
    first.list_new()
    with pytest.raises(ClashError, match="its trial 1 is already there"), second:
        pass
    second.list_new()
    assert not (folder / written[1].path).exists()
    assert len(read_manifest(folder).shards) == 3
    assert is_sound(folder)


def test_of_two_shards_that_clash_at_once_one_is_left(tmp_path):
    folder = tmp_path / "release"
    with ReleaseWriter(folder, ABOUT) as writer:

        def late() -> Iterator[pa.Table]:
            write(writer, reaching(0))
            yield shard_table([reaching(0, 0.2)])

        with pytest.raises(ClashError, match="its trial 0 is already there"):
            writer.write(shard_footer([reaching(0, 0.2)]), late())
    with ReleaseWriter(folder, ABOUT) as writer:
        assert len(writer.index.trials) == len(shard_paths(folder)) == 1
    assert is_sound(folder)


def test_the_index_is_complete_while_it_is_read_again(tmp_path):
    first, second = (ReleaseWriter(tmp_path / "release", ABOUT) for _ in range(2))
    done = threading.Event()
    seen = []

    def look() -> None:
        while not done.is_set():
            seen.append(len(first.index.trials))

    looking = threading.Thread(target=look)
    looking.start()
    for number in range(0, 8, 2):
        for writer, each in ((second, number), (first, number + 1)):
            write(writer, reaching(each))
            writer.list_new()
    done.set()
    looking.join()
    assert seen == sorted(seen)
    assert len(first.index.trials) == 8


def test_what_a_killed_writer_left_is_listed_by_the_next(tmp_path):
    folder = tmp_path / "release"
    killed = ReleaseWriter(folder, ABOUT)
    write(killed, reaching(0))
    (folder / "measurements" / ".writing-0").touch()
    assert not is_sound(folder)
    with ReleaseWriter(folder, ABOUT) as writer:
        assert len(writer.index.trials) == 1
        assert is_sound(folder)
    assert not list(folder.rglob(".writing*"))
    # The one that was taken for killed goes on.
    write(killed, reaching(1))
    killed.list_new()
    assert len(read_manifest(folder).shards) == 2
    assert is_sound(folder)


def test_what_a_killed_writer_left_that_clashes_is_named(tmp_path):
    folder = tmp_path / "release"
    killed = ReleaseWriter(folder, ABOUT)
    with ReleaseWriter(folder, ABOUT) as writer:
        write(writer, reaching(0))
    left = write(killed, reaching(0, 0.2))
    with pytest.raises(ClashError, match=f"its trial 0 is already there .*; remove .*{left.path}$"):
        ReleaseWriter(folder, ABOUT)
    (folder / left.path).unlink()
    ReleaseWriter(folder, ABOUT)


def test_an_index_of_another_state_than_the_manifest_is_made_anew(tmp_path):
    """As a writer leaves it that was killed between the two."""
    expected = everything(write_shards(tmp_path / "sound"))
    for number, change in enumerate(
        (
            lambda folder: (folder / TABLES[-1]).write_bytes(b"PAR1"),
            lambda folder: (folder / TABLES[-1]).unlink(),
            lambda folder: rewrite(folder, files=read_manifest(folder).shards),
        )
    ):
        folder = write_shards(tmp_path / str(number))
        change(folder)
        assert everything(folder) == expected
        with ReleaseWriter(folder, ABOUT) as writer:
            write(writer, reaching(0))
        assert is_sound(folder)


def test_removed_shards_are_forgotten_and_come_again(tmp_path):
    folder = write_shards(tmp_path / "release")
    before = bytes_of(folder)
    removed = read_manifest(folder).shards[0].path
    (folder / removed).unlink()
    with ReleaseWriter(folder, ABOUT) as writer:
        assert removed not in writer.index.trials["shard"].to_pylist()
        assert is_sound(folder)
        writer.receive(before[removed])
    assert bytes_of(folder) == before


def test_what_is_received_is_checked_before_it_has_a_name(tmp_path):
    folder = tmp_path / "release"
    shard = write_shard(tmp_path / "other", trials=[reaching(0, 0.2)])
    with ReleaseWriter(folder, ABOUT) as writer:
        write(writer, reaching(0))
        with pytest.raises(DbtoolError, match="it is not a readable Parquet file"):
            writer.receive(b"PAR1")
        with pytest.raises(ClashError, match="its trial 0 is already there"):
            writer.receive(shard.read_bytes())
    assert len(shard_paths(folder)) == 1
    assert is_sound(folder)


def test_an_index_is_made_anew_from_the_shards_alone(tmp_path):
    folder = write_shards(tmp_path / "release")
    before = bytes_of(folder)
    for name in (*TABLES, MANIFEST):
        (folder / name).unlink()
    with pytest.raises(DbtoolError, match=r"dbtool index .*release --release NAME"):
        rebuild(folder)
    rebuild(folder, ABOUT)
    assert bytes_of(folder) == before
    (folder / MANIFEST).write_bytes(b"{}")
    rebuild(folder, ABOUT)
    assert bytes_of(folder) == before
    with pytest.raises(UsageError, match=r"is a folder of releases|is not a release folder"):
        rebuild(tmp_path)
    # A sound release is not described anew.
    with pytest.raises(UsageError, match="holds the release 'made-up' and not 'other': leave out"):
        rebuild(folder, About(release="other"))
    rebuild(folder, About(release="made-up", title="Numbers"))
    assert bytes_of(folder) == before


def test_shards_that_clash_are_not_listed_anew(tmp_path):
    folder = write_shards(tmp_path / "release")
    other = write_shards(tmp_path / "other")
    write_shard(tmp_path / "other", trials=[reaching(0)])
    write_shard(folder, trials=[reaching(0, 0.2)])
    shutil.copytree(other / "measurements", folder / "measurements", dirs_exist_ok=True)
    before = bytes_of(folder)
    with pytest.raises(ClashError, match="contradicts the other shards: its trial 0"):
        rebuild(folder)
    assert bytes_of(folder) == before


@pytest.mark.parametrize("place", [b"workload=a/batch_size=1", b"workload=\xff/batch_size=64"])
def test_a_shard_in_the_place_of_another_study_is_not_listed(tmp_path, place):
    folder = write_release(tmp_path / "release")
    before = (folder / MANIFEST).read_bytes()
    [path] = shard_paths(folder)
    copy = folder / "measurements" / os.fsdecode(place) / Path(path).name
    copy.parent.mkdir(parents=True)
    shutil.copy(folder / path, copy)
    for list_it in (rebuild, lambda folder: ReleaseWriter(folder, ABOUT)):
        with pytest.raises(FooterError, match="is refused: its name is not that of its study and"):
            list_it(folder)
    assert (folder / MANIFEST).read_bytes() == before
