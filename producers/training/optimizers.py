"""Update rules with their search spaces, through optax.

Metaparameters may be traced.

Of the papers (Shallue et al., 2018, section 2.2), with g the gradient and lr the learning rate:

    sgd                 w <- w - lr g
    momentum            v <- m v + g, w <- w - lr v
    nesterov_momentum   v <- m v + g, w <- w - lr (g + m v)

Beyond them, with a <- b a + (1 - b) x written as average(b, x), and ^ for an average that is
corrected for its start at zero (divided by 1 - b^t):

    adam      d = ^average(beta1, g) / (sqrt(^average(beta2, g^2)) + epsilon), w <- w - lr d
              (Kingma and Ba, 2015, algorithm 1)
    adamw     w <- w - lr (d + weight_decay w)   (Loshchilov and Hutter, 2019, with the learning
              rate of the schedule on both terms, as is usual)
    rmsprop   s = average(rho, g^2) from 1, v <- m v + g / sqrt(s + epsilon), w <- w - lr v
              (Tieleman and Hinton, 2012, as Choi et al., 2019, table 1, write it: recalled)
    lars      u = g + weight_decay w, v <- m v + 0.001 |w| / |u| u, w <- w - lr v
              (You et al., 2017, with one norm of the sum below the line, as optax has it)
    lamb      u = d + weight_decay w, w <- w - lr |w| / |u| u   (You et al., 2020, algorithm 2)
    lion      v <- average(beta2, g), w <- w - lr (sign(average(beta1, g)) + weight_decay w), where
              both averages go on from v of the step before   (Chen et al., 2023, algorithm 2)
    ademamix  adamw with d = (^average(beta1, g) + alpha average(beta3, g)) /
              (sqrt(^average(beta2, g^2)) + epsilon)   (Pagliardini et al., 2024, equation 2,
              without the schedules of alpha and beta3, which must know when training ends)
    schedule_free_adamw   z <- z - lr (d + weight_decay w) with d of adam without beta1, x the
              average of all z, w = (1 - beta1) z + beta1 x; evaluated at x
              (Defazio et al., 2024, algorithm 1), right for the constant schedule alone
    soap      adamw, of which d is taken in the eigenbases of average(beta2, g g^T)
              (Vyas et al., 2024, algorithm 3: `producers.training.soap`)
    muon_hidden   w <- w - lr (0.2 sqrt(max(rows, columns)) orthogonal(v) + weight_decay w), where
              v is Nesterov's momentum and orthogonal() five Newton-Schulz iterations
              (Jordan, 2024, with the scale of Liu et al., 2025, section 2.2); of hidden layers
              alone, as Jordan states: adamw for the output layer and embeddings
    muon      the same for the output layer, too, as trials here were measured at first

Weight decay, the ratios of norms in lars and lamb, and muon are for weight matrices; biases and
normalisation (in muon embeddings, too) take the same rule without them: momentum in lars, adam in
lamb, and in muon adam with Nesterov's momentum, beta1 0.9 and beta2 0.999. A kernel with more than
two axes is to muon a matrix with one column for each feature that the layer puts out. The output
layer is the one called `logits`, or else that of the last matrix (chosen).

Search spaces: those of sgd and the momenta are stated by the published studies. All others are
chosen: ranges about the usual values, with decay rates on a scale of the logarithm of one minus
the value and epsilon on one of the logarithm, as Choi et al. (2019) search them.

A new optimizer is added here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dbtool.core.errors import unknown
from producers.search import Metaparameter, Range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import jax
    import optax

    Metaparameters = Mapping[str, jax.Array]

LEARNING_RATE = "learning_rate"

_LARS_TRUST_COEFFICIENT = 0.001  # stated by You et al. (2017)
# An attention layer's bias has an axis for the heads beside that of a head's units.
_VECTORS = frozenset({"bias", "scale"})
_ATTENDING = frozenset({"query", "key", "value"})
_MUON_RMS = 0.2  # stated by Liu et al. (2025): the size of adam's steps, so that both share lr


@dataclass(frozen=True)
class OptimizerDefinition:
    """An update rule.

    Attributes:
        name: as in a workload's name.
        search_space: name and range of each metaparameter that is searched by default, the initial
            learning rate first; the order sets the dimensions of the quasi-random sequence.
        direction: from the metaparameters (float32 scalars, traced ones too), the transformation
            of gradients into the direction that is multiplied by minus the learning rate. Its
            initial state does not depend on their values.
        evaluated: from its state and the weights, the weights that evaluations take.
        sums_up: whether its momentum adds up directions, so that a steady one is followed at the
            effective learning rate, learning_rate / (1 - momentum).
        proportional: whether its updates are proportional to the gradient, so that the learning
            rate of a batch k times as large is k times as high; elsewhere its root, as is usual.
    """

    name: str
    search_space: tuple[tuple[str, Metaparameter], ...]
    direction: Callable[[Metaparameters], optax.GradientTransformation]
    sums_up: bool = False
    proportional: bool = False
    evaluated: Callable[[Any, Any], Any] = lambda _, parameters: parameters

    @property
    def metaparameters(self) -> tuple[str, ...]:
        """Return the names it needs besides those of the learning-rate schedule."""
        return tuple(name for name, _ in self.search_space if name != LEARNING_RATE)

    def rate_growth(self, factor: int) -> float:
        """Return by what the learning rate grows with a batch that is `factor` times as large."""
        return factor if self.proportional else math.sqrt(factor)


def _momentum(m: Metaparameters) -> optax.GradientTransformation:
    return _optax().trace(m["momentum"])


def _nesterov(m: Metaparameters) -> optax.GradientTransformation:
    return _optax().trace(m["momentum"], nesterov=True)


def _adam(m: Metaparameters) -> optax.GradientTransformation:
    return _optax().scale_by_adam(m["beta1"], m["beta2"], m["epsilon"])


def _weight_decay(m: Metaparameters) -> optax.GradientTransformation:
    return _optax().add_decayed_weights(m["weight_decay"], weight_matrices)


def _adamw(m: Metaparameters) -> optax.GradientTransformation:
    return _optax().chain(_adam(m), _weight_decay(m))


def _rmsprop(m: Metaparameters) -> optax.GradientTransformation:
    # From 1, as in TensorFlow: momentum is then the limit of rho to 1.
    scale = _optax().scale_by_rms(m["rho"], m["epsilon"], initial_scale=1.0, eps_in_sqrt=True)
    return _optax().chain(scale, _momentum(m))


def _lars(m: Metaparameters) -> optax.GradientTransformation:
    ratio = _optax().scale_by_trust_ratio(trust_coefficient=_LARS_TRUST_COEFFICIENT)
    return _optax().chain(_weight_decay(m), _optax().masked(ratio, weight_matrices), _momentum(m))


def _lamb(m: Metaparameters) -> optax.GradientTransformation:
    ratio = _optax().scale_by_trust_ratio()
    return _optax().chain(_adamw(m), _optax().masked(ratio, weight_matrices))


def _muon(m: Metaparameters, *, output: bool) -> optax.GradientTransformation:
    from optax import contrib

    def dimensions(parameters: Any) -> Any:
        """Say which axes of a kernel are a matrix's rows and columns; None for adam's leaves."""
        from jax.tree_util import tree_leaves, tree_leaves_with_path, tree_map_with_path

        def is_masked(node: Any) -> bool:
            return isinstance(node, _optax().MaskedNode)

        matrices = weight_matrices(parameters, embeddings=False)
        paths = [path for path, is_matrix in tree_leaves_with_path(matrices) if is_matrix]
        named = [path for path in paths if "logits" in _names(path)]
        # optax asks again for what is left when adam's leaves are masked.
        is_whole = not any(map(is_masked, tree_leaves(parameters, is_leaf=is_masked)))
        adams = (named or paths[-1:]) if is_whole and not output else []

        def of_one(
            path: Sequence[Any], array: jax.Array, is_matrix: bool
        ) -> contrib.MuonDimensionNumbers | None:
            axes = tuple(range(array.ndim))
            # Attention's kernels have an axis for the heads, among the columns of these three.
            rows = 1 if _ATTENDING & set(_names(path)) else array.ndim - 1
            is_its_own = is_matrix and path not in adams
            return contrib.MuonDimensionNumbers(axes[:rows], axes[rows:]) if is_its_own else None

        return tree_map_with_path(of_one, parameters, matrices)

    rule = contrib.muon(
        1.0, beta=m["momentum"], muon_weight_dimension_numbers=dimensions, consistent_rms=_MUON_RMS
    )
    # optax's rule ends with the minus of the step.
    return _optax().chain(rule, _optax().scale(-1.0), _weight_decay(m))


def _lion(m: Metaparameters) -> optax.GradientTransformation:
    return _optax().chain(_optax().scale_by_lion(m["beta1"], m["beta2"]), _weight_decay(m))


def _ademamix(m: Metaparameters) -> optax.GradientTransformation:
    from optax import contrib

    rule = contrib.scale_by_ademamix(m["beta1"], m["beta2"], m["beta3"], m["alpha"], m["epsilon"])
    return _optax().chain(rule, _weight_decay(m))


def _soap(m: Metaparameters) -> optax.GradientTransformation:
    from producers.training.soap import scale_by_soap

    rule = scale_by_soap(m["beta1"], m["beta2"], m["epsilon"])
    return _optax().chain(rule, _weight_decay(m))


def _schedule_free_adamw(m: Metaparameters) -> optax.GradientTransformation:
    import jax
    from optax import contrib

    adam = _optax().scale_by_rms(m["beta2"], m["epsilon"], eps_in_sqrt=False, bias_correction=True)
    step = _optax().scale(-m[LEARNING_RATE])
    rule = contrib.schedule_free(
        _optax().chain(adam, _weight_decay(m), step), m[LEARNING_RATE], m["beta1"]
    )

    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        updates, state = rule.update(gradients, state, parameters)
        direction = jax.tree.map(lambda change: change / -m[LEARNING_RATE], updates)
        # The state keeps the beta1 that it began with, before the metaparameters were known.
        return direction, state._replace(b1=m["beta1"])

    return _optax().GradientTransformation(rule.init, update)


def _average_weights(state: Any, parameters: Any) -> Any:
    from optax import contrib

    return contrib.schedule_free_eval_params(state, parameters)


def _optax() -> Any:
    """Optax, imported when a rule is made: what a workload searches can be read without JAX."""
    import optax

    return optax


# Ranges of learning rates: the papers' and those of adaptive rules, which are chosen as all others.
_OF_PAPERS, _ADAPTIVE = (1e-4, 10.0), (1e-5, 0.1)
_PAPER_MOMENTUM = ("momentum", Range(0.9, 0.9999, "REVERSE_LOG_SCALE"))
_MOMENTUM = ("momentum", Range(0.8, 0.999, "REVERSE_LOG_SCALE"))
_RMSPROP_MOMENTUM = ("momentum", Range(0.0, 0.999, "REVERSE_LOG_SCALE"))
_RHO = ("rho", Range(0.9, 0.9999, "REVERSE_LOG_SCALE"))
_EPSILON = ("epsilon", Range(1e-10, 1e-3, "LOG_SCALE"))
_BETAS = (
    ("beta1", Range(0.8, 0.999, "REVERSE_LOG_SCALE")),
    ("beta2", Range(0.9, 0.9999, "REVERSE_LOG_SCALE")),
)
_SLOW = (
    ("beta3", Range(0.99, 0.9999, "REVERSE_LOG_SCALE")),
    ("alpha", Range(1.0, 10.0, "LOG_SCALE")),
)
_WEIGHT_DECAY = ("weight_decay", Range(1e-4, 1.0, "LOG_SCALE"))
_LARS_WEIGHT_DECAY = ("weight_decay", Range(1e-6, 1e-2, "LOG_SCALE"))
_ADAM = (*_BETAS, _EPSILON)
_ADAMW = (*_ADAM, _WEIGHT_DECAY)
_MUON = (_MOMENTUM, _WEIGHT_DECAY)
_PAPER_MOMENTA = {"sums_up": True, "proportional": True}


def _rule(
    name: str,
    rates: tuple[float, float],
    others: tuple[tuple[str, Metaparameter], ...],
    direction: Callable[[Metaparameters], optax.GradientTransformation],
    **more: Any,
) -> OptimizerDefinition:
    """Define a rule that searches its learning rate on a scale of the logarithm."""
    rate = (LEARNING_RATE, Range(*rates, "LOG_SCALE"))
    return OptimizerDefinition(name, (rate, *others), direction, **more)


OPTIMIZERS = {
    definition.name: definition
    for definition in (
        _rule("sgd", _OF_PAPERS, (), lambda _: _optax().identity(), proportional=True),
        _rule("momentum", _OF_PAPERS, (_PAPER_MOMENTUM,), _momentum, **_PAPER_MOMENTA),
        _rule("nesterov_momentum", _OF_PAPERS, (_PAPER_MOMENTUM,), _nesterov, **_PAPER_MOMENTA),
        _rule("adam", _ADAPTIVE, _ADAM, _adam),
        _rule("adamw", _ADAPTIVE, _ADAMW, _adamw),
        _rule("rmsprop", _ADAPTIVE, (_RMSPROP_MOMENTUM, _RHO, _EPSILON), _rmsprop, sums_up=True),
        _rule("lars", (1e-2, 100.0), (_MOMENTUM, _LARS_WEIGHT_DECAY), _lars, sums_up=True),
        _rule("lamb", (1e-4, 1.0), _ADAMW, _lamb),
        _rule("muon", (1e-4, 0.1), _MUON, partial(_muon, output=True)),
        _rule("muon_hidden", (1e-4, 0.1), _MUON, partial(_muon, output=False)),
        _rule("lion", (1e-6, 1e-2), (*_BETAS, _WEIGHT_DECAY), _lion),
        _rule("ademamix", _ADAPTIVE, (*_ADAM, *_SLOW, _WEIGHT_DECAY), _ademamix),
        _rule(
            "schedule_free_adamw",
            (1e-4, 0.1),
            _ADAMW,
            _schedule_free_adamw,
            evaluated=_average_weights,
        ),
        _rule("soap", (1e-4, 0.1), _ADAMW, _soap),
    )
}


def optimizer_definition(name: str) -> OptimizerDefinition:
    """Return the optimizer of a name."""
    if name not in OPTIMIZERS:
        raise unknown("optimizer", name, OPTIMIZERS, "dbtool produce --list")
    return OPTIMIZERS[name]


def weight_matrices(parameters: Any, *, embeddings: bool = True) -> Any:
    """Tell which parameters are weight matrices: pruned, decayed and scaled layer by layer.

    Args:
        parameters: a pytree of arrays, or of their shapes.
        embeddings: whether embedding tables count.

    Returns:
        Bools in the form of the parameters: True for kernels of two axes or more; False for biases
        and the scales of normalisation, however many axes they have.
    """
    from jax.tree_util import tree_map_with_path

    def is_matrix(path: Sequence[Any], array: jax.Array) -> bool:
        name = next(reversed(_names(path)), None)
        return array.ndim >= 2 and name not in _VECTORS and (embeddings or name != "embedding")

    return tree_map_with_path(is_matrix, parameters)


def _names(path: Sequence[Any]) -> list[str]:
    """Return the names on a path in a pytree: of the layers, then of the parameter."""
    return [key.key for key in path if isinstance(getattr(key, "key", None), str)]
