"""Fetching that is killed, interrupted, doubled or out of disk ends with the exact file."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.fetching import part_of
from support.file_server import Answer
from support.kills import python_with_disk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from support.file_server import FileServer

KILLS = 4
PATIENCE = 30.0
# How long the server takes for the whole file: several processes' starts, so that kills strike.
SLOWLY = Answer(seconds=2.0)


def start(
    server: FileServer, sha256: str, dest: Path, python: Sequence[str] = (sys.executable,)
) -> subprocess.Popen[str]:
    words = ["fetch", "--url", server.url, "--sha256", sha256, "--dest", str(dest)]
    return subprocess.Popen(
        [*python, "-m", "dbtool", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


def wait_for_part(dest: Path, size: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (part_of(dest).exists() and part_of(dest).stat().st_size >= size):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def killed_until_struck(
    server: FileServer, content: bytes, sha256: str, dest: Path, kills: int, seed: int
) -> None:
    """Kills fetches at random moments; what they leave is sound, and the last one ends whole."""
    chance = random.Random(seed)
    struck = 0
    while struck < kills:
        process = start(server, sha256, dest)
        time.sleep(chance.uniform(0.1, 1.0))
        process.kill()
        if finished(process)[0] == 0:
            assert dest.read_bytes() == content
            for path in dest.parent.iterdir():
                path.unlink()
            continue
        struck += 1
        if dest.exists():
            assert dest.read_bytes() == content
        elif part_of(dest).exists():
            assert content.startswith(part_of(dest).read_bytes())
    assert finished(start(server, sha256, dest))[0] == 0
    assert dest.read_bytes() == content
    assert [path.name for path in dest.parent.iterdir() if path.name[0] != "."] == [dest.name]


def test_killed_fetches_go_on(server: FileServer, content: bytes, sha256: str, dest: Path) -> None:
    server.default = SLOWLY
    killed_until_struck(server, content, sha256, dest, KILLS, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_fetches_killed_20_times_go_on(
    seed: int, server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    # Quick enough for kills to meet the check and the renaming too.
    server.default = Answer(seconds=0.5 + seed)
    chance = random.Random(seed)
    cuts = (chance.randrange(1, 100_000) for _ in range(40))
    server.answers.extend(Answer(seconds=0.5 + seed, cut=cut) for cut in cuts)
    killed_until_struck(server, content, sha256, dest, 20, seed)


def test_one_process_fetches_at_a_time(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    server.default = SLOWLY
    first = start(server, sha256, dest)
    wait_for_part(dest, 1)
    others = [start(server, sha256, dest) for _ in range(2)]
    for other in others:
        code, errors = finished(other)
        assert code == 1
        assert errors.startswith(f"dbtool: another process is fetching {dest}; wait for it or ")
        assert errors.count("\n") == 1
    assert finished(first)[0] == 0
    assert dest.read_bytes() == content
    assert len(server.requests) == 1


def test_processes_that_start_together(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    server.answers.extend(Answer(cut=50_000, seconds=0.1) for _ in range(3))
    codes = [finished(each)[0] for each in [start(server, sha256, dest) for _ in range(4)]]
    assert 0 in codes
    assert dest.read_bytes() == content
    assert not part_of(dest).exists()


def test_ctrl_c_keeps_the_part(server: FileServer, content: bytes, sha256: str, dest: Path) -> None:
    server.default = SLOWLY
    process = start(server, sha256, dest)
    wait_for_part(dest, 1)
    process.send_signal(signal.SIGINT)
    assert finished(process) == (130, "dbtool: interrupted\n")
    kept = part_of(dest).stat().st_size
    assert finished(start(server, sha256, dest))[0] == 0
    assert server.requests[-1].range == f"bytes={kept}-"
    assert dest.read_bytes() == content


def test_full_disk_keeps_the_part(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    code, errors = finished(start(server, sha256, dest, python=python_with_disk(100_000)))
    assert code == 1
    assert errors.startswith(f"dbtool: cannot write {part_of(dest)}: File too large; ")
    assert errors.count("\n") == 1
    assert part_of(dest).read_bytes() == content[:100_000]
    assert finished(start(server, sha256, dest))[0] == 0
    assert server.requests[-1].range == "bytes=100000-"
    assert dest.read_bytes() == content
