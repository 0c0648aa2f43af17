"""docs/notebook.py: what a notebook's cells show is written into it, unless one fails."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[1] / "docs" / "notebook.py"
SHOWING = """
import sys, dbtool
print("told", file=sys.stderr)
dbtool.open(release="replication")
"""


def write(path: Path, *sources: str) -> bytes:
    """Writes a notebook of cells that were run on another machine."""
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "metadata": {"execution": {"iopub.execute_input": "2018-11-08"}},
            "execution_count": 7,
            "source": source,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "old"}],
        }
        for number, source in enumerate(sources)
    ]
    notebook = {"cells": cells, "metadata": {"author": "me"}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook))
    return path.read_bytes()


def run(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_cells_show_is_written_and_the_same_again(tmp_path: Path) -> None:
    path = tmp_path / "notebook.ipynb"
    write(path, "shown = 1 + 1", SHOWING, "shown")
    assert run(path).returncode == 0
    first = path.read_bytes()
    cells: list[Any] = json.loads(first)["cells"]
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3]
    assert [cell["metadata"] for cell in cells] == [{}, {}, {}]
    assert cells[0]["outputs"] == []
    # What went to standard error is not there.
    [database] = cells[1]["outputs"]
    assert "<pre>db.workloads()" in "".join(database["data"]["text/html"])
    assert cells[2]["outputs"][0]["data"] == {"text/plain": ["2"]}
    assert b"author" not in first
    assert run(path).returncode == 0
    assert path.read_bytes() == first


def test_a_cell_that_fails_leaves_the_notebook(tmp_path: Path) -> None:
    path = tmp_path / "notebook.ipynb"
    before = write(path, "1 / 0")
    ended = run(path)
    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stderr
    assert path.read_bytes() == before
