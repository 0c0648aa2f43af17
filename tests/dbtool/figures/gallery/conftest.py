"""A page of a figure whose names try to break out of the page."""

from pathlib import Path

import polars as pl
import pytest

from dbtool.figures.gallery.page import Missing, ReleaseFacts, drawn_of, write_page
from dbtool.figures.points import Points, Request, as_points
from dbtool.figures.specs import find_figure

NASTY = """<script>document.title='x'</script>/"><img src=x onerror=alert(1)>/$x&amp;'"""
ROWS = 250


def nasty_points() -> Points:
    """Points of the figure `steps`, whose workload, release and query hold HTML."""
    rows = pl.DataFrame(
        [
            {
                "panel": NASTY,
                "series": NASTY,
                "x": 2**place if place < 12 else 4096 + place,
                "y": None if place == 3 else 1000.0 / (place + 1),
                "panel_order": 1,
                "series_order": 1,
                "kind": "steps_to_result",
                "perfect": None,
                "steps": None if place == 3 else 1000,
                "trials": 5,
                "asked_trials": 100,
                "trial_id": place,
                "learning_rate": float("nan") if place == 4 else 0.1,
                "momentum": 0.9,
                "metric": "val_classification_error",
                "goal": 0.1,
                "goal_inclusive": False,
                "told": 'said "0.1,\nat most"' if place == 0 else "",
                "workload": NASTY,
                "release": NASTY,
                "release_order": 1,
            }
            for place in range(ROWS)
        ]
    )
    request = Request(NASTY.replace(",", ""), workloads=(NASTY,))
    return as_points(rows, find_figure("steps"), request)


@pytest.fixture(scope="session")
def nasty_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    facts = ReleaseFacts(NASTY, NASTY, NASTY, 1, 12, 60, 12345)
    drawn = drawn_of(nasty_points(), find_figure("steps"))
    missing = Missing(find_figure("figure_01"), NASTY)
    return write_page(tmp_path_factory.mktemp("gallery"), [drawn], [missing], [facts])
