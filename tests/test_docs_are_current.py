"""What of docs/ follows from the queries, the schema and the data is what `make docs` writes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"docs", ".git", ".venv"}


@pytest.mark.slow
def test_all_documents_are_written_again_as_they_are(tmp_path: Path) -> None:
    compiled = shutil.ignore_patterns("__pycache__")
    docs = shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=compiled)
    for each in ROOT.iterdir():
        if each.name not in LEFT_OUT:
            (tmp_path / each.name).symlink_to(each)
    # The environment that runs this test serves, whoever made it.
    words = ["make", "docs", f"BIN={Path(sys.executable).parent}", "--old-file=.venv/installed-dev"]
    subprocess.run(words, cwd=tmp_path, check=True)
    before, after = (_contents(folder) for folder in (ROOT / "docs", docs))
    assert sorted(after) == sorted(before)
    assert [name for name in before if after[name] != before[name]] == []


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
