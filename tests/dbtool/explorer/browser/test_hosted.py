"""The page beside a release on a server: what it asks for, and how little of the whole that is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbtool.database import explore_beside
from tests.support.explorer_browser import BUNDLED, Explorer, expect, needs_explorer_browser
from tests.support.published import published
from tests.support.release_server import ReleaseServer, serving_release

pytestmark = needs_explorer_browser
MOST_REQUESTS = 15
MOST_SHARE = 0.02


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReleaseServer]:
    folder = published(BUNDLED, tmp_path_factory.mktemp("out") / "new", explorer=explore_beside)
    with serving_release(folder) as running:
        yield running


@pytest.fixture
def hosted(browser, server: ReleaseServer) -> Iterator[Explorer]:
    explorer = Explorer(browser, f"{server.url}explorer.html").open()
    yield explorer
    assert {url.startswith(server.url) for url in explorer.requests} == {True}
    assert explorer.complaints == []
    explorer.context.close()


@pytest.mark.slow
def test_it_shows_what_the_page_in_one_file_shows_by_few_requests_and_bytes(
    hosted, explorer, server
):
    for title in ("Steps to result", "Critical batch size", "Best learning rates"):
        assert hosted.csv(title) == explorer.csv(title)
    study = {"study": "replication:mnist/fc_1024/sgd", "batch_size": 8}
    for each in (hosted, explorer):
        each.go(workload="replication:mnist/fc_1024/sgd", **study)
        expect(each.page.locator("#study-curves svg[role=img]")).to_be_visible()
    title = "Curves: validation classification error"
    assert hosted.csv(title) == explorer.csv(title)
    # So of any study.
    facts = json.loads(hosted.page.locator("#facts").text_content())
    whole = sum(
        file.stat().st_size for file in Path(server.folder).rglob("measurements/**/*.parquet")
    )
    for workload in facts["workloads"][::3]:
        key = f"{workload['release']}:{workload['workload']}"
        hosted.go(workload=key)
        for study in workload["studies"][::4]:
            before = len(server.sent)
            hosted.go(workload=key, study=key, batch_size=study["batch_size"])
            expect(hosted.page.locator("#study-curves svg[role=img]")).to_be_visible()
            sent = server.sent[before:]
            assert len(sent) <= MOST_REQUESTS
            assert sum(each.bytes for each in sent) <= MOST_SHARE * whole
            hosted.go(workload=key)


@pytest.mark.slow
def test_what_the_server_refuses_is_told_and_comes_the_next_time(browser, server):
    server.faults.statuses["explorer/curves.parquet"] = [503]
    explorer = Explorer(browser, f"{server.url}explorer.html")
    explorer.page.goto(explorer.url)
    explorer.says(
        "The measurements cannot be read: the server answers 503 for explorer/curves.parquet"
    )
    server.faults.statuses.clear()
    explorer.go(workload="replication:mnist/fc_256_256_256/sgd")
    expect(explorer.page.locator("#steps svg[role=img]")).to_be_visible()
    explorer.context.close()
