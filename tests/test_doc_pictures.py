"""`docs/pictures.py` on a document whose pictures are missing or out of date."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.documents import run_script, small_database
from tests.support.made_up import WORKLOAD

if TYPE_CHECKING:
    from pathlib import Path


def test_a_picture_is_what_the_command_above_it_draws(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    text = (
        f"```\ndbtool plot steps --workload {WORKLOAD} --goal 0.5\n```\n\n"
        "![Steps](pictures/some.svg)\n\nText, and ![another](pictures/other.svg).\n"
    )
    document.write_text(text)
    database = small_database(tmp_path)
    ended = run_script("pictures.py", document, database)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [file.name for file in (tmp_path / "pictures").iterdir()] == ["some.svg"]
    asked = ["plot", "steps", "--workload", WORKLOAD, "--goal", "0.5", "--format", "svg"]
    where = ["--db", str(database), "--out", str(tmp_path / "own")]
    subprocess.run([sys.executable, "-m", "dbtool", *asked, *where], check=True)
    own = (tmp_path / "own" / "steps.svg").read_bytes()
    assert (tmp_path / "pictures" / "some.svg").read_bytes() == own
    assert document.read_text() == text


def test_a_command_that_fails_leaves_the_picture(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text("```\ndbtool plot step\n```\n\n![Steps](some.svg)\n")
    (tmp_path / "some.svg").write_text("as before")
    ended = run_script("pictures.py", document, small_database(tmp_path))
    assert ended.returncode == 1
    assert "plot step " in ended.stderr
    assert (tmp_path / "some.svg").read_text() == "as before"
