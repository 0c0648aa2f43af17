"""Files appear whole or not at all, and nothing stays of what killed processes were writing."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbtool.core.files import finish, remove_unfinished, unfinished, whole_output, write_whole

WRITING = """
import pathlib, sys, time
from dbtool.core.files import unfinished
with unfinished(pathlib.Path(sys.argv[1])) as (file, temporary):
    file.write(b"half")
    file.flush()
    print(temporary.name, flush=True)
    time.sleep(600)
"""

BUILDING = """
import pathlib, sys, time
from dbtool.core.files import whole_output
with whole_output(pathlib.Path(sys.argv[1])) as path:
    path.mkdir()
    (path / "half").touch()
    print(path.parent.name, flush=True)
    time.sleep(600)
"""


@contextlib.contextmanager
def at_work(script: str, path: Path) -> Iterator[Any]:
    """A process in the midst of its work, and the name of what it is writing."""
    words = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "a" / "file"
    write_whole(path, b"first")
    with unfinished(path.parent) as (file, temporary):
        file.write(b"second")
        assert path.read_bytes() == b"first"
        assert temporary.exists()
    assert path.read_bytes() == b"first"
    with unfinished(path.parent) as (file, temporary):
        file.write(b"third")
        finish(file, temporary, path)
    assert path.read_bytes() == b"third"
    assert list(path.parent.iterdir()) == [path]


def test_it_may_be_read_by_whom_the_person_lets(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_what_is_left_of_killed_processes_goes_and_nothing_else(tmp_path):
    below = tmp_path / "a" / "b"
    with at_work(WRITING, below) as (killed, left), at_work(WRITING, below) as (_, kept):
        (tmp_path / "file").touch()
        os.mkfifo(tmp_path / ".writing-pipe")
        remove_unfinished(tmp_path)
        assert {path.name for path in below.iterdir()} == {left, kept}
        killed.kill()
        killed.wait()
        remove_unfinished(tmp_path)
        assert [path.name for path in below.iterdir()] == [kept]
        assert {path.name for path in tmp_path.iterdir()} == {"a", "file", ".writing-pipe"}


def test_writers_lose_nothing_while_others_remove_what_is_left(tmp_path):
    done = threading.Event()

    def remove() -> None:
        while not done.is_set():
            remove_unfinished(tmp_path)

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        for number in range(60):
            write_whole(tmp_path / str(number), b"contents")
    finally:
        done.set()
        remover.join()
    assert len(list(tmp_path.iterdir())) == 60


def test_folders_under_construction_are_removed_once_their_process_is_killed(tmp_path):
    with at_work(BUILDING, tmp_path / "killed") as (process, scratch):
        with whole_output(tmp_path / "a") as path:
            path.mkdir()
            (path / "file").write_text("contents")
            assert not (tmp_path / "a").exists()
        assert scratch in {path.name for path in tmp_path.iterdir()}
        process.kill()
        process.wait()
        with whole_output(tmp_path / "b") as path:
            path.write_text("contents")
        assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}
        assert (tmp_path / "a" / "file").read_text() == (tmp_path / "b").read_text() == "contents"
