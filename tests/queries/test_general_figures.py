"""The figures of any workloads.

Every point is compared with the authors' rules in pandas, from the same made-up numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support import figure_rules
from support.figure_points import agree, figure_points
from support.figure_rules import Curve
from support.two_releases import (
    CNN,
    DECAYED,
    ERROR,
    FASHION,
    NM,
    PLAIN,
    SPARSE,
    SPARSE_FASHION,
    STUDIES,
)

from dbtool.figures.points import NoDataError, Request, read_points
from dbtool.figures.specs import find_figure

if TYPE_CHECKING:
    import duckdb
    from support.two_releases import Releases

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


def test_workloads_that_differ_in_the_optimizer_alone_are_compared(
    releases: Releases, connection: duckdb.DuckDBPyConnection
) -> None:
    # Panels keep the order of `learning-rates`, where Fashion MNIST comes first.
    curves = [Curve(2, 1, "sgd", PLAIN, ERROR, "0.01"), Curve(2, 2, NM, CNN, ERROR, "0.01")]
    expected = figure_rules.steps_points(curves, {"published": releases["published"]})
    for request in ({}, {"release": "published"}):
        found = figure_points(connection, "optimizers", **request)
        agree(found, expected, kind="steps_to_result")
        assert {point["panel"] for point in found} == {"simple_cnn_base on mnist"}
    both = figure_rules.steps_points([replace(curve, panel=1) for curve in curves], releases)
    agree(
        figure_points(
            connection, "optimizers", workloads=(CNN, PLAIN), release="published,measured"
        ),
        both,
        kind="steps_to_result",
    )


def test_goals_tell_workloads_apart_as_optimizers_do(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    # Of the first release the goals are 0.01 and 0.012, so that nothing is left to compare.
    request = {"release": "measured,published", "workloads": (CNN, PLAIN)}
    assert figure_points(connection, "optimizers", **request) == []
    found = figure_points(connection, "optimizers", **request, goal=0.05)
    assert {point["workload"] for point in found} == {CNN, PLAIN}


def test_workloads_that_differ_in_the_data_set_alone_are_compared(
    releases: Releases, connection: duckdb.DuckDBPyConnection
) -> None:
    dense = [
        Curve(1, 1, "fashion_mnist", FASHION, ERROR, "0.1"),
        Curve(1, 2, "mnist", CNN, ERROR, "0.01"),
    ]
    sparse = [
        Curve(7, 1, "fashion_mnist", SPARSE_FASHION, ERROR, "0.12"),
        Curve(7, 2, "mnist", SPARSE, ERROR, "0.02"),
    ]
    published = {"published": releases["published"]}
    expected = figure_rules.normalised_points(dense + sparse, published)
    found = figure_points(connection, "data-sets", release="published")
    agree(found, expected, kind="normalised")
    assert list(dict.fromkeys(point["panel"] for point in found)) == [
        f"simple_cnn_base with {NM}",
        "simple_cnn with sgd, 50 % sparse",
    ]


@pytest.mark.parametrize(
    ("figure", "what"), [("optimizers", "optimizer"), ("data-sets", "data set")]
)
def test_nothing_to_compare_is_told(
    figure: str, what: str, connection: duckdb.DuckDBPyConnection
) -> None:
    spec = find_figure(figure)
    sentence = f"no two workloads with a goal differ in their {what} alone; see what there is"
    with pytest.raises(NoDataError, match=f"of {PLAIN} {sentence}"):
        read_points(connection, spec, Request(workloads=(PLAIN,)))
    with pytest.raises(NoDataError, match=f"of release measured {sentence}"):
        read_points(connection, spec, Request(release="measured"))


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
