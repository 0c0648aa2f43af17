"""A real Ray cluster of one small node, and the processes of its workers."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 120.0


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs.

    Attributes:
        address: for RAY_ADDRESS.
        head: the process that started all the others.
    """

    address: str
    head: psutil.Process

    def workers(self) -> list[psutil.Process]:
        """The processes that train a block at this moment."""
        found = []
        for process in self.head.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.cmdline()[:1] == ["ray::train_block_of"]:
                    found.append(process)
        return found

    def wait_for_worker(self) -> psutil.Process:
        """A process that trains a block, as soon as there is one."""
        deadline = time.monotonic() + PATIENCE
        while not (workers := self.workers()):
            assert time.monotonic() < deadline, "no worker trains"
            time.sleep(0.02)
        return workers[0]


@contextlib.contextmanager
def cluster(**environment: str) -> Iterator[Cluster]:
    """Starts a cluster with two CPUs and ends it; its workers get the variables too."""
    # A socket's path must be short, which pytest's folders are not.
    folder = tempfile.mkdtemp(prefix="ray-")
    port = _free_port()
    words = [
        *("start", "--head", "--block", "--port", str(port), "--temp-dir", folder),
        *("--num-cpus", "2", "--object-store-memory", str(100_000_000)),
        *("--include-dashboard", "false", "--dashboard-agent-listen-port", "0"),
        "--disable-usage-stats",
    ]
    log = Path(folder) / "start.log"
    with log.open("wb") as output:
        head = subprocess.Popen(
            [str(Path(sys.executable).with_name("ray")), *words],
            env={**os.environ, "RAY_AUTH_MODE": "disabled", **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while "Ray runtime started" not in log.read_text():
            assert head.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield Cluster(f"127.0.0.1:{port}", psutil.Process(head.pid))
    finally:
        # All of its processes are in the group that was made for it.
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    """A port of the system's range, which lies above those that Ray gives its workers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
