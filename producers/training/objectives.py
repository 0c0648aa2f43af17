"""Objectives: the loss that training minimises, and the metrics that evaluations measure.

A loss is summed over a batch and comes with its divisor. Logits are float32, targets as
`producers.datasets.Split` has them, metaparameters float32 scalars by name.

An evaluation adds up totals over slices of a split; the metrics follow from the sums, so that they
depend neither on the slices nor on the devices that shared them.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dbtool.core.errors import unknown
from producers.datasets.forms import PADDING, Form

Metaparameters = Mapping[str, jax.Array]

Totals = dict[str, jax.Array]
Loss = tuple[jax.Array, jax.Array]
LABEL_SMOOTHING = "label_smoothing"
"""The metaparameter that a loss recorded of a batch goes without."""
_SCORE_BINS = 4096


@runtime_checkable
class Objective(Protocol):
    """A loss and its metrics; those of a user's own file are in its dictionary OBJECTIVES.

    A metric NAME is recorded as train_NAME, val_NAME and test_NAME, the loss of each step's own
    batch as batch_LOSS. A trial ends where its loss is not finite.
    """

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Return the names of the metrics, the loss first."""
        ...

    def loss(
        self, logits: jax.Array, targets: jax.Array, metaparameters: Metaparameters
    ) -> tuple[jax.Array, jax.Array]:
        """Return the sum and the divisor of the loss of a batch, float32 scalars.

        Those of parts of a batch are added. A batch whose divisor is zero has a sum of zero.
        """
        ...

    def totals(self, logits: jax.Array, targets: jax.Array) -> Totals:
        """Return sums over examples, by name, from which the metrics follow."""
        ...

    def metrics(self, totals: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the metrics, float64 [trials] each, of totals [trials, ...]."""
        ...


class Classification:
    """Cross entropy of the one class of each image, in nats; and the share of wrong classes.

    With the metaparameter label_smoothing, training takes that share of the probability from the
    class and spreads it over all others (Shallue et al., 2018, section 4.6; stated by init2winit, a
    later library by one of the authors, which tells this style from spreading it over all).
    """

    metric_names = ("cross_entropy_error", "classification_error")

    def loss(self, logits: jax.Array, targets: jax.Array, metaparameters: Metaparameters) -> Loss:
        """Return the sum and divisor of the loss, for logits [batch, classes], integers [batch]."""
        losses = cross_entropy(logits, targets)
        if LABEL_SMOOTHING in metaparameters:
            # As much as leaves that of the class when it is spread over all, the class among them.
            classes = logits.shape[-1]
            smoothing = metaparameters[LABEL_SMOOTHING] * classes / max(1, classes - 1)
            uniform = -jax.nn.log_softmax(logits).mean(-1)
            losses = (1 - smoothing) * losses + smoothing * uniform
        return losses.sum(), jnp.float32(losses.size)

    def totals(self, logits: jax.Array, targets: jax.Array) -> Totals:
        """Return the summed cross entropy, the number of wrong classes and that of examples."""
        wrong = (logits.argmax(-1) != targets).sum(dtype=jnp.int32)
        loss = cross_entropy(logits, targets).sum()
        return {"loss": loss, "wrong": wrong, "examples": jnp.int32(targets.shape[0])}

    def metrics(self, totals: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return cross_entropy_error in nats per example and classification_error as a share."""
        return {
            "cross_entropy_error": _ratio(totals["loss"], totals["examples"]),
            "classification_error": totals["wrong"] / np.maximum(totals["examples"], 1),
        }


class MultiLabel:
    """Binary cross entropy of every class, and average precision.

    With the metaparameter label_smoothing s, training wants of each class the probability
    (1 - s) y + s / 2 instead of y, 1 where it is there and 0 where it is not, as TensorFlow's
    sigmoid cross entropy does (recalled).

    The average precision is of all pairs of an image and a class, ranked together (micro average,
    chosen). Scores are counted in bins of equal width of the probability, the pairs of a bin as
    ties, so that devices can share a split.
    """

    metric_names = ("cross_entropy_error", "average_precision")

    def loss(self, logits: jax.Array, targets: jax.Array, metaparameters: Metaparameters) -> Loss:
        """Return the summed loss and how many images, for logits and uint8 [batch, classes]."""
        smoothing = metaparameters.get(LABEL_SMOOTHING, jnp.float32(0))
        wanted = (1 - smoothing) * targets.astype(jnp.float32) + smoothing / 2
        losses = optax.losses.sigmoid_binary_cross_entropy(logits, wanted)
        return losses.sum(), jnp.float32(targets.shape[0])

    def totals(self, logits: jax.Array, targets: jax.Array) -> Totals:
        """Return the summed loss, the number of images, and the pairs of each kind in each bin."""
        scores = jax.nn.sigmoid(logits).ravel()
        bins = jnp.minimum((scores * _SCORE_BINS).astype(jnp.int32), _SCORE_BINS - 1)
        empty = jnp.zeros(_SCORE_BINS, jnp.int32)
        labels = targets.ravel()
        losses = optax.losses.sigmoid_binary_cross_entropy(logits, targets.astype(jnp.float32))
        return {
            "loss": losses.sum(),
            "examples": jnp.int32(targets.shape[0]),
            "present": empty.at[bins].add((labels == 1).astype(jnp.int32)),
            "absent": empty.at[bins].add((labels == 0).astype(jnp.int32)),
        }

    def metrics(self, totals: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return cross_entropy_error in nats per image and average_precision from 0 to 1.

        Without a positive pair, the average precision is NaN.
        """
        # From the highest scores to the lowest.
        present = np.cumsum(totals["present"][:, ::-1], axis=-1, dtype=np.float64)
        absent = np.cumsum(totals["absent"][:, ::-1], axis=-1, dtype=np.float64)
        precision = present / np.maximum(present + absent, 1)
        positives = present[:, -1]
        recall = present / np.maximum(positives, 1)[:, None]
        average = (np.diff(recall, prepend=0.0) * precision).sum(-1)
        return {
            "cross_entropy_error": _ratio(totals["loss"], totals["examples"]),
            "average_precision": np.where(positives > 0, average, np.nan),
        }


class NextToken:
    """Cross entropy of each token given those before it, in nats; padding does not count."""

    metric_names = ("cross_entropy_error",)

    def loss(self, logits: jax.Array, targets: jax.Array, metaparameters: Metaparameters) -> Loss:
        """Return the sum and divisor of the loss over tokens.

        Takes logits [batch, length, vocabulary] and integers [batch, length].
        """
        del metaparameters
        totals = self.totals(logits, targets)
        return totals["loss"], totals["tokens"].astype(jnp.float32)

    def totals(self, logits: jax.Array, targets: jax.Array) -> Totals:
        """Return the summed cross entropy and the number of tokens."""
        counted = targets != PADDING
        loss = jnp.where(counted, cross_entropy(logits, targets), 0.0).sum()
        return {"loss": loss, "tokens": counted.sum(dtype=jnp.int32)}

    def metrics(self, totals: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return cross_entropy_error in nats per token."""
        return {"cross_entropy_error": _ratio(totals["loss"], totals["tokens"])}


class SquaredError:
    """The squared difference of predicted and wanted numbers, a mean over outputs and examples."""

    metric_names = ("squared_error",)

    def loss(self, logits: jax.Array, targets: jax.Array, metaparameters: Metaparameters) -> Loss:
        """Return the sum and divisor of the loss, for float32 [batch, outputs] of either."""
        del metaparameters
        return jnp.square(logits - targets).mean(-1).sum(), jnp.float32(targets.shape[0])

    def totals(self, logits: jax.Array, targets: jax.Array) -> Totals:
        """Return the summed squared error and the number of examples."""
        errors = jnp.square(logits - targets).mean(-1)
        return {"loss": errors.sum(), "examples": jnp.int32(targets.shape[0])}

    def metrics(self, totals: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return squared_error, in the square of the targets' unit."""
        return {"squared_error": _ratio(totals["loss"], totals["examples"])}


OBJECTIVES: dict[str, Objective] = {
    "classification": Classification(),
    "multi_label": MultiLabel(),
    "next_token": NextToken(),
    "squared_error": SquaredError(),
}
"""Those of this package, and those that `producers.workloads.own` adds, by their names."""


def objective_for(form: Form, name: str = "") -> Objective:
    """Return the objective of a name, by default that of the form."""
    name = name or form.objective
    if name not in OBJECTIVES:
        raise unknown("objective", name, OBJECTIVES, "dbtool produce --list")
    return OBJECTIVES[name]


def cross_entropy(logits: jax.Array, targets: jax.Array) -> jax.Array:
    """Compute cross entropy in nats, float32 [...], of logits [..., classes], integers [...]."""
    integers = targets.astype(jnp.int32)
    return jnp.asarray(optax.losses.softmax_cross_entropy_with_integer_labels(logits, integers))


def _ratio(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the mean, computed in the precision of the sum, as float64."""
    # Multiplied by the reciprocal, as XLA divides by a constant: rows then stay the same, bit for
    # bit, as when the devices divided.
    reciprocal = 1 / np.maximum(count, 1).astype(total.dtype)
    return np.asarray(total * reciprocal, np.float64)
