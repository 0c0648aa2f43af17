"""Branches of trials: they go on from their parents with larger batches, and are asked of."""

import itertools
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dbtool
from dbtool.analysis.branches import branches_of
from dbtool.core.errors import DbtoolError, UsageError
from producers.branches import Branch, Parent, branched_studies
from producers.configuration import SweepOptions
from producers.plan import StudyPlan
from producers.workloads.definition import StepBudget
from tests.support.sweeps import BATCH_SIZE, TRAINED, small_study, sweep, sweep_all

AT = (9, 18)
RATES = (0.25, 1.0, 16.0)
OPTIONS: dict[str, Any] = {
    "branch_at": AT,
    "branch_factors": (2,),
    "branch_rates": RATES[::-1],
    "branch_window": 96,
}
BRANCHED = f"branched_from_{BATCH_SIZE}/{TRAINED}"


def study_with_goal(**changes: Any) -> StudyPlan:
    study = small_study(steps=60, learning_rates=(0.02, 0.2))
    goal: dict[str, Any] = {"metric": "train_cross_entropy_error", "goal": 2.14}
    return replace(study, workload=replace(study.workload, **(goal | changes)))


def branches_of_two(out: Path, options: SweepOptions) -> list[StudyPlan]:
    """Those of the two trials that pass the goal first."""
    return branched_studies([replace(study_with_goal(), least_trials=2)], out, options)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory, made_up_mnist: Path) -> Path:
    """Trials, and the branches of two that pass the goal after the step at which they branch."""
    out = tmp_path_factory.mktemp("branches") / "out"
    sweep(study_with_goal(), out, made_up_mnist, trials=4)
    branches = branches_of_two(out, SweepOptions(**OPTIONS))
    assert [each.batch_size for each in branches] == [8, 16]
    assert [each.train_steps for each in branches] == [12, 6]
    assert len(sweep_all(branches, out, made_up_mnist, SweepOptions(**OPTIONS))) == 2
    assert sweep_all(branches, out, made_up_mnist, SweepOptions(**OPTIONS)) == []
    return out


def test_a_branch_begins_with_the_weights_of_its_parent(release):
    columns = "train_cross_entropy_error, val_cross_entropy_error, test_cross_entropy_error"
    with dbtool.open(release) as db:
        first = db.crossings(TRAINED).filter(pl.col("steps") > 18).sort("steps", "trial_id").head(2)
        for number, step in itertools.product(first["trial_id"], AT):
            [parent] = db.sql(
                f"SELECT {columns} FROM measurements WHERE workload = '{TRAINED}' "
                f"AND trial_id = {number} AND step = {step}"
            )
            branches = db.sql(
                f"SELECT {columns} FROM measurements WHERE workload = '{BRANCHED}' AND step = 0 "
                f"AND trial_id % 1_000 = {number} AND trial_id // 1_000 // {len(RATES)} = {step}"
            ).rows()
            assert None not in parent
            assert branches == [parent] * 2 * len(RATES)


def test_rates_grow_with_batches_and_examples_are_the_same(release):
    with dbtool.open(release) as db:
        parents = {row["trial_id"]: row["learning_rate"] for row in db.trials(TRAINED).to_dicts()}
        branches = db.trials(BRANCHED).to_dicts()
        searches = db.studies(BRANCHED).sort("batch_size")["search"].to_list()
    of = {"design": "branches", "release": "tests", "batch_size": 8, "rates": list(RATES)}
    assert [json.loads(each) for each in searches] == [of | {"factor": k} for k in (1, 2)]
    seeds = defaultdict(list)
    for row in branches:
        place, parent = divmod(row["trial_id"], 1_000)
        step, rate = divmod(place, len(RATES))
        growth = RATES[rate] * row["batch_size"] / BATCH_SIZE
        assert row["learning_rate"] == pytest.approx(parents[parent] * growth)
        seeds[step, parent].append(row["seed"])
    assert [(len(each), len({*each})) for each in seeds.values()] == [(2 * len(RATES), 1)] * 4
    assert len({seed for each in seeds.values() for seed in each}) == 4


@pytest.mark.parametrize(("optimizer", "power"), [("momentum", 1.0), ("lars", 0.5)])
def test_rates_grow_by_the_root_where_rules_scale_gradients(optimizer, power):
    parent = Parent(3, 0, {"learning_rate": 0.1, "momentum": 0.9})
    branch = Branch("tests", study_with_goal(optimizer=optimizer), (parent,), AT, 4)
    assert branch.trial_ids == [9_003, 18_003]
    found = branch.metaparameters(9_003)
    assert found["learning_rate"] == pytest.approx(0.1 * 4**power)
    assert found["momentum"] == 0.9
    assert "rates" not in branch.to_json()


def test_of_several_rates_the_best_counts(release):
    losses = "max_by(train_cross_entropy_error, step) FILTER (val_cross_entropy_error > 0)"
    with dbtool.open(release) as db:
        trials = db.sql(
            "SELECT metaparameters['parent_step'] AS at, batch_size, trial_id, status, "
            f"metaparameters['parent_trial'] AS parent, {losses} AS loss FROM trials "
            "JOIN measurements USING (release, workload, batch_size, trial_id, status) "
            f"WHERE workload = '{BRANCHED}' GROUP BY ALL"
        ).polars()
        found = branches_of(db, [BRANCHED], [TRAINED])
    loss = pl.when(pl.col("status") == "COMPLETE").then("loss").otherwise(float("inf")).min()
    place = ("at", "batch_size", "parent")
    best = trials.group_by(place).agg(loss).sort(place)
    assert found.sort("step", "larger", "parent_trial")["loss"].to_list() == best["loss"].to_list()


@pytest.mark.parametrize("changes", [{"branch_window": 192}, {"branch_rates": (1.0, 2.0)}])
def test_other_branches_do_not_count_as_trained(release, made_up_mnist, changes):
    options = SweepOptions(**(OPTIONS | changes))
    branches = branches_of_two(release, options)
    with pytest.raises(DbtoolError, match=r"is there with another (train_steps|search).* --out"):
        sweep_all(branches, release, made_up_mnist, options)


def test_critical_batch_sizes_are_asked_of_them(release):
    with dbtool.open(release) as db:
        row, later = db.scaling(TRAINED).rows("branches").to_dicts()
        # What has no goal is in the way of no pattern.
        assert db.steps("*")["workload"].unique().to_list() == [TRAINED]
        with pytest.raises(UsageError, match=r"branch from: `dbtool scaling \S+ --rows branches`"):
            db.steps(["*", BRANCHED])
    assert (row["batch_size"], row["step"], row["trials"], later["step"]) == (8, 9, 2, 18)
    assert (row["largest"], row["examples"], row["rates"]) == (16, 96, 3)


@pytest.mark.parametrize(
    ("changes", "options", "sentence"),
    [
        ({}, {"branch_at": (60,)}, "passed its goal after step 60; train it first, with `dbtool"),
        ({}, {"branch_window": 100}, "whole number of updates at all .* a multiple of 16, such"),
        ({"schedule": "linear"}, {}, "changes its learning rate with the number of"),
        ({"budget": StepBudget(1, 1)}, {"branch_at": (3_000_000,)}, "should be at most 715,826"),
    ],
)
def test_what_cannot_branch_is_one_sentence(release, changes, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        branched_studies([study_with_goal(**changes)], release, SweepOptions(**(OPTIONS | options)))
