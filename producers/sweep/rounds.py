"""Search one study in lockstep, round by round, until its best trial lies at no window's edge.

A finished round lies as a shard in the study's work folder, where a search that was stopped goes
on. The study's own shard, with all rounds, appears when the search has ended.
"""

import dataclasses
import functools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dbtool.core.errors import DbtoolError
from dbtool.core.footer import Footer, Study
from dbtool.core.index import Index
from dbtool.core.release import shard_paths
from dbtool.core.shards import read_footer, read_tables, write_shard
from producers.lockstep import Optimum, Windows, together
from producers.plan import StudyPlan
from producers.search import SearchSpace, points, search_space_json
from producers.seeds import SEARCH, derived_seed
from producers.sweep.outcome import best_of, values_of
from producers.sweep.run import ROUNDS_FOLDER
from producers.sweep.session import StudySession, TrainedBlock
from producers.training.mesh import from_first, is_first
from producers.training.optimizers import optimizer_definition
from producers.training.run import BlockTrials
from producers.training.stopping import FirstToGoal, Goal, falling

# A best trial that still lies at an edge then is left there, and the row says so.
_MOST_ROUNDS = 6


@dataclasses.dataclass(frozen=True)
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
        leader: the steps after which the best cost of the trials that came near the goal fell, with
            that cost.
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
    """The search of one study that has a rule of search.

    The index is what the sweep's folder `out` lists, the neighbour among it.
    """

    def __init__(self, study: StudyPlan, out: Path, index: Index) -> None:
        if study.search is None or study.workload.goal is None:
            raise ValueError(f"{study.name} is not searched in lockstep")
        workload = study.workload
        self._study = study
        self._rule = study.search
        self._folder = study.work_folder(out) / ROUNDS_FOLDER
        self._goal = Goal.of(workload)
        space = study.search_space()
        self._windows = Windows(space, optimizer_definition(workload.optimizer).sums_up)
        self._origin = (
            None if study.neighbour is None else _optimum(study, out, index, study.neighbour)
        )

    def run(self, session: StudySession) -> TrainedBlock:
        """Train the rounds that are missing; return the trials of all."""
        rounds: list[Round] = []
        while (space := self._next(rounds)) is not None:
            rounds.append(self._round(session, rounds, space))
        paths = [path for number in range(len(rounds)) for path in self._shards(number)]
        footers = [read_footer(path) for path in paths]
        whole = Footer(
            study=self._searched_study(rounds),
            trials=tuple(trial for each in footers for trial in each.trials),
            producer=footers[0].producer,
        )
        tables = (table for path in paths for table in read_tables(path))
        return TrainedBlock(whole, tables, self._remove_rounds)

    def _remove_rounds(self) -> None:
        if is_first():
            shutil.rmtree(self._folder)

    def _next(self, rounds: Sequence[Round]) -> SearchSpace | None:
        if not rounds:
            if self._origin is None:
                return self._windows.space
            return self._windows.around(self._origin, self._study.batch_size)
        if self._origin is None or len(rounds) == _MOST_ROUNDS:
            return None
        return self._windows.widened(_searched(rounds), _best(rounds).best)

    def _round(self, session: StudySession, rounds: Sequence[Round], space: SearchSpace) -> Round:
        study, number = self._study, len(rounds)
        first = sum(each.trials for each in rounds)
        # A widened round covers half a window.
        count = study.least_trials if not rounds else max(1, study.least_trials // 2)
        most_steps = min([study.train_steps, *(each.stopped_at for each in rounds)])
        folder = self._folder / str(number)
        if not from_first(lambda: bool(self._shards(number))):
            trials = self._trials(number, space, first, count)
            session.events.on_block(study, trials.trial_ids)
            search = self._rule
            evaluations, everyone = search.evaluations(study.workload, most_steps, study.batch_size)
            rule = FirstToGoal(
                self._goal,
                count,
                everyone=everyone,
                reaching=search.reaching,
                dropping=search.dropping,
                leader=falling(point for each in rounds for point in each.leader),
            )
            block = session.train(trials, folder, evaluations, rule)
            if is_first():
                write_shard(folder, block.footer, block.tables)
            block.done()
        found = from_first(lambda: _outcome(self._shards(number)[0], self._goal, most_steps))
        leader = tuple((int(step), float(cost)) for step, cost in found.pop("leader"))
        return Round(space, most_steps, first, count, leader=leader, **found)

    def _shards(self, number: int) -> list[Path]:
        folder = self._folder / str(number)
        return [folder / path for path in shard_paths(folder)]

    def _trials(self, number: int, space: SearchSpace, first: int, count: int) -> BlockTrials:
        study, ids = self._study, range(first, first + count)
        if self._origin is None:
            return study.trials(ids)
        seed = derived_seed(SEARCH, study.seed, number)
        drawn = points(space, seed=seed, first=0, count=count)
        return study.trials_at(ids, map(self._windows.metaparameters, drawn))

    def _searched_study(self, rounds: Sequence[Round]) -> Study:
        best = _best(rounds)
        study = self._study.study()
        searched = _searched(rounds)
        if self._origin is not None:
            searched = self._windows.bounds(searched)
        recorded = ("first_trial", "trials", "most_steps", "reached_at", "stopped_at")
        became = {
            "reached": best.reached_at is not None,
            "best_trial": best.best_trial,
            "origin": None if self._origin is None else dataclasses.asdict(self._origin),
            "rounds": [
                {name: getattr(each, name) for name in recorded}
                | {"space": search_space_json(each.space)}
                for each in rounds
            ],
        }
        return msgspec.structs.replace(
            study,
            train_steps=min(each.stopped_at for each in rounds),
            search_space=search_space_json(searched),
            search={**(study.search or {}), **became},
        )


def _best(rounds: Sequence[Round]) -> Round:
    return min(rounds, key=lambda each: each.rank)


def _searched(rounds: Sequence[Round]) -> SearchSpace:
    return functools.reduce(together, (each.space for each in rounds))


def _optimum(study: StudyPlan, out: Path, index: Index, batch_size: int) -> Optimum:
    found = from_first(lambda: _best_trial(index, (study.workload.name, batch_size)))
    if found is None:
        raise DbtoolError(
            f"{study.name} is searched around the optimum at batch size {batch_size}, which "
            f"{out} does not hold; train that first, in the same sweep"
        )
    return Optimum(batch_size, found["trial_id"], json.loads(found["metaparameters"]))


def _best_trial(index: Index, key: tuple[str, int]) -> dict[str, Any] | None:
    study = index.studies.get(key)
    if study is None or study.search is None:
        return None
    return index.trials_of(*key).get(study.search.get("best_trial", -1))


def _outcome(path: Path, goal: Goal, most_steps: int) -> dict[str, Any]:
    """Return the outcome of a round, from its shard: what `Round` holds, as JSON can."""
    trials = read_footer(path).trials
    metaparameters = {trial.trial_id: trial.metaparameters for trial in trials}
    complete = [trial.steps for trial in trials if trial.status == "COMPLETE"]
    values = values_of([path], goal.metric)
    trial, step, value = values
    cost, best = goal.cost(value), best_of(values, goal)
    leads = np.isin(trial, trial[goal.near(value)])
    return {
        "best_trial": int(trial[best]),
        "best": metaparameters[int(trial[best])],
        "best_cost": float(cost[best]),
        "reached_at": int(step[best]) if goal.reached(value).any() else None,
        "stopped_at": max(complete, default=most_steps),
        "leader": falling(zip(step[leads].tolist(), cost[leads].tolist(), strict=True)),
    }
