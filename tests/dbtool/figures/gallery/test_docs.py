"""The document of all figures, written by its command as `make docs` does."""

import os
import re
import subprocess
import sys

import pytest

from dbtool.figures.gallery.docs import MOST_BYTES, Entry, write_document
from dbtool.figures.specs import FIGURES, find_figure

# `.ci/run` writes the document and compares it with the committed one.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(database, tmp_path_factory):
    made = tmp_path_factory.mktemp("docs")
    stale = made / "figures" / "stale.png"
    stale.parent.mkdir()
    stale.touch()
    words = ["-m", "dbtool.figures.gallery.docs", "--db", str(database), "--out", str(made)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, *words], env=environment, check=True)
    return made


@pytest.fixture(scope="module")
def text(folder):
    return (folder / "figures.md").read_text(encoding="utf-8")


def test_every_figure_has_its_question_and_its_query(text):
    assert re.findall(r'<a id="(.*?)"></a>', text) == [spec.name for spec in FIGURES]
    queries = re.findall(r"```sql\n(.*?)\n```", text, re.DOTALL)
    for spec, query in zip(FIGURES, queries, strict=True):
        assert query == spec.query_path.read_text(encoding="utf-8").strip()
        assert spec.question in text
        assert f"(#{spec.name})" in text


def test_the_pictures_are_those_that_it_shows(folder, text):
    shown = re.findall(r"!\[[^\]]+\]\(figures/(.*?)\)", text)
    assert {path.name for path in (folder / "figures").iterdir()} == set(shown)
    assert "figure_01" in {name.partition(".")[0] for name in shown}
    assert len(shown) + text.count("Not drawn here: ") == len(FIGURES)
    assert sum(path.stat().st_size for path in (folder / "figures").iterdir()) < MOST_BYTES


def test_pictures_too_large_for_a_repository_are_refused(tmp_path):
    entry = Entry(find_figure("1"), "", ("figure_01.svg", bytes(MOST_BYTES + 1)))
    with pytest.raises(ValueError, match="the pictures have 2,000,001 bytes"):
        write_document(tmp_path, [entry])
    assert list(tmp_path.iterdir()) == []
