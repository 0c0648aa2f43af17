"""What docs/remote.md shows works as written, with the URL of a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.published import published
from support.release_server import serving_release

from dbtool.store.locate import bundled_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.release_server import ReleaseServer

CHECKOUT = Path(__file__).resolve().parents[1]
URL = "https://example.org/my-release/"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (CHECKOUT / "docs" / "remote.md").read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReleaseServer]:
    folder = tmp_path_factory.mktemp("sample")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        database = bundled_database(CHECKOUT / "data" / "sample")
    with serving_release(published(database, folder / "release", "measured")) as running:
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
        "sql": [sys.executable, "-c", in_duckdb(text)],
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


def in_duckdb(text: str) -> str:
    """A program that runs SQL, with the extension from a package rather than the network."""
    httpfs = pytest.importorskip("duckdb_extension_httpfs")
    found = sorted(Path(httpfs.__file__).parent.rglob("httpfs.duckdb_extension"))
    sql = text.replace("INSTALL httpfs;\n", "").replace("LOAD httpfs", f"LOAD '{found[-1]}'")
    return f"import duckdb; print(duckdb.execute({sql!r}).fetchall())"
