"""What of docs/ follows from the queries, the schema and the data is what these give."""

import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

import dbtool
from dbtool.analysis.scaling import Settings
from dbtool.report.scaling import scaling_of_table
from dbtool.report.words import sentences
from tests.support.programs import CHECKOUT

LEFT_OUT = {"docs", ".git", ".venv"}


@pytest.mark.slow
def test_all_documents_are_written_again_as_they_are(tmp_path):
    compiled = shutil.ignore_patterns("__pycache__")
    docs = shutil.copytree(CHECKOUT / "docs", tmp_path / "docs", ignore=compiled)
    for each in CHECKOUT.iterdir():
        if each.name not in LEFT_OUT:
            (tmp_path / each.name).symlink_to(each)
    # The environment that runs this test serves, whoever made it.
    words = ["make", "docs", f"BIN={Path(sys.executable).parent}", "--old-file=.venv/installed-dev"]
    subprocess.run(words, cwd=tmp_path, check=True)
    before, after = (_contents(folder) for folder in (CHECKOUT / "docs", docs))
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


# What the document asks besides each workload's own goal.
ASKED = [
    ("measured", "*", None),
    ("measured", "*fc_*", 0.04),
    ("replication", "*", None),
    ("held_back", "*", None),
    ("replication_seed_1", "*", None),
    ("replication_seed_2", "*", None),
    *((f"search_seed_{seed}", "*", None) for seed in range(1, 11)),
]
COMPARED = [
    ("measured", "mnist/simple_cnn_base/*", 0.02),
    ("replication", "mnist/fc_128_128_128/*", None),
]
CLAIM = re.compile(r"([\d.,]+) \(([\d.,]+) to ([\d.,]+)\)")
SAID = re.compile(r"([\d.,]+)(?: times that of [\w/]+)? \(95%: ([\d.,]+) to ([\d.,]+)[);]")
# Intervals of shares, predictions, and tables that `make docs` writes from their commands.
OTHER = re.compile(
    r"^### Trials that diverged$.*?^## |^### Two predictions$.*?^## |^```\n\n(?:\|.*\n)+",
    re.MULTILINE | re.DOTALL,
)


def _said(report: Any) -> set[tuple[str, ...]]:
    """The values with intervals in what a report says of each curve."""
    texts = (" ".join(sentences(answer.scaling, Settings())) for answer in report.answers)
    return {values for text in texts for values in SAID.findall(text)}


def _told() -> set[tuple[str, ...]]:
    told = set()
    for release, workloads, goal in ASKED:
        with dbtool.open(CHECKOUT / "data" / release) as db:
            told |= _said(db.scaling(workloads, goal=goal))
    with dbtool.open(CHECKOUT / "data" / "replication") as db:
        sgd = "mnist/fc_128_128_128/sgd"
        told |= _said(db.scaling("mnist/fc_128_128_128/muon", trials=5))
        for names in ("mnist/fc_128_128_128/*", "mnist/fc_1024_1024_1024/sgd"):
            for _, _, said in db.scaling(names, against=sgd).statements():
                told |= set(SAID.findall(" ".join(said)))
        for name in (sgd, "mnist/fc_1024/sgd"):
            steps = db.scaling(name).rows("steps").filter(pl.col("batch_size") >= 16)
            without = scaling_of_table(steps.select("batch_size", "steps"))
            told |= _said(db.scaling(name, sustained=2)) | _said(without)
    for release, workloads, goal in COMPARED:
        with dbtool.open(CHECKOUT / "data" / release) as db:
            rows = db.scaling(workloads, goal=goal).rows("comparison").drop_nulls("win")
            for row in rows.select("win", "win_low", "win_high").rows():
                told.add(tuple(f"{value:.2f}" for value in row))
    return told


@pytest.mark.slow
def test_each_interval_of_the_document_is_what_the_data_tell():
    text = (CHECKOUT / "docs" / "measured.md").read_text(encoding="utf-8")
    claims = CLAIM.findall(OTHER.sub("", text))
    told = _told()
    assert len(claims) > 30
    assert [claim for claim in claims if claim not in told] == []
