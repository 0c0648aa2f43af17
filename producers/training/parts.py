"""Programs for batches that hosts hardly hold: a step of some micro-batches after the others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from producers.training.mesh import EVERYWHERE, TRIALS
from producers.training.objectives import Metaparameters
from producers.training.step import TrialState, of_each, of_group

if TYPE_CHECKING:
    from producers.training.block import BlockProgram


@dataclass(frozen=True)
class Parts:
    """A step's batches of so many micro-batches, read in parts, one after the other.

    A part is inputs and targets, as `BlockProgram.advance` takes those of a step with no others.
    """

    micro_batches: int
    read: Iterator[tuple[jax.Array, jax.Array]]


class PartsProgram:
    """Trains the trials of a block for a step of several parts."""

    def __init__(self, block: "BlockProgram") -> None:
        self._block = block
        batches = EVERYWHERE if block.shared_batches else TRIALS
        no_sums = partial(block.over_groups, of_each(block.trainer.no_sums))
        self._no_sums = block.compiled(no_sums, TRIALS)
        self._with_part = block.compiled(
            self._add_part_device, *(TRIALS, TRIALS, TRIALS, TRIALS, batches), donate=0
        )
        self._updated = cache(
            lambda micro_batches: block.compiled(
                partial(self._update_device, micro_batches),
                *(TRIALS, TRIALS, TRIALS, TRIALS),
                out=(block.by_trial, block.for_hosts),
                donate=1,
            )
        )

    def step(
        self, states: TrialState, metaparameters: Metaparameters, alive: jax.Array, batches: Parts
    ) -> tuple[TrialState, jax.Array]:
        """Return the states after a step, and the batch losses, float32 [trials, 1]."""
        sums = self._no_sums(states)
        for part in batches.read:
            # Two parts at most take the devices' memory.
            sums = self._with_part(jax.block_until_ready(sums), states, metaparameters, alive, part)
        updated: tuple[TrialState, jax.Array] = self._updated(batches.micro_batches)(
            sums, states, metaparameters, alive
        )
        return updated

    def _add_part_device(
        self,
        sums: Any,
        states: TrialState,
        metaparameters: Metaparameters,
        alive: jax.Array,
        part: Any,
    ) -> Any:
        """Add micro-batches of a step's batches to the sums over those before them."""
        batch_axis = None if self._block.shared_batches else 0

        def add(sums: Any, state: TrialState, metaparameters: Metaparameters, part: Any) -> Any:
            # The only step of the part.
            batch = jax.tree.map(lambda a: self._block.shared_among_devices(a[0], axis=1), part)
            return self._block.trainer.with_micro_batches(sums, state, metaparameters, batch)

        def add_group(each: Callable[..., Any], sums: Any, *arrays: Any) -> Any:
            *of_trials, alive, part = arrays
            added = each(add, (0, 0, 0, batch_axis))
            return jax.lax.cond(alive.any(), lambda: added(sums, *of_trials, part), lambda: sums)

        grouped = of_group(add_group, (0, 0, 0, 0, batch_axis))
        arrays = sums, states, metaparameters, alive
        if self._block.shared_batches:
            return self._block.over_groups(lambda *of_trials: grouped(*of_trials, part), *arrays)
        return self._block.over_groups(grouped, *arrays, part)

    def _update_device(
        self,
        micro_batches: int,
        sums: Any,
        states: TrialState,
        metaparameters: Metaparameters,
        alive: jax.Array,
    ) -> tuple[TrialState, jax.Array]:
        """Return the states after the step whose sums these are, and its losses."""

        def update(
            sums: Any, state: TrialState, metaparameters: Metaparameters
        ) -> tuple[TrialState, jax.Array]:
            gradient = self._block.trainer.gradient_of_sums(sums, micro_batches)
            return self._block.trainer.update(state, metaparameters, gradient), gradient.loss[None]

        def update_group(each: Callable[..., Any], sums: Any, *arrays: Any) -> Any:
            states, metaparameters, alive = arrays
            lost = jnp.full((*alive.shape, 1), jnp.nan, jnp.float32)
            return jax.lax.cond(
                alive.any(),
                lambda: each(update, 0)(sums, states, metaparameters),
                lambda: (states, lost),
            )

        updated: tuple[TrialState, jax.Array] = self._block.over_groups(
            of_group(update_group), sums, states, metaparameters, alive
        )
        return updated
