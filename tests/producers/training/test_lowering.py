"""Every workload's training lowers for TPUs as a sweep runs it, by shapes and types alone."""

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
from jax.sharding import NamedSharding

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
PUBLISHED = [name for name, each in WORKLOADS.items() if each.paper == BATCH_SIZE_STUDY]
SPARSE = [name for name, each in WORKLOADS.items() if each.paper == SPARSITY_STUDY]
# The first of each kind of network; others differ in their sizes, or take longest. Residual
# networks are quick in the sparsity study.
FIRST = {
    WORKLOADS[name].model: name
    for name in reversed(PUBLISHED)
    if re.search("fc_1024/|simple_cnn_base|transformer_shallow|lstm", name)
}
QUICK = {name for name in SPARSE if re.search("_90/(mnist|cifar_10)/.*/nesterov", name)}
QUICK |= set(FIRST.values())


def program_of(workload: Workload, dtype: str, *, remat: bool, devices: int) -> BlockProgram:
    """As sweeps make it where the devices are no CPU cores, so many of which share a trial."""
    functions = (workload.model, workload.optimizer, workload.schedule, workload.form, dtype)
    size = model_definition(workload.model).evaluation_batch
    made = trainer(*functions, remat=remat)
    return blocks.program_of(made, 8, devices, lanes=sys.maxsize, evaluation_batch=size)


def exported(workload: Workload, batch_size: int, dtype: str, *, remat: bool = False) -> Exported:
    """The training of a block, lowered for TPUs.

    On eight devices: each with trials of its own, or four that share the batches of a trial.
    """
    trials, devices = (2, 4) if DATASETS[workload.source].is_streamed else (16, 1)
    program = program_of(workload, dtype, remat=remat, devices=devices)
    arguments = abstract_advance(program, workload, batch_size, trials)
    return jax.export.export(program.compiled_advance, platforms=["tpu"])(*arguments)


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


@pytest.mark.parametrize("name", quick_few([*PUBLISHED, *SPARSE], QUICK))
def test_the_products_of_a_lowered_block(name):
    """Published workloads at their largest batch in bfloat16, others at their smallest."""
    workload = WORKLOADS[name]
    dtype = "bfloat16" if name in PUBLISHED else "float32"
    batch_size = sorted(workload.batch_sizes)[-1 if name in PUBLISHED else 0]
    lowered = exported(workload, batch_size, dtype)
    assert (lowered.platforms, lowered.nr_devices) == (("tpu",), 8)
    module = lowered.mlir_module()
    assert products(module) == expected_products(workload.model, DTYPES[dtype])
    assert "stablehlo.custom_call" not in module


# Of each block what is needed of its own products: all but those whose results are only added. The
# logits are needed once more, too.
AGAIN = {"resnet_50": 2 * 16, "transformer_shallow": 7 * 2 + 1, "lstm": 1 + 1}


@pytest.mark.parametrize("model", quick_few(AGAIN, ["transformer_shallow", "lstm"]))
def test_products_are_computed_again_with_remat(model):
    workload = next(each for each in WORKLOADS.values() if each.model == model)
    lowered = exported(workload, min(workload.batch_sizes), "float32", remat=True)
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
