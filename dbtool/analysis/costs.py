"""Time and money: the batch sizes of the quickest run, of the cheapest, and of those between.

A run on d devices takes S(B) steps of B examples, each of which lasts as long as B / d examples do
on one device. On the same devices the quickest run is the cheapest, so that each number of devices
has one best batch size: the more devices, the larger it is, the quicker the run, and the dearer.
"""

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from dbtool.analysis.censored import Floats
from dbtool.analysis.critical import FittedCurve, log_excess
from dbtool.analysis.interval import Interval
from dbtool.core.errors import UsageError
from dbtool.store.tables import positive, text_table

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}
_TERM = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)\s*(ns|us|µs|ms|s|)\s*(\*\s*B)?\s*")
_POINTS = 1000
_HOUR = 3600


@dataclass(frozen=True)
class StepTime:
    """How long a step takes on one device, by its examples.

    Attributes:
        sizes: numbers of examples, ascending, at least one.
        seconds: of each, above 0; linear between them and beyond the last.
    """

    sizes: Floats
    seconds: Floats

    def at(self, sizes: Floats) -> Floats:
        """Return the seconds of steps of so many examples; of fewer than known as of the fewest."""
        last = self.seconds[-1] / self.sizes[-1] if self.sizes[-1] else 0.0
        slope = np.diff(self.seconds)[-1] / np.diff(self.sizes)[-1] if len(self.sizes) > 1 else last
        beyond = np.maximum(sizes - self.sizes[-1], 0)
        found: Floats = np.interp(sizes, self.sizes, self.seconds) + max(slope, 0) * beyond
        return found


def step_time(text: str | os.PathLike[str]) -> StepTime:
    """Return a step time from a sum such as `50ms + 0.1ms*B`, or from a CSV file.

    Args:
        text: terms in ns, us, ms or s, joined by +, with `*B` for each example; or the file, with
            the columns batch_size and seconds.

    Raises:
        UsageError: it is neither, or the file cannot be read.

    Example:
        >>> step_time("50ms + 0.1ms*B").at(np.array([100.0, 500.0])).tolist()
        [0.060000000000000005, 0.1]
    """
    terms = [_TERM.fullmatch(term) for term in os.fspath(text).split("+")]
    if all(terms):
        fixed, each = (
            sum(float(term[1]) * _UNITS[term[2]] for term in terms if term and bool(term[3]) == own)
            for own in (False, True)
        )
        if fixed + each > 0:
            return StepTime(np.array([0.0, 1.0]), np.array([fixed, fixed + each]))
    if Path(text).suffix != ".csv" and not Path(text).exists():
        raise UsageError(
            f"--step-time {os.fspath(text)!r} is neither a sum such as '50ms + 0.1ms*B' nor a CSV "
            "file with the columns batch_size and seconds"
        )
    names = ("batch_size", "seconds")
    rows = text_table(text, names, " and ".join(names))
    table = pl.DataFrame([positive(rows, name) for name in names]).sort("batch_size")
    if twice := table["batch_size"].is_duplicated().arg_true().to_list():
        raise UsageError(
            f"{os.fspath(text)} has batch_size {table['batch_size'][twice[0]]:g} twice: give the "
            "seconds of a step once for each batch size"
        )
    return StepTime(table["batch_size"].to_numpy(), table["seconds"].to_numpy())


@dataclass(frozen=True)
class BestRun:
    """The best run on a number of devices.

    Attributes:
        devices: the number.
        batch_size: at which it is quickest; examples of all devices.
        steps: that it takes there.
        hours: that these take.
    """

    devices: int
    batch_size: Interval
    steps: float
    hours: Interval


def runs(curve: FittedCurve, seconds: StepTime, devices: int) -> list[BestRun]:
    """Return the best run on 1, 2, 4 … devices, up to a number; the first is the cheapest.

    Batch sizes lie between the least and the largest that reached the goal. Numbers of devices are
    dropped where more of them take no less time.

    Args:
        curve: the steps.
        seconds: of a step on one device.
        devices: the most.
    """
    counts = [2**power for power in range(devices.bit_length()) if 2**power < devices] + [devices]
    found: list[BestRun] = []
    for count in counts:
        run = _best(curve, seconds, count)
        if not found or (run.hours.value or 0) < (found[-1].hours.value or 0):
            found.append(run)
    return found


def _best(curve: FittedCurve, seconds: StepTime, devices: int) -> BestRun:
    sizes = np.geomspace(*curve.reached, _POINTS)
    log_seconds = np.log(seconds.at(sizes / devices))

    def fastest(bend: float, critical: float) -> float:
        return float(sizes[np.argmin(log_excess(bend, np.log(critical / sizes)) + log_seconds)])

    size = curve.estimate(fastest)
    at = fastest(curve.bend.value or 1, curve.critical)
    bends, criticals, steps, slack = curve.plausible.T[:, :, None]
    logs = steps + log_excess(np.exp(bends), criticals - np.log(sizes)) + log_seconds
    fewest = logs.min(axis=1)
    taken = curve.at(at)
    hours = taken * math.exp(np.interp(math.log(at), np.log(sizes), log_seconds)) / _HOUR
    least, most = float((fewest - slack[:, 0]).min()), float((fewest + slack[:, 0]).max())
    low, high = math.exp(least) / _HOUR, math.exp(most) / _HOUR
    return BestRun(devices, size, taken, Interval(hours, min(low, hours), max(high, hours)))
