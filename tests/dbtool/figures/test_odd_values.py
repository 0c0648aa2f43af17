"""Values that are legal in a release and that few axes have room for."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import dbtool
from dbtool.core.errors import DbtoolError
from dbtool.figures.plot import checked, packed_figures
from dbtool.figures.points import Request
from dbtool.figures.scales import Size, equal_octaves, set_scales, span_of
from dbtool.figures.specs import FIGURES
from tests.support.made_up import curve, write_shard

RATES = [-1.0, 0.0, 5e-324, 0.1, 1e308]


def _release(folder: Path, rates: list[float], space: dict[str, Any]) -> Path:
    trials: Any = [
        (trial_id, "COMPLETE", {"learning_rate": rate, "momentum": 1 - 1e-16}, curve([0.9, 0.05]))
        for trial_id, rate in enumerate(rates)
    ]
    for batch_size in (1, 8, 2**20):
        search_space = {"learning_rate": space, "momentum": space}
        write_shard(folder, batch_size=batch_size, trials=trials, search_space=search_space)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(-1, 0), (5e-324, 1e308)])
def test_every_figure_is_drawn_or_says_why(tmp_path, low, high):
    space = {"type": "DOUBLE", "min_value": low, "max_value": high, "scale": "LOG"}
    with dbtool.open(_release(tmp_path / "odd", RATES, space)) as db:
        packed_figures(db, FIGURES, checked(db, Request()))
        report = db.scaling("*")
        assert str(report)
        report.plot()
        for spec in FIGURES:
            if spec.takes_workloads:
                with contextlib.suppress(DbtoolError):
                    db.plot(spec.name, workload="*")._repr_png_()


@pytest.mark.parametrize("scale", ["log2", "log10", "linear"])
def test_axes_end_where_numbers_do(scale):
    size = Size(3, 2)
    span = span_of([-1.7e308, 0, 5e-324, 1.7e308], scale, 1.0, margin=0.5)
    figure = Figure()
    axes = figure.add_subplot()
    set_scales(axes, (scale, scale), *equal_octaves(span, span, size), size)
    figure.draw_without_rendering()
