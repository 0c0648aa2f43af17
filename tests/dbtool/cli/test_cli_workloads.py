"""What `dbtool workloads` knows without a release: published workloads, and settings."""

import json
from pathlib import Path
from typing import Any

import pytest

from producers.workloads.definition import CERTAINTIES
from producers.workloads.registry import WORKLOADS
from tests.support.made_up import curve, write_shard

from .conftest import Call

WORDS = ("workloads", "--catalog")
SUBSET = "mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"
SPARSE = "sparsity_90/mnist/simple_cnn/momentum"


def rows(call: Call, name: str) -> dict[str, tuple[Any, str]]:
    outcome = call("workloads", "--show", name, "--format", "json")
    assert (outcome.code, outcome.errors) == (0, "")
    return {row["setting"]: (row["value"], row["certainty"]) for row in json.loads(outcome.output)}


def test_settings_keep_their_types_in_json(call: Call) -> None:
    shown = rows(call, SPARSE)
    assert shown["workload"] == (SPARSE, "stated")
    assert shown["sparsity"] == (0.9, "recalled")
    assert shown["budget: fewest"] == (40_000, "recalled")
    assert shown["model: channels"] == ([32, 64], "stated")
    assert shown["form: mean"] == ([0.1307], "stated")
    assert shown["sobol: scramble"] == (False, "stated")
    assert shown["search_space: momentum"] == (
        {"type": "DOUBLE", "min_value": 0.9, "max_value": 0.9999, "scale": "REVERSE_LOG_SCALE"},
        "stated",
    )
    assert shown["replaces"] == (None, "stated")
    assert {certainty for _, certainty in shown.values()} <= set(CERTAINTIES)
    wholes = {setting.partition(": ")[0] for setting in shown}
    assert wholes == {"workload", *vars(WORKLOADS[SPARSE])} - {"certainty"}


def test_table_is_for_people(call: Call) -> None:
    outcome = call("workloads", "--show", "mnist/fc_64_64_64/sgd")
    assert (outcome.code, outcome.errors) == (0, "")
    lines = {line.partition("  ")[0]: line for line in outcome.output.splitlines()}
    assert lines["search_space: learning_rate"].split()[2:] == [
        *("stated", "0.0001", "to", "10,", "log", "scale"),
    ]
    assert lines["batch_sizes"].split()[1:5] == ["stated", "1,", "2,", "4,"]
    assert lines["batch_sizes"].endswith("32768, 55000")
    assert lines["form: mean"].split()[2:] == ["chosen", "by", "experiment", "0.1307"]
    assert lines["train_examples"].split()[1:] == ["recalled", "55,000"]


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
    return tmp_path


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


def test_catalog_needs_no_database(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text("damaged")
    for path in (tmp_path / "none", tmp_path):
        monkeypatch.setenv("DBTOOL_DB", str(path))
        outcome = call(*WORDS, "--format", "json")
        assert outcome.code == 0
        assert outcome.errors.startswith("not known which releases hold the workloads: ")
        assert [row["releases"] for row in by_name(outcome.output).values()] == [None] * 35
        assert len(call(*WORDS).output.splitlines()) == 2 + 35
