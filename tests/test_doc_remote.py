"""What docs/remote.md shows works as written, with the URL of a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.release_server import serving_release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.release_server import ReleaseServer

CHECKOUT = Path(__file__).resolve().parents[1]
URL = "https://example.org/my-release/"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (CHECKOUT / "docs" / "remote.md").read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def server() -> Iterator[ReleaseServer]:
    with serving_release(CHECKOUT / "data" / "sample") as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(("language", "text"), BLOCKS)
def test_it_works_as_written(
    server: ReleaseServer, language: str, text: str, tmp_path: Path
) -> None:
    assert URL in text
    text = text.replace(URL, server.url)
    program = tmp_path / "dbtool"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dbtool "$@"\n')
    program.chmod(0o755)
    words = {
        "sh": ["sh", "-e", "-c", text],
        "python": [sys.executable, "-c", text],
    }[language]
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(CHECKOUT),
        "NO_PROXY": "127.0.0.1",
    }
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
