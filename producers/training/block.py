"""Compiled programs that train and evaluate a block of trials together.

Trials are sharded over the axis `trial` of the device mesh. Within a device they run in groups of
`lanes`: the trials of a group are vmapped, the groups follow one another. A CPU core is quickest
with one lane, since a trial's weights then stay in its cache; a GPU or TPU with all its trials in
one group (benchmarks/training.py compares them).

Along the axis `data`, XLA divides the examples of each batch among the devices. What is computed
does not depend on how: a batch's mean loss and its ghost batches are those of the whole batch.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from producers.datasets.split import Split
from producers.training.measures import Measure
from producers.training.mesh import DATA, EVERYWHERE, TRIAL, TRIALS, put, put_everywhere
from producers.training.objectives import Metaparameters
from producers.training.parts import Parts, PartsProgram
from producers.training.pruning import connection_sensitivity, masks
from producers.training.step import Examples, Trainer, TrialState, of_each, of_each_if_any, of_group


class BlockProgram:
    """Trains and evaluates blocks of trials of one workload.

    Every array of a block has its trials as first axis; `slots` tells how many there have to be.

    Args:
        trainer: the pure functions of one trial.
        mesh: the devices, as `producers.training.mesh.device_mesh` makes it.
        lanes: most trials that are vmapped together.
        shared_batches: whether all trials take the same examples.
        evaluation_batch: examples evaluated at a time.
        divisor: examples of training that pass through the model at a time are at most so many, or
            a multiple of them.
        micro_batch: most examples of a batch that pass through the model at a time; larger batches
            accumulate their gradient over micro-batches.

    Attributes:
        devices_of_trials: devices, or groups of them, that the trials are divided among.
        devices_a_trial: devices that share each batch.
        compiled_start: what `start` calls, compiled by JAX for the arrays that it is given, or
            lowered from their shapes and types alone.
        compiled_advance: what `advance` calls, likewise.
        compiled_evaluate: what `evaluate` calls, likewise.
    """

    def __init__(
        self,
        trainer: Trainer,
        mesh: jax.sharding.Mesh,
        *,
        lanes: int,
        shared_batches: bool,
        evaluation_batch: int,
        divisor: int = 1,
        micro_batch: int | None = None,
    ) -> None:
        self.trainer = trainer
        self.mesh = mesh
        self.devices_of_trials: int = mesh.shape[TRIAL]
        self.devices_a_trial: int = mesh.shape[DATA]
        self.shared_batches = shared_batches
        self._lanes = lanes
        self.evaluation_batch = evaluation_batch
        self._divisor = divisor
        self._micro_batch = micro_batch
        self.by_trial = NamedSharding(mesh, TRIALS)
        # So that no process waits once more for what others hold.
        self.for_hosts = NamedSharding(mesh, EVERYWHERE if mesh.is_multi_process else TRIALS)
        self.compiled_start = self.compiled(jax.vmap(trainer.start), TRIALS)
        batches = EVERYWHERE if shared_batches else TRIALS
        self.compiled_advance = self.compiled(
            self._advance_device,
            *(TRIALS, TRIALS, TRIALS, batches, EVERYWHERE, EVERYWHERE),
            out=(self.by_trial, self.for_hosts),
            donate=0,
        )
        self._in_parts = PartsProgram(self)
        # The states of some slots alone, int [new slots].
        self.kept: Callable[[TrialState, np.ndarray], TrialState] = jax.jit(
            lambda states, slots: jax.tree.map(lambda array: array[slots], states),
            out_shardings=self.by_trial,
        )
        self._measure = cache(
            lambda measure: self.compiled(
                partial(self._measure_device, measure),
                *(TRIALS, TRIALS, TRIALS, EVERYWHERE, EVERYWHERE),
                out=self.for_hosts,
            )
        )
        evaluated = TRIALS, TRIALS, EVERYWHERE
        self.compiled_evaluate = self.compiled(
            self._evaluate_device, *evaluated, out=self.for_hosts
        )
        self._sensitivity = self.compiled(self._sensitivity_device, TRIALS, EVERYWHERE)

    def slots(self, trials: int) -> int:
        """Return how many slots a block of `trials` trials needs, evenly on devices and groups."""
        devices = self.devices_of_trials
        share = -(-trials // devices)
        return devices * (share if share <= self._lanes else -(-share // self._lanes) * self._lanes)

    def side_by_side(self, trials: int) -> int:
        """Return how many of `trials` trials a device trains at the same time."""
        return min(self._lanes, self.slots(trials) // self.devices_of_trials)

    def batch_shape(self, batch_size: int) -> tuple[int, int]:
        """Return the number of micro-batches in a batch and the examples in each.

        A micro-batch is the largest divisor of the batch size that is no more than requested, and
        that the model takes.
        """
        if self._micro_batch is None:
            return 1, batch_size
        micro_batch = next(
            size
            for size in range(min(self._micro_batch, batch_size), 0, -1)
            if batch_size % size == 0 and (size <= self._divisor or size % self._divisor == 0)
        )
        return batch_size // micro_batch, micro_batch

    def put(self, split: Split) -> Examples:
        """Copy a split to every device; CPU cores have one copy together."""
        return put_everywhere(split.inputs, self.mesh), put_everywhere(split.targets, self.mesh)

    def start(self, seeds: np.ndarray) -> TrialState:
        """Return the states before the first step, from the trials' seeds (uint32 [trials])."""
        states: TrialState = self.compiled_start(self._put_trials(seeds))
        return states

    def advance(
        self,
        states: TrialState,
        metaparameters: Mapping[str, np.ndarray],
        alive: np.ndarray,
        batches: Any,
        steps: int,
        training: Examples | None,
    ) -> tuple[TrialState, jax.Array]:
        """Train the trials that are alive for some steps, or until their loss is not finite.

        Args:
            states: of all trials; their memory is reused, so that they are gone afterwards.
            metaparameters: name to float32 [trials].
            alive: bool [trials].
            batches: the training examples of each step, int32 [trials, capacity, micro-batches,
                micro-batch], without the first axis where all trials share them. Without a training
                split, the inputs and targets themselves, each of that shape and that of an example,
                or `Parts` of those of a single step.
            steps: at most capacity.
            training: the training split; None where the batches hold the examples themselves.

        Returns:
            The new states, and the batch losses, float32 [trials, capacity]. They are valid for
            the first `steps` steps of a trial that was alive, up to the first that is not finite.
        """
        on_devices = jax.tree.map(self._put_trials, (dict(metaparameters), alive))
        if isinstance(batches, Parts):
            values, trained = on_devices
            return self._in_parts.step(states, values, trained, batches)
        if training is not None and self.mesh.is_multi_process:
            batches = put(batches, self.mesh, EVERYWHERE if self.shared_batches else TRIALS)
        advanced: tuple[TrialState, jax.Array] = self.compiled_advance(
            states, *on_devices, batches, steps, training
        )
        return advanced

    def evaluate(
        self, states: TrialState, alive: np.ndarray, split: Examples
    ) -> dict[str, jax.Array]:
        """Compute the totals of a split for the trials that are alive, summed over its examples.

        Returns:
            Name to [trials, ...], as the objective's metrics take them; zeros for a group without a
            trial alive.
        """
        totals: dict[str, jax.Array] = self.compiled_evaluate(
            states._replace(masks=None), self._put_trials(alive), split
        )
        return totals

    def abstract_states(self, slots: int, *, pruned: bool) -> TrialState:
        """Return the shapes, types and devices of the states of `slots` slots."""
        states = jax.eval_shape(self.compiled_start, jax.ShapeDtypeStruct((slots,), jnp.uint32))
        if pruned:
            masks = jax.tree.map(
                lambda weights: jax.ShapeDtypeStruct(weights.shape, jnp.bool), states.parameters
            )
            states = states._replace(masks=masks)
        on_devices: TrialState = jax.tree.map(
            lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=self.by_trial), states
        )
        return on_devices

    def prune(
        self, states: TrialState, sparsity: float, training: Examples, *, biases: bool = False
    ) -> TrialState:
        """Prune each trial's network by its connection sensitivity over the training split."""
        sensitivity = self._sensitivity(states, training)

        def prune(state: TrialState, sensitivity: Any) -> TrialState:
            kept = masks(state.parameters, sensitivity, sparsity, biases=biases)
            return self.trainer.pruned(state, kept)

        prune_device = partial(self.over_groups, of_each(prune))
        result: TrialState = self.compiled(prune_device, TRIALS, TRIALS)(states, sensitivity)
        return result

    def measure(
        self,
        states: TrialState,
        metaparameters: Mapping[str, np.ndarray],
        alive: np.ndarray,
        examples: Examples,
        measure: Measure,
        step: int,
    ) -> dict[str, jax.Array]:
        """Take a measurement, after `step` updates, of the trials that are alive.

        Takes the training examples that it is of, or draws from; the rest is as for `advance`.

        Returns:
            Metric to float32 [trials]; NaN for a group without a trial alive.
        """
        on_devices = jax.tree.map(self._put_trials, (dict(metaparameters), alive))
        metrics: dict[str, jax.Array] = self._measure(measure)(states, *on_devices, examples, step)
        return metrics

    def _put_trials(self, array: np.ndarray) -> jax.Array | np.ndarray:
        return put(array, self.mesh, TRIALS) if self.mesh.is_multi_process else array

    def compiled(
        self,
        function: Callable[..., Any],
        *specs: PartitionSpec,
        out: Any = None,
        donate: int | None = None,
    ) -> jax.stages.Wrapped:
        """Return a function of what a device holds, compiled for all of the mesh.

        Args:
            function: takes and returns pytrees of arrays, trials first.
            specs: how each argument is divided.
            out: the shardings of what is returned; None for those of trials.
            donate: the argument whose memory is reused.
        """
        axes = {TRIAL} if self.devices_a_trial > 1 else {TRIAL, DATA}
        sharded = jax.shard_map(
            function,
            mesh=self.mesh,
            in_specs=specs,
            out_specs=TRIALS,
            axis_names=axes,
            check_vma=False,
        )
        return jax.jit(
            sharded,
            donate_argnums=() if donate is None else donate,
            out_shardings=out or self.by_trial,
        )

    def over_groups(self, function: Callable[..., Any], *arrays: Any) -> Any:
        """Apply a function of a group of trials to one group of a device's after the other."""
        slots = jax.tree.leaves(arrays)[0].shape[0]
        lanes = min(self._lanes, slots)
        grouped = jax.tree.map(lambda a: a.reshape(-1, lanes, *a.shape[1:]), arrays)
        results = jax.lax.map(lambda group: function(*group), grouped)
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), results)

    def shared_among_devices(self, examples: jax.Array, axis: int) -> jax.Array:
        """Divide an axis of examples among the devices of a trial, where they divide it evenly."""
        if self.devices_a_trial == 1 or examples.shape[axis] % self.devices_a_trial:
            return examples
        spec = PartitionSpec(*[None] * axis, DATA)
        divided: jax.Array = jax.lax.with_sharding_constraint(examples, spec)
        return divided

    def _advance_device(
        self,
        states: TrialState,
        metaparameters: Metaparameters,
        alive: jax.Array,
        batches: Any,
        steps: jax.Array,
        training: Examples | None,
    ) -> Any:
        batch_axis = None if self.shared_batches else 0

        def advance_group(
            each: Callable[..., Any],
            states: TrialState,
            metaparameters: Metaparameters,
            alive: jax.Array,
            batches: Any,
        ) -> tuple[TrialState, jax.Array]:
            one_step_of_each = each(partial(self._one_step, training), (0, 0, batch_axis))
            steps_axis = 0 if self.shared_batches else alive.ndim
            capacity = jax.tree.leaves(batches)[0].shape[steps_axis]
            losses = jnp.full((*alive.shape, capacity), jnp.nan, jnp.float32)

            def unfinished(carry: tuple[Any, ...]) -> jax.Array:
                done, _, _, running = carry
                more: jax.Array = (done < steps) & running.any()
                return more

            def one_step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
                done, states, losses, running = carry
                batch = jax.tree.map(
                    lambda a: jax.lax.dynamic_index_in_dim(a, done, steps_axis, keepdims=False),
                    batches,
                )
                states, loss = one_step_of_each(states, metaparameters, batch)
                losses = jax.lax.dynamic_update_index_in_dim(losses, loss, done, -1)
                return done + 1, states, losses, running & jnp.isfinite(loss)

            start = jnp.zeros((), jnp.int32), states, losses, alive
            _, states, losses, _ = jax.lax.while_loop(unfinished, one_step, start)
            return states, losses

        advance = of_group(advance_group, (0, 0, 0, batch_axis))
        if self.shared_batches:
            return self.over_groups(
                lambda *of_trials: advance(*of_trials, batches), states, metaparameters, alive
            )
        return self.over_groups(advance, states, metaparameters, alive, batches)

    def _one_step(
        self,
        training: Examples | None,
        state: TrialState,
        metaparameters: Metaparameters,
        batch: Any,
    ) -> tuple[TrialState, jax.Array]:
        divide = partial(self.shared_among_devices, axis=1)
        batch = jax.tree.map(divide, batch)
        if training is not None:
            batch = tuple(divide(examples[batch]) for examples in training)
        if batch[0].shape[0] == 1:
            only = batch[0][0], batch[1][0]
            gradient = self.trainer.gradient(state, metaparameters, only)
        else:
            gradient = self.trainer.accumulated_gradient(state, metaparameters, batch)
        return self.trainer.update(state, metaparameters, gradient), gradient.loss

    def _evaluate_device(self, states: TrialState, alive: jax.Array, split: Examples) -> Any:
        def evaluate(state: TrialState) -> Any:
            model = self.trainer.evaluated(state), state.statistics
            return self._sum_over(split, partial(self.trainer.evaluation_totals, *model))

        return self.over_groups(of_each_if_any(evaluate, 0), alive, states)

    def _sensitivity_device(self, states: TrialState, training: Examples) -> Any:
        def sensitivity(state: TrialState) -> Any:
            def gradients(examples: Examples) -> Any:
                found = self.trainer.gradient(state, {}, examples)
                # The sum over the examples; their number makes no difference to the order.
                return jax.tree.map(lambda g: g * examples[0].shape[0], found.gradients)

            return connection_sensitivity(state.parameters, self._sum_over(training, gradients))

        return self.over_groups(of_each(sensitivity), states)

    def _measure_device(
        self,
        measure: Measure,
        states: TrialState,
        metaparameters: Metaparameters,
        alive: jax.Array,
        examples: Any,
        step: jax.Array,
    ) -> Any:
        slices = measure.slices(examples, self.evaluation_batch, step, self._divisor)

        def measured(state: TrialState, metaparameters: Metaparameters) -> dict[str, jax.Array]:
            return measure.function(self.trainer, state, metaparameters, slices)

        return self.over_groups(of_each_if_any(measured, jnp.nan), alive, states, metaparameters)

    def _sum_over(self, split: Examples, function: Callable[[Examples], Any]) -> Any:
        examples, *shape = split[0].shape
        # Fewer of those that are longer than in training, so that they take as much memory.
        trained_on = math.prod(self.trainer.form.input_shape)
        together = max(1, self.evaluation_batch * trained_on // math.prod(shape))
        # Rounded up to whole shares of the devices: what they cannot divide, each computes whole.
        size = min(-(-together // self.devices_a_trial) * self.devices_a_trial, examples)
        whole = examples // size * size
        slices = jax.tree.map(lambda a: a[:whole].reshape(-1, size, *a.shape[1:]), split)

        def add_slice(sums: Any, part: Examples) -> tuple[Any, None]:
            divided = jax.tree.map(partial(self.shared_among_devices, axis=0), part)
            return jax.tree.map(jnp.add, sums, function(divided)), None

        function = jax.jit(function, inline=True)  # traced once for its shapes and its code
        like = jax.eval_shape(function, jax.tree.map(lambda a: a[:size], split))
        sums = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), like)
        sums, _ = jax.lax.scan(add_slice, sums, slices)
        if whole < examples:
            sums, _ = add_slice(sums, jax.tree.map(lambda a: a[whole:], split))
        return sums
