"""The page's figures: those of `dbtool plot`, each with its points, its SQL and its address."""

import re
from itertools import groupby

import pytest

from dbtool.figures.points import Request, filled_query
from dbtool.figures.specs import FIGURES, find_figure
from tests.support.explorer_browser import (
    BUNDLED,
    agree,
    expect,
    in_bash,
    needs_explorer_browser,
    rows_of,
    same,
)

# Kinds whose panels may have single points.
POINTS = {"scatter", "grid", "curves", "forest", "units"}
pytestmark = needs_explorer_browser


@pytest.fixture(scope="module")
def plotted(tmp_path_factory):
    """The points that `dbtool plot` writes of every figure that has data, by their names."""
    folder = tmp_path_factory.mktemp("plotted")
    in_bash(f"dbtool plot all --data csv --out '{folder}' --db '{BUNDLED}'")
    return {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("*.csv")}


@pytest.fixture(scope="module")
def whole_page(tmp_path_factory):
    """The page of the whole release with all figures."""
    out = tmp_path_factory.mktemp("whole") / "explorer.html"
    in_bash(f"dbtool explore --db '{BUNDLED}' --out '{out}'")
    return out


@pytest.fixture
def whole(tab, whole_page):
    return opened(tab(whole_page))


@pytest.fixture
def figures(explorer):
    return opened(explorer)


def opened(explorer):
    explorer.button("Figures").click()
    explorer.expect_state(view="figures")
    expect(links(explorer).first).to_be_visible()
    return explorer


def links(explorer):
    return explorer.page.get_by_role("navigation", name="Figures").get_by_role("button")


def panels(rows):
    """The panels that have a point with a place; beside curves none whose curves are one point."""
    placed = [row for row in rows if row["x"] and row["y"]]
    sizes: dict[str, dict[str, set[str]]] = {}
    for row in placed:
        sizes.setdefault(row["panel_order"], {}).setdefault(row["series"], set()).add(row["x"])
    curved = {row["panel_order"] for row in placed if row["kind"] not in POINTS}
    lone = {panel for panel in curved if all(len(each) == 1 for each in sizes[panel].values())}
    return {*sizes} - lone or {*sizes}


@pytest.mark.slow
def test_every_figure_that_has_data_is_listed_and_opens_with_its_points_and_sql(
    whole, whole_page, plotted
):
    assert whole_page.stat().st_size < 3_000_000
    specs = [spec for spec in FIGURES if spec.name in plotted]
    expect(links(whole)).to_have_text([spec.full_name for spec in specs])
    assert len(specs) > 20
    page = whole.page
    for place, spec in enumerate(specs):
        links(whole).nth(place).click()
        whole.expect_state(view="figures", figure=spec.name)
        expect(page.locator("#figure-title")).to_have_text(spec.full_name)
        expect(links(whole).nth(place)).to_have_attribute("aria-current", "page")
        expect(page.locator(".figure > .about").first).to_contain_text(spec.question)
        assert page.locator(".figure pre").text_content() == filled_query(spec, Request())
        saved = whole.saved(f"Download the points of {spec.label} as CSV")
        assert saved.read_text(encoding="utf-8") == plotted[spec.name]
        rows = rows_of(plotted[spec.name])
        charts = page.locator(".figure .panels svg[class^=plot]")
        expect(charts).to_have_count(len(panels(rows)))
        drawn = charts.evaluate_all(
            "(all) => all.map((each) => each.querySelectorAll('g[aria-label=dot] path,"
            " g[aria-label=line] path').length)"
        )
        assert all(drawn), (spec.name, drawn)
        counted = re.compile(f"^{len(rows):,} rows?$")
        expect(page.locator(".figure .table .count")).to_have_text(counted)


@pytest.mark.slow
def test_a_curve_breaks_where_a_row_has_no_y(whole, plotted):
    whole.go(view="figures", figure="figure_02")
    expect(whole.page.locator("#figure-title")).to_have_text(find_figure("2").full_name)
    rows = rows_of(plotted["figure_02"])
    pieces = [
        sum(has_y for has_y, _ in groupby(curve, key=lambda row: row["y"] != ""))
        for _, curve in groupby(rows, key=lambda row: row["series"])
    ]
    assert max(pieces) > 1
    lines = whole.page.locator(".figure .panels g[aria-label=line] path")
    expect(lines).to_have_count(len(pieces))
    paths = lines.evaluate_all("(all) => all.map((each) => each.getAttribute('d'))")
    assert [path.count("M") for path in paths] == pieces


def test_the_points_of_a_figure_are_a_table(figures):
    figures.go(view="figures", figure="momenta")
    figures.page.locator(".figure .table > summary").click()
    table = figures.page.get_by_role("region", name="Points of momenta")
    saved = figures.saved("Download the points of momenta as CSV")
    rows = rows_of(saved.read_text(encoding="utf-8"))
    expect(table.locator("tbody tr")).to_have_count(len(rows))
    expect(table.locator("th")).to_have_text([name.replace("_", " ") for name in rows[0]])
    place = [*rows[0]].index("y")
    shown = table.locator(f"tbody td:nth-child({place + 1})")
    told = shown.evaluate_all("(all) => all.map((each) => each.title)")
    assert all(map(same, told, [float(row["y"]) if row["y"] else None for row in rows]))


@pytest.mark.slow
def test_figures_without_data_are_named_with_what_would_fill_them(whole, plotted):
    missing = [spec for spec in FIGURES if spec.name not in plotted]
    hidden = whole.page.get_by_text(f"No data here ({len(missing)})", exact=True)
    hidden.click()
    expect(whole.page.locator(".figures nav dt")).to_have_text([spec.full_name for spec in missing])
    reasons = whole.page.locator(".figures nav dd")
    for place, spec in enumerate(missing):
        told = f"release replication has no rows of {spec.name};"
        expect(reasons.nth(place)).to_contain_text(told)
        expect(reasons.nth(place)).to_contain_text(re.compile("dbtool produce .* would fill it$"))


@pytest.mark.slow
def test_what_is_copied_of_a_figure_gives_its_points(figures, few, few_db, tmp_path):
    figures.go(view="figures", figure="learning-rates")
    command = figures.copied("Copy command of learning-rates")
    assert command == f"dbtool plot learning-rates --db {few}"
    in_bash(f"cd '{tmp_path}' && {command} --data csv")
    written = (tmp_path / "figures" / "learning-rates.csv").read_text(encoding="utf-8")
    saved = figures.saved("Download the points of learning-rates as CSV")
    assert written == saved.read_text(encoding="utf-8")
    found = few_db.sql(figures.copied("Copy SQL of learning-rates")).polars()
    agree(rows_of(written), found.write_csv())


@pytest.mark.slow
def test_each_line_of_critical_batch_sizes_has_the_name_of_its_workload(figures):
    """In the atlas, which is a view of its own, too."""
    figures.button("Atlas").click()
    figures.expect_state(view="atlas")
    expect(figures.page.locator("#figure-title")).to_have_text(find_figure("atlas").full_name)
    expect(figures.page.locator(".figure .panels svg[class^=plot]")).to_have_count(2)
    expect(links(figures)).to_have_count(0)
    figures.go(view="figures", figure="atlas")
    expect(figures.page.locator("#figure-title")).to_have_text(find_figure("atlas").full_name)
    saved = figures.saved("Download the points of atlas as CSV").read_text(encoding="utf-8")
    lines = {row["y"] for row in rows_of(saved) if row["kind"] == "forest" and row["y"]}
    assert len(lines) > 2
    chart = figures.page.locator(".figure .panels svg[class^=plot]").first
    expect(chart.locator("g[aria-label='y-axis tick label'] text")).to_have_count(len(lines))
    expect(chart.locator("g[aria-label=rule] line")).to_have_count(2 * len(lines))


@pytest.mark.slow
def test_a_series_has_the_name_and_colour_that_it_has_on_paper(figures):
    figures.go(view="figures", figure="figure_03")
    expect(figures.page.locator("#figure-title")).to_have_text(find_figure("3").full_name)
    entries = figures.page.locator(".figure .legend li")
    expect(entries.get_by_text("FC 1024", exact=True)).to_be_visible()
    path = entries.filter(has_text="FC 1024").locator("path")
    # #a99bdc in names.toml.
    expect(path).to_have_css("fill", "rgb(169, 155, 220)")
