"""What of docs/ follows from the queries, the schema and the data is what `make docs` writes."""

import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
LEFT_OUT = {"docs", ".git", ".venv"}


@pytest.mark.slow
def test_all_documents_are_written_again_as_they_are(tmp_path):
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
    assert [name for name in before if not _are_alike(before[name], after[name], name)] == []


def _are_alike(before: bytes, after: bytes, name: str) -> bool:
    """Whether a file is the same; of a picture, whether an eye could tell two apart."""
    if before == after or not name.endswith(".webp"):
        return before == after
    # Processors round differently, which moves an edge by a part of a pixel.
    one, other = (np.asarray(Image.open(BytesIO(file)), np.int16) for file in (before, after))
    if one.shape != other.shape:
        return False
    differences = np.abs(one - other)
    return bool(differences.max() <= 16 and (differences > 0).mean() < 1e-3)


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
