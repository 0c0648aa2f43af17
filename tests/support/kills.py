"""Commands that fill releases and are killed, interrupted or out of disk: what holds for all."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.programs import start_python

# How many files a command may write before a kill strikes.
MOST_FILES = 8


@dataclass(frozen=True)
class Undisturbed:
    """A command that adds to releases, and what it does when nothing disturbs it.

    Attributes:
        words: the command, without --db.
        contents: what a folder of releases holds; equal where it is the same.
        expected: the contents that it leaves.
    """

    words: tuple[str, ...]
    contents: Callable[[Path], Any]
    expected: Any


def kill_and_repeat(
    undisturbed: Undisturbed, database: Path, kills: int, seed: int, check: Callable[[Path], None]
) -> None:
    """Kill the command after random numbers of files, check what it left, and let the last one end.

    The database is a path at which nothing is. It is checked once there is a release in it.
    """
    chance = random.Random(seed)
    most = MOST_FILES
    struck = 0
    while struck < kills:
        process = _start(undisturbed.words, database)
        wait_for_files(process, database, chance.randint(0, most))
        # Some strike while a file is written, others between two.
        time.sleep(chance.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        if _finished(process)[0] == 0:
            # It ended with fewer files: start over and strike earlier.
            most = max(most // 2, 1)
            shutil.rmtree(database)
            continue
        struck += 1
        if any(database.glob("*/manifest.json")):
            check(database)
    _assert_goes_on(undisturbed, database)


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[Any] | None = None) -> None:
    """Waits until something is so, which it has to be before the process ends."""
    deadline = time.monotonic() + 300
    while not is_so():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it is not so"
        time.sleep(0.005)


def files_below(folder: Path) -> Iterator[Path]:
    """The files that a process at work has in a folder; a glob fails where folders vanish."""
    return (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)


def wait_for_files(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    """Wait until files that were not there have appeared in a folder, or the process has ended."""
    before = set(files_below(folder))
    seen: set[Path] = set()
    while process.poll() is None and len(seen) < count:
        seen |= set(files_below(folder)) - before
        time.sleep(0.002)


def interrupt_and_repeat(undisturbed: Undisturbed, database: Path) -> None:
    """Ctrl-C ends the command in one line, and the next one goes on."""
    process = _start(undisturbed.words, database)
    # From its first file on it is at work.
    wait_until(lambda: any(path.suffix == ".parquet" for path in files_below(database)), process)
    process.send_signal(signal.SIGINT)
    code, errors = _finished(process)
    assert code == 130, errors
    assert errors == "dbtool: interrupted\n"
    _assert_goes_on(undisturbed, database)


def fill_the_disk_and_repeat(
    undisturbed: Undisturbed, database: Path, check: Callable[[Path], None], most_bytes: int
) -> None:
    """A full disk ends the command in one sentence, and the next one goes on.

    The command writes a file of more bytes than it may have, to a path at which nothing is.
    """
    python = python_with_disk(most_bytes)
    code, errors = _finished(_start(undisturbed.words, database, python))
    assert code == 1, errors
    assert errors.count("\n") == 1, errors
    assert "run the same command again" in errors
    if any(database.glob("*/manifest.json")):
        check(database)
    _assert_goes_on(undisturbed, database)


def python_with_disk(most_bytes: int) -> list[str]:
    """The words that start Python so that no file may grow past a size, as on a full disk.

    A process limits itself and then becomes Python, since one that has loaded JAX must not fork.
    """
    limit = (
        "import os, resource, sys; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most_bytes}, {most_bytes})); "
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    return [sys.executable, "-c", limit]


def _assert_goes_on(undisturbed: Undisturbed, database: Path) -> None:
    code, errors = _finished(_start(undisturbed.words, database))
    assert code == 0, errors
    assert undisturbed.contents(database) == undisturbed.expected


def _start(
    words: tuple[str, ...], database: Path, python: Sequence[str] = (sys.executable,)
) -> subprocess.Popen[str]:
    return start_python(*python[1:], "-m", "dbtool", *words, "--db", database)


def _finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code, and what was printed on standard error."""
    _, errors = process.communicate()
    return process.returncode, errors
