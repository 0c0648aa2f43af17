"""What is said of one workload, study, trial and measurement."""

import re
from pathlib import Path

import pytest

from tests.support.made_up import curve, write_shard

from .conftest import Call

PLURAL = re.compile(r"\b1 (trials|studies|workloads|measurements|releases|steps|points|files)\b")


def test_one_of_a_thing_is_singular(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DBTOOL_DB")
    for name, values in (("one", [0.9]), ("two", [0.9, 0.01])):
        trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve(values))]
        write_shard(tmp_path / name, release=name, trials=trials)
        for words in (
            ["verify", name],
            ["scaling", "--db", name],
            ["publish", name, "--out", f"published-{name}", "--licence", "CC0-1.0"],
            ["export", "*", "--db", name, "--out", f"{name}.tar"],
            ["import", f"{name}.tar", "--release", name, "--db", "imported"],
            ["ingest", name, "--db", "ingested"],
        ):
            outcome = call(*words)
            assert outcome.code == 0, outcome.errors
            assert not PLURAL.search(outcome.output + outcome.errors), words
        assert not PLURAL.search((tmp_path / f"published-{name}" / "README.md").read_text())
    assert not PLURAL.search(call("diff", "one", "two", "--release-b", "two").errors)
