"""MLPerf's reference convergence points: when runs with other seeds reached the target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from dbtool.core.footer import plain
from dbtool.sources.mlperf.benchmarks import benchmark_of
from dbtool.sources.public.files import published_files
from dbtool.sources.public.runs import PublishedRun, RunsSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbtool.core.footer import Scalar
    from dbtool.sources.base import Addition

_LIST = re.compile(r"(?:^|/)(training|hpc)_(\d+\.\d+)\.\d+/rcps_\w+\.json$")
_PLACES = ("Epochs to converge", "samples to converge")
_BASE_LEARNING_RATE = "base_learning_rate"


class ReferenceSource(RunsSource):
    """Reference points of all versions, each once; see `RunsSource`."""

    producer = {"evaluations": "goal alone"}  # noqa: RUF012 # A class variable by its base.

    def runs(self, addition: Addition) -> Iterator[PublishedRun]:
        """Yield the runs of one point after the other, when all lists were read."""
        known: set[tuple[object, ...]] = set()
        for name, found, contents in sorted(
            published_files(self.paths, _LIST, addition.on_progress)
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
    """Yield the runs of a point.

    Raises:
        ValueError: its benchmark or its numbers are not known.
    """
    benchmark = benchmark_of(str(point.get("Benchmark")), found[1], float(found[2]))
    if benchmark is None:
        raise ValueError(f"steps of the benchmark {point.get('Benchmark')!r} cannot be counted")
    batch_size, places = point.get("BS"), next((point[p] for p in _PLACES if p in point), None)
    if not isinstance(batch_size, int) or not places:
        raise ValueError("it has no batch size, or no run")
    settings = _settings(point.get("Hyperparams", {}))
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


def _settings(settings: dict[str, Any]) -> dict[str, Scalar]:
    return {
        "learning_rate" if name.endswith(_BASE_LEARNING_RATE) else name: plain(value)
        for name, value in sorted(settings.items())
        if isinstance(value, bool | int | float | str)
    }
