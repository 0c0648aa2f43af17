"""MLPerf as sources: the logs of its results, and the points that submissions are checked by."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dbtool.core.footer import plain
from dbtool.core.manifest import About
from dbtool.sources.base import Addition, Report
from dbtool.sources.mlperf.benchmarks import benchmark_of, newest_benchmark
from dbtool.sources.mlperf.log import Event, RefusedError, logged_run, runs_in
from dbtool.sources.public.files import published_files
from dbtool.sources.public.runs import PublishedRun, RunsSource

_LOG_OR_SYSTEM = re.compile(r"(?:^|/)(?:result_\w+\.txt|systems/[^/]+\.json)$")
_REPEATED = "a file of another round or system has the same run"
_ANY = re.compile("")
_ROUND = re.compile(r"\b(training|hpc)_results_v(\d+\.\d+)")
_POINTS = re.compile(r"(?:^|/)(training|hpc)_(\d+\.\d+)\.\d+/rcps_\w+\.json$")
_PLACES = ("Epochs to converge", "samples to converge")


@dataclass(frozen=True)
class MlperfSource(RunsSource):
    """Results of MLPerf's rounds, a run a log file; see `RunsSource`.

    Attributes:
        of_rounds: whether the files are those of rounds, whose rules apply; False: of the user's,
            as the last round has its rules, and every file is read.
    """

    of_rounds: bool = True

    def runs(self, addition: Addition) -> Iterator[PublishedRun]:
        """Yield the runs of all logs, each once; archives tell of their systems after the logs."""
        known: dict[tuple[object, ...], str] = {}
        accelerators: dict[str, int] = {}
        found: list[PublishedRun] = []
        pattern = _LOG_OR_SYSTEM if self.of_rounds else _ANY
        for name, _, contents in published_files(self.paths, pattern, addition.on_progress):
            if self.of_rounds and name.endswith(".json"):
                accelerators[_system(name)] = _accelerators(contents)
                continue
            for run in self._runs_in(name, contents, addition.report):
                # No two runs share the time and the value of each evaluation.
                curve = tuple((metric, *map(str, values)) for metric, values in run.values.items())
                if len(run.steps) > 1 and known.setdefault(curve, name) != name:
                    addition.report.leave_unused(_REPEATED, name)
                else:
                    found.append(run)
        for run in found:
            count = accelerators.get(_system(run.name))
            settings = {"accelerators": count} if count else {}
            yield run._replace(metaparameters={**run.metaparameters, **settings})

    def _runs_in(self, name: str, contents: bytes, report: Report) -> Iterator[PublishedRun]:
        """Yield the runs of a log."""
        try:
            logs = list(runs_in(contents.decode(errors="replace").splitlines()))
        except (ValueError, msgspec.MsgspecError):
            report.leave_unused("a line is damaged", name)
            return
        if logs == [[]]:
            report.leave_unused("it has no line of a log, :::MLLOG", name)
            return
        for number, events in enumerate(logs):
            try:
                yield self._run(name, f"#{number + 1}" if number else "", events)
            except RefusedError as error:
                report.leave_unused(str(error), name)

    def _run(self, name: str, number: str, events: Sequence[Event]) -> PublishedRun:
        """Return a run of a log, unless it is not whole, or not of a known round or benchmark."""
        named = next((each.value for each in events if each.key == "submission_benchmark"), None)
        found = _ROUND.search(name)
        if not self.of_rounds:
            benchmark, settings = newest_benchmark(str(named)), {}
        elif found is None:
            raise RefusedError("it lies in no folder training_results_vX.Y or hpc_results_vX.Y")
        else:
            benchmark = benchmark_of(str(named), found[1], float(found[2]))
            settings = {"round": f"{found[1]}-v{found[2]}"}
            name = _below_round(name)
        if benchmark is None:
            raise RefusedError(f"steps of the benchmark {named!r} cannot be counted")
        return logged_run(events, benchmark, f"{name}{number}", settings)


def _below_round(name: str) -> str:
    """Return a path from the folder of its round on, which in archives has the commit in it."""
    found = _ROUND.search(name)
    return f"{found[0]}/{name[found.end() :].partition('/')[2]}" if found else name


def _system(name: str) -> str:
    """Return what a log and the description of its system share: round, submitter and system."""
    parts = _below_round(name).removesuffix(".json").split("/")
    return "/".join([*parts[:2], *parts[3:4]])


def _accelerators(contents: bytes) -> int:
    """Return the number of accelerators of a system; 0 where its description does not tell."""
    try:
        told = msgspec.json.decode(contents, type=dict[str, object])
        return int(str(told["number_of_nodes"])) * int(str(told["accelerators_per_node"]))
    except (msgspec.MsgspecError, KeyError, ValueError):
        return 0


def own_logs(paths: Sequence[Path]) -> MlperfSource:
    """Return the source of a user's own MLPerf logs, for `dbtool ingest --from mllog`."""
    return MlperfSource(tuple(paths), About(release="mllog"), of_rounds=False)


class ReferenceSource(RunsSource):
    """Reference points of all versions, each once: when runs with other seeds reached the target.

    See `RunsSource`.
    """

    producer = {"evaluations": "goal alone"}  # noqa: RUF012 # A class variable by its base.

    def runs(self, addition: Addition) -> Iterator[PublishedRun]:
        """Yield the runs of one point after the other, when all lists were read."""
        known: set[tuple[object, ...]] = set()
        for name, found, contents in sorted(
            published_files(self.paths, _POINTS, addition.on_progress)
        ):
            try:
                points = msgspec.json.decode(contents, type=dict[str, dict[str, Any]])
            except msgspec.MsgspecError as error:
                addition.report.leave_unused(str(error), name)
                continue
            for key, point in points.items():
                try:
                    runs = list(_runs_of(found, key, point))
                except (ValueError, TypeError, KeyError) as error:
                    addition.report.leave_unused(str(error), f"{name}: {key}")
                    continue
                # A version repeats the points of those before it, maybe in another unit.
                identity: tuple[object, ...] = (runs[0].workload.workload, runs[0].batch_size)
                identity += tuple(sorted(run.steps[0] for run in runs))
                if identity not in known:
                    known.add(identity)
                    yield from runs


def _runs_of(found: re.Match[str], key: str, point: dict[str, Any]) -> Iterator[PublishedRun]:
    """Yield the runs of a point, unless its benchmark or its numbers are not known."""
    benchmark = benchmark_of(str(point.get("Benchmark")), found[1], float(found[2]))
    if benchmark is None:
        raise ValueError(f"steps of the benchmark {point.get('Benchmark')!r} cannot be counted")
    batch_size, places = point.get("BS"), next((point[p] for p in _PLACES if p in point), None)
    if not isinstance(batch_size, int) or not places:
        raise ValueError("it has no batch size, or no run")
    settings = {
        "learning_rate" if name.endswith("base_learning_rate") else name: plain(value)
        for name, value in sorted(point.get("Hyperparams", {}).items())
        if isinstance(value, bool | int | float | str)
    }
    for number, place in enumerate(places):
        yield PublishedRun(
            benchmark.described(),
            batch_size,
            f"{found[0].lstrip('/')}: {key} {number}",
            "COMPLETE",
            {"point": key, **settings},
            [benchmark.steps(float(place), batch_size)],
            {benchmark.metric: [benchmark.goal]},
        )
