"""Searches for steps to result: trials that advance together, in windows around an optimum.

A window is a part of a search space, around the optimum at a neighbouring batch size. The learning
rate that is best for steps to result moves with the batch size, between a square root and
proportionally (Shallue et al., 2018, section 4.7); momentum multiplies it, so that windows are cut
from the effective learning rate, learning_rate / (1 - momentum), where there is a momentum.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbtool.core.errors import UsageError
from producers.search import OUTER, Metaparameter, Range, SearchSpace
from producers.training.batches import phases
from producers.training.optimizers import optimizer_definition
from producers.workloads.definition import EvaluationRule, Workload

# All trials are evaluated as the one says, those that have come near the goal as the other does; or
# after fewer examples, where the workload's own rule asks for that.
FAR = EvaluationRule(4, other_splits_every=8, examples_between=4_000)
NEAR = EvaluationRule(8, other_splits_every=8, examples_between=2_000)


@dataclass(frozen=True)
class LockstepRule:
    """A search whose trials advance together until the first few of them are past the goal.

    Steps to result are then known exactly and no trial is trained for longer, since the steps that
    a trial takes do not depend on how many follow.

    Attributes:
        window: whether every study but one searches a window around the optimum of the study at
            the batch size next to it; otherwise every study searches the whole space.
        wide_trials: of each study that searches the whole space.
        wide_at: the study at the batch size closest to this searches the whole space.
        reaching: a study ends when so many of its trials are past the goal; more than one tell how
            lucky the first was.
        dropping: a trial is dropped when its best value after x steps is worse than that of one
            near the goal after x / dropping steps; None to drop nobody.
    """

    window: bool = True
    wide_trials: int = 50
    wide_at: int = 64
    reaching: int = 1
    dropping: float | None = None

    def neighbours(self, batch_sizes: Sequence[int]) -> dict[int, int | None]:
        """Return batch sizes in the order of their search, each with the one it starts from.

        The first searches the whole space; the others follow outwards, the smaller ones first.
        """
        if not self.window:
            return dict.fromkeys(batch_sizes)
        ordered = sorted(batch_sizes)
        first = min(ordered, key=lambda size: abs(math.log(size / self.wide_at)))
        at = ordered.index(first)
        smaller, larger = ordered[: at + 1][::-1], ordered[at:]
        chain: dict[int, int | None] = {first: None}
        for outwards in (smaller, larger):
            chain.update(zip(outwards[1:], outwards[:-1], strict=True))
        return chain

    def evaluations(
        self, workload: Workload, train_steps: int, batch_size: int
    ) -> tuple[dict[int, bool], frozenset[int]]:
        """Return the evaluations of trials of `train_steps` steps.

        A workload whose protocol evaluates every so many steps, or after fewer examples, keeps to
        that.

        Returns:
            The steps in order, each with whether every split is evaluated; and those of them at
            which all trials are.
        """
        if workload.evaluation.every is not None:
            schedule = workload.evaluation.schedule(
                train_steps, batch_size, workload.batch_schedule
            )
            return schedule, frozenset(schedule)
        steps: dict[int, bool] = {}
        everyone: list[int] = []
        due = 0
        far, near = _rules(workload)
        of_trial = tuple(phases(batch_size, workload.batch_schedule, train_steps))
        for step in near.schedule(train_steps, batch_size, workload.batch_schedule):
            steps[step] = False
            if step >= due or step == train_steps:
                steps[step] = len(everyone) % far.other_splits_every == 0
                everyone.append(step)
                due = far.after(step, of_trial)
        steps[train_steps] = True
        return steps, frozenset(everyone)

    def to_json(self, workload: Workload) -> dict[str, Any]:
        """Return the rule as a shard of a workload records it."""
        evaluations = {
            name: {
                "validation_per_doubling": rule.validation_per_doubling,
                "examples_between": rule.examples_between,
            }
            for name, rule in zip(("far", "near"), _rules(workload), strict=True)
        }
        return {
            "method": "window" if self.window else "lockstep",
            "reaching": self.reaching,
            "dropping": self.dropping,
            "wide_trials": self.wide_trials,
            "wide_at": self.wide_at,
            "evaluations": evaluations,
        }


def _rules(workload: Workload) -> tuple[EvaluationRule, EvaluationRule]:
    """Return how trials of a workload are evaluated far from its goal and near it."""
    if workload.evaluation.every is not None:
        return FAR, NEAR
    fewest = workload.evaluation.examples_between
    far, near = (
        replace(each, examples_between=min(each.examples_between, fewest)) for each in (FAR, NEAR)
    )
    return far, near


def refuse_lockstep(workload: Workload, rule: LockstepRule) -> None:
    """Refuse a search in lockstep where it would not be exact, or has nothing to cut windows from.

    Raises:
        UsageError: for these reasons.
    """
    remedy = "search it with --search fixed"
    if workload.depends_on_budget:
        raise UsageError(
            f"{workload.name} decays its learning rate over its budget of steps, so that how fast "
            f"a trial is depends on how long it will train, and none can be stopped early; {remedy}"
        )
    if workload.goal is None:
        raise UsageError(
            f"{workload.name} has no goal to stop its trials at; give one with --goal, or {remedy}"
        )
    effective = optimizer_definition(workload.optimizer).sums_up
    cut = {_RATE, _MOMENTUM} if effective else {_RATE}
    for name, each in workload.search_space:
        if rule.window and name in cut and not isinstance(each, Range):
            raise UsageError(
                f"{workload.name} takes its {name} from a few values, of which there is no window; "
                "give it a Range, or search it with --search lockstep"
            )


EFFECTIVE_RATE = "effective_learning_rate"
_RATE, _MOMENTUM = "learning_rate", "momentum"
# Chosen: decades of the effective learning rate, and of one minus the momentum.
_RATE_DECADES, _MOMENTUM_DECADES = 1.5, 1.0


@dataclass(frozen=True)
class Optimum:
    """The best trial of a study, around which others search."""

    batch_size: int
    trial_id: int
    metaparameters: Mapping[str, float]


@dataclass(frozen=True)
class Windows:
    """The windows of one search space.

    A window is a space of its own, in which `effective_learning_rate` may take the place of
    `learning_rate`; the points of a `together` of windows are those of none in particular.

    Attributes:
        space: of the workload: name to range.
        effective: whether momentum multiplies the learning rate, so that windows are cut from the
            effective learning rate.
    """

    space: SearchSpace
    effective: bool

    def around(self, optimum: Optimum, batch_size: int) -> SearchSpace:
        """Return the window around an optimum, moved to another batch size.

        A decade and a half of the learning rate around that of the optimum times the square root
        of the ratio of the batch sizes; a decade of one minus the momentum around its own, where
        momentum multiplies the learning rate; the whole range of every other metaparameter.
        """
        coordinates = self._coordinates(optimum.metaparameters)
        centre = coordinates[self._rate] * math.sqrt(batch_size / optimum.batch_size)
        found = self._limits()
        found[self._rate] = _around(centre, _RATE_DECADES, _range_of(found, self._rate))
        if self.effective:
            limits = _range_of(found, _MOMENTUM)
            rest = Range(1 - limits.maximum, 1 - limits.minimum, "LOG_SCALE")
            around = _around(1 - coordinates[_MOMENTUM], _MOMENTUM_DECADES, rest)
            found[_MOMENTUM] = _within(limits, 1 - around.maximum, 1 - around.minimum)
        return found

    def widened(
        self, searched: SearchSpace, metaparameters: Mapping[str, float]
    ) -> SearchSpace | None:
        """Return the ranges to search next when the best trial lies at an edge of `searched`.

        Args:
            searched: a window, or the windows together.
            metaparameters: of the best trial.

        Returns:
            Half a window more beyond the edge in whose tenth the trial lies; None where it lies in
            no edge's, or the workload's own range ends there.
        """
        coordinates, limits = self._coordinates(metaparameters), self._limits()
        widths = {self._rate: _RATE_DECADES}
        if self.effective:
            widths[_MOMENTUM] = _MOMENTUM_DECADES
        for name, decades in widths.items():
            inside = _range_of(searched, name)
            position = inside.position(coordinates[name])
            beyond = _beyond(inside, _range_of(limits, name), position, decades / 2)
            if beyond is not None:
                return searched | {name: beyond}
        return None

    def metaparameters(self, point: Mapping[str, float]) -> dict[str, float]:
        """Return the metaparameters of a point of a window, within the ranges of the space."""
        values = dict(point)
        if self.effective:
            values[_RATE] = values.pop(EFFECTIVE_RATE) * (1 - values[_MOMENTUM])
        rates = _range_of(self.space, _RATE)
        values[_RATE] = min(max(values[_RATE], rates.minimum), rates.maximum)
        return {name: values[name] for name in self.space}

    def bounds(self, searched: SearchSpace) -> SearchSpace:
        """Return the smallest ranges of the metaparameters themselves that contain a window."""
        if not self.effective:
            return searched
        rates, momenta = _range_of(searched, EFFECTIVE_RATE), _range_of(searched, _MOMENTUM)
        low, high = rates.minimum * (1 - momenta.maximum), rates.maximum * (1 - momenta.minimum)
        bounded = searched | {_RATE: _within(_range_of(self.space, _RATE), low, high)}
        return {name: bounded[name] for name in self.space}

    @property
    def _rate(self) -> str:
        return EFFECTIVE_RATE if self.effective else _RATE

    def _coordinates(self, values: Mapping[str, float]) -> dict[str, float]:
        found = dict(values)
        if self.effective:
            found[EFFECTIVE_RATE] = found[_RATE] / (1 - found[_MOMENTUM])
        return found

    def _limits(self) -> SearchSpace:
        if not self.effective:
            return dict(self.space)
        rates, momenta = _range_of(self.space, _RATE), _range_of(self.space, _MOMENTUM)
        low, high = rates.minimum / (1 - momenta.minimum), rates.maximum / (1 - momenta.maximum)
        others = {name: each for name, each in self.space.items() if name != _RATE}
        return {EFFECTIVE_RATE: Range(low, high, "LOG_SCALE"), **others}


def together(first: SearchSpace, second: SearchSpace) -> SearchSpace:
    """Return the smallest ranges that contain two windows of one space."""
    found: dict[str, Metaparameter] = {}
    for name, one in first.items():
        other = second[name]
        found[name] = one
        if isinstance(one, Range) and isinstance(other, Range):
            low, high = min(one.minimum, other.minimum), max(one.maximum, other.maximum)
            found[name] = replace(one, minimum=low, maximum=high)
    return found


def _range_of(space: SearchSpace, name: str) -> Range:
    found = space[name]
    if not isinstance(found, Range):
        raise TypeError(f"{name} has no range to cut a window from: {found}")
    return found


def _around(centre: float, decades: float, limits: Range) -> Range:
    half = 10 ** (decades / 2)
    centre = min(max(centre, limits.minimum), limits.maximum)
    return _within(limits, centre / half, centre * half)


def _within(limits: Range, low: float, high: float) -> Range:
    low, high = (min(max(value, limits.minimum), limits.maximum) for value in (low, high))
    return replace(limits, minimum=low, maximum=high)


def _beyond(inside: Range, whole: Range, position: float, decades: float) -> Range | None:
    """Return the part of a range beyond the edge near a position; None away from edges."""
    factor = 10**decades
    low, high = inside.minimum, inside.maximum
    if position < OUTER and low > whole.minimum:
        further = low / factor if inside.scale == "LOG_SCALE" else 1 - (1 - low) * factor
        return _within(whole, further, low)
    if position > 1 - OUTER and high < whole.maximum:
        further = high * factor if inside.scale == "LOG_SCALE" else 1 - (1 - high) / factor
        return _within(whole, high, further)
    return None
