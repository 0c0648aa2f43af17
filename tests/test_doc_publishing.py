"""The commands of docs/publishing.md, run as they are written."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.published import write_shards

DOCUMENT = Path(__file__).parents[1] / "docs" / "publishing.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_command_runs(tmp_path: Path) -> None:
    blocks = BLOCK.findall(DOCUMENT.read_text())
    # The first needs DuckDB's own program, the second serves until it is stopped, the third needs
    # an account.
    assert [text.split()[0] for kind, text in blocks if kind == "sh"] == ["cd", "python3", "hf"]
    commands = "".join(text for kind, text in blocks if not kind)
    assert commands.count("dbtool ") == 7
    [script] = [text for kind, text in blocks if kind == "python"]
    commands += f"{shlex.quote(sys.executable)} -c {shlex.quote(script)}\n"
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "dbtool").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dbtool "$@"\n')
    (programs / "dbtool").chmod(0o755)
    write_shards(tmp_path / "runs", release="runs")
    (tmp_path / "my.bib").write_text("@misc{made-up, title = {Made-up numbers}}\n")
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = {"my-release", "small", "thinned", "differences.csv"}
    assert made <= {path.name for path in tmp_path.iterdir()}
    assert (tmp_path / "differences.csv").read_text().count("\n") > 1
    assert "no differences\n" in done.stderr
