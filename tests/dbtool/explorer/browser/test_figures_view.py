"""The page's figures: those of `dbtool plot`, each with its points, its SQL and its address."""

import re
from itertools import groupby

import pytest

from dbtool.figures.points import Request, filled_query
from dbtool.figures.specs import FIGURES, find_figure
from tests.support.explorer import contents_of
from tests.support.explorer_browser import (
    BUNDLED,
    agree,
    expect,
    in_bash,
    needs_explorer_browser,
    rows_of,
    same,
)

pytestmark = needs_explorer_browser


def opened(explorer):
    explorer.button("Figures").click()
    explorer.expect_state(view="figures")
    expect(links(explorer).first).to_be_visible()
    return explorer


def links(explorer):
    return explorer.page.get_by_role("navigation", name="Figures").get_by_role("button")


@pytest.mark.slow
def test_every_figure_that_has_data_is_listed_and_opens_and_others_say_what_would_fill_them(
    tab, tmp_path
):
    """Of the whole release, against the points that `dbtool plot` writes."""
    file = tmp_path / "explorer.html"
    in_bash(f"dbtool explore --db '{BUNDLED}' --out '{file}'")
    in_bash(f"dbtool plot all --data csv --out '{tmp_path}' --db '{BUNDLED}'")
    plotted = {each.stem: each.read_text(encoding="utf-8") for each in tmp_path.glob("*.csv")}
    assert file.stat().st_size < 3_000_000
    specs = [spec for spec in FIGURES if spec.name in plotted]
    figures = {each["name"]: each for each in contents_of(file).figures["figures"]}
    whole = opened(tab(file))
    page = whole.page
    expect(links(whole)).to_have_text([spec.full_name for spec in specs])
    assert len(specs) > 20
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
        expect(charts).to_have_count(len(figures[spec.name]["panels"]))
        drawn = charts.evaluate_all(
            "(all) => all.map((each) => each.querySelectorAll('g[aria-label=dot] path,"
            " g[aria-label=line] path').length)"
        )
        assert all(drawn), (spec.name, drawn)
        counted = re.compile(f"^{len(rows):,} rows?$")
        expect(page.locator(".figure .table .count")).to_have_text(counted)

    # A curve breaks where a row has no y.
    whole.go(view="figures", figure="figure_02")
    expect(page.locator("#figure-title")).to_have_text(find_figure("2").full_name)
    pieces = [
        sum(has_y for has_y, _ in groupby(curve, key=lambda row: row["y"] != ""))
        for _, curve in groupby(rows_of(plotted["figure_02"]), key=lambda row: row["series"])
    ]
    assert max(pieces) > 1
    lines = page.locator(".figure .panels g[aria-label=line] path")
    expect(lines).to_have_count(len(pieces))
    paths = lines.evaluate_all("(all) => all.map((each) => each.getAttribute('d'))")
    assert [path.count("M") for path in paths] == pieces

    missing = [spec for spec in FIGURES if spec.name not in plotted]
    page.get_by_text(f"No data here ({len(missing)})", exact=True).click()
    expect(page.locator(".figures nav dt")).to_have_text([spec.full_name for spec in missing])
    reasons = page.locator(".figures nav dd").all_text_contents()
    for spec, reason in zip(missing, reasons, strict=True):
        assert f"release replication has no rows of {spec.name};" in reason
        assert re.search("dbtool produce .* would fill it$", reason)


def test_a_figure_has_its_points_as_a_table_its_command_its_sql_and_the_colours_of_paper(
    explorer, few, few_db
):
    figures = opened(explorer)
    figures.go(view="figures", figure="momenta")
    figures.page.locator(".figure .table > summary").click()
    table = figures.page.get_by_role("region", name="Points of momenta")
    saved = figures.saved("Download the points of momenta as CSV").read_text(encoding="utf-8")
    rows = rows_of(saved)
    expect(table.locator("tbody tr")).to_have_count(len(rows))
    expect(table.locator("th")).to_have_text([name.replace("_", " ") for name in rows[0]])
    place = [*rows[0]].index("y")
    shown = table.locator(f"tbody td:nth-child({place + 1})")
    told = shown.evaluate_all("(all) => all.map((each) => each.title)")
    assert all(map(same, told, [float(row["y"]) if row["y"] else None for row in rows]))
    assert figures.copied("Copy command of momenta") == f"dbtool plot momenta --db {few}"
    agree(rows, few_db.sql(figures.copied("Copy SQL of momenta")).polars().write_csv())

    figures.go(view="figures", figure="figure_03")
    expect(figures.page.locator("#figure-title")).to_have_text(find_figure("3").full_name)
    entries = figures.page.locator(".figure .legend li")
    expect(entries.get_by_text("FC 1024", exact=True)).to_be_visible()
    path = entries.filter(has_text="FC 1024").locator("path")
    # #a99bdc in names.toml.
    expect(path).to_have_css("fill", "rgb(169, 155, 220)")


@pytest.mark.slow
def test_each_line_of_critical_batch_sizes_has_the_name_of_its_workload(explorer):
    """In the atlas, which is a view of its own, too."""
    figures = opened(explorer)
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
