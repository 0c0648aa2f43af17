"""The scripts of docs/ on documents whose tables and pictures are missing or out of date."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dbtool.figures.specs import FIGURES
from tests.support.made_up import WORKLOAD, write_release

SCRIPTS = Path(__file__).parents[1] / "docs"
COMMAND = "dbtool sql 'SELECT batch_size, trials FROM steps_to_result(NULL, NULL, NULL, 0.5, 100)'"
TABLE = "| batch_size | trials |\n| ---: | ---: |\n| 64 | 1 |\n"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A release of one study of batch size 64, with one trial."""
    return write_release(tmp_path / "release")


def run_script(name: str, document: Path, database: Path) -> tuple[int, str]:
    """How a script ended, and what it told."""
    words = [sys.executable, str(SCRIPTS / name), str(document), "--db", str(database)]
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
    assert run_script("tables.py", document, database) == (0, "")
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
    assert run_script("pictures.py", document, database) == (0, "")
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
    assert run_script("pictures.py", document, database)[0] == 0
    assert (tmp_path / "pictures" / "some.webp").read_bytes()[8:12] == b"WEBP"
    assert [file.name for file in (tmp_path / "pictures").iterdir()] == ["some.webp"]


@pytest.mark.parametrize(
    ("script", "command", "rest"),
    [
        ("tables.py", "sql 'SELECT nothing FROM trials'", "| nothing |\n| --- |\n"),
        ("pictures.py", "plot step", "![Steps](some.svg)\n"),
    ],
)
def test_a_command_that_fails_leaves_everything(
    script: str, command: str, rest: str, database: Path, tmp_path: Path
) -> None:
    document, picture = tmp_path / "document.md", tmp_path / "some.svg"
    text = f"```\ndbtool {command}\n```\n\n{rest}"
    document.write_text(text)
    picture.write_text("as before")
    code, told = run_script(script, document, database)
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
    assert run_script("figures.py", document, database) == (0, "")
    text = document.read_text(encoding="utf-8")
    assert re.findall(r'<a id="(.*?)"></a>', text) == [spec.name for spec in FIGURES]
    queries = re.findall(r"```sql\n(.*?)\n```", text, re.DOTALL)
    for spec, query in zip(FIGURES, queries, strict=True):
        assert query == spec.query_path.read_text(encoding="utf-8").strip()
        assert spec.question in text
        assert f"(#{spec.name})" in text
    shown = re.findall(r"!\[[^\]]+\]\(figures/(.*?)\)", text)
    assert {path.name for path in pictures.iterdir()} == set(shown)
    assert {"steps.svg", "schedule-shapes.svg"} <= set(shown)
    assert len(shown) + text.count("Not drawn here: ") == len(FIGURES)
