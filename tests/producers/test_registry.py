"""The registry holds the published workloads and the sparsity study's, and finds them by name."""

import itertools
from dataclasses import fields, is_dataclass
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.catalog import catalog
from dbtool.core.contract import metric_columns
from producers.datasets.forms import CIFAR_10_BY_CHANNEL, ImageForm
from producers.datasets.registry import DATASETS
from producers.models.registry import model_definition
from producers.search import Range, Sobol, StepsRange, search_space_json
from producers.sweep.run import held_index
from producers.training.optimizers import optimizer_definition
from producers.training.schedules import SCHEDULES
from producers.workloads.definition import (
    BATCH_SIZE_STUDY,
    CERTAINTIES,
    SPARSITY_STUDY,
    EvaluationRule,
    Workload,
    recorded_workload,
)
from producers.workloads.registry import WORKLOADS, find_workloads
from producers.workloads.settings import settings
from tests.support.sweeps import definition_of

CATALOG = {workload.workload: workload for workload in catalog()}


def of(paper: str | None) -> dict[str, Workload]:
    return {name: workload for name, workload in WORKLOADS.items() if workload.paper == paper}


def test_registry_holds_the_published_workloads():
    assert set(of(BATCH_SIZE_STUDY)) == set(CATALOG)
    assert len(CATALOG) == 35


@pytest.mark.parametrize("name", CATALOG)
def test_goal_and_batch_sizes_are_the_published_ones(name):
    published, workload = CATALOG[name], WORKLOADS[name]
    assert (workload.metric, workload.maximize) == (published.metric, published.maximize)
    assert workload.goal == published.goal
    assert not workload.goal_inclusive
    assert workload.batch_sizes == published.batch_sizes
    assert max(workload.batch_sizes) <= workload.train_examples
    if published.train_examples is not None:
        assert workload.train_examples == published.train_examples
    assert (workload.sparsity, workload.replaces) == (0.0, None)
    certainty = dict(workload.certainty)
    assert certainty["goal"] == published.goal_certainty
    if published.train_examples_certainty is not None:
        assert certainty["train_examples"] == published.train_examples_certainty


def test_imagenet_is_as_the_release_shows_it():
    # Whose errors are shares of 50,000, 50,045 and 50,176 examples, such as 0.213348.
    assert f"{round(0.213348 * 50_045) / 50_045:.6g}" == "0.213348"
    workload = WORKLOADS["imagenet/resnet_50/nesterov_momentum"]
    assert workload.train_examples == 1_281_167 - 50_045
    assert workload.augmentation
    assert isinstance(workload.form, ImageForm)
    assert workload.evaluation.training_subset == 50_176
    assert workload.budget.steps(256) == 600_000
    searched = search_space_json(dict(workload.search_space))
    assert searched["learning_rate_decay_steps"] == {
        "type": "INTEGER",
        "min_share": 300_000 / 600_000,
        "max_share": 600_000 / 600_000,
    }
    certainty = {each.name: each.certainty for each in settings(workload)}
    for ours in ("form: mean", "form: deviation", "model: initial_weights"):
        assert certainty[ours] == "chosen by experiment"
    for stated in (
        "train_examples",
        "evaluation: training_subset",
        "search_space: learning_rate_decay_steps",
        "search_space: end_learning_rate_factor",
    ):
        assert certainty[stated] == "stated"


def test_sparsity_study():
    sparse = of(SPARSITY_STUDY)
    # Three networks, three optimizers, four sparsities.
    assert len(sparse) == 36
    workload = sparse["sparsity_70/cifar_10/resnet_8/nesterov_momentum"]
    assert (workload.sparsity, workload.pruning, workload.goal) == (0.7, "snip_with_biases", 0.4)
    assert workload.goal_inclusive
    assert workload.evaluation.schedule(250, 64).keys() == {0, 100, 200, 250}
    assert workload.budget.steps(2) == workload.budget.steps(16_384) == 100_000
    recorded = workload.definition()
    assert (recorded["sparsity"], recorded["pruning"]) == (0.7, "snip_with_biases")
    assert (recorded["goal_inclusive"], recorded["evaluation"]["every"]) == (True, 100)
    other = sparse["sparsity_0/mnist/simple_cnn/sgd"].definition()
    assert other["held_out"] == {"order": "random", "examples": 6_000}
    assert recorded["sobol"] == {"scramble": False, "skip": 1}
    searched = dict(workload.search_space)
    assert searched["learning_rate"] == Range(1e-4, 1.0, "LOG_SCALE")
    # From 30,000 to 60,000 of the 100,000 steps.
    assert searched["learning_rate_decay_steps"] == StepsRange(0.3, 0.6)
    for name, each in sparse.items():
        assert (each.pruning is None) == (each.sparsity == 0.0) == name.startswith("sparsity_0/")
        assert each.collection == f"sparsity_{100 * each.sparsity:.0f}"
        # A tenth of the official training examples is for validation, a random one.
        held_out = each.held_out
        assert held_out.order == "random"
        assert (held_out.examples, each.train_examples) in {(6_000, 54_000), (5_000, 45_000)}
        assert each.sobol == Sobol(scramble=False, skip=1)
        model = [every for every in settings(each) if every.name.startswith("model: ")]
        assert {every.certainty for every in model} == {"stated"}


def test_a_model_is_as_sure_as_its_study_is():
    ours = {each.name: each.certainty for each in settings(WORKLOADS["cifar_10/resnet_8/sgd"])}
    assert (ours["model: activation"], ours["model: shortcut"]) == ("recalled", "chosen")


def test_images_of_cifar_10():
    ours = WORKLOADS["cifar_10/resnet_8/nesterov_momentum"]
    theirs = WORKLOADS["sparsity_0/cifar_10/resnet_8/nesterov_momentum"]
    assert ours.form == ImageForm(32, 32, 3, 10, by_image=True)
    assert ours.definition()["form"]["by_image"] is True
    assert theirs.form == CIFAR_10_BY_CHANNEL
    # As it would have been recorded before there were other forms.
    assert set(theirs.definition()["form"]) == {
        *("height", "width", "channels", "classes", "multi_label", "mean", "deviation")
    }
    sure = [dict(each.certainty)["form"] for each in (ours, theirs)]
    assert sure == ["recalled", "stated"]


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_is_whole_and_recorded_as_shards_have_it(name):
    workload = WORKLOADS[name]
    certainty = dict(workload.certainty)
    own = {field.name for field in fields(workload)}
    searched = [metaparameter for metaparameter, _ in workload.search_space]
    parts = {
        f"{field.name}: {part.name}"
        for field in fields(workload)
        if is_dataclass(value := getattr(workload, field.name))
        for part in fields(value)
    }
    parts |= {f"search_space: {each}" for each in searched}
    parts |= {f"model: {each}" for each in model_definition(workload.model).settings}
    needed = {"batch_sizes", "budget", "evaluation", "goal", "search_space", "train_examples"}
    assert needed | {"schedule"} <= set(certainty) <= own | parts
    assert {each.certainty for each in settings(workload)} <= set(CERTAINTIES)

    assert workload.source in DATASETS
    assert workload.schedule in SCHEDULES
    expected = {"learning_rate", *optimizer_definition(workload.optimizer).metaparameters}
    if workload.schedule == "linear_decay":
        expected |= {"learning_rate_decay_steps", "end_learning_rate_factor"}
    assert {*searched} - {"label_smoothing"} == expected
    assert workload.maximize == workload.metric.endswith("average_precision")

    recorded = recorded_workload(workload)
    text = msgspec.json.encode(recorded)
    assert msgspec.json.decode(text, type=type(recorded)) == recorded
    assert recorded.metric in metric_columns()
    assert recorded.workload == name


def test_patterns_find_workloads_in_their_order_and_once():
    found = [
        workload.name for workload in find_workloads(["mnist/simple_*", "mnist/simple*/momentum"])
    ]
    assert found == [
        "mnist/simple_cnn_narrow/sgd",
        "mnist/simple_cnn_base/sgd",
        "mnist/simple_cnn_wide/sgd",
        "mnist/simple_cnn_base/momentum",
        "mnist/simple_cnn_base/nesterov_momentum",
    ]


DATA = Path(__file__).parents[2] / "data"
# Steps of training, batch size, and the steps that are evaluated by hand.
BY_HAND = [
    # A step more at least, and a factor of 2 ** (1 / 4) = 1.189 from 6 on: 7.14, 8.32, 9.51, 11.89.
    (
        EvaluationRule(validation_per_doubling=4, other_splits_every=4),
        *(13, 64, [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13], {0, 4, 8, 13}),
    ),
    # The last step is evaluated on every split and once, also where the rule names it.
    (
        EvaluationRule(validation_per_doubling=4, other_splits_every=4),
        *(8, 64, list(range(9)), {0, 4, 8}),
    ),
    # ceil(1,000 / 300) = 4 steps at least; doubling takes over from 4: 8, 16, 32.
    (EvaluationRule(1, 2, 1_000), 40, 300, [0, 4, 8, 16, 32, 40], {0, 8, 32, 40}),
    (
        EvaluationRule(other_splits_every=2, every=100),
        350,
        64,
        [*range(0, 400, 100), 350],
        {0, 200, 350},
    ),
]


@pytest.mark.parametrize(("rule", "train_steps", "batch_size", "steps", "every_split"), BY_HAND)
def test_evaluations_by_hand(rule, train_steps, batch_size, steps, every_split):
    schedule = rule.schedule(train_steps, batch_size)
    assert list(schedule) == steps
    assert {step for step, every in schedule.items() if every} == every_split


@given(
    st.integers(1, 200_000),
    st.integers(1, 4_096),
    st.builds(EvaluationRule, st.integers(1, 16), st.integers(1, 16), st.integers(1, 50_000)),
)
def test_evaluations_begin_at_0_and_end_at_the_last_step(train_steps, batch_size, rule):
    schedule = rule.schedule(train_steps, batch_size)
    steps = list(schedule)
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (0, train_steps)
    assert schedule[0]
    assert schedule[train_steps]
    for before, after in itertools.pairwise(steps):
        # No gap is longer than the rule's factor or the examples that it waits for.
        geometric = before * 2 ** (1 / rule.validation_per_doubling) + 1
        assert after <= max(geometric, before + rule.examples_between / batch_size + 1)
    for before, after in itertools.pairwise(steps[:-1]):
        assert (after - before) * batch_size >= rule.examples_between
    # A longer run is evaluated at the same steps as a shorter one, but for the last.
    longer = rule.schedule(train_steps * 2, batch_size)
    assert steps[:-1] == list(longer)[: len(steps) - 1]


def test_definitions_are_those_of_the_shipped_shards():
    """Trials that were measured are told from others by them."""
    workloads = held_index(DATA / "replication").workloads
    assert len(workloads) >= 2
    for name, workload in workloads.items():
        assert workload.definition == definition_of(WORKLOADS[name]), name


def test_the_first_release_was_measured_on_other_examples():
    """Its rows cannot be taken for those of the workloads as they are now."""
    workloads = held_index(DATA / "measured").workloads
    on_mnist = {name: each for name, each in workloads.items() if name.startswith("mnist/")}
    assert on_mnist
    for name, workload in on_mnist.items():
        assert "held_out" not in (workload.definition or {})
        assert definition_of(WORKLOADS[name])["held_out"] == {"order": "first", "examples": 5_000}
