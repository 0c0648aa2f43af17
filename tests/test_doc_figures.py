"""`docs/figures.py`, which writes the document of all figures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from dbtool.figures.specs import FIGURES
from tests.support.documents import run_script, small_database

if TYPE_CHECKING:
    from pathlib import Path

# `.ci/run` writes the document and compares it with the committed one.
pytestmark = pytest.mark.slow


def test_the_document_shows_every_figure_and_the_pictures_that_there_are(tmp_path: Path) -> None:
    document = tmp_path / "figures.md"
    pictures = tmp_path / "figures"
    pictures.mkdir()
    (pictures / "stale.png").touch()
    ended = run_script("figures.py", document, small_database(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")
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
