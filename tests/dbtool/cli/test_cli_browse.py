"""The commands that list: known rows of the small database, workloads published or built in."""

import csv
import io
import json
from typing import Any

import pytest

from producers.workloads.definition import CERTAINTIES
from producers.workloads.registry import WORKLOADS
from tests.support.commands import Call
from tests.support.made_up import DIGITS, LETTERS, reaching, write_shard

WORDS = ("workloads", "--catalog")
SUBSET = "mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"
OTHER = "val_cross_entropy_error"
SPARSE = "sparsity_90/mnist/simple_cnn/momentum"


def _rows(call: Call, *words: str) -> list[dict[str, Any]]:
    outcome = call(*words, "--format", "json")
    assert (outcome.code, outcome.errors) == (0, "")
    rows: list[dict[str, Any]] = json.loads(outcome.output)
    return rows


def test_studies(call):
    rows = _rows(call, "studies", "l*", "digits/*", DIGITS, "--limit", "2")
    assert [(row["workload"], row["batch_size"]) for row in rows] == [(DIGITS, 8), (DIGITS, 64)]


def test_steps_beyond_where_a_search_ended(call, tmp_path):
    lockstep = {"method": "lockstep", "most_steps": 60}
    for size, search in {8: lockstep, 16: lockstep, 32: None}.items():
        trials = [reaching(0, 0.05)]
        write_shard(tmp_path, workload=DIGITS, batch_size=size, trials=trials, search=search)
    assert call("steps", DIGITS, "--db", str(tmp_path)).errors == ""
    assert call("steps", DIGITS, "--goal", "0.01", "--db", str(tmp_path)).errors == (
        f"{DIGITS} (made-up): steps are unknown, since the search ended first, at batch "
        "size 8, 16\n"
    )


def test_options_of_steps(call):
    # The batch loss at step s is 2 / (1 + s): below 0.5 first at step 4.
    words = ["--goal", "0.5", "--metric", "batch_cross_entropy_error", "--trials", "1"]
    [row] = _rows(call, "steps", DIGITS, *words, "--batch-size", "8")
    assert (row["batch_size"], row["steps"], row["trial_id"], row["trials"]) == (8, 4, 0, 1)


@pytest.mark.parametrize("command", ["steps", "scaling"])
def test_workloads_and_releases_without_a_goal_are_left_out_and_named(call, command, tmp_path):
    settings: dict[str, Any] = {"a": {}, "b": {"metric": OTHER}, "c": {"goal": None}}
    for release, study in settings.items():
        write_shard(tmp_path / release, release=release, workload=DIGITS, **study)
    write_shard(tmp_path / "c", release="c", workload=LETTERS, goal=None)

    def asked(*words: str) -> tuple[list[str], str]:
        """The releases of the answer's rows, and what is told beside it."""
        outcome = call(command, *words, "--db", str(tmp_path), "--format", "csv")
        assert outcome.code == 0
        rows = csv.DictReader(io.StringIO(outcome.output))
        return sorted({row["release"] for row in rows}), outcome.errors

    releases, told = asked("*")
    assert releases == ["a", "b"]
    left_out = f"left out without a goal: {LETTERS}, {DIGITS} of the release c; give one with"
    assert left_out in told
    # Another metric's goal is none of this one.
    releases, told = asked(DIGITS, "--metric", OTHER)
    assert releases == ["b"]
    assert f"{DIGITS} of the release a, {DIGITS} of the release c;" in told
    assert "left out" not in asked("*", "--goal", "0.5")[1]
    assert call(command, DIGITS, "--release", "c", "--db", str(tmp_path)).code == 2


def test_steps_come_in_the_order_of_asking(call):
    words = ["steps", "letters/*", "digits/*", "--goal", "0.85", "--format", "csv"]
    rows = list(csv.DictReader(io.StringIO(call(*words).output)))
    assert [row["workload"] for row in rows] == [LETTERS, DIGITS, DIGITS]


def test_steps_of_two_releases_have_each_its_own_goal(tmp_path, call):
    for release, goal in (("second", 0.3), ("first", 0.6)):
        study: dict[str, Any] = {"workload": DIGITS, "trials": [reaching(0, 0.2)], "goal": goal}
        write_shard(tmp_path / release, release=release, **study)
    database = ["--db", str(tmp_path)]
    outcome = call("steps", "*", "--format", "jsonl", *database)
    assert outcome.errors.startswith(
        f"first and second were not trained with the same settings of {DIGITS}:"
    )
    rows = [json.loads(line) for line in outcome.output.splitlines()]
    found = [(row["release"], row["goal"], row["steps"]) for row in rows]
    assert found == [("first", 0.6, 10), ("second", 0.3, 20)]
    assert _rows(call, "steps", DIGITS, "--release", "first", *database) == rows[:1]


def test_a_table_says_once_what_all_rows_share_and_has_the_columns_that_were_asked_for(call):
    shared, _, names, *_ = call("steps", DIGITS).output.splitlines()
    assert shared == f"made-up · {DIGITS} · val_classification_error · goal 0.1"
    first = ["batch_size", "steps", "trials", "learning_rate", "momentum", "trial_id"]
    assert names.split() == first
    wide = call("steps", DIGITS, "--wide").output.splitlines()
    assert {"release", "workload", "value"} < set(wide[0].split())
    chosen = call("steps", DIGITS, "--columns", "steps, batch_size").output.splitlines()
    assert [line.split() for line in chosen[:3:2]] == [["steps", "batch_size"], ["30", "8"]]
    # Two workloads are told apart in each row.
    several = call("studies").output.splitlines()
    assert several[0] == "made-up"
    assert several[2].split()[:2] == ["workload", "batch_size"]
    # A goal that none reached is an answer.
    table = call("steps", DIGITS, "--goal", "0.001").output.splitlines()
    assert table[2].split() == ["batch_size", "steps", "trials"]
    assert table[4].split()[:2] == ["8", "—"]


def test_settings_keep_their_types_in_json_and_are_words_in_a_table(call):
    rows = _rows(call, "workloads", "--show", SPARSE)
    shown = {row["setting"]: (row["value"], row["certainty"]) for row in rows}
    assert shown["sparsity"] == (0.9, "recalled")
    assert shown["model: channels"] == ([32, 64], "stated")
    assert shown["sobol: scramble"] == (False, "stated")
    momentum, certainty = shown["search_space: momentum"]
    assert momentum == {"type": "DOUBLE", "min_value": 0.9, "max_value": 0.9999,
                        "scale": "REVERSE_LOG_SCALE"}  # fmt: skip
    assert certainty == "stated"
    assert shown["replaces"] == (None, "stated")
    assert {certainty for _, certainty in shown.values()} <= set(CERTAINTIES)
    wholes = {setting.partition(": ")[0] for setting in shown}
    assert wholes == {"workload", *vars(WORKLOADS[SPARSE])} - {"certainty"}
    table = call("workloads", "--show", "mnist/fc_64_64_64/sgd").output
    lines = {line.partition("  ")[0]: line.split() for line in table.splitlines()}
    rate = " ".join(lines["search_space: learning_rate"])
    assert rate.endswith("stated 0.0001 to 10, log scale")
    assert lines["batch_sizes"][1:5] == ["stated", "1,", "2,", "4,"]
    assert lines["form: mean"][2:] == ["chosen", "by", "experiment", "0.1307"]
    assert lines["train_examples"][1:] == ["recalled", "55,000"]


def test_every_published_workload_is_listed_with_its_facts_and_the_releases_that_hold_it(
    call, tmp_path
):
    held = {"first": [SUBSET], "second": [SUBSET, "mnist/fc_1024/sgd", "digits/fc_1024/sgd"]}
    for release, workloads in held.items():
        for name in workloads:
            write_shard(tmp_path / release, workload=name, release=release)
    words = (*WORDS, "--db", str(tmp_path))
    rows = {row["workload"]: row for row in _rows(call, *words)}
    assert list(rows) == sorted(rows)
    assert len(rows) == 35
    lstm = [name for name in rows if name.startswith("lm1b/lstm/")]
    assert [row["workload"] for row in _rows(call, *words, "lm1b/lstm/*")] == lstm
    name = "open_images_v4/resnet_50/nesterov_momentum"
    assert rows[name] == {
        "workload": name, "metric": "val_average_precision", "goal": 0.31, "maximize": True,
        "train_examples": 4_526_492, "batch_sizes": [2**power for power in range(6, 16)],
        "complete": 1_153, "incomplete": 177, "infeasible": 613, "releases": [],
        "trial_limit": 100, "goal_certainty": "stated", "train_examples_certainty": "recalled",
        "notes": None,
    }  # fmt: skip
    assert rows[SUBSET]["releases"] == ["first", "second"]
    assert rows["mnist/fc_1024/sgd"]["releases"] == ["second"]
    assert "digits/fc_1024/sgd" not in rows
    assert [row["workload"] for row in _rows(call, *words, "--release", "first")] == [SUBSET]


def test_catalog_needs_no_database(call, monkeypatch, tmp_path):
    (tmp_path / "manifest.json").write_text("damaged")
    for path in (tmp_path / "none", tmp_path):
        monkeypatch.setenv("DBTOOL_DB", str(path))
        outcome = call(*WORDS, "--format", "json")
        assert outcome.code == 0
        assert outcome.errors.startswith("not known which releases hold the workloads: ")
        assert [row["releases"] for row in json.loads(outcome.output)] == [None] * 35
        assert len(call(*WORDS).output.splitlines()) == 2 + 35
