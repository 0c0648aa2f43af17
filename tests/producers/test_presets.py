"""Presets: how much of each workload they train, and on what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dbtool.errors import UsageError
from producers.datasets.forms import ImageForm
from producers.plan import StudyPlan, plan_studies
from producers.workloads.definition import BATCH_SIZE_STUDY
from producers.workloads.presets import NO_PRESET, PRESETS, Preset, chosen_data, find_preset
from producers.workloads.registry import WORKLOADS
from producers.workloads.replace import Replacement

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from producers.workloads.definition import Workload

SMOKE, LAPTOP, PAPER = (PRESETS[name] for name in ("smoke", "laptop", "paper"))


def plan(preset: Preset, workloads: Sequence[Workload]) -> list[StudyPlan]:
    return plan_studies(
        workloads,
        release=preset.release,
        batch_sizes=preset.batch_sizes,
        steps=preset.steps,
        budget_scale=preset.budget,
        root_seed=0,
        shared_batches=False,
    )


def test_paper_trains_every_published_study_in_full() -> None:
    published = [each for each in WORKLOADS.values() if each.paper == BATCH_SIZE_STUDY]
    studies = plan(PAPER, published)
    assert len(studies) == 454
    assert (PAPER.trials, PAPER.feasible) == (100, 100)
    for study in studies:
        assert study.train_steps == study.workload.budget.steps(study.batch_size)


def test_laptop_by_hand() -> None:
    names = ["mnist/simple_cnn_base/sgd", "cifar_10/resnet_8/sgd", "common_crawl/transformer_base/"]
    found = {
        name: [study.batch_size for study in plan(LAPTOP, [workload])]
        for name, workload in WORKLOADS.items()
    }
    assert found[names[0]] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert found[names[1]] == [2, 4, 8, 16, 32, 64, 128, 256]
    assert found[f"{names[2]}nesterov_momentum"] == [32, 64]
    assert found["imagenet/resnet_50/nesterov_momentum"] == [64]
    assert found["mnist/fc_1024/sgd"][-1] == 4_096
    assert all(found.values())
    # A fifth of 500 + ceil(300,000 / 64) = 5,188 steps.
    (study,) = [each for each in plan(LAPTOP, [WORKLOADS[names[0]]]) if each.batch_size == 64]
    assert study.train_steps == 1_038


def test_no_preset_is_what_the_options_defaults_were() -> None:
    assert find_preset(None) is NO_PRESET
    workload = WORKLOADS["mnist/fc_1024/sgd"]
    assert NO_PRESET.batch_sizes(workload) == workload.batch_sizes
    assert (NO_PRESET.trials, NO_PRESET.feasible, NO_PRESET.budget) == (100, 0, 1.0)
    assert (NO_PRESET.steps, NO_PRESET.release, NO_PRESET.made_up) == (None, "local", False)


def test_unknown_preset_is_named_with_the_closest() -> None:
    with pytest.raises(UsageError, match="unknown preset 'labtop'; closest: laptop"):
        find_preset("labtop")


def test_smoke_trains_every_workload_on_made_up_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with chosen_data(list(WORKLOADS.values()), SMOKE, [], goal=None) as found:
        assert len(found) == len(WORKLOADS)
        folders = {folder for _, folder in found.values()}
        assert all(folder is not None and any(folder.iterdir()) for folder in folders)
        studies = plan(SMOKE, [workload for workload, _ in found.values()])
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
        assert json.loads(json.dumps(study.description(), allow_nan=False))


def test_options_that_clash(tmp_path: Path) -> None:
    workloads = [WORKLOADS["mnist/fc_1024/sgd"]]
    mine = Replacement("mnist", "mine", tmp_path)
    with (
        pytest.raises(UsageError, match="smoke makes up its own data; leave out --replace"),
        chosen_data(workloads, SMOKE, [mine], goal=None),
    ):
        pass
    with (
        pytest.raises(UsageError, match="--goal is for data that --replace names"),
        chosen_data(workloads, NO_PRESET, [], goal=0.1),
    ):
        pass


def test_registered_data_is_left_as_it_is() -> None:
    workload = WORKLOADS["mnist/fc_1024/sgd"]
    with chosen_data([workload], PAPER, [], goal=None) as found:
        assert found == {workload.name: (workload, None)}
