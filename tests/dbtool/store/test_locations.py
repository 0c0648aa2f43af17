"""Which releases are opened, and which are added to."""

import os
from pathlib import Path

import platformdirs
import pytest

import dbtool
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.http import as_url
from dbtool.core.resources import bundled_release
from dbtool.store.locations import (
    folder_name,
    folder_to_write,
    is_held,
    named_location,
    user_folder,
)
from producers.configuration import Slice
from producers.sweep.lock import only_writer
from tests.support.made_up import write_shard


def release(folder: Path, name: str = "made-up") -> Path:
    write_shard(folder, release=name)
    return folder


def test_the_option_goes_before_the_variable(tmp_path, monkeypatch):
    option, variable = release(tmp_path / "a" / "one"), release(tmp_path / "b" / "two")
    monkeypatch.setenv("DBTOOL_DB", str(variable.parent))
    assert named_location(option).folders == [option]
    assert named_location(None).folders == [variable]
    assert folder_to_write(option, "mine") == option
    assert folder_to_write(None, "mine") == variable.parent / "mine"
    assert folder_to_write(tmp_path, "a/b") == tmp_path / "a%2Fb"
    with pytest.raises(UsageError, match="can only be read: name a folder to write to with --db"):
        folder_to_write("https://example.org/release", "mine")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file is a file: name a folder of releases with --db"):
        folder_to_write(tmp_path / "file", "mine")
    monkeypatch.setenv("DBTOOL_DB", str(tmp_path / "a" / "one" / "measurements"))
    with pytest.raises(UsageError, match="which DBTOOL_DB names, holds no release: there is no m"):
        named_location(None)


def test_a_release_a_folder_of_them_and_a_url_are_named_alike(tmp_path):
    first, second = release(tmp_path / "1", "first"), release(tmp_path / "2", "second")
    (tmp_path / "others").mkdir()
    assert named_location(tmp_path).folders == [first, second]
    assert named_location(str(second)).folders == [second]
    for url in ("https://example.org/r", "https:/example.org/r"):
        assert named_location(url).url == "https://example.org/r"
    assert as_url("http.d/release") is None
    with dbtool.open(tmp_path) as db:
        assert db.releases()["release"].to_list() == ["first", "second"]


def test_a_folder_whose_name_is_not_text_is_refused(tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff")
    with pytest.raises(UsageError, match="is not UTF-8 text: name another one"):
        release(folder)
    release(tmp_path / "a").rename(folder)
    for path in (folder, tmp_path):
        with pytest.raises(UsageError, match="has a name that is not UTF-8 text: rename the folde"):
            named_location(path)
    folder.rename(tmp_path / "a")
    folder.mkdir()
    assert named_location(tmp_path).folders == [tmp_path / "a"]


def test_two_folders_of_one_release_are_refused(tmp_path):
    release(tmp_path / "1")
    release(tmp_path / "2")
    with pytest.raises(DbtoolError, match=r"1 and .*2 both hold a release 'made-up': move one"):
        dbtool.open(tmp_path)


@pytest.mark.parametrize("part", [None, Slice(2, 3)])
def test_a_sweep_that_has_written_nothing_yet_is_told(tmp_path, part):
    runs = tmp_path / "runs"
    runs.mkdir()
    working = "a sweep is at work in .*, which --db names, and has written no trials yet: ask again"
    with only_writer(runs, part, "abc"):
        for named in (runs, tmp_path):
            with pytest.raises(DbtoolError, match=working):
                named_location(named)
        # As a kill leaves it.
        (left,) = runs.iterdir()
        lock = left.name
    (runs / lock).touch()
    with pytest.raises(DbtoolError, match="was stopped before it had written any trials: give its"):
        named_location(runs)
    (runs / lock).unlink()
    (runs / ".work" / "checkpoints").mkdir(parents=True)
    with pytest.raises(DbtoolError, match="was stopped before it had written any trials: give its"):
        named_location(tmp_path)


def test_the_users_own_releases_are_open_beside_the_bundled_one():
    assert named_location(None).folders == [bundled_release()]
    own = folder_to_write(None, "mine")
    assert own == platformdirs.user_data_path("dbtool") / "releases" / "mine"
    release(own, "mine")
    assert named_location(None).folders == [own, bundled_release()]
    # One of the bundled release's name takes its place.
    copy = release(user_folder() / bundled_release().name, bundled_release().name)
    assert named_location(None).folders == [own, copy]
    with pytest.raises(UsageError, match=r"the release of that name is .*mine$"):
        named_location("mine")


def test_a_part_that_ships_steps_back_for_the_whole_release_alone(tmp_path):
    """A wheel's part of `replication` has another name; an ingest may have stopped on the way."""
    part, own = tmp_path / "replication_evaluations", tmp_path / "replication"
    for folder, size in ((part, 8), (part, 16), (own, 8)):
        write_shard(folder, release=folder.name, batch_size=size)
    assert not is_held(part, [tmp_path / "mine", own])
    write_shard(own, release=own.name, batch_size=16)
    assert is_held(part, [own])
    assert is_held(part, [part])


def test_a_folder_of_a_release_lies_where_it_should():
    assert folder_name("my sweep-2 (ü)") == "my sweep-2 %28%C3%BC%29"
    assert folder_name("../mine") == "%2E.%2Fmine"
    assert folder_name("..") == "%2E."
