"""Searches one study in lockstep: round by round, until its best trial lies at no window's edge.

A finished round lies as a shard in a hidden folder of the study's, where a search that was stopped
goes on. The study's own shard, with all rounds, appears when the search has ended.
"""

from __future__ import annotations

import functools
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.errors import DbtoolError
from dbtool.store.contract import OTHER_METRICS, optional_columns, shard_schema
from producers.lockstep.window import Optimum, Windows, together
from producers.search import points, search_space_json
from producers.seeds import SEARCH, derived_seed, trial_seed
from producers.shards import write_shard
from producers.sweep.tasks import ROUNDS_FOLDER, footer, footer_of, shards_in
from producers.training.hosts import from_first, is_first
from producers.training.optimizers import optimizer_definition
from producers.training.run import BlockTrials
from producers.training.stopping import FirstToGoal, Goal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from producers.plan import StudyPlan
    from producers.search import SearchSpace
    from producers.sweep.session import StudySession

# A best trial that still lies at an edge then is left there, and the row says so.
_MOST_ROUNDS = 6


@dataclass(frozen=True)
class Round:
    """A round that has been trained.

    Attributes:
        space: what its trials were drawn from.
        most_steps: how long they would have trained.
        first_trial: the smallest of their ids.
        trials: how many there are.
        best_trial: the first that was past the goal, or else the one with the best value.
        best: its metaparameters.
        best_cost: its best value, lower the better.
        reached_at: the step after which it was past the goal; None where it never was.
        stopped_at: the step at which the trials stopped.
        leader: the steps after which the best cost of all trials fell, with that cost.
    """

    space: SearchSpace
    most_steps: int
    first_trial: int
    trials: int
    best_trial: int
    best: dict[str, float]
    best_cost: float
    reached_at: int | None
    stopped_at: int
    leader: tuple[tuple[int, float], ...]

    @property
    def rank(self) -> tuple[float, float, int]:
        """Lower the better: the fewest steps to the goal, then the best value."""
        steps = np.inf if self.reached_at is None else self.reached_at
        return steps, self.best_cost, self.best_trial


class LockstepSearch:
    """The search of one study.

    Args:
        study: it has a rule of search.
        out: the sweep's folder, which holds the neighbour's shards.
    """

    def __init__(self, study: StudyPlan, out: Path) -> None:
        if study.search is None or study.workload.goal is None:
            raise ValueError(f"{study.name} is not searched in lockstep")
        workload = study.workload
        self._study = study
        self._rule = study.search
        self._folder = study.folder(out)
        self._goal = Goal(
            workload.metric, study.workload.goal, workload.maximize, workload.goal_inclusive
        )
        space = study.search_space()
        self._windows = Windows(space, optimizer_definition(workload.optimizer).sums_up)
        self._origin = None if study.neighbour is None else _optimum(study, out, study.neighbour)

    def run(
        self,
        session: StudySession,
        on_round: Callable[[Sequence[int]], None],
        on_steps: Callable[[int], None],
    ) -> Path | None:
        """Trains the rounds that are missing and writes the study's shard.

        Returns:
            The shard; None on processes that do not write.
        """
        rounds: list[Round] = []
        while (space := self._next(rounds)) is not None:
            rounds.append(self._round(session, rounds, space, on_round, on_steps))
        shard = self._write(rounds) if is_first() else None
        if is_first():
            shutil.rmtree(self._folder / ROUNDS_FOLDER)
        return shard

    def _next(self, rounds: Sequence[Round]) -> SearchSpace | None:
        """What the next round searches; None when there is none."""
        if not rounds:
            if self._origin is None:
                return self._windows.space
            return self._windows.around(self._origin, self._study.batch_size)
        if self._origin is None or len(rounds) == _MOST_ROUNDS:
            return None
        return self._windows.widened(_searched(rounds), _best(rounds).best)

    def _round(
        self,
        session: StudySession,
        rounds: Sequence[Round],
        space: SearchSpace,
        on_round: Callable[[Sequence[int]], None],
        on_steps: Callable[[int], None],
    ) -> Round:
        """The next round, trained unless it lies there."""
        study, number = self._study, len(rounds)
        first = sum(each.trials for each in rounds)
        # A widened round covers half a window.
        count = study.least_trials if not rounds else max(1, study.least_trials // 2)
        most_steps = min([study.train_steps, *(each.stopped_at for each in rounds)])
        folder = self._folder / ROUNDS_FOLDER / str(number)
        if not from_first(lambda: self._holds_round(folder)):
            trials = self._trials(number, space, first, count)
            on_round(trials.trial_ids)
            evaluations, everyone = self._rule.evaluations(
                study.workload, most_steps, study.batch_size
            )
            rule = FirstToGoal(
                self._goal,
                count,
                everyone=everyone,
                reaching=self._rule.reaching,
                dropping=self._rule.dropping,
                leader=_falling(point for each in rounds for point in each.leader),
            )
            session.train_round(trials, evaluations, rule, folder, on_steps)
        found = from_first(lambda: _outcome(folder, self._goal, most_steps))
        leader = tuple((int(step), float(cost)) for step, cost in found.pop("leader"))
        return Round(
            space=space,
            most_steps=most_steps,
            first_trial=first,
            trials=count,
            leader=leader,
            **found,
        )

    def _holds_round(self, folder: Path) -> bool:
        """Whether a folder holds a finished round of this very search.

        Raises:
            DbtoolError: it holds one of another definition of the study.
        """
        held = [footer_of(self._study, path) for path in shards_in(folder)]
        return bool(held)

    def _trials(self, number: int, space: SearchSpace, first: int, count: int) -> BlockTrials:
        """The trials of a round: their points of its space and their seeds."""
        study, ids = self._study, range(first, first + count)
        if self._origin is None:
            return study.trials(ids)
        seed = derived_seed(SEARCH, study.seed, number)
        return BlockTrials(
            trial_ids=tuple(ids),
            seeds=tuple(trial_seed(study.seed, trial_id) for trial_id in ids),
            metaparameters=tuple(
                self._windows.metaparameters(point)
                for point in points(space, seed=seed, first=0, count=count)
            ),
            shared_seed=study.seed if study.shared_batches else None,
        )

    def _write(self, rounds: Sequence[Round]) -> Path:
        """Writes the study's shard from those of its rounds."""
        paths = [
            path
            for number in range(len(rounds))
            for path in shards_in(self._folder / ROUNDS_FOLDER / str(number))
        ]
        footers = [footer(path) for path in paths]
        return write_shard(
            self._folder,
            study=self._description(rounds),
            trials=[trial for each in footers for trial in each.trials],
            producer=footers[0].producer,
            tables=_tables(paths),
        )

    def _description(self, rounds: Sequence[Round]) -> dict[str, Any]:
        """The study as its shard records it, with what became of its search."""
        best = _best(rounds)
        described = self._study.description()
        searched = _searched(rounds)
        if self._origin is not None:
            searched = self._windows.bounds(searched)
        described["train_steps"] = min(each.stopped_at for each in rounds)
        described["search_space"] = search_space_json(searched)
        described["search"] |= {
            "reached": best.reached_at is not None,
            "best_trial": best.best_trial,
            "origin": _origin_json(self._origin),
            "rounds": [
                {
                    "first_trial": each.first_trial,
                    "trials": each.trials,
                    "most_steps": each.most_steps,
                    "reached_at": each.reached_at,
                    "stopped_at": each.stopped_at,
                    "space": search_space_json(each.space),
                }
                for each in rounds
            ],
        }
        return described


def _best(rounds: Sequence[Round]) -> Round:
    """The round that holds the best trial of all."""
    return min(rounds, key=lambda each: each.rank)


def _searched(rounds: Sequence[Round]) -> SearchSpace:
    """What all rounds together have searched."""
    return functools.reduce(together, (each.space for each in rounds))


def _falling(points: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """Of steps and costs, those whose cost is lower than that of every step before."""
    falling: list[tuple[int, float]] = []
    for step, cost in sorted(points):
        if not falling or cost < falling[-1][1]:
            falling.append((step, cost))
    return falling


def _optimum(study: StudyPlan, out: Path, batch_size: int) -> Optimum:
    """The best trial of the study next to one, which was searched before.

    Raises:
        DbtoolError: its shard is not there.
    """
    neighbour = replace(study, batch_size=batch_size)
    found = from_first(lambda: _best_trial(neighbour.folder(out)))
    if found is None:
        raise DbtoolError(
            f"{study.name} is searched around the optimum at batch size {batch_size}, which "
            f"{out} does not hold; train that first, in the same sweep"
        )
    return Optimum(batch_size, found["trial_id"], found["metaparameters"])


def _best_trial(folder: Path) -> dict[str, Any] | None:
    """The best trial of a finished search, as its shard lists it."""
    for path in shards_in(folder):
        read = footer(path)
        best = read.study.get("search", {}).get("best_trial")
        for trial in read.trials:
            if trial["trial_id"] == best:
                return trial
    return None


def _origin_json(origin: Optimum | None) -> dict[str, Any] | None:
    if origin is None:
        return None
    return {
        "batch_size": origin.batch_size,
        "trial_id": origin.trial_id,
        "metaparameters": dict(origin.metaparameters),
    }


def _outcome(folder: Path, goal: Goal, most_steps: int) -> dict[str, Any]:
    """What became of a round, from its shard: what `Round` holds, as JSON can."""
    path = shards_in(folder)[0]
    trials = footer(path).trials
    metaparameters = {trial["trial_id"]: trial["metaparameters"] for trial in trials}
    complete = [trial["steps"] for trial in trials if trial["status"] == "COMPLETE"]
    table = pq.read_table(path, columns=["trial_id", "step", goal.metric]).drop_null()
    trial, step, value = (table[name].to_numpy() for name in ("trial_id", "step", goal.metric))
    cost, reached = goal.cost(value), goal.reached(value)
    # The last key counts first.
    order = np.lexsort((trial, step, cost))
    if reached.any():
        order = np.lexsort((trial, step, ~reached))
    best = int(order[0])
    return {
        "best_trial": int(trial[best]),
        "best": metaparameters[int(trial[best])],
        "best_cost": float(cost[best]),
        "reached_at": int(step[best]) if reached.any() else None,
        "stopped_at": max(complete, default=most_steps),
        "leader": _falling(zip(step.tolist(), cost.tolist(), strict=True)),
    }


def _tables(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """The rows of shards, one row group after the other, with the columns that any of them has."""
    names = {name for path in paths for name in pq.read_schema(path).names}
    schema = shard_schema(frozenset(names & (optional_columns() | {OTHER_METRICS})))
    for path in paths:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group)
                columns = [
                    rows[field.name]
                    if field.name in rows.column_names
                    else pa.nulls(len(rows), field.type)
                    for field in schema
                ]
                yield pa.table(columns, schema=schema)
