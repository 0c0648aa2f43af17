"""A real HTTP server of a folder: it heeds byte ranges, logs what it sends, fails when told to."""

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from .file_server import BLOCK, Answer, Server, running


@dataclass
class Faults:
    """What goes wrong.

    Attributes:
        statuses: answers in place of files, by path.
        seconds: how long each answer takes to begin.
        seconds_a_block: how long each 16 KiB of a body take.
        contents: other contents of files.
    """

    statuses: dict[str, list[int]] = field(default_factory=dict)
    seconds: float = 0.0
    seconds_a_block: float = 0.0
    contents: dict[str, bytes] = field(default_factory=dict)


class ReleaseServer(Server):
    """Serves a folder below /release/, and counts what it is asked for before it answers."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.faults = Faults()
        self.asked = 0

    @property
    def url(self) -> str:
        return f"{self.root}release/"

    def answer(self, path: str) -> Answer:
        faults, file = self.faults, self.folder / path
        self.asked += 1
        time.sleep(faults.seconds)
        if path in faults.statuses:
            return Answer(status=faults.statuses[path][0])
        if path not in faults.contents and not file.is_file():
            return Answer(status=404)
        content = faults.contents[path] if path in faults.contents else file.read_bytes()
        return Answer(
            content,
            headers={"Accept-Ranges": "bytes"},
            seconds=faults.seconds_a_block * len(content) / BLOCK,
        )


def serving_release(folder: Path) -> AbstractContextManager[ReleaseServer]:
    """A running server of a folder."""
    return running(ReleaseServer(folder))
