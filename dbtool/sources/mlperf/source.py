"""MLPerf's training results as a source: a run a log file, a study a benchmark and batch size."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from dbtool.core.manifest import About
from dbtool.sources.mlperf.benchmarks import benchmark_of, newest_benchmark
from dbtool.sources.mlperf.log import runs_in
from dbtool.sources.mlperf.run import RefusedError, benchmark_run
from dbtool.sources.public.files import published_files
from dbtool.sources.public.runs import PublishedRun, RunsSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dbtool.sources.base import Addition, Report
    from dbtool.sources.mlperf.log import Event

_LOG_OR_SYSTEM = re.compile(r"(?:^|/)(?:result_\w+\.txt|systems/[^/]+\.json)$")
_REPEATED = "a file of another round or system has the same run"
_ANY = re.compile("")
_ROUND = re.compile(r"\b(training|hpc)_results_v(\d+\.\d+)")
SECONDS = "seconds"


@dataclass(frozen=True)
class MlperfSource(RunsSource):
    """Results of MLPerf's rounds; see `RunsSource`.

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
                if len(run.steps) > 1 and known.setdefault(_curve(run), name) != name:
                    addition.report.leave_unused(_REPEATED, name)
                else:
                    found.append(run)
        for run in found:
            count = accelerators.get(_system(run.name), 0)
            settings = {**run.metaparameters, "accelerators": count} if count else {}
            yield run._replace(metaparameters=settings or run.metaparameters)

    def _runs_in(self, name: str, contents: bytes, report: Report) -> Iterator[PublishedRun]:
        """Yield the runs of a log."""
        try:
            logs = list(runs_in(contents.decode(errors="replace").splitlines()))
        except ValueError:
            report.leave_unused("a line is damaged", name)
            return
        if logs == [[]]:
            report.leave_unused("it has no line of a log, :::MLLOG", name)
            return
        for number, events in enumerate(logs):
            try:
                yield self._run(name, number, events)
            except RefusedError as error:
                report.leave_unused(str(error), name)

    def _run(self, name: str, number: int, events: Sequence[Event]) -> PublishedRun:
        """Return a run of a log.

        Raises:
            RefusedError: it is not of a round or benchmark that is known, or not whole.
        """
        keys = {event.key: event.value for event in reversed(events)}
        named = keys.get("submission_benchmark")
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
        run = benchmark_run(events, benchmark)
        metrics = sorted({metric for each in run.evaluations for metric in each.values})
        values = {
            metric: [each.values.get(metric, float("nan")) for each in run.evaluations]
            for metric in metrics
        }
        if all(each.seconds is not None for each in run.evaluations):
            values[SECONDS] = [each.seconds or 0.0 for each in run.evaluations]
        return PublishedRun(
            benchmark.described(is_open=run.metaparameters.get("division") == "open"),
            run.batch_size,
            f"{name}{f'#{number + 1}' if number else ''}",
            run.status,
            {**settings, **run.metaparameters},
            [each.step for each in run.evaluations],
            values,
            run.seed,
        )


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


def _curve(run: PublishedRun) -> tuple[object, ...]:
    """Return what no two runs share: the time and the value of each evaluation."""
    return tuple((metric, *map(str, values)) for metric, values in run.values.items())


def own_logs(paths: Sequence[Path]) -> MlperfSource:
    """Return the source of a user's own MLPerf logs, for `dbtool ingest --from mllog`."""
    return MlperfSource(tuple(paths), About(release="mllog"), of_rounds=False)
