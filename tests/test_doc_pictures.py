"""`docs/pictures.py` on a document whose pictures are missing or out of date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.made_up import WORKLOAD, curve, write_shard

from dbtool.store.database import open_for_writing
from dbtool.store.ingest import ingest

SCRIPT = Path(__file__).parents[1] / "docs" / "pictures.py"


def _run(document: Path, database: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(SCRIPT), str(document), "--db", str(database)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def _database(folder: Path) -> Path:
    trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.2]))]
    shard = write_shard(folder / "shards", batch_size=64, trials=trials)
    with open_for_writing(folder / "db") as connection:
        ingest(connection, [shard])
    return folder / "db"


def test_a_picture_is_what_the_command_above_it_draws(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    text = (
        f"```\ndbtool plot steps --workload {WORKLOAD} --goal 0.5\n```\n\n"
        "![Steps](pictures/some.svg)\n\nText, and ![another](pictures/other.svg).\n"
    )
    document.write_text(text)
    ended = _run(document, _database(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [file.name for file in (tmp_path / "pictures").iterdir()] == ["some.svg"]
    asked = ["plot", "steps", "--workload", WORKLOAD, "--goal", "0.5", "--format", "svg"]
    where = ["--db", str(tmp_path / "db"), "--out", str(tmp_path / "own")]
    subprocess.run([sys.executable, "-m", "dbtool", *asked, *where], check=True)
    own = (tmp_path / "own" / "steps.svg").read_bytes()
    assert (tmp_path / "pictures" / "some.svg").read_bytes() == own
    assert document.read_text() == text


def test_a_command_that_fails_leaves_the_picture(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text("```\ndbtool plot step\n```\n\n![Steps](some.svg)\n")
    (tmp_path / "some.svg").write_text("as before")
    ended = _run(document, _database(tmp_path))
    assert ended.returncode == 1
    assert "plot step " in ended.stderr
    assert (tmp_path / "some.svg").read_text() == "as before"
