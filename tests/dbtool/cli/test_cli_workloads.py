"""`dbtool workloads --show`: every setting of a workload, and how sure it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from producers.workloads.definition import CERTAINTIES
from producers.workloads.registry import WORKLOADS

if TYPE_CHECKING:
    from .conftest import Call

SPARSE = "sparsity_90/mnist/simple_cnn/momentum"


def rows(call: Call, name: str) -> dict[str, tuple[Any, str]]:
    outcome = call("workloads", "--show", name, "--format", "json")
    assert (outcome.code, outcome.errors) == (0, "")
    return {row["setting"]: (row["value"], row["certainty"]) for row in json.loads(outcome.output)}


def test_settings_keep_their_types_in_json(call: Call) -> None:
    shown = rows(call, SPARSE)
    assert shown["workload"] == (SPARSE, "stated")
    assert shown["sparsity"] == (0.9, "recalled")
    assert shown["goal_inclusive"] == (True, "stated")
    assert shown["goal"] == (0.02, "recalled")
    assert shown["evaluation: every"] == (100, "stated")
    assert shown["budget: fewest"] == (40_000, "recalled")
    assert shown["model: channels"] == ([32, 64], "stated")
    assert shown["model: dense"] == ("none", "stated")
    assert shown["form: mean"] == ([0.1307], "stated")
    assert shown["held_out: order"] == ("random", "stated")
    assert shown["held_out: examples"] == (6_000, "stated")
    assert shown["sobol: scramble"] == (False, "stated")
    assert shown["sobol: skip"] == (1, "stated")
    assert shown["search_space: momentum"] == (
        {"type": "DOUBLE", "min_value": 0.9, "max_value": 0.9999, "scale": "REVERSE_LOG_SCALE"},
        "stated",
    )
    assert shown["replaces"] == (None, "stated")


def test_what_is_held_out_is_shown_where_it_is_a_setting(call: Call) -> None:
    shown = rows(call, "mnist/fc_1024/sgd")
    assert shown["held_out: order"] == ("first", "chosen by experiment")
    assert shown["held_out: examples"] == (5_000, "recalled")
    assert shown["form: by_image"] == (False, "chosen")
    assert not any(name.startswith("held_out") for name in rows(call, "brown/transformer_tiny/sgd"))


def test_table_is_for_people(call: Call) -> None:
    outcome = call("workloads", "--show", "mnist/fc_64_64_64/sgd")
    assert (outcome.code, outcome.errors) == (0, "")
    lines = {line.partition("  ")[0]: line for line in outcome.output.splitlines()}
    assert lines["search_space: learning_rate"].split()[2:] == [
        *("0.0001", "to", "10,", "log", "scale", "stated"),
    ]
    assert lines["batch_sizes"].split()[1:4] == ["1,", "2,", "4,"]
    assert lines["batch_sizes"].endswith("32768, 55000  stated")
    assert lines["form: mean"].split()[2:] == ["0.1307", "chosen", "by", "experiment"]
    assert lines["train_examples"].split()[1:] == ["55,000", "recalled"]


@pytest.mark.parametrize("name", ["mnist/fc_1024/sgd", SPARSE, "mnist/simple_cnn_wide/sgd"])
def test_every_setting_is_graded_and_named_once(call: Call, name: str) -> None:
    outcome = call("workloads", "--show", name, "--format", "jsonl")
    shown = [json.loads(line) for line in outcome.output.splitlines()]
    assert {row["certainty"] for row in shown} <= set(CERTAINTIES)
    assert len({row["setting"] for row in shown}) == len(shown)
    workload = WORKLOADS[name]
    wholes = {row["setting"].partition(": ")[0] for row in shown}
    assert wholes == {"workload", *vars(workload)} - {"certainty"}


def test_unknown_workload_is_named_with_the_closest(call: Call) -> None:
    outcome = call("workloads", "--show", "mnist/fc_64_64/sgd")
    assert (outcome.code, outcome.output) == (2, "")
    assert outcome.errors.startswith("dbtool: unknown workload 'mnist/fc_64_64/sgd'; closest: ")
    assert "mnist/fc_64_64_64/sgd" in outcome.errors
    assert outcome.errors.count("\n") == 1
