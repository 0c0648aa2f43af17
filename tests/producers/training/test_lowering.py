"""Every workload's training lowers for TPUs as a sweep runs it, by shapes and types alone."""

import functools
import re
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.export import Exported
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from producers.datasets.registry import DATASETS
from producers.models.registry import model_definition
from producers.sweep.memory import abstract_examples
from producers.training.batches import IndexDraw
from producers.training.block import BlockProgram
from producers.training.mesh import EVERYWHERE
from producers.training.step import trainer
from producers.training.stream import StreamedDraw
from producers.workloads.definition import BATCH_SIZE_STUDY, SPARSITY_STUDY, Workload
from producers.workloads.registry import WORKLOADS
from tests.support import blocks
from tests.support.abstract import abstract_advance
from tests.support.blocks import TRIALS, compiled, splits_of
from tests.support.slow import quick_few

DTYPES = {"float32": "f32", "bfloat16": "bf16"}
# Eight devices: each with trials of its own, or four that share the batches of a trial.
ON_EACH, SHARED_BY = (16, 1), (2, 4)
PUBLISHED = [name for name, each in WORKLOADS.items() if each.paper == BATCH_SIZE_STUDY]
SPARSE = [name for name, each in WORKLOADS.items() if each.paper == SPARSITY_STUDY]
# The first of each kind of network; others differ in their sizes, or take longest. Residual
# networks are quick in the sparsity study.
QUICK_PUBLISHED = {
    WORKLOADS[name].model: name
    for name in reversed(PUBLISHED)
    if re.search("fc_1024/|simple_cnn_base|transformer_shallow|lstm", name)
}.values()
QUICK_SPARSE = [name for name in SPARSE if re.search("_90/(mnist|cifar_10)/.*/nesterov", name)]


def layout(workload: Workload) -> tuple[int, int]:
    """Trials of a block, and devices that share the batches of one."""
    return SHARED_BY if DATASETS[workload.source].is_streamed else ON_EACH


def program_of(workload: Workload, dtype: str, *, remat: bool, devices: int) -> BlockProgram:
    """As sweeps make it where the devices are no CPU cores, so many of which share a trial."""
    functions = (workload.model, workload.optimizer, workload.schedule, workload.form, dtype)
    return _program(devices, *functions, "", remat)


@functools.cache
def _program(devices: int, *functions: Any) -> BlockProgram:
    size = model_definition(functions[0]).evaluation_batch
    sizes: dict[str, Any] = {"lanes": sys.maxsize, "evaluation_batch": size}
    return blocks.program_of(trainer(*functions), 8, devices, **sizes)


def exported(
    workload: Workload, batch_size: int, dtype: str, *, remat: bool = False
) -> tuple[Exported, Mesh]:
    """The training of a block, lowered for TPUs, and the devices that it is for."""
    trials, devices = layout(workload)
    program = program_of(workload, dtype, remat=remat, devices=devices)
    arguments = abstract_advance(program, workload, batch_size, trials)
    lowered = jax.export.export(program.compiled_advance, platforms=["tpu"])(*arguments)
    return lowered, program.mesh


def products(module: str) -> Counter[tuple[str, str, str]]:
    """The matrix products and convolutions of a module, by the types of what is multiplied."""
    operations = re.findall(
        r"stablehlo\.(dot_general|convolution)\W.* : \(tensor<([^>]*)>, tensor<([^>]*)>\)", module
    )
    assert len(operations) == len(re.findall(r"stablehlo\.(?:dot_general|convolution)\W", module))
    return Counter(
        (name, left.rpartition("x")[2], right.rpartition("x")[2])
        for name, left, right in operations
    )


def expected_products(model: str, of: str) -> Counter[tuple[str, str, str]]:
    """How many products training takes: forward, by weights, and by activations.

    The first layer has no gradient by its inputs, but where these are embeddings.
    """
    dense, convolution = ("dot_general", of, of), ("convolution", of, of)
    if model.startswith("fc_"):
        layers = len(model.split("_"))
        return Counter({dense: 3 * layers - 1})
    if model.startswith("transformer_"):
        layers = 6 if model in {"transformer_base", "transformer_wide"} else 2
        # Four projections, two products of attention and two of the feed-forward layer; JAX keeps
        # the scores of attention, and so their two gradients, in float32.
        scores = Counter({("dot_general", "f32", of): 2 * layers})
        return Counter({dense: 3 * (8 * layers + 1) - 2 * layers}) + scores
    if model == "lstm":
        # Of inputs, of outputs, the projection and the logits.
        return Counter({dense: 3 * 4})
    convolutions, dense_layers = {
        "simple_cnn": (2, 1),
        "resnet_8": (7, 1),
        "resnet_50": (1 + 3 * 16 + 4, 1),
        "vgg_11": (8, 3),
    }.get(model, (2, 2))
    return Counter({convolution: 3 * convolutions - 1, dense: 3 * dense_layers})


def check(workload: Workload, batch_size: int, dtype: str) -> None:
    """Checks what a lowered block computes and takes against what is known of it."""
    lowered, mesh = exported(workload, batch_size, dtype)
    assert (lowered.platforms, lowered.nr_devices) == (("tpu",), 8)
    module = lowered.mlir_module()
    assert products(module) == expected_products(workload.model, DTYPES[dtype])
    assert "stablehlo.custom_call" not in module

    trials, _ = layout(workload)
    arguments, _ = jax.tree.unflatten(lowered.in_tree, lowered.in_avals)
    batches = arguments[3]
    steps = jax.tree.leaves(batches)[0].shape[1]
    if DATASETS[workload.source].is_streamed:
        placed = jax.tree.unflatten(lowered.in_tree, lowered.in_shardings_jax(mesh))[0][3]
        divided = NamedSharding(mesh, PartitionSpec("trial", None, None, "data"))
        for sharding, array in zip(placed, batches, strict=True):
            assert sharding.is_equivalent_to(divided, array.ndim)
    else:
        assert (batches.shape, batches.dtype) == ((trials, steps, 1, batch_size), jnp.int32)
    losses = lowered.out_avals[-1]
    assert (losses.shape, losses.dtype) == ((trials, steps), jnp.float32)


@pytest.mark.parametrize("name", quick_few(PUBLISHED, QUICK_PUBLISHED))
def test_published_workloads_at_their_largest_batch_in_bfloat16(name):
    check(WORKLOADS[name], max(WORKLOADS[name].batch_sizes), "bfloat16")


@pytest.mark.parametrize("name", quick_few(SPARSE, QUICK_SPARSE))
def test_workloads_of_the_sparsity_study_at_their_smallest_batch_in_float32(name):
    check(WORKLOADS[name], min(WORKLOADS[name].batch_sizes), "float32")


# Of each block what is needed of its own products: all but those whose results are only added. The
# logits are needed once more, too.
AGAIN = {"resnet_50": 2 * 16, "transformer_shallow": 7 * 2 + 1, "lstm": 1 + 1}


@pytest.mark.parametrize("model", quick_few(AGAIN, ["transformer_shallow", "lstm"]))
def test_products_are_computed_again_with_remat(model):
    workload = next(each for each in WORKLOADS.values() if each.model == model)
    lowered, _ = exported(workload, min(workload.batch_sizes), "float32", remat=True)
    expected = expected_products(model, "f32").total() + AGAIN[model]
    assert products(lowered.mlir_module()).total() == expected


# Every problem that is streamed or not, with batches that trials share or have of their own.
PROGRAMS = [("fc", False, False), ("normalised", True, True)]
PROGRAMS += [("fc", False, True), ("normalised", True, False)]


@pytest.mark.parametrize(("problem", "streamed", "shared"), quick_few(PROGRAMS, PROGRAMS[:2]))
def test_shapes_are_those_that_training_gives(problem, streamed, shared):
    """The program from shapes is, word for word, that from arrays, as a sweep has them."""
    program = compiled(problem, 8, 4, 1, shared, None)
    training, batch_size = splits_of(program, streamed=streamed).training, 16
    seeds = [5] if shared else list(range(TRIALS))
    draw: IndexDraw | StreamedDraw
    arrays = None
    if isinstance(training, tuple):
        count, arrays = len(training[0]), training
        draw = IndexDraw(program, seeds, count, batch_size)
    else:
        words: dict[str, Any] = {"batch_size": batch_size, "augmentation": False, "targets": [3]}
        count, draw = len(training), StreamedDraw(program, training, seeds, **words)
    alive = np.ones(TRIALS, bool)
    rates = {"learning_rate": np.ones(TRIALS, "f4"), "momentum": np.ones(TRIALS, "f4")}
    arguments = (
        program.start(np.arange(TRIALS, dtype=np.uint32)),
        *(rates, alive, draw(np.arange(TRIALS), alive, 0, 3), 3, arrays),
    )
    workload = replace(
        WORKLOADS["mnist/simple_cnn_base/momentum"],
        source="imagenet" if streamed else "mnist",
        form=program.trainer.form,
        train_examples=count,
    )
    abstract = abstract_advance(program, workload, batch_size, TRIALS)
    by_shapes, by_arrays = (
        program.compiled_advance.lower(*each).as_text() for each in (abstract, arguments)
    )
    assert by_shapes == by_arrays


def test_evaluations_of_few_long_texts_at_a_time_are_divided_among_devices():
    """Of 512 tokens four texts take as much as 32 of training; eight devices take one each."""
    workload = WORKLOADS["lm1b/transformer_narrow_and_shallow/nesterov_momentum"]
    program = program_of(workload, "float32", remat=False, devices=8)
    slots = program.slots(1)
    everywhere = NamedSharding(program.mesh, EVERYWHERE)
    arguments = (
        program.abstract_states(slots, pruned=False),
        jax.ShapeDtypeStruct((slots,), jnp.bool),
        abstract_examples(workload.form.evaluated, 100, sharding=everywhere),
    )
    module = jax.export.export(program.compiled_evaluate, platforms=["tpu"])(*arguments)
    divided = r'sdy\.sharding_constraint .*\[\{"data"\}, \{\}\]> : tensor<(\d+)x512xi32>'
    # Inputs and targets; the last four of the hundred cannot be divided.
    assert re.findall(divided, module.mlir_module()) == ["8", "8"]
