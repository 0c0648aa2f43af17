"""Try workloads of the user's own: what one step of each shows to be odd."""

import math
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from dbtool.core.checks import require_goal
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.own_code import blaming_own_code
from producers.configuration import SweepOptions
from producers.datasets.split import Split
from producers.plan import StudyPlan
from producers.search import Range
from producers.sweep.data import load_data
from producers.sweep.events import SweepEvents
from producers.sweep.session import StudySession
from producers.training.block_record import BlockRecord
from producers.training.objectives import OBJECTIVES, Metaparameters
from producers.training.run import BlockTrials
from producers.training.step import Examples, trainer
from producers.training.stopping import Goal
from producers.workloads.definition import Workload

_WIDE = 10
_EXAMPLES = 64


def tried(studies: Sequence[StudyPlan], options: SweepOptions) -> Iterator[tuple[str, bool]]:
    """Train one step of each workload; yield sentences on it, each with whether that is odd.

    Of a workload's studies, all of one step, that of the middle batch size is trained, at the
    centre of every range.
    """
    for workload in dict.fromkeys(study.workload for study in studies):
        own = [study for study in studies if study.workload == workload]
        study = own[len(own) // 2]
        odd, change = [*_odd_settings(workload)], ""
        try:
            with blaming_own_code():
                found, change = _step(study, options)
            odd += found
        except DbtoolError as error:
            odd.append(str(error))
        for sentence in odd:
            yield f"{workload.name}: {sentence}", True
        if not odd:
            yield f"{study.name}: nothing is odd; {change}", False


def _odd_settings(workload: Workload) -> Iterator[str]:
    for name, each in workload.search_space:
        if not isinstance(each, Range) or each.scale != "LINEAR_SCALE":
            continue
        low, high = each.minimum, each.maximum
        if 0 < low * _WIDE < high:
            yield (
                f"{name} is searched evenly from {low:g} to {high:g}, so that nine in ten trials "
                f"lie above {low + (high - low) / 10:g}; give its Range LOG_SCALE"
            )
    yield from _odd_goal(workload)


def _odd_goal(workload: Workload) -> Iterator[str]:
    if workload.goal is not None:
        try:
            require_goal(workload.goal, workload.metric)
        except UsageError as error:
            yield str(error)


def _step(study: StudyPlan, options: SweepOptions) -> tuple[list[str], str]:
    """Train one step; return what is odd about it, and how the loss changed.

    Of a rate that may be 0 at first, as one that warms up, two steps are trained.
    """
    records = list[BlockRecord]()
    session = StudySession(study, options, SweepEvents(on_record=records.append))
    centre = {name: each.at(0.5) for name, each in study.search_space().items()}
    last = 1 if study.workload.schedule == "constant" else 2
    trials, evaluations = study.trials_at([0], [centre]), dict.fromkeys((0, last), True)
    session.train(trials, evaluations=evaluations)
    record, workload, goal = records[-1], study.workload, Goal.of(study.workload)
    told, s = ("one step", "s") if last == 1 else ("two steps", "")
    if record.status(0) == "INFEASIBLE":
        when = f"after {told} with {_settings(centre)}" if record.steps(0) else "before any step"
        return [f"its loss is not a finite number {when}"], ""
    loss = f"train_{OBJECTIVES[workload.objective or workload.form.objective].metric_names[0]}"
    before, after = record.values(loss)[2]
    odd = []
    if before == after:
        odd.append(f"{told} with {_settings(centre)} leave{s} {loss} at {before:.6g}")
    if _ascends(study, options, trials):
        odd.append(
            f"the first direction of {workload.optimizer} raises the loss of its own batch; return "
            "what is multiplied by minus the learning rate, such as optax.trace in place of "
            "optax.sgd"
        )
    _, steps, values = record.values(goal.metric)
    if len(values) < 2 or not all(map(math.isfinite, values)):
        odd.append(f"its examples give no {goal.metric}, which its goal is about")
    early = steps[goal.reached(values)]
    # Of a goal that is no share, this has been told.
    if len(early) and not [*_odd_goal(workload)]:
        when = f"after {told}" if early.min() else "before its first step"
        odd.append(f"it is past its goal, {workload.stated_goal}, {when}; set a harder goal")
    return odd, f"{told} take{s} {loss} from {before:.4g} to {after:.4g}"


def _ascends(study: StudyPlan, options: SweepOptions, trials: BlockTrials) -> bool:
    """Whether the first direction of the optimizer is against the gradient of its batch.

    The sign of their product says so at every learning rate; one that is too high raises the loss
    as well. What the direction has without a gradient, such as weight decay, is left out: of the
    gradient's negative it is the same.
    """
    workload, data = study.workload, load_data(study, options)
    count = min(study.batch_size, _EXAMPLES)
    train = data.train
    examples = (
        train.first(count) if isinstance(train, Split) else train.read(np.arange(count), None)
    )
    parts = workload.model, workload.optimizer, workload.schedule
    functions = trainer(*parts, data.form, workload.dtype, workload.objective)

    @jax.jit
    def product(seed: jax.Array, values: Metaparameters, batch: Examples) -> jax.Array:
        state = functions.start(seed)
        gradients = functions.gradient(state, values, batch).gradients
        optimizer = functions.optimizer.direction(values)
        down, up = (
            optimizer.update(each, state.optimizer, state.parameters)[0]
            for each in (gradients, jax.tree.map(jnp.negative, gradients))
        )
        products = jax.tree.map(lambda d, u, g: jnp.vdot(d - u, g), down, up, gradients)
        return jnp.stack(jax.tree.leaves(products)).sum()

    (seed,), (values,) = trials.seeds, trials.metaparameters
    return bool(product(np.uint32(seed), values, (examples.inputs, examples.targets)) < 0)


def _settings(values: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:.3g}" for name, value in values.items())
