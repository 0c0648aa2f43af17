"""Locks: one holder at a time, also where each holder removes the file."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from dbtool.locks import lies_at, lock

if TYPE_CHECKING:
    from pathlib import Path

FILE = os.O_RDWR | os.O_CREAT
FOLDER = os.O_RDONLY | os.O_DIRECTORY


@pytest.mark.parametrize("flags", [FILE, FOLDER])
def test_the_second_one_is_refused_until_the_first_lets_go(tmp_path: Path, flags: int) -> None:
    path = tmp_path if flags == FOLDER else tmp_path / "file"
    first = lock(path, flags)
    with pytest.raises(BlockingIOError):
        lock(path, flags)
    os.close(first)
    os.close(lock(path, flags))


def test_holders_that_remove_the_file_never_overlap(tmp_path: Path) -> None:
    path = tmp_path / "file"
    inside = threading.Lock()

    def hold(times: int) -> None:
        while times:
            try:
                descriptor = lock(path, FILE)
            except BlockingIOError:
                continue
            assert inside.acquire(blocking=False)
            time.sleep(1e-4)
            inside.release()
            path.unlink()
            os.close(descriptor)
            times -= 1

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(hold, 300) for _ in range(4)]:
            done.result()


def test_a_folder_that_is_gone_and_a_link_are_not_locked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        lock(tmp_path / "gone", FOLDER)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(OSError, match="link"):
        lock(tmp_path / "link", FILE)
    assert not (tmp_path / "file").exists()


def test_a_file_with_another_name_lies_there_no_more(tmp_path: Path) -> None:
    descriptor = lock(tmp_path / "part", FILE)
    assert lies_at(descriptor, tmp_path / "part")
    (tmp_path / "part").rename(tmp_path / "whole")
    assert not lies_at(descriptor, tmp_path / "part")
    (tmp_path / "part").touch()
    assert not lies_at(descriptor, tmp_path / "part")
    os.close(descriptor)
