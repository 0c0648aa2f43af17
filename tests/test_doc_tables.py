"""`docs/tables.py` on a document whose tables are out of date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.documents import run_script, small_database

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = "dbtool sql 'SELECT batch_size, trials FROM steps_to_result(NULL, NULL, NULL, 0.5, 100)'"


def test_tables_become_what_their_commands_print_and_the_rest_stays(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    before = f"Text\n\n```\n{COMMAND}\n```\n\n| batch_size | trials |\n| --- | --- |\n| 8 | 9 |\n"
    rest = "\n| a table | of its own |\n\n```\ndbtool produce --list\n```\n\nNo table.\n"
    document.write_text(before + rest)
    ended = run_script("tables.py", document, small_database(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")
    written = document.read_text()
    assert (
        written == before.replace("| --- | --- |\n| 8 | 9 |", "| ---: | ---: |\n| 64 | 1 |") + rest
    )


def test_a_query_without_a_table_gets_one(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text(f"```\n{COMMAND}\n```\n\nText\n")
    ended = run_script("tables.py", document, small_database(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")
    table = "| batch_size | trials |\n| ---: | ---: |\n| 64 | 1 |\n"
    assert document.read_text() == f"```\n{COMMAND}\n```\n\n{table}\nText\n"


def test_a_command_that_fails_leaves_the_document(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    text = "```\ndbtool sql 'SELECT nothing FROM trials'\n```\n\n| nothing |\n| --- |\n"
    document.write_text(text)
    ended = run_script("tables.py", document, small_database(tmp_path))
    assert ended.returncode == 1
    assert "SELECT nothing FROM trials" in ended.stderr
    assert document.read_text() == text
