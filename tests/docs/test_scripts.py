"""The scripts of docs/ write what commands and cells show, and nothing where one fails."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dbtool.figures.specs import FIGURES
from tests.support.made_up import WORKLOAD, write_release

SCRIPTS = Path(__file__).parents[2] / "docs"
COMMAND = "dbtool sql 'SELECT batch_size, trials FROM steps_to_result(NULL, NULL, NULL, 0.5, 100)'"
TABLE = "| batch_size | trials |\n| ---: | ---: |\n| 64 | 1 |\n"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A release of one study of batch size 64, with one trial."""
    return write_release(tmp_path / "release")


def run_script(name: str, document: Path, *options: str | Path) -> tuple[int, str]:
    """How a script ended, and what it told."""
    words = [sys.executable, str(SCRIPTS / name), str(document), *map(str, options)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_tables_become_what_their_commands_print_and_the_rest_stays(
    database: Path, tmp_path: Path
) -> None:
    document = tmp_path / "document.md"
    old = "| batch_size | trials |\n| --- | --- |\n| 8 | 9 |\n"
    before = f"Text\n\n```\n{COMMAND}\n```\n\n{old}"
    rest = "\n| a table | of its own |\n\n```\ndbtool produce --list\n```\n\nNo table.\n"
    # The query at the end has no table yet.
    document.write_text(f"{before}{rest}```\n{COMMAND}\n```\n\nText\n")
    assert run_script("tables.py", document, "--db", database) == (0, "")
    written = f"{before.replace(old, TABLE)}{rest}```\n{COMMAND}\n```\n\n{TABLE}\nText\n"
    assert document.read_text() == written


@pytest.mark.slow
def test_a_picture_is_what_the_command_above_it_draws(database: Path, tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    text = (
        f"```\ndbtool plot steps --workload {WORKLOAD} --goal 0.5\n```\n\n"
        "![Steps](pictures/some.svg)\n\nText, and ![another](pictures/other.svg).\n"
    )
    document.write_text(text)
    assert run_script("pictures.py", document, "--db", database) == (0, "")
    assert [file.name for file in (tmp_path / "pictures").iterdir()] == ["some.svg"]
    words = ["plot", "steps", "--workload", WORKLOAD, "--goal", "0.5", "--format", "svg"]
    where = ["--db", str(database), "--out", str(tmp_path / "own")]
    subprocess.run([sys.executable, "-m", "dbtool", *words, *where], check=True)
    own = (tmp_path / "own" / "steps.svg").read_bytes()
    assert (tmp_path / "pictures" / "some.svg").read_bytes() == own
    assert document.read_text() == text


@pytest.mark.slow
def test_a_picture_of_a_scaling_is_drawn_by_its_command(database: Path, tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    command = f"scaling {WORKLOAD} --goal 0.5 --out scaling.png"
    document.write_text(f"```\ndbtool {command}\n```\n\n![Steps](pictures/some.webp)\n")
    assert run_script("pictures.py", document, "--db", database)[0] == 0
    assert (tmp_path / "pictures" / "some.webp").read_bytes()[8:12] == b"WEBP"
    assert [file.name for file in (tmp_path / "pictures").iterdir()] == ["some.webp"]


@pytest.mark.parametrize(
    ("script", "command", "rest"),
    [
        ("tables.py", "sql 'SELECT nothing FROM trials'", "| nothing |\n| --- |\n"),
        pytest.param("pictures.py", "plot step", "![Steps](some.svg)\n", marks=pytest.mark.slow),
    ],
)
def test_a_command_that_fails_leaves_everything(
    script: str, command: str, rest: str, database: Path, tmp_path: Path
) -> None:
    document, picture = tmp_path / "document.md", tmp_path / "some.svg"
    text = f"```\ndbtool {command}\n```\n\n{rest}"
    document.write_text(text)
    picture.write_text("as before")
    code, told = run_script(script, document, "--db", database)
    assert code == 1
    assert command in told
    assert (document.read_text(), picture.read_text()) == (text, "as before")


# `.ci/run` writes the document and compares it with the committed one.
@pytest.mark.slow
def test_the_document_of_figures_shows_all_and_the_pictures_that_there_are(
    database: Path, tmp_path: Path
) -> None:
    document, pictures = tmp_path / "figures.md", tmp_path / "figures"
    pictures.mkdir()
    (pictures / "stale.png").touch()
    assert run_script("figures.py", document, "--db", database) == (0, "")
    text = document.read_text(encoding="utf-8")
    assert re.findall(r'<a id="(.*?)"></a>', text) == [spec.name for spec in FIGURES]
    queries = re.findall(r"```sql\n(.*?)\n```", text, re.DOTALL)
    # Each query once, where the first figure has it.
    paths = dict.fromkeys(spec.query_path for spec in FIGURES)
    assert queries == [path.read_text(encoding="utf-8").strip() for path in paths]
    for spec in FIGURES:
        assert spec.question in text
        assert f"(#{spec.name})" in text
    shown = re.findall(r"!\[[^\]]+\]\(figures/(.*?)\)", text)
    assert {path.name for path in pictures.iterdir()} == set(shown)
    assert {"steps.svg", "schedule-shapes.svg"} <= set(shown)
    assert len(shown) + text.count("Not drawn here: ") == len(FIGURES)


PAGE = """# A page

```console
$ echo "one
> two" | tee kept
old
$ echo told >&2
```

Words.

```python
print(open("kept").read().count("o"))
```

```text
```

```
$ echo left alone
```
"""
TAKEN = PAGE.replace("old\n$ echo told", "one\ntwo\n$ echo told").replace(
    "```text\n", "```text\n2\n"
)


def test_what_is_printed_is_written_and_found_again(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    code, told = run_script("tour.py", page, "--check")
    assert code == 1
    assert "is not what its commands print" in told
    assert "-old\n+one\n+two" in told
    assert page.read_text() == PAGE
    assert run_script("tour.py", page)[0] == 0
    assert page.read_text() == TAKEN
    assert run_script("tour.py", page, "--check")[0] == 0


def test_a_command_that_fails_ends_the_tour(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo why >&2; exit 3\n```\n")
    assert run_script("tour.py", page) == (1, "echo why >&2; exit 3\nfailed:\nwhy\n\n")


SHOWING = """
import sys, dbtool
print("told", file=sys.stderr)
dbtool.open(release="replication")
"""


def write_notebook(path: Path, *sources: str) -> bytes:
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


@pytest.mark.slow
def test_what_cells_show_is_written_and_the_same_again(tmp_path: Path) -> None:
    path = tmp_path / "notebook.ipynb"
    write_notebook(path, "shown = 1 + 1", SHOWING, "shown")
    assert run_script("notebook.py", path)[0] == 0
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
    assert run_script("notebook.py", path)[0] == 0
    assert path.read_bytes() == first


def test_a_cell_that_fails_leaves_the_notebook(tmp_path: Path) -> None:
    path = tmp_path / "notebook.ipynb"
    before = write_notebook(path, "1 / 0")
    code, told = run_script("notebook.py", path)
    assert code == 1
    assert "ZeroDivisionError" in told
    assert path.read_bytes() == before
