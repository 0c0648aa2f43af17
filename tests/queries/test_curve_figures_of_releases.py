"""The figures of curves from shards: two releases at once, and sparse networks.

Every point is compared with the authors' rules in pandas, from the same made-up numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from support import figure_rules
from support import published_figures as published
from support.figure_points import agree, figure_points
from support.figure_rules import Curve
from support.two_releases import ERROR, NM

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    from support.two_releases import Releases

BOTH = {"release": "measured, published"}


def both(releases: Releases) -> Releases:
    """The releases in the order that they are asked for."""
    return {name: releases[name] for name in ("measured", "published")}


def test_two_releases_at_once(releases: Releases, connection: duckdb.DuckDBPyConnection) -> None:
    expected = figure_rules.steps_points(published.FIGURE_1, both(releases))
    found = figure_points(connection, "figure_01", **BOTH)
    agree(found, expected, kind="steps_to_result")
    assert [(p["release"], p["release_order"], p["x"]) for p in found[:5]] == [
        ("measured", 1, 8),
        ("measured", 1, 32),
        ("published", 2, 8),
        ("published", 2, 16),
        ("published", 2, 64),
    ]
    assert sum(point["x"] is None for point in found) == 2 * 9 - 3


def test_two_releases_normalised_optimal_and_by_budget(
    releases: Releases, connection: duckdb.DuckDBPyConnection
) -> None:
    held = both(releases)
    normalised = [replace(curve, goal="0.05") for curve in published.FIGURE_3]
    rates = figure_rules.metaparameter_points(published.FIGURE_8, held, "effective_learning_rate")
    asked = {"goal": 0.05, **BOTH}
    agree(
        figure_points(connection, "figure_03", **asked),
        figure_rules.normalised_points(normalised, held),
        kind="normalised",
    )
    agree(figure_points(connection, "figure_08", **BOTH), rates, kind="metaparameter")
    agree(
        figure_points(connection, "figure_11", **BOTH),
        figure_rules.best_points(published.FIGURE_11, held),
        kind="best",
    )


def test_the_release_with_most_studies_of_the_figure_is_drawn(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    for figure in ("figure_01", "sparsity-steps", "steps"):
        assert {point["release"] for point in figure_points(connection, figure)} == {"published"}
    found = figure_points(connection, "figure_01", release="none such")
    assert [point["x"] for point in found] == [None] * 9
    assert {point["release"] for point in found} == {"none such"}


def sparse_curves(
    releases: Releases, goals: Sequence[str] = ("0.02", "0.12", "0.4", "0.04")
) -> list[Curve]:
    """The curves of the sparsity study; a dense network that is not held is that study's own."""
    held = {study.workload for studies in releases.values() for study in studies}
    networks = ("mnist/simple_cnn", "fashion_mnist/simple_cnn", "cifar_10/resnet_8")
    panels = [
        (f"{network}/{optimizer}", goal)
        for network, goal in zip(networks, goals[:3], strict=True)
        for optimizer in ("sgd", "momentum", NM)
    ]
    panels.append(("mnist/fc_128_128_128/sgd", goals[3]))
    curves = []
    for place, (dense, goal) in enumerate(panels, 1):
        names = [dense if dense in held else f"sparsity_0/{dense}"]
        names += [f"sparsity_{percent}/{dense}" for percent in (50, 70, 90)]
        titles = ("dense", "50 % sparse", "70 % sparse", "90 % sparse")
        curves += [
            Curve(place, series, title, name, ERROR, goal, inclusive=True)
            for series, (title, name) in enumerate(zip(titles, names, strict=True), 1)
        ]
    return curves


def test_steps_of_sparse_networks(
    releases: Releases, connection: duckdb.DuckDBPyConnection
) -> None:
    curves = sparse_curves(releases)
    expected = figure_rules.steps_points(curves, both(releases))
    found = figure_points(connection, "sparsity-steps", **BOTH)
    agree(found, expected, kind="steps_to_result")
    assert found[0]["goal_text"] == "validation error ≤ 0.02"
    # Without equality the steps would be others.
    strict = [replace(curve, inclusive=False) for curve in curves]
    assert figure_rules.steps_points(strict, both(releases)) != expected
    agree(
        figure_points(connection, "sparsity-normalised", **BOTH),
        figure_rules.normalised_points(curves, both(releases)),
        kind="normalised",
    )


def test_a_goal_of_sparse_networks_is_reached_at_it_too(
    releases: Releases, connection: duckdb.DuckDBPyConnection
) -> None:
    expected = figure_rules.steps_points(
        sparse_curves(releases, ("0.012",) * 4), {"published": releases["published"]}
    )
    found = figure_points(connection, "sparsity-steps", goal=0.012, release="published")
    agree(found, expected, kind="steps_to_result")


def test_steps_against_sparsity(releases: Releases, connection: duckdb.DuckDBPyConnection) -> None:
    percent = {1: 0, 2: 50, 3: 70, 4: 90}
    steps = figure_rules.steps_points(sparse_curves(releases), {"published": releases["published"]})
    expected = []
    for panel in range(1, 11):
        for series, size in enumerate((16, 64, 256, 1_024, 4_096), 1):
            shared = {
                "panel_order": panel, "series_order": series, "series": f"batch size {size:,}",
                "release": "published",
            }  # fmt: skip
            there = [p for p in steps if p["panel_order"] == panel and p["x"] == size]
            expected += [
                shared | {name: p[name] for name in ("y", "steps", "trial_id", "workload")}
                | {"x": percent[p["series_order"]]}
                for p in there
            ] or [shared | {"x": None, "y": None}]  # fmt: skip
    agree(figure_points(connection, "sparsity-against"), expected, kind="against")
