"""Folders are listed whole, however deep, or the one that cannot be read is named."""

import glob
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.files import make_folder, remove_unfinished
from dbtool.core.release import rebuild
from dbtool.core.walk import AccessError, access_error, entries, files_matching, status_of, walk
from dbtool.release.verify import verify
from dbtool.sources.tables.files import files_below
from tests.support.made_up import write_release

DEEP = 1_200


def names(folder: Path, *, hidden: bool = True) -> list[str]:
    return [os.path.relpath(entry.path, folder) for entry in walk(folder, hidden=hidden)]


def test_it_yields_folders_and_files_and_follows_no_links(tmp_path):
    for path in ("b/c", ".hidden/d"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "file").touch()
    (tmp_path / "a").touch()
    (tmp_path / "b" / "again").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to("gone")
    visible = ["a", "b", "nowhere", "b/again", "b/c", "b/c/file"]
    assert names(tmp_path, hidden=False) == visible
    assert set(names(tmp_path)) == {*visible, ".hidden", ".hidden/d", ".hidden/d/file"}


def test_what_is_not_there_is_empty_and_a_link_to_it_is_not(tmp_path):
    (tmp_path / "file").touch()
    assert entries(tmp_path / "missing") == entries(tmp_path / "file") == []
    (tmp_path / "disk").symlink_to(tmp_path / "not_mounted")
    with pytest.raises(AccessError, match=r"disk cannot be read: it is a link, .*mount the disk"):
        entries(tmp_path / "disk")
    for path in ("disk", "disk/folder/file"):
        with pytest.raises(AccessError, match=r"disk cannot be read: it is a link"):
            status_of(tmp_path / path)
    with pytest.raises(AccessError, match=r"disk cannot be read: it is a link"):
        make_folder(tmp_path / "disk", "name another one")
    assert status_of(tmp_path / "missing" / "file") is None
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(AccessError, match=r"circle cannot be read: .* leads back to itself"):
        status_of(tmp_path / "circle")


@pytest.fixture
def deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a file at the end of a row of folders."""
    monkeypatch.chdir(tmp_path)
    for _ in range(DEEP):
        Path("d").mkdir()
        os.chdir("d")
    Path("last.csv").touch()
    os.chdir(tmp_path)
    yield tmp_path
    # As pytest would, but for Python's recursion.
    os.chdir(tmp_path / "/".join(["d"] * DEEP))
    Path("last.csv").unlink()
    for _ in range(DEEP):
        os.chdir("..")
        Path("d").rmdir()


def test_folders_may_lie_deeper_than_python_recurses(deep):
    release = write_release(deep / "release")
    (found,) = [path for path in files_below(deep) if path.suffix == ".csv"]
    assert found.name == "last.csv"
    assert len(found.relative_to(deep).parts) == DEEP + 1
    assert verify(deep).problems == ()
    (deep / "d").rename(release / "d")
    try:
        remove_unfinished(release)
        rebuild(release)
    finally:
        (release / "d").rename(deep / "d")


def test_an_error_passes_to_another_process_whole(tmp_path):
    error = access_error(tmp_path, PermissionError(13, "Permission denied"))
    passed_on = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(passed_on), passed_on.path) == (str(error), tmp_path)
    assert str(error) == f"{tmp_path} cannot be read: Permission denied; allow it"


NAMES = ["a", "ab", "b", ".a", "[a]", "a.csv", "b.csv"]
PARTS = ["*", "**", "a*", "?", "[ab]", "*.csv", "a", ".*", "[[]a]", "[!a]"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("tree")
    for first in NAMES[:5]:
        for second in NAMES[:5]:
            (folder / first / second).mkdir(parents=True)
            for name in NAMES[5:]:
                (folder / first / second / name).touch()
                (folder / first / name).touch()
    return folder


@given(st.lists(st.sampled_from(PARTS), max_size=3), st.sampled_from(NAMES + PARTS[:1] + PARTS[2:]))
def test_patterns_match_what_those_of_a_shell_do(tree, parts, last):
    pattern = "/".join([*parts, last])
    expected = glob.glob(pattern, root_dir=tree, recursive=True)  # noqa: PTH207 (the reference)
    found = [path.relative_to(tree).as_posix() for path in files_matching(tree, pattern)]
    assert len(found) == len(set(found))
    assert set(found) == {path for path in expected if (tree / path).is_file()}
