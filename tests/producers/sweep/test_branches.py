"""Branches of trials: they go on from their parents with larger batches, and are asked of."""

import itertools
import json
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
OPTIONS: dict[str, Any] = {"branch_at": AT, "branch_factors": (2,), "branch_window": 96}
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
                f"SELECT {columns} FROM measurements WHERE workload = '{BRANCHED}' "
                f"AND trial_id = {1_000 * step + number} AND step = 0"
            ).rows()
            assert None not in parent
            assert branches == [parent] * 2


def test_rates_grow_with_batches_and_examples_are_the_same(release):
    with dbtool.open(release) as db:
        parents = {row["trial_id"]: row["learning_rate"] for row in db.trials(TRAINED).to_dicts()}
        branches = db.trials(BRANCHED)
        values = branches.select("batch_size", "trial_id", "learning_rate", "seed").rows()
        searches = db.studies(BRANCHED).sort("batch_size")["search"].to_list()
    for batch_size, number, rate, _ in values:
        assert rate == pytest.approx(parents[number % 1_000] * batch_size / BATCH_SIZE)
    assert branches.group_by("trial_id").agg(pl.col("seed").n_unique())["seed"].to_list() == [1] * 4
    assert branches["seed"].n_unique() == 4
    of = {"design": "branches", "release": "tests", "batch_size": 8}
    assert [json.loads(each) for each in searches] == [of | {"factor": k} for k in (1, 2)]


@pytest.mark.parametrize(("optimizer", "power"), [("momentum", 1.0), ("adam", 0.5), ("lars", 0.5)])
def test_rates_grow_by_the_root_where_rules_scale_gradients(optimizer, power):
    parent = Parent(3, 0, {"learning_rate": 0.1, "momentum": 0.9})
    branch = Branch("tests", study_with_goal(optimizer=optimizer), (parent,), AT, 4)
    number = branch.trial_ids[0]
    found = branch.metaparameters(number)
    assert found["learning_rate"] == pytest.approx(0.1 * 4**power)
    assert found["momentum"] == 0.9


def test_of_several_rates_the_best_counts(tmp_path, made_up_mnist):
    options = SweepOptions(**(OPTIONS | {"branch_at": (9,), "branch_rates": (1.0, 0.25, 16.0)}))
    sweep(study_with_goal(), tmp_path, made_up_mnist, trials=4)
    sweep_all(branches_of_two(tmp_path, options), tmp_path, made_up_mnist, options)
    with dbtool.open(tmp_path) as db:
        parents = {row["trial_id"]: row["learning_rate"] for row in db.trials(TRAINED).to_dicts()}
        losses = "max_by(train_cross_entropy_error, step) FILTER (val_cross_entropy_error > 0)"
        trials = db.sql(
            "SELECT batch_size, metaparameters['parent_trial'] AS parent, trial_id, seed, "
            "metaparameters['learning_rate'] AS rate, status, "
            f"{losses} AS loss FROM trials JOIN measurements USING (release, workload, batch_size, "
            f"trial_id, status) WHERE workload = '{BRANCHED}' GROUP BY ALL ORDER BY ALL"
        ).polars()
        found = branches_of(db, [BRANCHED], [TRAINED])
        [row] = db.scaling(TRAINED).rows("branches").to_dicts()
        searches = [json.loads(each)["rates"] for each in db.studies(BRANCHED)["search"]]
    assert searches == [[0.25, 1, 16]] * 2
    assert row["rates"] == 3
    rate = pl.col("rate") / pl.col("parent").replace_strict(parents) / pl.col("batch_size")
    for (place,), of_place in trials.group_by(pl.col("trial_id") // 1_000):
        multiple = {27: 0.25, 28: 1, 29: 16}[place]
        assert of_place.select(rate * BATCH_SIZE)["rate"].to_list() == pytest.approx([multiple] * 4)
    # All branches of a parent see the same examples.
    assert trials.group_by("parent").agg(pl.col("seed").n_unique())["seed"].to_list() == [1, 1]
    loss = pl.when(pl.col("status") == "COMPLETE").then("loss").otherwise(float("inf")).min()
    best = trials.group_by("batch_size", "parent").agg(loss).sort("batch_size", "parent")
    assert found.sort("larger", "parent_trial")["loss"].to_list() == best["loss"].to_list()


@pytest.mark.parametrize(
    "changes", [{"branch_window": 192}, {"branch_rates": (1.0, 2.0)}, {"branch_factors": (2,)}]
)
def test_other_branches_do_not_count_as_trained(release, made_up_mnist, changes):
    options = SweepOptions(**(OPTIONS | changes))
    branches = branches_of_two(release, options)
    if "branch_factors" in changes:
        assert sweep_all(branches, release, made_up_mnist, options) == []
        return
    with pytest.raises(DbtoolError, match=r"is there with another (train_steps|search).* --out"):
        sweep_all(branches, release, made_up_mnist, options)


def test_critical_batch_sizes_are_asked_of_them(release):
    with dbtool.open(release) as db:
        rows = db.scaling(TRAINED).rows("branches")
        ends = db.sql(
            "SELECT trial_id, batch_size, max_by(train_cross_entropy_error, step) AS loss "
            f"FROM measurements WHERE workload = '{BRANCHED}' AND val_cross_entropy_error "
            "IS NOT NULL GROUP BY ALL ORDER BY ALL"
        ).polars()
        # What has no goal is in the way of no pattern.
        assert db.steps("*")["workload"].unique().to_list() == [TRAINED]
        with pytest.raises(UsageError, match=r"branch from: `dbtool scaling \S+ --rows branches`"):
            db.steps(["*", BRANCHED])
    # The lower median of two is the smaller ratio.
    early = ends.filter(pl.col("trial_id") < 18_000).sort("batch_size")
    ratio = (pl.col("loss") / pl.col("loss").first()).over("trial_id")
    fits = (
        early.with_columns(ratio)
        .group_by("batch_size", maintain_order=True)
        .agg(pl.col("loss").min() <= 1.1)
    )
    sizes, near = fits["batch_size"].to_list(), fits["loss"].to_list()
    last = near.index(False) if False in near else None
    middle = (sizes[last - 1] * sizes[last]) ** 0.5 if last else None
    row, later = rows.to_dicts()
    assert row["critical_batch_size"] == middle
    assert (row["batch_size"], row["step"], row["trials"], later["step"]) == (8, 9, 2, 18)
    assert (row["largest"], row["examples"]) == (16, 96)


@pytest.mark.parametrize(
    ("changes", "options", "sentence"),
    [
        ({}, {"branch_at": (60,)}, "passed its goal after step 60; train it first, with `dbtool"),
        ({}, {"branch_window": 100}, "whole number of updates at all .* a multiple of 16, such"),
        ({"schedule": "linear"}, {}, "changes its learning rate with the number of"),
        ({"budget": StepBudget(1, 1)}, {"branch_at": (3_000_000,)}, "should be at most 2,147,482"),
    ],
)
def test_what_cannot_branch_is_one_sentence(release, changes, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        branched_studies([study_with_goal(**changes)], release, SweepOptions(**(OPTIONS | options)))
