"""Estimates: what a dry run tells of steps, measurements, time and disk."""

import re
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from producers.configuration import SweepOptions
from producers.datasets.forms import GREY_28, IMAGENET, Form, TextForm
from producers.estimate import estimate, forward_operations, held_out_examples, operations
from producers.workloads.registry import WORKLOADS
from tests.support.slow import quick_few
from tests.support.sweeps import planned, small_study

OPTIONS = SweepOptions()
SMALL = WORKLOADS["mnist/fc_64_64_64/sgd"]


def seconds(line: str) -> float:
    number, unit = re.search(r"(?:about|and) ([\d.]+) (s|min|h)", line).groups()  # type: ignore[union-attr] # always there
    return float(number) * {"s": 1, "min": 60, "h": 3600}[unit]


def test_studies_have_their_own_numbers_of_trials(tmp_path):
    wider = WORKLOADS["mnist/fc_1024/sgd"]
    studies = planned(SMALL, batch_sizes=[8, 64], trials=1_200, steps=9)
    studies += planned(wider, batch_sizes=[8], trials=3, feasible=3, budget=0.001)
    lines = list(estimate(studies, tmp_path / "out", OPTIONS))
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


def test_a_search_in_lockstep_is_told_at_most(tmp_path):
    search: Any = {"trials": 3, "steps": 9, "search": "window", "wide_trials": 5}
    studies = planned(SMALL, batch_sizes=[64, 128], **search)
    *lines, total = estimate(studies, tmp_path / "out", OPTIONS)
    assert [re.sub(r".* batch size (.*) and .*", r"\1", line) for line in lines] == [
        "64: 5 trials in lockstep, searched everywhere, of at most 9 steps, 50 measurements",
        (
            "128: 3 trials in lockstep, searched near the optimum at 64, of at most 9 steps, "
            "30 measurements"
        ),
    ]
    assert total.startswith("8 trials, at most ")
    assert total.endswith("80 measurements, besides windows that are widened")


def test_the_evaluations_of_a_search_in_lockstep_are_counted(tmp_path):
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
        ("imagenet/vgg_11/nesterov_momentum", (50_000, 50_045)),
        ("imagenet_subsets/imagenet_half_classes/resnet_50/nesterov_momentum", (25_000, 25_022)),
    ],
)
def test_examples_of_validation_and_test(name, examples):
    assert held_out_examples(WORKLOADS[name]) == examples


def test_time_grows_with_the_work(tmp_path):
    small = replace(small_study(steps=100_000), least_trials=100)
    wide = replace(small, workload=WORKLOADS["mnist/fc_2048_2048_2048/sgd"])
    larger = replace(wide, batch_size=512)
    grown = replace(wide, workload=replace(wide.workload, batch_schedule=((50_000, 8),)))
    # The same machine's rate stands behind all, so that only their ratio is known.
    few, more, most, some, _ = estimate([small, wide, larger, grown], tmp_path, OPTIONS)
    assert 0 < 10 * seconds(few) < seconds(more)
    assert seconds(most) > 10 * seconds(more)
    # Half of the steps take 8 times as long, and evaluations as long as before.
    assert 3 * seconds(more) < seconds(some) < 5 * seconds(more)


def test_even_the_smallest_sweep_starts_and_compiles(tmp_path):
    studies = planned(SMALL, batch_sizes=[1, 2], trials=1, steps=1)
    *each, total = map(seconds, estimate(studies, tmp_path, OPTIONS))
    assert total > sum(each) > 1


def array(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def test_loops_count_as_often_as_they_run_and_of_branches_the_longest():
    def repeated(a: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda carry, _: (carry @ a, None), a, length=6)[0]

    def either(a: jax.Array) -> Any:
        return jax.lax.cond(a.sum() > 0, lambda: a @ a, lambda: a @ a @ a)

    assert operations(jax.jit(repeated), array(3, 3)) == 6 * 2 * 27
    assert operations(either, array(3, 3)) == 2 * 2 * 27


# Multiplications of a forward pass. That of resnet_50 is torchvision's "GFLOPS".
MULTIPLICATIONS: dict[tuple[str, Form], float] = {
    ("simple_cnn_base", GREY_28): (
        28 * 28 * 25 * 32 + 14 * 14 * 25 * 32 * 64 + 7 * 7 * 64 * 1024 + 1024 * 10
    ),
    ("resnet_50", IMAGENET): 4.09e9,
    # Two layers: four projections, scores and sums of values, the feed-forward layer; logits.
    ("transformer_tiny", TextForm(vocabulary=300, length=16)): (
        16 * (2 * (4 * 64 * 64 + 2 * 16 * 64 + 2 * 64 * 256) + 64 * 300)
    ),
    # Of inputs and of outputs to four gates, the projection, and logits, at each of 16 tokens.
    ("lstm", TextForm(vocabulary=300, length=16)): (
        16 * ((1024 + 512) * 4 * 2048 + 2048 * 512 + 512 * 300)
    ),
}


QUICK = MULTIPLICATIONS.keys() - {("resnet_50", IMAGENET)}


@pytest.mark.parametrize(("model", "form"), quick_few(MULTIPLICATIONS, QUICK))
def test_forward_passes(model, form):
    expected = 2 * MULTIPLICATIONS[model, form]
    found = forward_operations(model, form, "float32")
    assert found == pytest.approx(expected, rel=1e-3 if expected > 1e9 else 0, abs=0)
