"""What `dbtool doctor` says of an installation and of its data."""

import importlib.metadata
import re

import dbtool


def test_what_is_missing_stands_with_what_brings_it(call, database, tmp_path, monkeypatch):
    libraries = ["duckdb<3,>=1.5", 'jax>=0.10; extra == "train"', "no-such>=1; extra == 'train'"]
    monkeypatch.setattr(importlib.metadata, "requires", {"steps-to-result": libraries}.__getitem__)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("DBTOOL_DATASETS", str(tmp_path / "gone"))
    outcome = call("doctor")
    assert (outcome.code, outcome.errors) == (0, "")
    said = dict(re.findall(r"^(\S.{13}) *(.*(?:\n +->.+)?)$", outcome.output, re.MULTILINE))
    said = {part.strip(): state for part, state in said.items()}
    assert said["dbtool"].startswith(dbtool.__version__)
    assert said["libraries"] == f"duckdb {importlib.metadata.version('duckdb')}"
    state, _, remedy = said["extra train"].partition("\n")
    assert state == "missing: no-such"
    assert "pip install '.[train]'" in remedy
    assert said["releases read"] == str(database)
    assert re.fullmatch(r"none\n +-> `dbtool ingest RUNS`", said["your releases"])
    assert re.fullmatch(r"unusable\n +-> .* does not exist; .*", said["data sets"])
