"""Compiled programs that train and evaluate a block of trials together.

Trials are sharded over the axis `trial` of the device mesh. Within a device they run in groups of
`lanes`: the trials of a group are vmapped, the groups follow one another. A CPU core is quickest
with one lane, since a trial's weights then stay in its cache; a GPU or TPU with all its trials in
one group (benchmarks/training.py compares them).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from producers.training.objectives import cross_entropy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from producers.datasets import Split
    from producers.training.step import Trainer, TrialState

    Metaparameters = Mapping[str, jax.Array]

TRIALS = PartitionSpec("trial")
EVERYWHERE = PartitionSpec()


def trial_mesh(devices: Sequence[jax.Device] | None = None) -> jax.sharding.Mesh:
    """A device mesh with the single axis `trial` over all local devices, or over those given."""
    chosen = list(devices or jax.local_devices())
    return jax.make_mesh((len(chosen),), ("trial",), devices=chosen, axis_types=(AxisType.Auto,))


@dataclass(frozen=True)
class SplitArrays:
    """A split on the devices: see `producers.datasets.Split`."""

    inputs: jax.Array
    targets: jax.Array


class BlockProgram:
    """Trains and evaluates blocks of trials of one workload.

    Every array of a block has its trials as first axis; `places` tells how many there have to be.

    Args:
        trainer: the pure functions of one trial.
        mesh: the devices.
        lanes: most trials that are vmapped together.
        shared_batches: whether all trials take the same examples.
        evaluation_batch: examples evaluated at a time.
    """

    def __init__(
        self,
        trainer: Trainer,
        mesh: jax.sharding.Mesh,
        *,
        lanes: int,
        shared_batches: bool,
        evaluation_batch: int,
    ) -> None:
        self._trainer = trainer
        self._mesh = mesh
        self._lanes = lanes
        self._batch_axis = None if shared_batches else 0
        self._evaluation_batch = evaluation_batch
        batches = EVERYWHERE if shared_batches else TRIALS
        self._start = self._compiled(jax.vmap(trainer.start), TRIALS)
        self._advance = self._compiled(
            self._advance_device,
            *(TRIALS, TRIALS, TRIALS, batches, EVERYWHERE, EVERYWHERE, EVERYWHERE),
            donate=0,
        )
        self._evaluate = self._compiled(
            self._evaluate_device, TRIALS, TRIALS, EVERYWHERE, EVERYWHERE
        )

    def places(self, trials: int) -> int:
        """How many places a block needs to hold so many trials, evenly on devices and groups."""
        devices = self._mesh.devices.size
        share = -(-trials // devices)
        return devices * (share if share <= self._lanes else -(-share // self._lanes) * self._lanes)

    def put(self, split: Split) -> SplitArrays:
        """Copies a split to every device."""
        everywhere = NamedSharding(self._mesh, EVERYWHERE)
        return SplitArrays(
            jax.device_put(split.inputs, everywhere), jax.device_put(split.targets, everywhere)
        )

    def start(self, seeds: np.ndarray) -> TrialState:
        """The states before the first step, from the trials' seeds (uint32 [trials])."""
        states: TrialState = self._start(seeds)
        return states

    def advance(
        self,
        states: TrialState,
        metaparameters: Mapping[str, np.ndarray],
        alive: np.ndarray,
        batches: np.ndarray,
        steps: int,
        training: SplitArrays,
    ) -> tuple[TrialState, jax.Array]:
        """Trains the trials that are alive for some steps, or until their loss is not finite.

        Args:
            states: of all trials; their memory is reused, so that they are gone afterwards.
            metaparameters: name to float32 [trials].
            alive: bool [trials].
            batches: the training examples of each step, int32 [trials, capacity, batch], or
                [capacity, batch] where all trials share them.
            steps: at most capacity.
            training: the training split.

        Returns:
            The new states, and the batch losses, float32 [trials, capacity]. They are valid for
            the first `steps` steps of a trial that was alive, up to the first that is not finite.
        """
        result: tuple[TrialState, jax.Array] = self._advance(
            states, metaparameters, alive, batches, steps, training.inputs, training.targets
        )
        return result

    def evaluate(
        self, states: TrialState, alive: np.ndarray, split: SplitArrays
    ) -> tuple[jax.Array, jax.Array]:
        """Evaluates the trials that are alive.

        Returns:
            Mean cross entropy (float32 [trials], nats an example) and the number of wrongly
            classified examples (int32 [trials]); zeros for a group without a trial alive.
        """
        result: tuple[jax.Array, jax.Array] = self._evaluate(
            states.parameters, alive, split.inputs, split.targets
        )
        return result

    def _compiled(
        self, function: Callable[..., Any], *specs: PartitionSpec, donate: int | None = None
    ) -> Callable[..., Any]:
        sharded = jax.shard_map(
            function, mesh=self._mesh, in_specs=specs, out_specs=TRIALS, check_vma=False
        )
        return jax.jit(sharded, donate_argnums=() if donate is None else donate)

    def _over_groups(self, function: Callable[..., Any], *arrays: Any) -> Any:
        """Maps a function over the groups of a device's trials, one group after the other."""
        places = jax.tree.leaves(arrays)[0].shape[0]
        lanes = min(self._lanes, places)
        grouped = jax.tree.map(lambda a: a.reshape(-1, lanes, *a.shape[1:]), arrays)
        results = jax.lax.map(lambda group: function(*group), grouped)
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), results)

    def _advance_device(
        self,
        states: TrialState,
        metaparameters: Metaparameters,
        alive: jax.Array,
        batches: jax.Array,
        steps: jax.Array,
        images: jax.Array,
        labels: jax.Array,
    ) -> Any:
        steps_axis = 0 if self._batch_axis is None else 1
        one_step_of_each = jax.vmap(self._trainer.step, (0, 0, self._batch_axis, self._batch_axis))

        def advance_group(
            states: TrialState, metaparameters: Metaparameters, alive: jax.Array, batches: jax.Array
        ) -> tuple[TrialState, jax.Array]:
            """Trains one group until all its steps are done or none of its trials is alive."""
            losses = jnp.full((alive.shape[0], batches.shape[steps_axis]), jnp.nan, jnp.float32)

            def unfinished(carry: tuple[Any, ...]) -> jax.Array:
                done, _, _, running = carry
                more: jax.Array = (done < steps) & running.any()
                return more

            def one_step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
                done, states, losses, running = carry
                examples = jax.lax.dynamic_index_in_dim(batches, done, steps_axis, keepdims=False)
                batch = images[examples], labels[examples]
                states, loss = one_step_of_each(states, metaparameters, *batch)
                losses = jax.lax.dynamic_update_index_in_dim(losses, loss, done, 1)
                return done + 1, states, losses, running & jnp.isfinite(loss)

            start = jnp.zeros((), jnp.int32), states, losses, alive
            _, states, losses, _ = jax.lax.while_loop(unfinished, one_step, start)
            return states, losses

        if self._batch_axis is None:
            with_batches = partial(advance_group, batches=batches)
            return self._over_groups(with_batches, states, metaparameters, alive)
        return self._over_groups(advance_group, states, metaparameters, alive, batches)

    def _evaluate_device(
        self, parameters: Any, alive: jax.Array, images: jax.Array, labels: jax.Array
    ) -> Any:
        count = images.shape[0] // self._evaluation_batch
        slices = jax.tree.map(
            lambda a: a.reshape(count, self._evaluation_batch, *a.shape[1:]), (images, labels)
        )

        def add_slice(totals: Any, batch: tuple[jax.Array, jax.Array], parameters: Any) -> Any:
            images, labels = batch
            logits = self._trainer.logits(parameters, {}, images)
            total_loss, wrong = totals
            loss = total_loss + cross_entropy(logits, labels).sum()
            return (loss, wrong + (logits.argmax(-1) != labels).sum(dtype=jnp.int32)), None

        def evaluate(parameters: Any) -> tuple[jax.Array, jax.Array]:
            zeros = jnp.zeros((), jnp.float32), jnp.zeros((), jnp.int32)
            (loss, wrong), _ = jax.lax.scan(
                lambda totals, batch: add_slice(totals, batch, parameters), zeros, slices
            )
            return loss / images.shape[0], wrong

        def evaluate_group(parameters: Any, alive: jax.Array) -> Any:
            def nothing(_: Any) -> tuple[jax.Array, jax.Array]:
                return jnp.zeros(alive.shape, jnp.float32), jnp.zeros(alive.shape, jnp.int32)

            return jax.lax.cond(alive.any(), jax.vmap(evaluate), nothing, parameters)

        return self._over_groups(evaluate_group, parameters, alive)
