"""`dbtool workloads --catalog`: the published workloads, with a database and without one."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.made_up import curve, write_shard

from dbtool.store.database import open_for_writing
from dbtool.store.ingest import find_shards, ingest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Call

WORDS = ("workloads", "--catalog")
SUBSET = "mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"


@pytest.fixture
def with_subset(tmp_path: Path) -> Path:
    """A database in which two releases hold one of the published workloads, and one another."""
    errors = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.1]))]
    for release, workload in (
        ("first", SUBSET),
        ("second", SUBSET),
        ("second", "mnist/fc_1024/sgd"),
        ("second", "digits/fc_1024/sgd"),
    ):
        write_shard(tmp_path / release, workload=workload, release=release, trials=errors)
    path = tmp_path / "made_up.duckdb"
    with open_for_writing(path) as connection:
        assert ingest(connection, find_shards([tmp_path])).added == 4
    return path


def by_name(text: str) -> dict[str, dict[str, Any]]:
    return {row["workload"]: row for row in json.loads(text)}


def test_every_published_workload_is_listed_with_its_facts(call: Call) -> None:
    outcome = call(*WORDS, "--format", "json")
    assert (outcome.code, outcome.errors) == (0, "")
    rows = by_name(outcome.output)
    assert list(rows) == sorted(rows)
    assert len(rows) == 35
    assert sum(row["complete"] for row in rows.values()) == 108_194
    assert rows["open_images_v4/resnet_50/nesterov_momentum"] == {
        "workload": "open_images_v4/resnet_50/nesterov_momentum",
        "metric": "val_average_precision",
        "goal": 0.31,
        "maximize": True,
        "train_examples": 4_526_492,
        "batch_sizes": [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768],
        "complete": 1_153,
        "incomplete": 177,
        "infeasible": 613,
        "releases": [],
        "trial_limit": 100,
        "goal_certainty": "stated",
        "train_examples_certainty": "recalled",
        "notes": None,
    }


def test_releases_that_hold_a_workload_are_named(with_subset: Path, call: Call) -> None:
    words = (*WORDS, "--db", str(with_subset), "--format", "json")
    rows = by_name(call(*words).output)
    assert rows[SUBSET]["releases"] == ["first", "second"]
    assert rows["mnist/fc_1024/sgd"]["releases"] == ["second"]
    assert rows["lm1b/lstm/nesterov_momentum"]["releases"] == []
    assert "digits/fc_1024/sgd" not in rows
    assert list(by_name(call(*words, "--release", "first").output)) == [SUBSET]


def test_all_formats_have_all_rows(call: Call) -> None:
    table = call(*WORDS).output.splitlines()
    assert len(table) == 2 + 35
    assert table[0].split()[:3] == ["workload", "metric", "goal"]
    assert len(call(*WORDS, "--format", "markdown").output.splitlines()) == 2 + 35
    assert len(list(csv.DictReader(io.StringIO(call(*WORDS, "--format", "csv").output)))) == 35
    assert len(call(*WORDS, "--format", "jsonl").output.splitlines()) == 35
    assert pq.read_table(io.BytesIO(call(*WORDS, "--format", "parquet").raw)).num_rows == 35
    with pa.ipc.open_stream(call(*WORDS, "--format", "arrow").raw) as stream:
        assert stream.read_all().num_rows == 35
    assert len(call(*WORDS, "--format", "jsonl", "--limit", "3").output.splitlines()) == 3


def test_catalog_needs_no_database(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DBTOOL_DB", str(tmp_path / "none.duckdb"))
    outcome = call(*WORDS, "--format", "json")
    assert outcome.code == 0
    assert outcome.errors.startswith("not known which releases hold the workloads: the database")
    assert [row["releases"] for row in by_name(outcome.output).values()] == [None] * 35


def test_a_database_that_is_damaged_does_not_hide_the_catalog(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.duckdb"
    damaged.write_bytes(b"no database" * 1000)
    monkeypatch.setenv("DBTOOL_DB", str(damaged))
    outcome = call(*WORDS, "--format", "jsonl")
    assert (outcome.code, len(outcome.output.splitlines())) == (0, 35)
    assert str(damaged) in outcome.errors


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--db", "none.duckdb"), "the database none.duckdb that --db names does not exist"),
        (("--release", "made-down"), "unknown release 'made-down'; closest: made-up"),
    ],
)
def test_names_that_are_given_must_be_there(
    words: tuple[str, ...], sentence: str, call: Call
) -> None:
    outcome = call(*WORDS, *words)
    assert (outcome.code, outcome.output) == (2, "")
    assert sentence in outcome.errors
    assert outcome.errors.count("\n") == 1
