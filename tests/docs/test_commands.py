"""The commands of docs/publishing.md and docs/remote.md and the latter's programs, as written.

Those of the former are run by tests/dbtool/release/test_readers.py.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.published import write_shards
from tests.support.release_server import serving_release

pytestmark = pytest.mark.slow
CHECKOUT = Path(__file__).resolve().parents[2]
URL = "https://example.org/my-release/"


def blocks(name: str) -> list[tuple[str, str]]:
    """The languages and texts of a document's examples."""
    text = (CHECKOUT / "docs" / name).read_text()
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """How commands of a shell ended, of which `dbtool` is this one."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "dbtool").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dbtool "$@"\n')
    (programs / "dbtool").chmod(0o755)
    more = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(CHECKOUT),
        "NO_PROXY": "127.0.0.1",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def python(script: str) -> str:
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(script)}\n"


def test_every_command_of_publishing_runs(tmp_path: Path) -> None:
    found = blocks("publishing.md")
    # The first needs DuckDB's own program, the second serves until it is stopped, the third needs
    # an account.
    assert [text.split()[0] for kind, text in found if kind == "sh"] == ["cd", "python3", "hf"]
    commands = "".join(text for kind, text in found if not kind)
    assert commands.count("dbtool ") == 9
    write_shards(tmp_path / "runs", release="runs")
    (tmp_path / "my.bib").write_text("@misc{made-up, title = {Made-up numbers}}\n")
    done = run(commands, tmp_path)
    made = {"my-release", "for-bucket", "small", "thinned", "differences.csv"}
    assert made <= {path.name for path in tmp_path.iterdir()}
    assert (tmp_path / "differences.csv").read_text().count("\n") > 1
    assert "no differences\n" in done.stderr


@pytest.mark.parametrize(("language", "text"), blocks("remote.md"))
def test_a_release_on_a_server_is_read_as_written(language: str, text: str, tmp_path: Path) -> None:
    assert URL in text
    with serving_release(CHECKOUT / "data" / "sample" / "replication") as server:
        text = text.replace(URL, server.url)
        assert run({"sh": text, "python": python(text)}[language], tmp_path).stdout
