"""Quasi-random search over typed search spaces.

A search space is what a published `study.json` calls `parameter_configs`: one range a
metaparameter, uniform on its own scale (Shallue et al., 2018, appendix on metaparameter tuning).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

# Of a range's scale, on either side: better values may lie beyond a best one there.
OUTER = 0.1

Scale = Literal["LINEAR_SCALE", "LOG_SCALE", "REVERSE_LOG_SCALE"]


@dataclass(frozen=True)
class Range:
    """A real or whole metaparameter between two values, both included.

    Attributes:
        minimum: the smallest value.
        maximum: the largest value.
        scale: LINEAR_SCALE is uniform in the value, LOG_SCALE in its logarithm, REVERSE_LOG_SCALE
            in the logarithm of one minus the value.
        integer: whether only whole numbers are drawn.

    Raises:
        ValueError: the range is empty, or its scale is not one or has no such values.

    Example:
        >>> Range(2.0, 4.0).at(0.5)
        3.0
    """

    minimum: float
    maximum: float
    scale: Scale = "LINEAR_SCALE"
    integer: bool = False

    def __post_init__(self) -> None:
        if not self.minimum <= self.maximum:
            raise ValueError(f"the range {self.minimum} to {self.maximum} is empty")
        if self.scale not in get_args(Scale):
            raise ValueError(f"the scale {self.scale!r} is not one of {', '.join(get_args(Scale))}")
        if self.scale == "LOG_SCALE" and self.minimum <= 0:
            raise ValueError(f"a LOG_SCALE range needs a minimum above 0, got {self.minimum}")
        if self.scale == "REVERSE_LOG_SCALE" and (self.maximum >= 1 or self.integer):
            raise ValueError(
                f"a REVERSE_LOG_SCALE range needs a maximum below 1, got {self.maximum}, and holds "
                "no whole numbers"
            )

    def at(self, position: float) -> float:
        """Return the value at a position in [0, 1) of the range's scale."""
        low, high = self.minimum, self.maximum
        if self.integer:
            # Half a unit more on either side gives the two end values their full share.
            low = low if self.scale == "LOG_SCALE" else low - 0.5
            high += 1 if self.scale == "LOG_SCALE" else 0.5
        start, end = self._scaled(low), self._scaled(high)
        value = self._unscaled(start + position * (end - start))
        if self.integer:
            value = math.floor(value if self.scale == "LOG_SCALE" else value + 0.5)
        return float(min(max(value, self.minimum), self.maximum))

    def position(self, value: float) -> float:
        """Return a value's position on the range's scale: 0 at the minimum, 1 at the maximum."""
        low, high = self._scaled(self.minimum), self._scaled(self.maximum)
        return 0.5 if low == high else (self._scaled(value) - low) / (high - low)

    def is_at_edge(self, value: float) -> bool:
        """Return whether a value lies in the outer tenth of the range's scale, on either side."""
        return not OUTER <= self.position(value) <= 1 - OUTER

    def to_json(self) -> dict[str, Any]:
        """Return the range as `study.json` writes it."""
        return {
            "type": "INTEGER" if self.integer else "DOUBLE",
            "min_value": self.minimum,
            "max_value": self.maximum,
            "scale": self.scale,
        }

    def _scaled(self, value: float) -> float:
        if self.scale == "LOG_SCALE":
            return math.log(value)
        # Minus keeps the scale increasing with the value.
        return -math.log1p(-value) if self.scale == "REVERSE_LOG_SCALE" else value

    def _unscaled(self, value: float) -> float:
        if self.scale == "LOG_SCALE":
            return math.exp(value)
        return -math.expm1(-value) if self.scale == "REVERSE_LOG_SCALE" else value


@dataclass(frozen=True)
class Choice:
    """A metaparameter with a few feasible values.

    Attributes:
        values: of which each is as likely as the others.
    """

    values: tuple[float, ...]

    def at(self, position: float) -> float:
        """Return the value at a position in [0, 1); all values take equal shares."""
        return self.values[min(int(position * len(self.values)), len(self.values) - 1)]

    def to_json(self) -> dict[str, Any]:
        """Return the choice as `study.json` writes it."""
        return {"type": "DISCRETE", "feasible_points": list(self.values)}


@dataclass(frozen=True)
class StepsRange:
    """A whole number of steps between two shares of those that a trial trains."""

    minimum: float
    maximum: float

    def of(self, train_steps: int) -> Range:
        """Return the range in steps, for trials of `train_steps` steps."""
        fewest = max(1, round(self.minimum * train_steps))
        return Range(fewest, max(fewest, round(self.maximum * train_steps)), integer=True)

    def to_json(self) -> dict[str, Any]:
        """Return the shares, as a study's search space writes them."""
        return {"type": "INTEGER", "min_share": self.minimum, "max_share": self.maximum}


Metaparameter = Range | Choice
SearchSpace = dict[str, Metaparameter]


def search_space_json(space: Mapping[str, Metaparameter | StepsRange]) -> dict[str, dict[str, Any]]:
    """Return the search space as `parameter_configs` of a `study.json`."""
    return {name: metaparameter.to_json() for name, metaparameter in space.items()}


def ranges(space: Mapping[str, Mapping[str, Any]]) -> dict[str, Range]:
    """Return the ranges in `parameter_configs` of a `study.json`, without its choices."""
    return {
        name: Range(each["min_value"], each["max_value"], each["scale"], each["type"] == "INTEGER")
        for name, each in space.items()
        if "scale" in each
    }


@dataclass(frozen=True)
class Sobol:
    """Which Sobol sequence a search takes its points from.

    Attributes:
        scramble: whether it is scrambled by the study's seed; all studies share one that is not.
        skip: how many of its points come before the first trial's. The very first of a sequence
            that is not scrambled lies at the minimum of every range.
    """

    scramble: bool = True
    skip: int = 0


SCRAMBLED = Sobol()
"""A scrambled sequence from its first point on."""


def points(
    space: Mapping[str, Metaparameter],
    *,
    seed: int,
    first: int,
    count: int,
    sobol: Sobol = SCRAMBLED,
) -> list[dict[str, float]]:
    """Return points first, first + 1, … of a Sobol sequence over a search space.

    Point k depends on the space, the seed and the sequence, not on how many points are requested.
    Points are counted from 0, and the order of the names sets the order of the dimensions.
    """
    from scipy.stats import qmc

    sequence = qmc.Sobol(len(space), scramble=sobol.scramble, rng=seed)
    start, stop = sobol.skip + first, sobol.skip + first + count
    # The sequence is drawn in whole powers of two: its balance holds for those alone.
    positions = sequence.random_base2(max(stop - 1, 1).bit_length())[start:stop]
    return [
        {
            name: metaparameter.at(float(x))
            for (name, metaparameter), x in zip(space.items(), row, strict=True)
        }
        for row in positions
    ]
