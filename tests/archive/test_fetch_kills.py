"""Fetching that is killed, interrupted, doubled or out of disk ends with the exact file."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from tests.support.file_server import Answer
from tests.support.kills import python_with_disk

from .conftest import Fetching

KILLS = 2
PATIENCE = 30.0
# How long the server takes for the whole file: several processes' starts, so that they meet.
SLOWLY = Answer(seconds=2.0)


def start(fetching: Fetching, python: Sequence[str] = (sys.executable,)) -> subprocess.Popen[str]:
    words = ["fetch", "--url", fetching.server.url, "--sha256", fetching.sha256]
    return subprocess.Popen(
        [*python, "-m", "dbtool", *words, "--out", str(fetching.dest)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


def part_of(fetching: Fetching) -> int:
    """How many bytes of the file are there."""
    return fetching.part.stat().st_size if fetching.part.exists() else 0


def wait_for_part(fetching: Fetching, process: subprocess.Popen[str], size: int = 1) -> None:
    """Wait until so many bytes are there, or the process has ended."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and part_of(fetching) < size:
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_fetches_go_on(fetching: Fetching, number: int) -> None:
    """After any number of bytes; what they leave is sound, and the last one ends whole."""
    fetching.server.default = Answer(seconds=0.5)
    chance = random.Random(number)
    dest, content = fetching.dest, fetching.content
    struck = 0
    while struck < KILLS:
        process = start(fetching)
        wait_for_part(fetching, process, chance.randint(part_of(fetching) + 1, len(content)))
        process.send_signal(number)
        code, errors = finished(process)
        if code == 0:
            assert dest.read_bytes() == content
            for path in dest.parent.iterdir():
                path.unlink()
            continue
        struck += 1
        if number == signal.SIGINT:
            assert (code, errors) == (130, "dbtool: interrupted\n")
        if dest.exists():
            assert dest.read_bytes() == content
        elif fetching.part.exists():
            assert content.startswith(fetching.part.read_bytes())
    assert finished(start(fetching))[0] == 0
    assert dest.read_bytes() == content
    assert [path.name for path in dest.parent.iterdir() if path.name[0] != "."] == [dest.name]


def test_one_process_fetches_at_a_time(fetching: Fetching) -> None:
    fetching.server.default = SLOWLY
    first = start(fetching)
    wait_for_part(fetching, first)
    code, errors = finished(start(fetching))
    assert code == 1
    assert errors.startswith(
        f"dbtool: another process is downloading {fetching.dest}: wait for it or "
    )
    assert errors.count("\n") == 1
    assert finished(first)[0] == 0
    assert fetching.dest.read_bytes() == fetching.content
    assert len(fetching.server.sent) == 1


def test_full_disk_keeps_the_part(fetching: Fetching) -> None:
    code, errors = finished(start(fetching, python=python_with_disk(100_000)))
    assert code == 1
    assert errors.startswith(f"dbtool: cannot write {fetching.part}: File too large; ")
    assert errors.count("\n") == 1
    assert fetching.part.read_bytes() == fetching.content[:100_000]
    assert finished(start(fetching))[0] == 0
    assert fetching.ranges[-1] == "bytes=100000-"
    assert fetching.dest.read_bytes() == fetching.content
