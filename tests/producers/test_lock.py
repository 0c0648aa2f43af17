"""Who may write into a folder beside whom: one whole sweep, or the slices of one sweep."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from dbtool.errors import DbtoolError
from producers.lock import only_slice, only_writer
from producers.sweep import Slice

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = Slice(1, 2), Slice(2, 2)


def test_slices_of_a_sweep_share_the_folder(tmp_path: Path) -> None:
    with only_slice(tmp_path, FIRST, "cut"), only_slice(tmp_path, SECOND, "cut"):
        assert len(list(tmp_path.iterdir())) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("held", "wanted", "sentence"),
    [
        (only_writer, only_writer, "another sweep writes into"),
        (
            only_writer,
            lambda out: only_slice(out, FIRST, "cut"),
            "another sweep writes into",
        ),
        (
            lambda out: only_slice(out, FIRST, "cut"),
            only_writer,
            "a slice of a sweep writes into",
        ),
        (
            lambda out: only_slice(out, FIRST, "cut"),
            lambda out: only_slice(out, FIRST, "cut"),
            "another process of slice 1/2 writes into",
        ),
        (
            lambda out: only_slice(out, FIRST, "cut"),
            lambda out: only_slice(out, SECOND, "other"),
            "a slice of another sweep, or of one cut differently, writes into",
        ),
        (
            lambda out: only_slice(out, FIRST, "cut"),
            lambda out: only_slice(out, Slice(2, 3), "cut"),
            "a slice of another sweep, or of one cut differently, writes into",
        ),
    ],
)
def test_all_others_are_refused(tmp_path: Path, held, wanted, sentence: str) -> None:
    with held(tmp_path):
        before = sorted(tmp_path.iterdir())
        with pytest.raises(DbtoolError, match=sentence) as caught, wanted(tmp_path):
            pass
        assert "--out" in str(caught.value)
        assert sorted(tmp_path.iterdir()) == before
    with wanted(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_lock_files_of_killed_slices_hold_nobody_up(tmp_path: Path) -> None:
    for wanted in (only_slice(tmp_path, FIRST, "cut"), only_writer(tmp_path)):
        (tmp_path / ".lock").touch()
        (tmp_path / ".lock-1-of-2-cut").touch()
        (tmp_path / ".lock-7-of-9-other").touch()
        with wanted:
            pass
    # The whole sweep, which was the last, has removed them all.
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(DbtoolError, match=r"cannot write into .*file.* --out"),
        contextlib.ExitStack() as stack,
    ):
        stack.enter_context(only_slice(tmp_path / "file", FIRST, "cut"))
