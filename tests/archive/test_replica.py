"""The replica writer: its files read back by pandas give the answers it says it planted."""

from __future__ import annotations

import io
import itertools
import json
import math
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd
import pytest
from replica import StudyPlan, StudyTruth, Truth, plan_study, published_plans, write_archive
from replica.odd import KINDS
from replica.plan import scaling_law

from dbtool.archive.table import catalog, published_studies

CHECKOUT = Path(__file__).resolve().parents[2]
MNIST = "mnist/simple_cnn_base/nesterov_momentum"
LSTM = "lm1b/lstm/nesterov_momentum"
IMAGES = "open_images_v4/resnet_50/nesterov_momentum"
SUBSET = "mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"
PLANS = (
    plan_study(MNIST, 1, odd=True),
    plan_study(MNIST, 64, complete=110, incomplete=10, evaluations=40),
    plan_study("solution_quality/" + MNIST, 64),
    plan_study(SUBSET, 6_875, odd=True),
    plan_study("imagenet/resnet_50/nesterov_momentum", 256),
    plan_study(IMAGES, 1_024),
    plan_study(LSTM, 16, complete=55),
    plan_study("mnist/fc_64_64_64/sgd", 2),
    plan_study("mnist/fc_1024/sgd", 8, complete=0),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    place = tmp_path_factory.mktemp("replica")
    truth = write_archive(place, studies=PLANS, seed=3, layout="folder")
    return place / "batch_science", truth


def metadata_of(study: Path) -> list[dict[str, Any]]:
    """The study's trials sorted by trial id as a number."""
    found = [json.loads(path.read_text()) for path in study.glob("*/metadata.json")]
    return sorted(found, key=lambda trial: trial["trial_id"])


def counted_rows(study: Path, plan: StudyPlan) -> pd.DataFrame:
    """step, trial_id and value of the trials that count, by the authors' rules."""
    counted = [trial for trial in metadata_of(study) if trial["status"] == "COMPLETE"]
    column = plan.metric.replace("_", "/", 1)
    frames = []
    for trial in counted[: plan.trial_limit]:
        frame = pd.read_csv(study / str(trial["trial_id"]) / "measurements.csv", dtype=str)
        frames.append(
            pd.DataFrame(
                {
                    "step": frame["step"].map(int),
                    "trial_id": trial["trial_id"],
                    "value": frame[column].map(float),  # Python's own reading of a decimal
                }
            )
        )
    rows = pd.concat(frames) if frames else pd.DataFrame(columns=["step", "trial_id", "value"])
    return rows.sort_values(["step", "trial_id"]).reset_index(drop=True)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.path)
def test_planted_answers_are_in_the_files(plan: StudyPlan, folder: tuple[Path, Truth]) -> None:
    root, truth = folder
    told = truth.study(plan.workload, plan.batch_size)
    rows = counted_rows(root / plan.path, plan)
    past = rows[rows["value"] > plan.goal if plan.maximize else rows["value"] < plan.goal]
    if told.steps_to_result is None:
        assert past.empty
        assert told.planted_steps is None
    else:
        first = past.iloc[0]
        result = told.steps_to_result
        assert (result.step, result.trial_id, result.value) == tuple(first)
        assert result.step == told.planted_steps
    if told.best is None:
        assert rows.empty
    else:
        best = rows["value"].max() if plan.maximize else rows["value"].min()
        assert told.best.value == best
        assert (told.best.step, told.best.trial_id) == tuple(rows[rows["value"] == best].iloc[0])[
            :2
        ]


def test_planted_steps_follow_the_law() -> None:
    least, critical = scaling_law(MNIST)
    for batch_size in (1, 64, 55_000):
        plan = plan_study(MNIST, batch_size)
        assert plan.steps_to_goal == math.ceil(least * (1 + critical / batch_size))
    assert scaling_law(MNIST) != scaling_law(LSTM)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.path)
def test_counts_are_as_planned(plan: StudyPlan, folder: tuple[Path, Truth]) -> None:
    root, truth = folder
    told = truth.study(plan.workload, plan.batch_size)
    statuses = [trial["status"] for trial in metadata_of(root / plan.path)]
    assert [statuses.count(name) for name in ("COMPLETE", "INCOMPLETE", "INFEASIBLE")] == [
        plan.complete,
        plan.incomplete,
        plan.infeasible,
    ]
    files = list((root / plan.path).glob("*/measurements.csv"))
    assert len(files) == told.trials
    assert told.measurements == sum(
        max(0, len(path.read_text().splitlines()) - 1) for path in files
    )


def test_every_study_is_marked_as_made_up(folder: tuple[Path, Truth]) -> None:
    root, truth = folder
    studies = list(root.rglob("study.json"))
    assert len(studies) == len(truth.studies)
    assert all("made up" in json.loads(path.read_text())["_made_up"] for path in studies)
    trials = list(root.rglob("metadata.json"))
    assert len(trials) == truth.trials
    assert all(
        json.loads(path.read_text())["_internal_study_name"].startswith("made-up-")
        for path in trials
    )


def test_study_json_has_the_published_keys(folder: tuple[Path, Truth]) -> None:
    root, _ = folder
    study = json.loads((root / "imagenet/resnet_50/nesterov_momentum/256/study.json").read_text())
    assert study["parameter_configs"]["label_smoothing"] == {
        "type": "DISCRETE",
        "feasible_points": [0.0, 0.01, 0.1],
    }
    assert study["parameter_configs"]["learning_rate_decay_steps"]["scale"] == ""
    assert study["parameter_configs"]["momentum"]["scale"] == "REVERSE_LOG_SCALE"
    del study["_made_up"], study["parameter_configs"]
    assert study == {
        "batch_size": 256,
        "dataset": "imagenet",
        "early_stopping": False,
        "model": "resnet_50",
        "optimizer": "nesterov_momentum",
        "train_steps": PLANS[4].last_step,
    }


def test_metaparameters_lie_in_the_search_space(folder: tuple[Path, Truth]) -> None:
    root, _ = folder
    for plan in PLANS:
        configs = json.loads((root / plan.path / "study.json").read_text())["parameter_configs"]
        for trial in metadata_of(root / plan.path):
            assert set(trial["parameters"]) == set(configs)
            for name, value in trial["parameters"].items():
                config = configs[name]
                if config["type"] == "DISCRETE":
                    assert value in config["feasible_points"]
                else:
                    assert config["min_value"] <= value <= config["max_value"]


def test_columns_go_with_the_workload(folder: tuple[Path, Truth]) -> None:
    root, _ = folder
    headers = {
        workload: next((root / workload).rglob("1*/measurements.csv")).read_text().splitlines()[0]
        for workload in (LSTM, IMAGES)
    }
    assert headers[LSTM] == (
        "step,train/cross_entropy_error,val/cross_entropy_error,test/cross_entropy_error"
    )
    assert "classification_error" not in headers[IMAGES]
    assert "val/average_precision" in headers[IMAGES]


def test_complete_trials_reach_their_budget(folder: tuple[Path, Truth]) -> None:
    root, _ = folder
    for plan in PLANS:
        steps = {
            trial["steps"] >= plan.train_steps
            for trial in metadata_of(root / plan.path)
            if trial["status"] == "COMPLETE"
        }
        assert steps <= {True}
    assert PLANS[6].train_steps == 0
    longer = [trial["steps"] for trial in metadata_of(root / PLANS[1].path)]
    assert max(longer) > PLANS[1].train_steps


def test_traps_are_set(folder: tuple[Path, Truth]) -> None:
    root, truth = folder
    plan = PLANS[1]
    told = truth.study(plan.workload, plan.batch_size)
    assert told.planted_steps is not None
    everything = counted_rows(root / plan.path, replace(plan, trial_limit=1_000))
    counted = counted_rows(root / plan.path, plan)
    # Past the hundred trials that count, one gets to the goal earlier.
    assert everything[everything["value"] < plan.goal]["step"].min() < told.planted_steps
    # Two that count get there at the same step.
    assert (counted[counted["value"] < plan.goal]["step"] == told.planted_steps).sum() == 2
    # One is at the goal before, which is not past it.
    earlier = counted[counted["step"] < told.planted_steps]
    assert earlier["value"].min() == plan.goal
    for status in ("INCOMPLETE", "INFEASIBLE"):
        earliest = []
        for trial in metadata_of(root / plan.path):
            if trial["status"] == status:
                rows = pd.read_csv(
                    root / plan.path / str(trial["trial_id"]) / "measurements.csv",
                    index_col="step",
                )
                earliest.append((rows["val/classification_error"] < plan.goal).idxmax())
        assert any(0 < step < told.planted_steps for step in earliest)
    # As text, some ids sort differently.
    ids = [trial["trial_id"] for trial in metadata_of(root / plan.path)]
    assert sorted(ids, key=str) != ids


def test_odd_files_are_there_and_said_so(folder: tuple[Path, Truth]) -> None:
    root, truth = folder
    told: StudyTruth = truth.study(MNIST, 1)
    assert {oddity.kind for oddity in told.oddities} == set(KINDS)
    text = {
        oddity.kind: (root / told.path / str(oddity.trial_id) / "measurements.csv").read_text()
        for oddity in told.oddities
    }
    assert text["empty"] == ""
    assert text["header_only"].count("\n") == 1
    assert "inf" in text["inf"].splitlines()[-1]
    assert ",," in text["missing"]
    assert text["repeated"].splitlines()[-1] == text["repeated"].splitlines()[-2]
    steps = [int(line.split(",")[0]) for line in text["unsorted"].splitlines()[1:]]
    assert steps != sorted(steps)
    assert "val/perplexity" in text["unknown_metric"]
    assert "e-06" in text["short_numbers"]
    assert truth.study(IMAGES, 1_024).oddities == ()


def test_values_are_decimals_of_six_digits(folder: tuple[Path, Truth]) -> None:
    root, _ = folder
    for path in (root / PLANS[4].path).glob("*/measurements.csv"):
        for line in path.read_text().splitlines()[1:]:
            step, *cells = line.split(",")
            assert step.isdigit()
            assert all(cell == "nan" or len(cell.split(".")[1]) == 6 for cell in cells)


def contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {
            member.name: archive.extractfile(member).read() for member in archive if member.isfile()
        }


@pytest.mark.parametrize("order", ["sorted", "shuffled", "interleaved"])
@pytest.mark.parametrize("layout", ["tar.bz2", "tar.gz", "tar"])
def test_layouts_and_orders_hold_the_same_files(
    layout: Any, order: Any, folder: tuple[Path, Truth], tmp_path: Path
) -> None:
    root, truth = folder
    file = tmp_path / "replica"
    assert write_archive(file, studies=PLANS, seed=3, layout=layout, order=order) == truth
    held = contents(file)
    assert held == {
        path.relative_to(root.parent).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
    assert len(held) == len(PLANS) + 2 * truth.trials
    studies = [str(PurePosixPath(name).parents[0]) for name in held if name.endswith("study.json")]
    sorted_studies = [f"batch_science/{plan.path}" for plan in PLANS]
    assert (studies == sorted_studies) == (order == "sorted")


def test_interleaved_members_alternate_between_studies(tmp_path: Path) -> None:
    file = tmp_path / "replica.tar"
    write_archive(file, studies=PLANS[:3], layout="tar", order="interleaved")
    studies = [name.split("/")[1:6] for name in contents(file)]
    changes = sum(one[:4] != other[:4] for one, other in itertools.pairwise(studies))
    assert changes > 50


def test_processes_write_the_same_archive(tmp_path: Path) -> None:
    one, two = tmp_path / "one.tar.bz2", tmp_path / "two.tar.bz2"
    truth = write_archive(one, studies=PLANS[:3])
    assert write_archive(two, studies=PLANS[:3], processes=2) == truth
    assert contents(one) == contents(two)


def test_seeds_give_other_numbers_and_the_same_law(tmp_path: Path) -> None:
    first, second = (
        write_archive(tmp_path / str(seed), studies=PLANS[:1], seed=seed, layout="folder")
        for seed in (1, 2)
    )
    assert first.studies[0].planted_steps == second.studies[0].planted_steps
    assert first.studies[0].best != second.studies[0].best


def test_all_published_studies_can_be_planned() -> None:
    plans = published_plans()
    assert [(plan.path, plan.complete, plan.incomplete, plan.infeasible) for plan in plans] == [
        (study.path, study.complete, study.incomplete, study.infeasible)
        for study in published_studies()
    ]


def test_a_small_share_of_every_study(tmp_path: Path) -> None:
    truth = write_archive(
        tmp_path / "small.tar", studies=published_plans(0.01, evaluations=24), layout="tar"
    )
    assert len(truth.studies) == 454
    assert {study.workload for study in truth.studies} == {each.workload for each in catalog()}
    for study in truth.studies:
        if study.complete and study.planted_steps is not None:
            assert study.steps_to_result is not None
            assert study.steps_to_result.step == study.planted_steps
    names = [name for name in contents(tmp_path / "small.tar") if len(name) > 100]
    assert names  # longer than a header of a tar file holds


def test_member_headers_are_what_tarfile_reads(tmp_path: Path) -> None:
    file = tmp_path / "replica.tar.bz2"
    write_archive(file, studies=PLANS[:1])
    with tarfile.open(fileobj=io.BytesIO(file.read_bytes())) as archive:
        first = archive.next()
    assert first is not None
    assert (first.name, first.isdir()) == ("batch_science", True)


def test_benchmark_writes_an_archive_and_its_answers(tmp_path: Path) -> None:
    file = tmp_path / "small.tar.gz"
    words = ["--out", str(file), "--share", "0.004", "--processes", "2", "--order", "shuffled"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "benchmarks.replica", *words],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("454 studies, ")
    told = json.loads((tmp_path / "small.truth.json").read_text())["studies"]
    files = contents(file)
    for study in told:
        folder = f"batch_science/{study['workload']}/{study['batch_size']}/"
        held = [text for name, text in files.items() if name.startswith(folder)]
        rows = [text.count(b"\n") - 1 for text in held if text.startswith(b"step,")]
        assert sum(rows) == study["measurements"]


def test_odd_studies_search_a_metaparameter_more(folder: tuple[Path, Truth]) -> None:
    root, _ = folder
    for plan in PLANS:
        searched = json.loads((root / plan.path / "study.json").read_text())["parameter_configs"]
        assert ("weight_decay" in searched) == plan.odd


def test_too_few_evaluations_for_traps_are_refused() -> None:
    with pytest.raises(ValueError, match="11 evaluations: at least 12 are needed"):
        plan_study(MNIST, 64, evaluations=11)
