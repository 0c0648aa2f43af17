"""The figures of any workloads, of two releases at once, and of sparse networks, from shards.

Every point is compared with the authors' rules in pandas, from the same made-up numbers; and what
`dbtool plot --sql` prints is run by plain DuckDB on a release folder with its dbtool.sql.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbtool
from dbtool.core.manifest import About
from dbtool.database import Database, open_database
from dbtool.figures.points import NoDataError, Request, filled_query, read_points
from dbtool.figures.specs import FIGURES, find_figure
from dbtool.release.publish import script
from tests.support import figure_rules
from tests.support import published_figures as published
from tests.support.figure_points import agree, figure_points
from tests.support.figure_rules import Curve, Point
from tests.support.made_up import write_shard
from tests.support.slow import quick_few

from .conftest import (
    CNN,
    DECAYED,
    ERROR,
    FASHION,
    NM,
    PLAIN,
    SPARSE,
    SPARSE_FASHION,
    SPARSE_PLAIN,
    STUDIES,
    Releases,
)

steps, normalised, best = (
    figure_rules.steps_points, figure_rules.normalised_points, figure_rules.best_points,
)  # fmt: skip
rates, momenta, effective = (
    partial(figure_rules.metaparameter_points, name=name)
    for name in ("learning_rate", "momentum", "effective_learning_rate")
)


def sparse_curves(goals: Sequence[str] = ("0.02", "0.12", "0.4", "0.04")) -> list[Curve]:
    """The curves of the sparsity study, of which a database has the dense networks of the other."""
    networks = ("mnist/simple_cnn", "fashion_mnist/simple_cnn", "cifar_10/resnet_8")
    panels = [
        (f"{network}/{optimizer}", goal)
        for network, goal in zip(networks, goals[:3], strict=True)
        for optimizer in ("sgd", "momentum", NM)
    ]
    curves = []
    for place, (dense, goal) in enumerate([*panels, ("mnist/fc_128_128_128/sgd", goals[3])], 1):
        names = {"dense": dense}
        names |= {f"{share} % sparse": f"sparsity_{share}/{dense}" for share in (50, 70, 90)}
        curves += [
            Curve(place, series, title, name, ERROR, goal, inclusive=True)
            for series, (title, name) in enumerate(names.items(), 1)
        ]
    return curves


GENERAL = [
    Curve(1, 1, f"fashion_mnist {NM}", FASHION, ERROR, "0.1"),
    Curve(1, 2, f"mnist {NM}", CNN, ERROR, "0.01"),
    Curve(1, 3, "mnist sgd", PLAIN, ERROR, "0.01"),
]
APART = [
    replace(curve, panel=panel, series=1, name="simple_cnn_base")
    for panel, curve in enumerate(GENERAL, 1)
]
# Panels keep the order of `learning-rates`, where Fashion MNIST comes first.
OPTIMIZERS = [Curve(2, 1, "sgd", PLAIN, ERROR, "0.01"), Curve(2, 2, NM, CNN, ERROR, "0.01")]
TOGETHER = [replace(curve, panel=1) for curve in OPTIMIZERS]
DATA_SETS = [
    Curve(1, 1, "fashion_mnist", FASHION, ERROR, "0.1"),
    Curve(1, 2, "mnist", CNN, ERROR, "0.01"),
    Curve(7, 1, "fashion_mnist", SPARSE_FASHION, ERROR, "0.12"),
    Curve(7, 2, "mnist", SPARSE, ERROR, "0.02"),
]
SCHEDULES = [Curve(1, 1, "constant", CNN, ERROR), Curve(1, 2, "linear", DECAYED, ERROR)]


def budgets(epochs: str) -> list[Curve]:
    curves = [
        Curve(1, place, f"{most} steps", CNN, ERROR, most_steps=most)
        for place, most in enumerate((100, 200, 500), 1)
    ]
    for place, word in enumerate(epochs.split(), 1):
        name = f"{word} {'epoch' if word == '1' else 'epochs'}"
        curves.append(Curve(2, place, name, CNN, ERROR, most_examples=1_000 * float(word)))
    return curves


def trained(curves: Sequence[Curve], releases: Releases) -> list[Point]:
    """Best values but those of step 0, which are of networks that nobody has trained."""
    return [point for point in best(curves, releases) if point["step"] != 0]


ONE, OTHER = {"release": "published"}, {"release": "measured"}
BOTH, TURNED = {"release": "published,measured"}, {"release": "measured, published"}
NAMED = {"workloads": (CNN, FASHION, PLAIN)}
# Lines of perfect scaling as in the papers; test_bands.py tells where they are fitted.
FIRST = {"through": "first"}


def with_goal(curves: Sequence[Curve], goal: str) -> list[Curve]:
    return [replace(curve, goal=goal) for curve in curves]


@pytest.mark.parametrize(
    ("figure", "request_", "rule", "curves"),
    [
        ("steps", NAMED | BOTH | FIRST, steps, GENERAL),
        ("relative-steps", NAMED | ONE | {"goal": 0.2}, normalised, with_goal(GENERAL, "0.2")),
        ("optimizers", FIRST, steps, OPTIMIZERS),
        ("optimizers", ONE | FIRST, steps, OPTIMIZERS),
        ("optimizers", BOTH | FIRST | {"workloads": (CNN, PLAIN)}, steps, TOGETHER),
        ("data-sets", ONE, normalised, DATA_SETS),
        ("learning-rates", NAMED | BOTH, rates, APART),
        ("momenta", NAMED | BOTH, momenta, APART[:2]),
        # 975 steps are 7.8 epochs of the 1,000 examples at batch size 8, 31.2 at 32, 62.4 at 64.
        # Trained networks are first evaluated after 25: 0.2 epochs at batch size 8, 0.4 at 16.
        ("best-by-budget", ONE | {"workloads": (CNN,)}, trained, budgets("0.5 1 2 5 10")),
        ("best-by-budget", TURNED | {"workloads": (CNN,)}, trained, budgets("0.2 0.5 1 2 5 10 20")),
        ("schedule-comparison", OTHER, best, SCHEDULES),
        ("figure_01", TURNED, steps, published.FIGURE_1),
        ("figure_03", TURNED | {"goal": 0.05}, normalised, with_goal(published.FIGURE_3, "0.05")),
        ("figure_08", TURNED, effective, published.FIGURE_8),
        ("sparsity-steps", TURNED, steps, sparse_curves()),
        ("sparsity-steps", ONE | {"goal": 0.012}, steps, sparse_curves(("0.012",) * 4)),
        ("sparsity-normalised", TURNED, normalised, sparse_curves()),
    ],
)
def test_every_point(figure, request_, rule, curves, releases, db):
    names = request_.get("release", "published").replace(" ", "").split(",")
    expected = rule(curves, {name: releases[name] for name in names})
    held = {study[:2] for study in STUDIES}
    for point in expected if figure.startswith("sparsity") else ():
        if point["series"] == "dense" and (point["release"], point["workload"]) not in held:
            point["workload"] = f"sparsity_0/{point['workload'].removeprefix('sparsity_0/')}"
    agree(figure_points(db, figure, **request_), expected)
    assert any(point["y"] is not None for point in expected)


def test_networks_of_an_own_release_take_no_curve_of_the_sparsity_study(tmp_path):
    for release, workload, sparsity in (
        ("published", SPARSE_PLAIN, 0.0),
        ("published", SPARSE, 0.5),
        ("own", f"sparsity_0/{SPARSE_PLAIN}", 0.0),
        ("own", f"another_method/{SPARSE_PLAIN}", 0.5),
        ("own", f"another_method_{SPARSE_PLAIN}", 0.504),
    ):
        about: dict[str, Any] = {"sparsity": sparsity, "goal": 0.02, "goal_inclusive": True}
        write_shard(tmp_path / release, release=release, workload=workload, **about)
    with dbtool.open(tmp_path) as db:
        for release, dense in (("published", SPARSE_PLAIN), ("own", f"sparsity_0/{SPARSE_PLAIN}")):
            points = figure_points(db, "sparsity-steps", release=release)
            drawn = [(p["series"], p["workload"]) for p in points if p["batch_size"] is not None]
            assert drawn[0] == ("dense", dense)
            assert drawn[1:] == [("50 % sparse", SPARSE)] * (release == "published")


def test_steps_against_sparsity(releases, db):
    percent = {1: 0, 2: 50, 3: 70, 4: 90}
    points = steps(sparse_curves(), {"published": releases["published"]})
    expected = []
    for panel in range(1, 11):
        for series, size in enumerate((16, 64, 256, 1_024, 4_096), 1):
            shared = {
                "panel_order": panel, "series_order": series, "series": f"batch size {size:,}",
                "release": "published",
            }  # fmt: skip
            there = [p for p in points if p["panel_order"] == panel and p["x"] == size]
            expected += [
                shared | {name: p[name] for name in ("y", "steps", "trial_id", "workload")}
                | {"x": percent[p["series_order"]]}
                for p in there
            ] or [shared | {"x": None, "y": None}]  # fmt: skip
    agree(figure_points(db, "sparsity-against"), expected)


def test_bands_against_sparsity_are_those_against_batch_size(db):
    against, by_size = (
        {
            (point["workload"], point["batch_size"]): (point["band_low"], point["band_high"])
            for point in figure_points(db, f"sparsity-{figure}", bands=True)
            if point["x"] is not None
        }
        for figure in ("against", "steps")
    )
    assert against == by_size
    assert any(high is not None for _, high in against.values())
    bare = figure_points(db, "sparsity-against")
    assert {point["best_of"] for point in bare} == {None}


def test_equal_to_the_goal_of_a_sparse_network_is_enough(releases):
    strict = [replace(curve, inclusive=False) for curve in sparse_curves()]
    assert steps(strict, releases) != steps(sparse_curves(), releases)


def test_the_release_with_most_studies_of_the_figure_is_drawn(db):
    for figure in ("figure_01", "sparsity-steps", "steps"):
        assert {point["release"] for point in figure_points(db, figure)} == {"published"}
    found = figure_points(db, "figure_01", release="none such")
    assert [point["x"] for point in found] == [None] * 9
    assert {point["release"] for point in found} == {"none such"}


def test_goals_tell_workloads_apart_as_optimizers_do(db):
    # Of the first release the goals are 0.01 and 0.012, so that nothing is left to compare.
    request = TURNED | {"workloads": (CNN, PLAIN)}
    assert figure_points(db, "optimizers", **request) == []
    found = figure_points(db, "optimizers", **request, goal=0.05)
    assert {point["workload"] for point in found} == {CNN, PLAIN}


def test_nothing_to_draw_is_told(db):
    told = f"^{PLAIN} has no workloads with a goal that differ in their optimizer alone; s"
    with pytest.raises(NoDataError, match=told):
        read_points(db, find_figure("optimizers"), Request(workloads=(PLAIN,)))


def test_schedules_without_a_pair_are_told(db):
    found = figure_points(db, "schedule-comparison", **ONE)
    assert [point["x"] for point in found] == [None] * 6
    assert [point["series"] for point in found][:2] == ["constant", "linear"]
    assert {point["workload"] for point in found} == {f"cifar_10/resnet_8/{NM}"}


@pytest.mark.parametrize("figure", ["steps", "momenta"])
def test_without_names_every_workload_of_the_release_is_there(figure, db):
    wanted = {workload for release, workload, _, _ in STUDIES if release == "published"}
    if figure == "momenta":
        wanted = {workload for workload in wanted if not workload.endswith("sgd")}
    assert {point["workload"] for point in figure_points(db, figure)} == wanted


@pytest.fixture(scope="module")
def folder(made: tuple[Releases, Path]) -> Path:
    return made[1] / "published"


@pytest.fixture(scope="module")
def plain(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with contextlib.chdir(folder), duckdb.connect() as connection:
        connection.execute(script(About(release="published")))
        for register in Database.functions.values():
            register(connection)
        yield connection


@pytest.fixture(scope="module")
def alone(folder: Path) -> Iterator[Database]:
    with open_database(folder) as db:
        yield db


# The first figure of each kind, whether it names its workloads or not.
QUICK = {(spec.kind, spec.takes_workloads): spec for spec in reversed(FIGURES)}.values()


@pytest.mark.parametrize("spec", quick_few(FIGURES, QUICK), ids=lambda spec: spec.name)
@pytest.mark.parametrize(
    "request_",
    [pytest.param(Request(), marks=pytest.mark.slow), Request("published", 5, 0.05)],
    ids=str,
)
def test_every_figure_s_query_gives_the_same_points(spec, request_, plain, alone):
    query = filled_query(spec, request_)
    assert "$" not in query.partition("*/")[2]
    found = plain.execute(query).fetchall()
    # As text, so that not a number equals itself.
    assert [str(row) for row in found] == [str(row) for row in alone.sql(query)]
    assert found or spec.takes_workloads
