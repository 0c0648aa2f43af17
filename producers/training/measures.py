"""Optional measurements of a sweep, beside the metrics of its splits.

They are taken with the training loss, and stored under their metrics' names in `other_metrics`: at
the evaluations of every split, on the first training examples, unless `Measure` says otherwise. A
new one is added here: a pure function of one trial, to be vmapped over trials, from

- the trainer, the trial's state and its metaparameters,
- training examples: inputs [slices, examples, ...] and targets likewise, of which one slice at a
  time passes through the model, in training mode

to float32 scalars by metric. The trial's running statistics stay as they are.

The gradient noise scale's two moments (McCandlish et al., 2018): with G the true gradient and Sigma
the covariance of one example's gradient, the expected squared norm of a batch's mean gradient is
|G|^2 + tr(Sigma) / B. Two batch sizes, b < B, give unbiased estimates of both (appendix A.1):

    |G|^2     = (B |G_B|^2 - b |G_b|^2) / (B - b)
    tr(Sigma) = (|G_b|^2 - |G_B|^2) / (1 / b - 1 / B)

The large batch is here that of all slices, and |G_b|^2 the mean over the slices. The simple noise
scale is tr(Sigma) / |G|^2 (equation 2.9); since a ratio of averages is less biased than an average
of ratios, the two moments are kept, to be averaged before one is divided by the other. Of an
optimizer that divides by the root of an average of squared gradients, nu, both are taken in its own
metric, too: the squared norm of g there is the sum of g^2 / (sqrt(nu) + epsilon) (chosen), of SOAP
with g in the bases of nu. Lion and Muon divide by the size of one average gradient, which passes
through zero: the few weights where it does would make up the sum, so that they have none.

What an average over a part of training is worth depends on how many examples it has seen, however
few in each measurement: so each takes few, drawn afresh, and there are many. They cost at most a
third of the training's own gradients (chosen). A trial's last third of steps to its goal is 0.58 of
a doubling: it has 37 measurements at 64 a doubling, or one for every 3,000 training examples in it
where these are further apart, as they are on the first 276,000.

The Lipschitz constant of the gradient along training (Lee et al., 2021): between an iterate w and
the next, w + u, it is estimated as

    max over f of ||grad L(w + f u) - grad L(w)|| / (f ||u||),   f = 0.1, 0.2, ..., 0.9

with the gradient over many training examples: the most that the gradient changes on the way, for
the length of that way. The formula and the fractions are stated by the authors' public program,
which takes the whole training set.

It sees the curvature along the step alone. The most that the gradient changes for a small step in
any direction is the largest |eigenvalue| of the Hessian, found by power iteration with products of
the Hessian and a vector (chosen: the paper has no such measure).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax

from dbtool.core.errors import UsageError
from producers.training.batches import BatchSchedule
from producers.training.objectives import Metaparameters
from producers.training.pruning import masked
from producers.training.soap import SoapState, in_own_metric
from producers.training.step import Examples, Trainer, TrialState
from producers.workloads.definition import EvaluationRule

Metrics = dict[str, jax.Array]

FRACTIONS = tuple(tenths / 10 for tenths in range(1, 10))
# Two eigenvalues that differ by a tenth are then apart by 0.9^40 = 0.015 in the Rayleigh quotient.
POWER_ITERATIONS = 20


def _gradient_noise_scale(
    trainer: Trainer, state: TrialState, metaparameters: Metaparameters, slices: Examples
) -> Metrics:
    def gradient(examples: Examples) -> Any:
        return masked(trainer.gradient(state, metaparameters, examples).gradients, state.masks)

    metric = _own_metric(state, metaparameters)
    return gradient_moments(gradient, slices, slices[0].shape[1], metric)


def _own_metric(state: TrialState, metaparameters: Metaparameters) -> Callable[[Any], Any] | None:
    """Return the function of a gradient whose result has its norm in the optimizer's own metric.

    It multiplies by the root of what the optimizer multiplies gradients by: 1 / (sqrt(nu) +
    epsilon), with its average nu of squared gradients. None for one that keeps no such average of
    each weight.
    """
    soap = optax.tree.get(state.optimizer, SoapState.__name__)
    if isinstance(soap, SoapState):
        return partial(in_own_metric, soap, metaparameters["epsilon"])
    averages = optax.tree.get_all_with_path(state.optimizer, "nu")
    forms = [jax.tree.structure(each) for _, each in averages]
    if forms != [jax.tree.structure(state.parameters)]:
        return None
    epsilon = metaparameters["epsilon"]
    scale = jax.tree.map(lambda nu: (jnp.sqrt(nu) + epsilon) ** -0.5, averages[0][1])
    return partial(jax.tree.map, jnp.multiply, scale)


def gradient_moments(
    gradient: Callable[[Any], Any],
    slices: Any,
    examples_a_slice: int,
    metric: Callable[[Any], Any] | None = None,
) -> Metrics:
    """Estimate the two moments from the gradients of equal slices, one slice in memory at a time.

    Args:
        gradient: from a slice, the gradient of its mean loss, a pytree.
        slices: a pytree of arrays [slices, ...], at least two.
        examples_a_slice: b, the examples that each gradient is the mean of.
        metric: from a gradient, what has its norm in another metric.

    Returns:
        Estimates of gradient_squared_norm, |G|^2, and gradient_covariance_trace, tr(Sigma), float32
        scalars; either may come out below zero. With a metric, preconditioned_squared_norm and
        preconditioned_covariance_trace too.

    Raises:
        UsageError: there are fewer than two slices.
    """
    count = jax.tree.leaves(slices)[0].shape[0]
    if count < 2:
        raise UsageError(
            "the noise scale of gradients needs at least two slices of "
            f"{examples_a_slice} training examples; leave out --measure gradient_noise_scale"
        )

    def with_squares(found: Any) -> tuple[Any, Metrics]:
        squares = {"gradient": optax.tree.norm(found, squared=True)}
        if metric is not None:
            squares["preconditioned"] = optax.tree.norm(metric(found), squared=True)
        return found, squares

    def add_slice(sums: tuple[Any, Metrics], one: Any) -> tuple[tuple[Any, Metrics], None]:
        return jax.tree.map(jnp.add, sums, with_squares(gradient(one))), None

    first = jax.tree.map(lambda array: array[0], slices)
    like = jax.eval_shape(lambda: with_squares(gradient(first)))
    zeros = jax.tree.map(lambda array: jnp.zeros(array.shape, array.dtype), like)
    (total, summed), _ = jax.lax.scan(add_slice, zeros, slices)
    small, large = examples_a_slice, count * examples_a_slice
    moments = {}
    for name, squared in with_squares(total)[1].items():
        of_small, of_large = summed[name] / count, squared / count**2
        norm = (large * of_large - small * of_small) / (large - small)
        moments[f"{name}_squared_norm"] = norm
        moments[f"{name}_covariance_trace"] = (of_small - of_large) / (1 / small - 1 / large)
    return moments


def _gradient_lipschitz_constant(
    trainer: Trainer, state: TrialState, metaparameters: Metaparameters, slices: Examples
) -> Metrics:
    """Measure along the step that the gradient of these examples would take next (chosen)."""

    def gradient(parameters: Any) -> Any:
        moved = state._replace(parameters=parameters)
        found = trainer.accumulated_gradient(moved, metaparameters, slices)
        return masked(found.gradients, state.masks)

    here = trainer.accumulated_gradient(state, metaparameters, slices)
    after = trainer.update(state, metaparameters, here).parameters
    update = optax.tree.sub(after, state.parameters)
    constant = gradient_lipschitz_constant(gradient, state.parameters, update)
    return {"gradient_lipschitz_constant": constant}


def gradient_lipschitz_constant(
    gradient: Callable[[Any], Any],
    parameters: Any,
    update: Any,
    fractions: Sequence[float] = FRACTIONS,
) -> jax.Array:
    """Return the largest change of the gradient along one step, per unit of distance.

    Args:
        gradient: from parameters, the gradient of the loss, pytrees of float32 arrays.
        parameters: w.
        update: u: the next iterate less this one.
        fractions: of the way, each above 0.

    Returns:
        float32 scalar; NaN when nothing moves.
    """
    here = gradient(parameters)
    length = optax.tree.norm(update)

    def at(fraction: jax.Array) -> Any:
        there = gradient(optax.tree.add_scale(parameters, fraction, update))
        return optax.tree.norm(optax.tree.sub(there, here)) / (fraction * length)

    # One fraction after the other: a gradient takes as much memory as the training step.
    return jnp.max(jax.lax.map(at, jnp.asarray(fractions, jnp.float32)))


def _largest_hessian_eigenvalue(
    trainer: Trainer, state: TrialState, metaparameters: Metaparameters, slices: Examples
) -> Metrics:
    """Restrict the Hessian to unpruned weights; start from the same random direction each step."""

    def times(direction: Any) -> Any:
        def add_slice(total: Any, examples: Examples) -> tuple[Any, None]:
            def gradient(parameters: Any) -> Any:
                moved = state._replace(parameters=parameters)
                return trainer.gradient(moved, metaparameters, examples).gradients

            product = hessian_times(gradient, state.parameters, direction)
            return optax.tree.add(total, product), None

        zeros = optax.tree.zeros_like(direction)
        total, _ = jax.lax.scan(add_slice, zeros, slices)
        return masked(optax.tree.scale(1 / slices[0].shape[0], total), state.masks)

    start = optax.tree.random_like(jax.random.key(0), state.parameters)
    eigenvalue = largest_eigenvalue(times, masked(start, state.masks))
    return {"largest_hessian_eigenvalue": eigenvalue}


def hessian_times(gradient: Callable[[Any], Any], parameters: Any, direction: Any) -> Any:
    """Return the Hessian's product with a direction, at about the cost of three gradients."""
    # Backwards twice, since a custom derivative need not have a forward mode.
    return jax.grad(lambda at: optax.tree.vdot(gradient(at), direction))(parameters)


def largest_eigenvalue(
    times: Callable[[Any], Any], start: Any, iterations: int = POWER_ITERATIONS
) -> jax.Array:
    """Estimate a symmetric matrix's eigenvalue of largest magnitude by power iteration.

    Args:
        times: the matrix's product with a vector, pytrees of float32 arrays.
        start: a vector that is not orthogonal to the eigenvector.
        iterations: products, at least one.

    Returns:
        float32 scalar, the Rayleigh quotient of the last vector that was multiplied: it has the
        eigenvalue's sign once iterations suffice, and never a larger magnitude, up to rounding.
    """

    def unit(direction: Any) -> Any:
        """Scale the direction to length 1; a zero vector stays zero."""
        norm = optax.tree.norm(direction)
        return optax.tree.scale(1 / jnp.where(norm > 0, norm, 1), direction)

    def one_more(_: jax.Array, carry: tuple[Any, jax.Array]) -> tuple[Any, jax.Array]:
        vector, _eigenvalue = carry
        product = times(vector)
        return unit(product), optax.tree.vdot(vector, product)

    carry = unit(start), jnp.zeros((), jnp.float32)
    eigenvalue: jax.Array = jax.lax.fori_loop(0, iterations, one_more, carry)[1]
    return eigenvalue


@dataclass(frozen=True)
class Measure:
    """A measurement, and when and of what it is taken.

    Attributes:
        function: see above.
        spacing: between the steps at which it is taken; None for the evaluations of every split.
        drawn: how many training examples are drawn for it at random, with replacement, afresh at
            each step and the same for all trials; None for the first of the training split.
    """

    function: Callable[[Trainer, TrialState, Metaparameters, Examples], Metrics]
    spacing: EvaluationRule | None = None
    drawn: int | None = None

    def steps(
        self, evaluations: Mapping[int, bool], batch_size: int, batch_schedule: BatchSchedule = ()
    ) -> list[int]:
        """Return the steps of a trial at which the measurement is taken.

        Takes its evaluations in order, each with whether every split is evaluated.
        """
        if self.spacing is None:
            return [step for step, every_split in evaluations.items() if every_split]
        return list(self.spacing.schedule(max(evaluations), batch_size, batch_schedule))

    def slices(
        self, examples: Examples, evaluation_batch: int, step: jax.Array, divisor: int = 1
    ) -> Examples:
        """Return the examples to measure after a step, in slices of at most `evaluation_batch`.

        Takes the examples to draw from, or to take as they are, [examples, ...]. A slice has at
        most `divisor` of them, or a multiple.
        """
        count = examples[0].shape[0]
        size = min(evaluation_batch, count)
        if self.drawn is not None:
            numbers = jax.random.randint(jax.random.key(step), (self.drawn,), 0, count)
            examples = examples[0][numbers], examples[1][numbers]
            # Of more slices the covariance is surer, and they take no longer.
            count, size = self.drawn, min(evaluation_batch, self.drawn // 10)
        size -= size % divisor if size > divisor else 0
        inputs, targets = (
            a[: count // size * size].reshape(-1, size, *a.shape[1:]) for a in examples
        )
        return inputs, targets


# Not taken of a trial's state: the block's clock tells it.
SECONDS = "seconds"
MEASURES: Mapping[str, Measure] = {
    "gradient_noise_scale": Measure(
        _gradient_noise_scale, EvaluationRule(64, examples_between=3_000), drawn=1_000
    ),
    "gradient_lipschitz_constant": Measure(_gradient_lipschitz_constant),
    "largest_hessian_eigenvalue": Measure(_largest_hessian_eigenvalue),
}
