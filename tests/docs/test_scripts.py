"""The scripts of docs/ write what commands and cells show, and nothing where one fails."""

import json
from pathlib import Path

import pytest

from tests.support.made_up import write_release
from tests.support.programs import CHECKOUT, run_python

COMMAND = "dbtool sql 'SELECT batch_size, trials FROM steps_to_result(NULL, NULL, NULL, 0.5, 100)'"
TABLE = "| batch_size | trials |\n| ---: | ---: |\n| 64 | 1 |\n"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A release of one study of batch size 64, with one trial."""
    return write_release(tmp_path / "release")


def run_script(name: str, document: Path, *options: str | Path) -> tuple[int, str]:
    """How a script ended, and what it told."""
    done = run_python(CHECKOUT / "docs" / name, document, *options)
    return done.returncode, done.stderr


def test_tables_become_what_their_commands_print_and_the_rest_stays(database, tmp_path):
    document = tmp_path / "document.md"
    old = "| batch_size | trials |\n| --- | --- |\n| 8 | 9 |\n"
    before = f"Text\n\n```\n{COMMAND}\n```\n\n{old}"
    rest = "\n| a table | of its own |\n\n```\ndbtool produce --list\n```\n\nNo table.\n"
    # The query at the end has no table yet.
    document.write_text(f"{before}{rest}```\n{COMMAND}\n```\n\nText\n")
    assert run_script("tables.py", document, "--db", database) == (0, "")
    written = f"{before.replace(old, TABLE)}{rest}```\n{COMMAND}\n```\n\n{TABLE}\nText\n"
    assert document.read_text() == written


def test_a_command_that_fails_leaves_everything(database, tmp_path):
    document, command = tmp_path / "document.md", "sql 'SELECT nothing FROM trials'"
    text = f"```\ndbtool {command}\n```\n\n| nothing |\n| --- |\n"
    document.write_text(text)
    code, told = run_script("tables.py", document, "--db", database)
    assert (code, command in told) == (1, True)
    assert document.read_text() == text


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


def test_what_is_printed_is_written_and_found_again(tmp_path):
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


def test_a_command_that_fails_ends_the_tour(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo why >&2; exit 3\n```\n")
    assert run_script("tour.py", page) == (1, "echo why >&2; exit 3\nfailed:\nwhy\n\n")


@pytest.mark.slow
def test_a_cell_that_fails_leaves_the_notebook(tmp_path):
    path = tmp_path / "notebook.ipynb"
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": 7, "outputs": []}
    cells = [{**cell, "source": "1 / 0"}]
    path.write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    before = path.read_bytes()
    code, told = run_script("notebook.py", path)
    assert code == 1
    assert "ZeroDivisionError" in told
    assert path.read_bytes() == before
