"""The registry holds the published studies on MNIST and Fashion MNIST, and finds them by name."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from support.sweeps import definition_of

from dbtool.errors import UsageError
from dbtool.resources import schema_folder
from dbtool.store.contract import shard_schema
from producers.models.registry import model_definition
from producers.training.step import trainer
from producers.workloads.definition import BATCH_SIZE_STUDY
from producers.workloads.registry import WORKLOADS, find_workloads

POWERS_TO_4096 = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
POWERS_TO_32768 = [*POWERS_TO_4096, 8192, 16384, 32768]
EVERY = [*POWERS_TO_32768, 55000]
FEWER = [1, 2, 8, 32, 128, 512, 2048, 8192, 32768, 55000]

# The batch sizes of the published archive's studies, and the goals of its workloads.
PUBLISHED = {
    "fashion_mnist/simple_cnn_base/nesterov_momentum": (0.1, FEWER[1:]),
    "mnist/fc_1024/sgd": (0.03, EVERY),
    "mnist/fc_1024_1024/sgd": (0.03, EVERY),
    "mnist/fc_1024_1024_1024/sgd": (0.03, EVERY),
    "mnist/fc_128_128_128/sgd": (0.03, EVERY),
    "mnist/fc_2048_2048_2048/sgd": (0.03, EVERY),
    "mnist/fc_256_256_256/sgd": (0.03, EVERY),
    "mnist/fc_512_512_512/sgd": (0.03, EVERY),
    "mnist/fc_64_64_64/sgd": (0.03, EVERY),
    "mnist/simple_cnn_base/momentum": (0.01, EVERY),
    "mnist/simple_cnn_base/nesterov_momentum": (0.01, FEWER),
    "mnist/simple_cnn_base/sgd": (0.01, EVERY),
    "mnist/simple_cnn_narrow/sgd": (0.01, EVERY),
    "mnist/simple_cnn_wide/sgd": (0.01, POWERS_TO_32768),
    "mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum": (0.02, [*POWERS_TO_4096, 6875]),
    "mnist_subsets/mnist_13750/simple_cnn_base/nesterov_momentum": (
        0.02,
        [*POWERS_TO_4096, 8192, 13750],
    ),
    "mnist_subsets/mnist_27500/simple_cnn_base/nesterov_momentum": (
        0.02,
        [*POWERS_TO_4096, 8192, 16384, 27500],
    ),
    "mnist_subsets/mnist_55000/simple_cnn_base/nesterov_momentum": (0.02, EVERY),
    "solution_quality/fashion_mnist/simple_cnn_base/nesterov_momentum": (0.1, FEWER),
    "solution_quality/mnist/simple_cnn_base/nesterov_momentum": (0.01, FEWER),
}
TYPES: dict[str, tuple[type, ...]] = {
    "workload": (str,),
    "collection": (str, type(None)),
    "dataset": (str,),
    "model": (str,),
    "optimizer": (str,),
    "sparsity": (float,),
    "metric": (str,),
    "goal": (float, type(None)),
    "maximize": (bool,),
    "train_examples": (int,),
}


def test_registry_holds_the_published_workloads() -> None:
    published = {name: each for name, each in WORKLOADS.items() if each.paper == BATCH_SIZE_STUDY}
    assert set(published) == set(PUBLISHED)
    assert sum(len(workload.batch_sizes) for workload in published.values()) == 304


@pytest.mark.parametrize("name", PUBLISHED)
def test_goal_and_batch_sizes_are_the_published_ones(name: str) -> None:
    goal, batch_sizes = PUBLISHED[name]
    workload = WORKLOADS[name]
    assert workload.name == name
    assert (workload.metric, workload.maximize) == ("val_classification_error", False)
    assert workload.goal == goal
    assert list(workload.batch_sizes) == batch_sizes
    assert max(batch_sizes) <= workload.train_examples


def test_types_are_those_that_the_contract_names() -> None:
    with (schema_folder() / "shard.toml").open("rb") as file:
        assert set(tomllib.load(file)["definition"]) == set(TYPES)


@pytest.mark.parametrize("name", PUBLISHED)
def test_definitions_are_json_with_the_contract_keys(name: str) -> None:
    definition: dict[str, Any] = definition_of(WORKLOADS[name])
    assert json.loads(json.dumps(definition, allow_nan=False)) == definition
    for key, types in TYPES.items():
        assert isinstance(definition[key], types), key
    assert definition["metric"] in shard_schema().names
    above = [definition["collection"]] if definition["collection"] else []
    path = [*above, definition["dataset"], definition["model"], definition["optimizer"]]
    assert definition["workload"] == "/".join(path) == name


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_part_of_a_workload_is_known(name: str) -> None:
    workload = WORKLOADS[name]
    functions = trainer(workload.model, workload.optimizer, workload.schedule)
    searched = {metaparameter for metaparameter, _ in workload.search_space}
    assert searched == {"learning_rate", *functions.optimizer.metaparameters}
    # Every split is evaluated in whole slices.
    slices = model_definition(workload.model).evaluation_batch
    subset = min(workload.evaluation.training_subset, workload.train_examples)
    assert [count % slices for count in (subset, 5_000, 10_000)] == [0, 0, 0]


def test_patterns_find_workloads_in_their_order_and_once() -> None:
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


@pytest.mark.parametrize("word", ["mnist/fc_64_64/sgd", "cifar_10/*", ""])
def test_unknown_workloads_are_named_with_the_closest(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_workloads(["mnist/fc_1024/sgd", word])
    assert f"unknown workload {word!r}; closest: " in str(caught.value)
    assert "(list them with `dbtool produce --list`)" in str(caught.value)


def test_closest_workload_is_the_one_meant() -> None:
    with pytest.raises(UsageError, match="closest: mnist/fc_64_64_64/sgd"):
        find_workloads(["mnist/fc_64_64/sgd"])
