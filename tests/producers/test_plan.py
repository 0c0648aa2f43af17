"""Plans and presets: the studies of a sweep, their seeds, points and blocks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from producers.configuration import Plan, Sweep
from producers.datasets.forms import ImageForm
from producers.plan import StudyPlan, planned_studies
from producers.workloads.presets import PRESETS
from producers.workloads.registry import WORKLOADS
from tests.support.sweeps import STEPS, planned, small_study

FC = WORKLOADS["mnist/fc_64_64_64/sgd"]


def plan(workload: str = FC.name, **settings: Any) -> list[StudyPlan]:
    return planned(WORKLOADS[workload], **settings)


def test_steps_are_given_or_the_budget_scaled():
    # 1,200 + ceil(250,000 / 64) = 5,107; half of it is 2,553.5, which Python rounds to even.
    assert plan(batch_sizes=[64])[0].train_steps == 5_107
    assert plan(batch_sizes=[64], budget=2.0)[0].train_steps == 10_214
    assert plan(batch_sizes=[64], budget=0.5)[0].train_steps == 2_554
    assert plan(batch_sizes=[64], budget=0.0)[0].train_steps == 1
    assert plan(batch_sizes=[64], steps=7)[0].train_steps == 7


def test_seeds_and_folders_are_pinned():
    # Worked with sha256sum. The trials of measured releases follow from them.
    (study,) = plan(batch_sizes=[64])
    # printf 'study\x1f0\x1fmnist/fc_64_64_64/sgd\x1f64' | sha256sum: first 4 bytes, halved.
    assert study.seed == 1_916_316_500
    trials = study.trials([0, 5])
    assert trials.seeds == (959_466_801, 681_685_202)
    # Whatever others are in its block.
    assert trials.metaparameters == study.trials(range(6)).metaparameters[::5]
    # Where a sweep that was stopped goes on.
    assert study.work_folder(Path("runs")) == Path("runs/.work/mnist%2Ffc_64_64_64%2Fsgd/64")


def test_shared_batches_follow_the_study_seed_and_leave_the_trials_seeds():
    own, shared = small_study(), small_study(batches="shared")
    assert shared.trials([0]).shared_seed == shared.seed
    assert shared.trials([0, 1]).seeds == own.trials([0, 1]).seeds


def test_trials_share_batches_whose_examples_are_read_when_they_are_needed():
    for name, by_default in ((FC.name, False), ("imagenet/vgg_11/nesterov_momentum", True)):
        for batches, shared in ((None, by_default), ("own", False), ("shared", True)):
            assert plan(name, batch_sizes=[64], batches=batches)[0].shared_batches == shared


def test_sparsity_study_searches_from_the_middle_by_hand():
    """0.5, 0.75, 0.25, 0.375 and 0.875 of the range: 10 to the power of -4 + 4 times that."""
    workload = WORKLOADS["sparsity_90/mnist/simple_cnn/sgd"]
    for study in plan(workload.name, batch_sizes=[2, 512]):
        rates = [point["learning_rate"] for point in study.trials(range(5)).metaparameters]
        assert rates == pytest.approx([1e-2, 1e-1, 1e-3, 10**-2.5, 10**-0.5], rel=1e-12)


def test_long_trials_come_in_smaller_blocks():
    def blocks(steps: int) -> list[tuple[int, ...]]:
        return replace(small_study(), train_steps=steps).blocks(range(4), 100)

    assert blocks(STEPS) == [(0, 1, 2, 3)]
    assert blocks(10_000_000) == [(0, 1, 2), (3,)]
    assert blocks(40_000_000) == [(0,), (1,), (2,), (3,)]


def test_decay_steps_are_shares_of_the_trials_own_steps():
    name = "cifar_10/resnet_8/nesterov_momentum"
    (study,) = plan(name, batch_sizes=[64], steps=1_001)
    searched = study.study().search_space["learning_rate_decay_steps"]
    # Half of 1,001 steps is 500.5, which Python rounds to even.
    assert searched == {
        "type": "INTEGER",
        "min_value": 500,
        "max_value": 1_001,
        "scale": "LINEAR_SCALE",
    }
    drawn = [point["learning_rate_decay_steps"] for point in study.trials(range(64)).metaparameters]
    assert all(500 <= steps <= 1_001 and steps == int(steps) for steps in drawn)
    assert min(drawn) < 520
    assert max(drawn) > 980
    (shortest,) = plan(name, batch_sizes=[64], steps=1)
    assert shortest.trials([0]).metaparameters[0]["learning_rate_decay_steps"] == 1


SMOKE, LAPTOP = (PRESETS[name] for name in ("smoke", "laptop"))


def test_laptop_by_hand():
    found = {
        name: [study.batch_size for study in planned(workload, preset=LAPTOP)]
        for name, workload in WORKLOADS.items()
    }
    assert found["mnist/simple_cnn_base/sgd"] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert found["common_crawl/transformer_base/nesterov_momentum"] == [32, 64]
    assert found["mnist/fc_1024/sgd"][-1] == 4_096
    assert all(found.values())
    # A fifth of 500 + ceil(300,000 / 64) = 5,188 steps.
    (study,) = planned(WORKLOADS["mnist/simple_cnn_base/sgd"], preset=LAPTOP, batch_sizes=[64])
    assert study.train_steps == 1_038


def test_smoke_trains_every_workload_on_made_up_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    everything = Plan(release="smoke", sweep=(Sweep(workloads=("*",)),))
    with planned_studies(everything, preset=SMOKE) as studies:
        folders = {study.replacement for study in studies}
        assert all(folder is not None and any(folder.iterdir()) for folder in folders)
    assert not any(folder.exists() for folder in folders if folder)
    assert len(studies) == len(WORKLOADS)
    for study, original in zip(studies, WORKLOADS.values(), strict=True):
        workload = study.workload
        assert workload.name.startswith("replaced/")
        assert f"/made_up_{original.source}" in workload.name
        assert (workload.goal, workload.paper) == (None, None)
        # Models, optimizers and search spaces are those of the workload: nothing is made smaller.
        assert (workload.model, workload.optimizer) == (original.model, original.optimizer)
        assert workload.search_space == original.search_space
        assert (workload.sparsity, workload.subset) == (original.sparsity, original.subset)
        assert (study.batch_size, study.train_steps) == (4, 3)
        if isinstance(workload.form, ImageForm):
            assert max(workload.form.height, workload.form.width) <= 32
        assert json.dumps(msgspec.to_builtins(study.study()), allow_nan=False)


def test_what_is_given_comes_before_what_a_preset_says():
    def study_of(**given: Any) -> StudyPlan:
        workload = WORKLOADS["mnist/fc_1024/sgd"]
        (study,) = planned(workload, preset=LAPTOP, batch_sizes=[64], **given)
        return study

    usual, own = study_of(), study_of(trials=3, feasible=0, steps=7)
    # A fifth of 1,000 + 150,000 / 64 steps.
    assert (usual.least_trials, usual.feasible_trials, usual.train_steps) == (20, 20, 669)
    assert (own.least_trials, own.feasible_trials, own.train_steps) == (3, 0, 7)
    assert study_of(budget=1.0).train_steps == 3_344
    # A search in lockstep adds trials by itself.
    assert study_of(search="lockstep").feasible_trials == 0
