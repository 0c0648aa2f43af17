"""Variants of two fully connected networks: does any choice of ours turn the effect of width?

The paper's fc_128_128_128 scales 2.65 times as far as its fc_1024, ours 0.75 times. Trained with
`dbtool produce --from data/width_variants.py`.
"""

import itertools
import math
from dataclasses import replace
from functools import partial

from flax import nnx

from producers.own import EvaluationRule, ModelDefinition
from producers.workloads.registry import WORKLOADS as PUBLISHED

WIDTHS = {"fc_128_128_128": (128, 128, 128), "fc_1024": (1024,)}
INITIAL = {
    "he": nnx.initializers.he_normal(),
    "glorot": nnx.initializers.glorot_uniform(),
    "no_biases": nnx.initializers.lecun_normal(),
}


class Network(nnx.Module):
    """ReLU layers and a linear one, as FullyConnected, with other weights or without biases."""

    def __init__(self, form, dtype, rngs, *, widths, initial, biases):
        sizes = [math.prod(form.input_shape), *widths, *form.logits_shape]
        self.layers = nnx.List(
            nnx.Linear(*pair, kernel_init=initial, use_bias=biases, dtype=dtype, rngs=rngs)
            for pair in itertools.pairwise(sizes)
        )

    def __call__(self, inputs, *, train):
        """Return logits [batch, classes] of images, float32 [batch, height, width, channels]."""
        del train  # it makes no difference to this model
        activations = inputs.reshape(inputs.shape[0], -1)
        *hidden, last = self.layers
        for layer in hidden:
            activations = nnx.relu(layer(activations))
        return last(activations)


def _model(name, kind):
    build = partial(Network, widths=WIDTHS[name], initial=INITIAL[kind], biases=kind != "no_biases")
    return ModelDefinition(f"{name}_{kind}", build, 500, {"variant": kind})


def _published(name):
    return PUBLISHED[f"mnist/{name}/sgd"]


MODELS = [_model(name, kind) for name in WIDTHS for kind in INITIAL]
# The same networks, evaluated at every step.
MODELS += [
    replace(
        _model(name, "he"),
        name=f"{name}_every_step",
        build=partial(
            Network, widths=WIDTHS[name], initial=nnx.initializers.lecun_normal(), biases=True
        ),
        settings={"variant": "every_step"},
    )
    for name in WIDTHS
]
WORKLOADS = [
    replace(_published(name), model=f"{name}_{kind}", batch_sizes=(4, 64, 4_096))
    for name in WIDTHS
    for kind in INITIAL
] + [
    replace(
        _published(name),
        model=f"{name}_every_step",
        batch_sizes=(64, 4_096),
        evaluation=EvaluationRule(every=1),
    )
    for name in WIDTHS
]
