"""`dbtool diff` of releases, against differences written down by hand."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.replica import plan_study, write_archive
from tests.support.archives import imported
from tests.support.made_up import MadeTrial, curve, write_shard
from tests.support.published import published, write_shards

ONE, TWO, THREE = "a/b/one", "a/b/two", "a/b/three"
HEADER = ["kind", "workload", "batch_size", "trial_id", "what", "a", "b"]


def study(folder: Path, workload: str, batch_size: int, *trials: Any, **about: Any) -> None:
    write_shard(folder, workload=workload, batch_size=batch_size, trials=trials, **about)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two releases of made-up shards, `first` and `second`."""
    folder = tmp_path_factory.mktemp("shards")
    first, second = folder / "first", folder / "second"
    rate, other = {"learning_rate": 0.1}, {"learning_rate": 0.25}
    good, better = curve([0.9, 0.5, 0.05]), curve([0.9, 0.05, 0.04])
    short, odd = curve([0.9, 0.5]), [{"step": 0, "other_metrics": {"a": 1.0}}]
    same = (0, "COMPLETE", rate, good)
    about = {"train_steps": 10}
    one, two, three = ((number, "COMPLETE", rate, good) for number in (1, 2, 3))
    study(first, ONE, 8, same, one, two, **about)
    study(second, ONE, 8, same, (1, "INFEASIBLE", other, good), three, **about)
    study(first, ONE, 64, same, (5, "INCOMPLETE", rate, odd), train_steps=20)
    odd, quick = [{"step": 0, "other_metrics": {"a": 2.0}}], (0, "COMPLETE", rate, better)
    study(second, ONE, 64, quick, (5, "INCOMPLETE", rate, odd), train_steps=19)
    study(first, ONE, 128, same)
    study(second, ONE, 256, same)
    study(first, TWO, 8, same)
    study(second, THREE, 8, same)
    study(first, "a/b/four", 8, same, goal=0.1, source="one")
    study(second, "a/b/four", 8, (0, "COMPLETE", rate, short), goal=0.01, source="two")
    return first, second


EXPECTED = [
    ["workload", "a/b/four", "", "", "definition source", "one", "two"],
    ["workload", "a/b/four", "", "", "goal", "0.1", "0.01"],
    ["workload", THREE, "", "", "only in B", "", ""],
    ["workload", TWO, "", "", "only in A", "", ""],
    ["study", "a/b/four", "8", "", "train_steps", "20", "10"],
    ["study", ONE, "64", "", "train_steps", "20", "19"],
    ["study", ONE, "128", "", "only in A", "", ""],
    ["study", ONE, "256", "", "only in B", "", ""],
    ["trial", "a/b/four", "8", "0", "measurements", "21", "11"],
    ["trial", "a/b/four", "8", "0", "steps", "20", "10"],
    ["trial", ONE, "8", "1", "metaparameters", '{"learning_rate":0.1}', '{"learning_rate":0.25}'],
    ["trial", ONE, "8", "1", "status", "COMPLETE", "INFEASIBLE"],
    ["trial", ONE, "8", "2", "only in A", "", ""],
    ["trial", ONE, "8", "3", "only in B", "", ""],
    ["trial", ONE, "64", "0", "val_classification_error", "", ""],
    ["trial", ONE, "64", "5", "other_metrics", "", ""],
    # Of four, the goal of A is past at step 20, and that of B at none.
    ["steps to result", "a/b/four", "8", "", "steps", "20", ""],
    ["steps to result", ONE, "64", "", "steps", "20", "10"],
]


def differences(output: str) -> list[list[str]]:
    header, *found = csv.reader(io.StringIO(output))
    assert header == HEADER
    return found


def test_every_difference_by_hand(call, shards):
    outcome = call("diff", *map(str, shards), "--format", "csv")
    assert differences(outcome.output) == EXPECTED
    assert (outcome.code, outcome.errors) == (1, f"{len(EXPECTED)} differences\n")


def test_equal_releases(call, tmp_path):
    """What was published of one, with NaN, and one whose trials lie in other shards."""
    own = write_shards(tmp_path / "own", release="own")
    one: list[MadeTrial] = [
        (number, "COMPLETE", {"momentum": number / 2}, curve([0.9, 0.1 + number]))
        for number in range(2)
    ]
    study(tmp_path / "one", ONE, 8, *one, train_steps=10)
    for trial in reversed(one):
        study(tmp_path / "two", ONE, 8, trial, train_steps=10)
    for first, second in (
        (own, published(own, tmp_path / "out", release="other")),
        (tmp_path / "one", tmp_path / "two"),
    ):
        outcome = call("diff", str(first), str(second), "--format", "csv")
        assert (outcome.code, outcome.errors) == (0, "no differences\n")
        assert differences(outcome.output) == []


def test_nan_is_another_value(call, tmp_path):
    for name, last in (("first", 0.3), ("second", float("nan"))):
        trial: MadeTrial = (0, "COMPLETE", {}, curve([0.9, 0.5, last]))
        study(tmp_path / name, ONE, 8, trial, search={"method": name})
    outcome = call("diff", str(tmp_path / "first"), str(tmp_path / "second"), "--format", "csv")
    [search, values] = differences(outcome.output)
    assert search[:5] == ["study", ONE, "8", "", "search"]
    assert values == ["trial", ONE, "8", "0", "val_classification_error", "", ""]


def test_releases_of_a_folder_are_named(call, shards, tmp_path):
    write_shards(tmp_path / "more", release="more")
    shutil.copytree(shards[0], tmp_path / "made-up")
    assert call("diff", str(tmp_path), str(tmp_path), "--release", "more").code == 0
    both = ("--release", "made-up", "--release-b", "more")
    outcome = call("diff", str(tmp_path), str(tmp_path), *both)
    # The three workloads of the one and the two of the other.
    assert (outcome.code, outcome.errors) == (1, "5 differences\n")


def test_steps_to_another_goal(call, shards):
    """Past 0.045, that B reaches alone, at step 20."""
    sides = list(map(str, shards))
    words = ("--goal", "0.045", "--metric", "val_classification_error", "--format", "csv")
    rows = differences(call("diff", *sides, *words).output)
    assert [row[5:] for row in rows if row[0] == "steps to result"] == [["", "20"]]
    # Of the first trial alone the study of batch size 8 is equal, as it is of all.
    few = call("diff", *sides, "--trials", "1", "--limit", "2", "--format", "jsonl")
    assert [json.loads(line)["kind"] for line in few.output.splitlines()] == ["workload"] * 2


def test_an_archive_has_no_definitions_to_compare(call, tmp_path):
    plan = plan_study("mnist/fc_1024/sgd", 8)
    write_archive(tmp_path, studies=[plan], seed=1, layout="folder")
    imported(tmp_path / "batch_science", tmp_path / "db", release="one")
    folder = published(tmp_path / "db", tmp_path / "out")
    assert call("diff", str(tmp_path / "db"), str(folder)).code == 0
    study(tmp_path / "shards", plan.workload, 8, (0, "COMPLETE", {}, curve([0.9])), source="x")
    words = ("diff", str(folder), str(tmp_path / "shards"), "--format", "csv")
    rows = differences(call(*words).output)
    assert ["workload", plan.workload, "", "", "definition", "", "given"] in rows
    assert not [row for row in rows if row[4].startswith("definition ")]
