"""Estimates: what a dry run tells of steps, measurements, time and disk."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from producers.configuration import SweepOptions
from producers.estimate import estimate, held_out_examples
from producers.workloads.registry import WORKLOADS
from tests.support.sweeps import STEPS, planned, small_study, studies_of

if TYPE_CHECKING:
    from pathlib import Path

    from producers.plan import StudyPlan


OPTIONS = SweepOptions()


def study_of(trials: int, steps: int = STEPS) -> StudyPlan:
    return replace(small_study(steps=steps), least_trials=trials)


def estimate_of(plan: Path) -> list[str]:
    """The lines for a plan file beside which there is no folder `out`."""
    return list(estimate(studies_of(plan), plan.parent / "out", OPTIONS))


def seconds(line: str) -> float:
    number, unit = re.search(r"(?:about|and) ([\d.]+) (s|min|h)", line).groups()  # type: ignore[union-attr] # always there
    return float(number) * {"s": 1, "min": 60, "h": 3600}[unit]


def test_studies_have_their_own_numbers_of_trials(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
        release = "tests"
        [[sweep]]
        workloads = ["mnist/fc_64_64_64/sgd"]
        batch_sizes = [8, 64]
        trials = 1200
        steps = 9
        [[sweep]]
        workloads = ["mnist/fc_1024/sgd"]
        batch_sizes = [8]
        trials = 3
        feasible = 3
        budget = 0.001
        """
    )
    lines = estimate_of(plan)
    assert [line.rpartition(", ")[0] for line in lines[:-1]] == [
        "mnist/fc_64_64_64/sgd at batch size 8: 1,200 trials of 9 steps, 12,000 measurements",
        "mnist/fc_64_64_64/sgd at batch size 64: 1,200 trials of 9 steps, 12,000 measurements",
        # A thousandth of 1,000 + 150,000 / 8 steps is 19.75.
        "mnist/fc_1024/sgd at batch size 8: 3 trials of 20 steps, 63 measurements",
    ]
    assert lines[-1].startswith("2,403 trials, about ")
    assert lines[-1].endswith(
        f" and 0.1 MB in {tmp_path / 'out'}, 24,063 measurements, "
        "besides trials that are added for diverged ones"
    )


def test_a_search_in_lockstep_is_told_at_most(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
        release = "tests"
        [[sweep]]
        workloads = ["mnist/fc_64_64_64/sgd"]
        batch_sizes = [64, 128]
        trials = 3
        steps = 9
        search = "window"
        wide_trials = 5
        """
    )
    *lines, total = estimate_of(plan)
    assert [re.sub(r".* batch size (.*) and .*", r"\1", line) for line in lines] == [
        "64: 5 trials in lockstep, searched everywhere, of at most 9 steps, 50 measurements",
        (
            "128: 3 trials in lockstep, searched near the optimum at 64, of at most 9 steps, "
            "30 measurements"
        ),
    ]
    assert total.startswith("8 trials, at most ")
    assert total.endswith("80 measurements, besides windows that are widened")


def test_the_evaluations_of_a_search_in_lockstep_are_counted(tmp_path: Path) -> None:
    # In 2,000 steps at batch size 64 the papers' protocol evaluates 10 times, the search 33 times.
    workload = WORKLOADS["mnist/fc_128_128_128/sgd"]
    fixed, lockstep = (
        planned(workload, batch_sizes=[64], steps=2_000, trials=100_000, search=search)[0]
        for search in ("fixed", "lockstep")
    )
    few, many = map(seconds, list(estimate([fixed, lockstep], tmp_path / "out", OPTIONS))[:2])
    assert many > 1.05 * few


@pytest.mark.parametrize(
    ("name", "examples"),
    [
        ("mnist/fc_1024/sgd", (5_000, 10_000)),
        ("sparsity_0/mnist/simple_cnn/sgd", (6_000, 10_000)),
        ("sparsity_0/cifar_10/resnet_8/sgd", (5_000, 10_000)),
        ("imagenet/vgg_11/nesterov_momentum", (50_000, 50_045)),
        ("lm1b/lstm/nesterov_momentum", (6_075, 6_206)),
        (
            "imagenet_subsets/imagenet_half_classes/resnet_50/nesterov_momentum",
            (25_000, 25_022),
        ),
    ],
)
def test_examples_of_validation_and_test(name: str, examples: tuple[int, int]) -> None:
    assert held_out_examples(WORKLOADS[name]) == examples


def test_time_grows_with_the_work(tmp_path: Path) -> None:
    small = study_of(100, steps=100_000)
    wide = replace(small, workload=WORKLOADS["mnist/fc_2048_2048_2048/sgd"])
    larger = replace(wide, batch_size=512)
    # The same machine's rate stands behind the three, so that only their ratio is known.
    few, more, most, _ = estimate([small, wide, larger], tmp_path, OPTIONS)
    assert 0 < 10 * seconds(few) < seconds(more)
    assert seconds(most) > 10 * seconds(more)
