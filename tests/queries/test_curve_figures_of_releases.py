"""The figures of curves from shards: two releases at once, sparse networks, any workloads.

Every point is compared with the authors' rules in pandas, from the same made-up numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from support import figure_rules
from support import published_figures as published
from support.figure_points import agree, figure_points
from support.figure_rules import Curve
from support.made_up import SEARCH_SPACE, write_shard
from support.rules import StudyFrames

from dbtool.figures.points import NoDataError, Request, read_points
from dbtool.figures.specs import find_figure
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

    Releases = dict[str, list[StudyFrames]]

NM = "nesterov_momentum"
CNN, PLAIN = f"mnist/simple_cnn_base/{NM}", "mnist/simple_cnn_base/sgd"
FASHION = f"fashion_mnist/simple_cnn_base/{NM}"
DECAYED = f"schedule_linear/{CNN}"
EVERY, EVALUATIONS = 25, 40
ERROR = "val/classification_error"
# (release, workload, batch sizes, values of the definition)
STUDIES: tuple[tuple[str, str, tuple[int, ...], dict[str, Any]], ...] = (
    ("published", CNN, (8, 16, 64), {"goal": 0.01}),
    ("published", FASHION, (16, 32), {"goal": 0.1}),
    ("published", PLAIN, (16, 64, 256), {"goal": 0.01}),
    ("published", f"solution_quality/{PLAIN}", (16,), {"goal": 0.01}),
    ("published", f"sparsity_50/{PLAIN}", (64, 256), {"goal": 0.02, "sparsity": 0.5}),
    ("published", f"sparsity_90/{PLAIN}", (16, 64), {"goal": 0.02, "sparsity": 0.9}),
    ("measured", CNN, (8, 32), {"goal": 0.012, "schedule": "constant"}),
    ("measured", DECAYED, (8, 32, 64), {"goal": 0.01, "schedule": "linear_decay"}),
    ("measured", f"sparsity_90/{PLAIN}", (16, 1_024), {"goal": 0.02, "sparsity": 0.9}),
)


def made_trials(rng: np.random.Generator, goal: float, *, momentum: bool) -> list[Any]:
    """Trials of every status; errors of three digits fall past the goal, to it, or not so far."""
    trials = []
    for trial_id in rng.choice(40, 12, replace=False).tolist():
        floor = goal * rng.choice([0.6, 0.9, 1.0, 1.5])
        fall = np.exp(-np.arange(EVALUATIONS) * rng.uniform(0.1, 0.5))
        errors = np.maximum(0.9 * fall * rng.uniform(0.9, 1.1, EVALUATIONS), floor).round(3)
        rate = {"learning_rate": float(10 ** rng.uniform(-4, 1))}
        if momentum:
            rate["momentum"] = float(rng.uniform(0.5, 0.999))
        rows = [
            {"step": EVERY * place, "val_classification_error": float(error)}
            for place, error in enumerate(errors)
        ]
        status = str(rng.choice(["COMPLETE"] * 3 + ["INCOMPLETE", "INFEASIBLE"]))
        trials.append((trial_id, status, rate, rows))
    return sorted(trials, key=lambda trial: int(trial[0]))


def frames_of(workload: str, batch_size: int, trials: list[Any]) -> StudyFrames:
    """A shard's study as an archive's files would tell it."""
    measurements = [
        {"trial_id": trial_id, "step": row["step"], ERROR: str(row["val_classification_error"])}
        for trial_id, _, _, rows in trials
        for row in rows
    ]
    listed = [
        {"trial_id": trial_id, "status": status, "steps": rows[-1]["step"], "parameters": rate}
        for trial_id, status, rate, rows in trials
    ]
    study = {
        "batch_size": batch_size,
        "train_steps": EVERY * (EVALUATIONS - 1),
        "parameter_configs": SEARCH_SPACE,
    }
    return StudyFrames(workload, study, pd.DataFrame(listed), pd.DataFrame(measurements))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Releases, Path]:
    folder = tmp_path_factory.mktemp("releases")
    rng = np.random.default_rng(12)
    releases: Releases = {"published": [], "measured": []}
    shards = []
    for release, workload, batch_sizes, definition in STUDIES:
        for batch_size in batch_sizes:
            trials = made_trials(rng, definition["goal"], momentum=not workload.endswith("sgd"))
            releases[release].append(frames_of(workload, batch_size, trials))
            shards.append(
                write_shard(
                    folder / release, trials=trials, workload=workload, batch_size=batch_size,
                    release=release, **definition,
                )
            )  # fmt: skip
    path: Path = folder / "db"
    with open_for_writing(path) as connection:
        ingest(connection, shards)
    return releases, path


@pytest.fixture
def releases(made: tuple[Releases, Path]) -> Releases:
    return made[0]


@pytest.fixture
def connection(made: tuple[Releases, Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_for_reading(made[1]) as opened:
        yield opened


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
    networks = ("mnist/simple_cnn_base", "fashion_mnist/simple_cnn_base", "cifar_10/resnet_8")
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


GENERAL = [
    Curve(1, 1, f"fashion_mnist {NM}", FASHION, ERROR, "0.1"),
    Curve(1, 2, f"mnist {NM}", CNN, ERROR, "0.01"),
    Curve(1, 3, "mnist sgd", PLAIN, ERROR, "0.01"),
]
NAMED = {"workloads": (CNN, FASHION, PLAIN), "release": "published,measured"}


def test_any_workloads_in_one_panel(
    releases: Releases, connection: duckdb.DuckDBPyConnection
) -> None:
    agree(
        figure_points(connection, "steps", **NAMED),
        figure_rules.steps_points(GENERAL, releases),
        kind="steps_to_result",
    )
    relative = figure_rules.normalised_points(
        [replace(curve, goal="0.2") for curve in GENERAL], {"published": releases["published"]}
    )
    found = figure_points(
        connection, "relative-steps", **{**NAMED, "release": "published", "goal": 0.2}
    )
    agree(found, relative, kind="normalised")
    # All three curves have it, while 8 and 64 are of two at most.
    assert {point["normalise_at"] for point in found} == {16}


def test_metaparameters_of_any_workloads(
    releases: Releases, connection: duckdb.DuckDBPyConnection
) -> None:
    curves = [
        replace(curve, panel=panel, series=1, name="simple_cnn_base")
        for panel, curve in enumerate(GENERAL, 1)
    ]
    agree(
        figure_points(connection, "learning-rates", **NAMED),
        figure_rules.metaparameter_points(curves, releases, "learning_rate"),
        kind="metaparameter",
    )
    agree(
        figure_points(connection, "momenta", **NAMED),
        figure_rules.metaparameter_points(curves[:2], releases, "momentum"),
        kind="metaparameter",
    )


def test_a_search_without_momentum_is_told_so(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NoDataError, match=f"no trial of {PLAIN} has a momentum"):
        read_points(connection, find_figure("momenta"), Request(workloads=(PLAIN,)))


def test_best_by_budget_of_any_workload(
    releases: Releases, connection: duckdb.DuckDBPyConnection
) -> None:
    steps = [
        Curve(1, place, f"{most} steps", CNN, ERROR, most_steps=most)
        for place, most in enumerate((100, 200, 500), 1)
    ]
    # 975 steps are 7.8 epochs of the 1,000 examples at batch size 8, and 62.4 at 64.
    numbers = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
    epochs = [
        Curve(2, place, f"{word} {unit}", CNN, ERROR, most_examples=1_000 * float(word))
        for place, word in enumerate(numbers, 1)
        for unit in ["epoch" if word == "1" else "epochs"]
    ]
    expected = figure_rules.best_points(steps + epochs, {"published": releases["published"]})
    found = figure_points(connection, "best-by-budget", workloads=(CNN,), release="published")
    agree(found, expected, kind="best")


def test_schedules_are_compared_where_there_are_two(
    releases: Releases, connection: duckdb.DuckDBPyConnection
) -> None:
    curves = [Curve(1, 1, "constant", CNN, ERROR), Curve(1, 2, "linear", DECAYED, ERROR)]
    expected = figure_rules.best_points(curves, {"measured": releases["measured"]})
    for request in ({}, {"release": "measured"}):
        agree(figure_points(connection, "schedule-comparison", **request), expected, kind="best")


def test_schedules_without_a_pair_are_told(connection: duckdb.DuckDBPyConnection) -> None:
    found = figure_points(connection, "schedule-comparison", release="published")
    assert [point["x"] for point in found] == [None] * 6
    assert [point["series"] for point in found][:2] == ["constant", "linear"]
    assert {point["workload"] for point in found} == {f"cifar_10/resnet_8/{NM}"}


@pytest.mark.parametrize("figure", ["steps", "relative-steps", "learning-rates", "momenta"])
def test_without_names_every_workload_of_the_release_is_there(
    figure: str, connection: duckdb.DuckDBPyConnection
) -> None:
    wanted = {workload for release, workload, _, _ in STUDIES if release == "published"}
    if figure == "momenta":
        wanted = {workload for workload in wanted if not workload.endswith("sgd")}
    assert {point["workload"] for point in figure_points(connection, figure)} == wanted
