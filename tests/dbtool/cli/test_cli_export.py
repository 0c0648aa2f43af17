"""The command that writes measurements into files: its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Call

DIGITS = "digits/simple_cnn_base/sgd"


def test_words(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "new" / "part.parquet"
    chosen = ["lett*", DIGITS, "--batch-size", "8"]
    outcome = call("export", *chosen, "--out", str(out))
    assert (outcome.code, outcome.output) == (0, "")
    # Of batch size 8 one of the two has a study.
    assert outcome.errors == f"wrote {out}: 1 study, 3 trials, 73 measurements\n"
    assert pl.read_parquet(out).height == 73
    assert call("export", "--out", str(tmp_path / "all.csv")).code == 0
    assert call("export", "--format", "original", "--out", str(tmp_path / "folder")).code == 0
    assert (tmp_path / "folder" / "batch_science" / DIGITS / "8" / "study.json").is_file()
    assert call("export", "--format", "csv", "--out", str(tmp_path / "odd.txt")).code == 0
    assert (tmp_path / "odd.txt").read_bytes() == (tmp_path / "all.csv").read_bytes()
