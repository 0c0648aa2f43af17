"""The training step: one pure function from a state and a batch to the next state and the loss.

A state is of one trial; functions of one are applied to groups of trials side by side.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax.typing import DTypeLike

from producers.datasets.forms import GREY_28, Form, ImageForm
from producers.models.language import LanguageModel
from producers.models.registry import model_definition
from producers.training.objectives import (
    LABEL_SMOOTHING,
    Metaparameters,
    Objective,
    Totals,
    objective_for,
)
from producers.training.optimizers import LEARNING_RATE, OptimizerDefinition, optimizer_definition
from producers.training.pruning import masked
from producers.training.schedules import ScheduleDefinition, schedule_definition

T = TypeVar("T")
Examples = tuple[jax.Array, jax.Array]
"""Inputs and targets, as `producers.datasets.split.Split` has them."""

# Of the positions of texts, whose logits exist one after the other.
_MOST_CHUNKS = 16


class TrialState(NamedTuple):
    """What one trial carries from step to step.

    Attributes:
        parameters: the model's weights, a pytree of float32 arrays.
        statistics: what else the model holds, an nnx.State: running statistics of batch
            normalisation, and the random state of dropout; most models have none.
        masks: bool arrays in the form of the parameters, False where a weight is pruned; None for
            a dense network.
        optimizer: the optimizer's own state.
        step: int32 scalar, updates made so far.
    """

    parameters: Any
    statistics: Any
    masks: Any
    optimizer: Any
    step: jax.Array


class Gradient(NamedTuple):
    """The gradient of a batch's mean loss.

    Attributes:
        loss: float32 scalar, the mean loss before the update, in nats, without label smoothing:
            of trials that differ in that, it is comparable.
        gradients: in the form of the parameters.
        statistics: those of the state, after the batch.
    """

    loss: jax.Array
    gradients: Any
    statistics: Any


@dataclass(frozen=True)
class Trainer:
    """The pure functions of one workload, for a single trial.

    The model's weights follow from the rngs that `new_model` takes. With `remat`, its activations
    are computed again in the backward pass instead of kept, and logits at each position of texts
    a chunk of positions at a time.
    """

    new_model: Callable[[nnx.Rngs], nnx.Module]
    form: Form
    objective: Objective
    optimizer: OptimizerDefinition
    schedule: ScheduleDefinition
    remat: bool = False

    @cached_property
    def _graph(self) -> Any:
        """Return the model without its arrays; kept, since large models take a second to build."""
        model = nnx.eval_shape(lambda: self.new_model(nnx.Rngs(0)))
        if self.remat:
            model.set_attributes(remat=True)
        return nnx.graphdef(model)

    def start(self, seed: jax.Array) -> TrialState:
        """Return the state before the first step, from the trial's seed, a uint32 scalar."""
        model = self.new_model(nnx.Rngs(jax.random.key(seed)))
        parameters, statistics = _split(model)
        optimizer = self._optimizer_start(parameters)
        return TrialState(parameters, statistics, None, optimizer, jnp.zeros((), jnp.int32))

    def pruned(self, state: TrialState, masks: Any) -> TrialState:
        """Return the state before the first step of a network whose weights are pruned by masks.

        The optimizer begins with these weights too: one that averages them would evaluate others.
        """
        parameters = masked(state.parameters, masks)
        optimizer = self._optimizer_start(parameters)
        return state._replace(parameters=parameters, masks=masks, optimizer=optimizer)

    def _optimizer_start(self, parameters: Any) -> Any:
        # It does not depend on the metaparameters' values.
        ones = dict.fromkeys((LEARNING_RATE, *self.optimizer.metaparameters), jnp.ones(()))
        return self.optimizer.direction(ones).init(parameters)

    def step(
        self,
        state: TrialState,
        metaparameters: Metaparameters,
        inputs: jax.Array,
        targets: jax.Array,
    ) -> tuple[TrialState, jax.Array]:
        """Return the state after one update from a batch, and the mean loss before it, in nats.

        Takes metaparameters, float32 scalars by name, and inputs and targets as `Split` has them.
        """
        gradient = self.gradient(state, metaparameters, (inputs, targets))
        return self.update(state, metaparameters, gradient), gradient.loss

    def gradient(
        self, state: TrialState, metaparameters: Metaparameters, examples: Examples
    ) -> Gradient:
        """Return the gradient of the mean loss of a batch that passes through the model at once."""

        def mean_loss(parameters: Any) -> tuple[jax.Array, Any]:
            total, plain, weight, statistics = self._loss(
                parameters, state.statistics, metaparameters, examples
            )
            divisor = _divisor(weight)
            return total / divisor, (plain / divisor, statistics)

        gradients, (loss, statistics) = jax.grad(mean_loss, has_aux=True)(state.parameters)
        return Gradient(loss, gradients, statistics)

    def accumulated_gradient(
        self, state: TrialState, metaparameters: Metaparameters, examples: Examples
    ) -> Gradient:
        """Return the gradient of the mean loss of a batch, a micro-batch after the other.

        Inputs and targets are [micro-batches, micro-batch, ...].
        """
        sums = self.with_micro_batches(self.no_sums(state), state, metaparameters, examples)
        return self.gradient_of_sums(sums, examples[0].shape[0])

    def no_sums(self, state: TrialState) -> Any:
        """Return the sums over no micro-batch, and what else the model holds before the first.

        The running statistics are summed: a layer's new average is linear in the batch's, and every
        micro-batch starts from the same, so that they are those of all ghost batches together, as
        without accumulation. What else there is, such as the random state of dropout, goes on from
        one micro-batch to the next.
        """
        averages, others = nnx.split_state(state.statistics, nnx.BatchStat, ...)
        zero = jnp.float32(0)
        return jax.tree.map(jnp.zeros_like, (zero, zero, state.parameters, averages)), others

    def with_micro_batches(
        self, sums: Any, state: TrialState, metaparameters: Metaparameters, examples: Examples
    ) -> Any:
        """Add the next micro-batches of a batch to the sums."""
        averages, _ = nnx.split_state(state.statistics, nnx.BatchStat, ...)

        def summed_loss(parameters: Any, others: Any, batch: Examples) -> Any:
            statistics = nnx.merge_state(averages, others)
            total, *recorded, statistics = self._loss(parameters, statistics, metaparameters, batch)
            return total, (*recorded, *nnx.split_state(statistics, nnx.BatchStat, ...))

        def add_one(carry: Any, batch: Examples) -> tuple[Any, None]:
            sums, others = carry
            gradient = jax.grad(summed_loss, has_aux=True)
            gradients, (plain, weight, after, others) = gradient(state.parameters, others, batch)
            return (jax.tree.map(jnp.add, sums, (plain, weight, gradients, after)), others), None

        return jax.lax.scan(add_one, sums, examples)[0]

    def gradient_of_sums(self, sums: Any, micro_batches: int) -> Gradient:
        """Return the gradient of the mean loss from the sums over all micro-batches."""
        (total, weight, gradients, summed), others = sums
        means = jax.tree.map(lambda value: value / micro_batches, summed)
        divisor = _divisor(weight)
        return Gradient(
            total / divisor,
            jax.tree.map(lambda gradient: gradient / divisor, gradients),
            nnx.merge_state(means, others),
        )

    def update(
        self, state: TrialState, metaparameters: Metaparameters, gradient: Gradient
    ) -> TrialState:
        """Return the state after an update."""
        gradients = masked(gradient.gradients, state.masks)
        direction = self.optimizer.direction(metaparameters)
        updates, optimizer = direction.update(gradients, state.optimizer, state.parameters)
        learning_rate = self.schedule.rate(metaparameters, state.step)
        updates = jax.tree.map(lambda update: -learning_rate * update, updates)
        parameters = optax.apply_updates(state.parameters, masked(updates, state.masks))
        return state._replace(
            parameters=parameters,
            statistics=gradient.statistics,
            optimizer=optimizer,
            step=state.step + 1,
        )

    def logits(self, parameters: Any, statistics: Any, inputs: jax.Array) -> jax.Array:
        """Return logits at evaluation, float32 [batch, classes] or [batch, length, vocabulary]."""
        model = self._model(parameters, statistics)
        logits: jax.Array = model(_model_inputs(inputs, self.form), train=False)
        return logits.astype(jnp.float32)

    def evaluated(self, state: TrialState) -> Any:
        """Return the weights that evaluations take, in the form of the parameters."""
        return self.optimizer.evaluated(state.optimizer, state.parameters)

    def evaluation_totals(self, parameters: Any, statistics: Any, examples: Examples) -> Totals:
        """Return the sums over these examples that the metrics of a split follow from."""
        model = self._model(parameters, statistics)
        return self._sums(model, examples, self.objective.totals, train=False)

    def _loss(
        self, parameters: Any, statistics: Any, metaparameters: Metaparameters, examples: Examples
    ) -> tuple[jax.Array, jax.Array, jax.Array, Any]:
        """Return the summed loss, that without label smoothing, their divisor, and the statistics.

        The last are what else the model holds after the batch.
        """
        model = self._model(parameters, statistics)
        plain = {name: metaparameters[name] for name in metaparameters if name != LABEL_SMOOTHING}

        def losses(logits: jax.Array, targets: jax.Array) -> tuple[jax.Array, ...]:
            trained, weight = self.objective.loss(logits, targets, metaparameters)
            if len(plain) == len(metaparameters):
                return trained, trained, weight
            return trained, self.objective.loss(logits, targets, plain)[0], weight

        return *self._sums(model, examples, losses, train=True), _split(model)[1]

    def _model(self, parameters: Any, statistics: Any) -> Any:
        return nnx.merge(self._graph, parameters, statistics, copy=True)

    def _sums(
        self,
        model: Any,
        examples: Examples,
        function: Callable[[jax.Array, jax.Array], T],
        *,
        train: bool,
    ) -> T:
        """Return sums over examples, a function of float32 logits and targets.

        Of a language model with `remat`, the logits of a chunk of positions exist at a time, for
        the sums over all chunks to be added.
        """
        inputs, targets = examples
        shown = _model_inputs(inputs, self.form)
        if not (self.remat and isinstance(model, LanguageModel)):
            logits = model(shown, train=train)
            return function(logits.astype(jnp.float32), targets)

        @partial(jax.checkpoint, prevent_cse=False)
        def of_chunk(chunk: Examples) -> T:
            features, targets = chunk
            return function(model.logits(features).astype(jnp.float32), targets)

        length = targets.shape[1]
        chunks = max(count for count in range(1, _MOST_CHUNKS + 1) if length % count == 0)
        apart = [
            array.reshape(len(array), chunks, -1, *array.shape[2:]).swapaxes(0, 1)
            for array in (model.features(shown), targets)
        ]
        of_chunks = jax.lax.map(of_chunk, tuple(apart))
        total: T = jax.tree.map(lambda sums: sums.sum(0), of_chunks)
        return total


def trainer(
    model: str,
    optimizer: str,
    schedule: str,
    form: Form = GREY_28,
    dtype: DTypeLike = jnp.float32,
    objective: str = "",
    remat: bool = False,
) -> Trainer:
    """Return the functions of a workload, whose model computes in `dtype`, weights in float32.

    With `remat`, models that can compute activations again in the backward pass do.
    """
    definition = model_definition(model)
    return Trainer(
        lambda rngs: definition.build(form, dtype, rngs),
        form,
        objective_for(form, objective),
        optimizer_definition(optimizer),
        schedule_definition(schedule),
        remat and definition.remat,
    )


def _divisor(weight: jax.Array) -> jax.Array:
    """Return the divisor of a loss and its gradient, which are zero where nothing counts."""
    return jnp.where(weight == 0, 1, weight)


def _split(model: nnx.Module) -> tuple[Any, Any]:
    parameters, rest = nnx.state(model, nnx.Param, ...)
    return parameters, rest


def _model_inputs(inputs: jax.Array, form: Form) -> jax.Array:
    """Standardise images, float32 [batch, height, width, channels]; return tokens as they are."""
    if not isinstance(form, ImageForm):
        return inputs
    levels = inputs.reshape(*inputs.shape[:3], form.channels).astype(jnp.float32)
    if form.by_image:
        axes = (1, 2, 3)
        deviation = levels.std(axes, keepdims=True)
        least = math.prod(levels.shape[1:]) ** -0.5
        centred = levels - levels.mean(axes, keepdims=True)
        return centred / jnp.maximum(deviation, least)
    images = levels / 255
    if form.mean == (0.0,) and form.deviation == (1.0,):
        return images
    standardised: jax.Array = (images - jnp.asarray(form.mean)) / jnp.asarray(form.deviation)
    return standardised


Axes = int | tuple[int | None, ...]


def of_group(function: Callable[..., Any], axes: Axes = 0) -> Callable[..., Any]:
    """Make a function of a group of trials from one that says what becomes of each trial.

    A group of one is computed without its trial axis: the axis is removed before `function` is
    called and added to what it returns. XLA makes slower code for products with a batch axis of
    one, and where a loop's body removes the axis it copies every weight at every step
    (benchmarks/models.py measures both).

    Args:
        function: takes `each`, then the arrays of the group. `each(f, axes)` is `f`, a function of
            one trial, applied to each trial of the group: `jax.vmap`, or `f` itself.
        axes: as `jax.vmap` takes it: which axis of each argument has the trials; the first must.
    """

    def grouped(*arguments: Any) -> Any:
        if jax.tree.leaves(arguments[0])[0].shape[0] > 1:
            return function(jax.vmap, *arguments)
        axis_of = axes if isinstance(axes, tuple) else (axes,) * len(arguments)
        of_the_only = [
            argument if axis is None else jax.tree.map(lambda array: array[0], argument)
            for argument, axis in zip(arguments, axis_of, strict=True)
        ]
        result = function(lambda of_one, _: of_one, *of_the_only)
        return jax.tree.map(lambda array: array[None], result)

    return grouped


def of_each(function: Callable[..., Any], axes: Axes = 0) -> Callable[..., Any]:
    """Make a function of a group of trials from a function of one trial; see `of_group`."""
    return of_group(lambda each, *arguments: each(function, axes)(*arguments), axes)


def of_each_if_any(function: Callable[..., Any], fill: float) -> Any:
    """Like `of_each`, but a group that has no trial alive is filled instead of computed.

    What is returned takes first which trials are alive, bool [trials], then the arguments.
    """
    # Traced once for its shapes and its code; inlined, it compiles as if it were called directly.
    computed = jax.jit(of_each(function), inline=True)

    def filled(*arguments: Any) -> Any:
        like = jax.eval_shape(computed, *arguments)
        return jax.tree.map(lambda array: jnp.full(array.shape, fill, array.dtype), like)

    def of_group(alive: jax.Array, *arguments: Any) -> Any:
        return jax.lax.cond(alive.any(), computed, filled, *arguments)

    return of_group
