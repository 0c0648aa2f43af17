"""A database made from an archive passes `dbtool verify`, with all that is unusual in it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from replica import plan_study, write_archive

if TYPE_CHECKING:
    from pathlib import Path

PLANS = (
    plan_study("mnist/simple_cnn_base/nesterov_momentum", 8, odd=True),
    plan_study("lm1b/lstm/nesterov_momentum", 16, odd=True),
)


def dbtool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dbtool", *words], capture_output=True, text=True, check=False
    )


def test_unusual_archives_are_sound_databases(tmp_path: Path) -> None:
    truth = write_archive(tmp_path, studies=PLANS, seed=2, layout="folder")
    # The metadata of one trial says fewer steps than it has measurements of.
    metadata = next((tmp_path / "batch_science" / PLANS[0].path).glob("*/metadata.json"))
    metadata.write_text(json.dumps(json.loads(metadata.read_text()) | {"steps": 1}))
    database = tmp_path / "db.duckdb"
    imported = dbtool("import", tmp_path / "batch_science", "--db", database)
    assert imported.returncode == 0, imported.stderr
    verified = dbtool("verify", database)
    assert verified.returncode == 0, verified.stderr
    assert f"{truth.measurements:,} measurements" in verified.stderr
