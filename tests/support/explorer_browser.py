"""The explorer in Chromium without a network: what is seen of it, pressed, and taken away."""

from __future__ import annotations

import csv
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.support.browser import needs_browser
from tests.support.explorer import REQUIRED, needs_explorer
from tests.support.programs import CHECKOUT

BUNDLED = CHECKOUT / "data" / "replication"
# The machine may have other things to do.
PATIENCE_MS = 30_000

needs_explorer_browser = pytest.mark.skipif(
    not os.environ.get(REQUIRED) and (needs_explorer.args[0] or needs_browser.args[0]),
    reason="the explorer was not built (run `make explorer`), or there is no browser: install "
    "Chromium and playwright",
)

_GO = """async (address) => {
    const frame = () => new Promise(requestAnimationFrame);
    const changed = new Promise((done) => addEventListener("hashchange", done, { once: true }));
    if (location.hash.replace(/^#/, "") !== address) {
        location.hash = address;
        await changed;
    }
    do { await frame(); await frame(); }
    while (document.querySelector("main[aria-busy=true]"));
}"""
_DROP = """([names, texts]) => {
    const files = new DataTransfer();
    names.forEach((name, at) => files.items.add(new File([texts[at]], name)));
    for (const type of ["dragover", "drop"]) {
        const options = { dataTransfer: files, bubbles: true, cancelable: true };
        document.querySelector("main").dispatchEvent(new DragEvent(type, options));
    }
}"""
_TABLES = """(ids) => ids.map((id) => {
    const cells = (row, what) => [...row.querySelectorAll(what)];
    const rows = [...document.querySelectorAll(`#${id} .rows tr`)];
    return rows.map((row, at) => at ? cells(row, "td").map((cell) => cell.title)
        : cells(row, "th button").map((cell) => cell.firstChild.data.replaceAll(" ", "_")));
})"""

Row = dict[str, Any]


def expect(what: Any) -> Any:
    """Playwright's expectations, which wait until they are met."""
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=PATIENCE_MS)
    return expected(what)


class Explorer:
    """A page in a tab of its own, which notes what is asked of a network and what goes wrong."""

    def __init__(self, browser: Any, file: Path | str, **context: Any) -> None:
        self.context = browser.new_context(
            accept_downloads=True, **{"offline": isinstance(file, Path), **context}
        )
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.url = file.as_uri() if isinstance(file, Path) else file
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._refuse)

    def _refuse(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def check(self) -> None:
        """That nothing but the page itself was asked for, and nothing went wrong."""
        schemes = {urlsplit(url).scheme for url in self.requests}
        assert schemes <= {"file", "data", "blob"}
        assert {url.partition("#")[0] for url in self.requests if url.startswith("file:")} <= {
            self.url
        }
        assert self.complaints == []

    def open(self, **state: Any) -> Explorer:
        """Opens the page at a state, in the words of its address."""
        self.page.goto(f"{self.url}#{address(**state)}")
        self.settle()
        return self

    def go(self, **state: Any) -> None:
        """Puts another state into the address, and waits until it is seen."""
        self.page.evaluate(_GO, address(**state))

    def settle(self) -> None:
        """Waits until all is read that is asked for."""
        expect(self.page.locator("#app")).to_be_visible()
        expect(self.page.locator("main[aria-busy=true]")).to_have_count(0)

    @property
    def state(self) -> dict[str, list[str]]:
        """What the address holds."""
        return parse_qs(urlsplit(self.page.url).fragment, keep_blank_values=True)

    def expect_state(self, **state: Any) -> None:
        """Waits until the address holds a state."""
        expect(self.page).to_have_url(re.compile(f"#{re.escape(address(**state))}$"))

    def button(self, name: str | re.Pattern[str], **options: Any) -> Any:
        return self.page.get_by_role("button", name=name, exact=True, **options)

    def field(self, label: str) -> Any:
        return self.page.get_by_label(label, exact=True)

    def choice(self, label: str) -> Any:
        return self.page.get_by_role("combobox", name=label, exact=True)

    def says(self, text: str | re.Pattern[str]) -> None:
        """Waits until the line at the foot says so."""
        expect(self.page.locator("#status")).to_have_text(text)

    def slide(self, label: str, position: float) -> None:
        """Drags a slider to a place between 0 and 1."""
        slider = self.page.get_by_role("slider", name=label)
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        at = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + box["width"] / 2, at)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + box["width"] * position, at, steps=4)
        self.page.mouse.up()

    def saved(self, name: str) -> Path:
        """The file that a button downloads, if need be the second time: Chromium drops some."""
        from playwright.sync_api import TimeoutError as NoDownloadError

        try:
            with self.page.expect_download(timeout=PATIENCE_MS / 6) as download:
                self.button(name).click()
        except NoDownloadError:
            with self.page.expect_download() as download:
                self.button(name).click()
        return Path(download.value.path())

    def csv(self, title: str) -> list[Row]:
        """The rows of a card's CSV, as text."""
        return rows_of(self.saved(f"Download {title} as CSV").read_text(encoding="utf-8"))

    def copied(self, name: str) -> str:
        """What a button copies."""
        self.page.evaluate("navigator.clipboard.writeText('')")
        self.button(name).click()
        self.says(re.compile("^Copied"))
        text = self.page.evaluate("navigator.clipboard.readText()")
        assert text
        return str(text)

    def tables(self, *cards: str) -> list[list[Row]]:
        """The rows of tables that are open, with all their digits."""
        return [
            [dict(zip(table[0], row, strict=True)) for row in table[1:]]
            for table in self.page.evaluate(_TABLES, list(cards))
        ]

    def unfold(self, *cards: str) -> None:
        """Opens the tables of cards."""
        for card in cards:
            self.page.locator(f"#{card} details > summary").click()
            expect(self.page.locator(f"#{card} .rows")).to_be_visible()

    def points(self, card: str) -> Any:
        """The points of a card's chart."""
        return self.page.locator(f"#{card} svg[role=img] g[aria-label=dot] path")

    def press_point(self, card: str, index: int) -> None:
        point = self.points(card).nth(index)
        point.scroll_into_view_if_needed()
        self.page.evaluate(
            "(point) => point.scrollIntoView({ block: 'center', behavior: 'instant' })",
            point.element_handle(),
        )
        box = point.bounding_box()
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=2)
        self.page.mouse.down()
        self.page.mouse.up()

    def drop(self, **files: str) -> None:
        """Drops CSV files on the page."""
        self.page.evaluate(_DROP, [[f"{name}.csv" for name in files], list(files.values())])


Opener = Callable[..., Explorer]


def address(*, workload: str | Sequence[str] | None = None, **state: Any) -> str:
    """A state as the part of an address after #, in the order in which the page writes it."""
    words: dict[str, Any] = {"view": state.pop("view", None), "workload": workload}
    words |= {name.replace("_", "-"): value for name, value in state.items()}
    return urlencode(
        {name: value for name, value in words.items() if value is not None}, doseq=True
    ).replace("%2A", "*")


def rows_of(text: str) -> list[Row]:
    return list(csv.DictReader(text.splitlines()))


def same(text: str, value: Any) -> bool:
    """Whether a cell of a CSV says a value, numbers to six digits; of text each letter counts."""
    if value is None or text == "":
        return value is None and text == ""
    if isinstance(value, bool | str):
        return text == str(value)
    return float(text) == value or math.isclose(float(text), value, rel_tol=1e-6)


def agree(rows: Sequence[Row], printed: str | Sequence[Row]) -> None:
    """Asserts that rows of the page have all that those of a CSV have, in their order."""
    expected = rows_of(printed) if isinstance(printed, str) else printed
    assert len(rows) == len(expected) > 0
    for row, other in zip(rows, expected, strict=True):
        for name, text in other.items():
            assert row[name] == text or same(row[name], _value(text)), (name, row, other)


def _value(text: str) -> str | float | None:
    try:
        return float(text)
    except ValueError:
        return text or None


def in_bash(command: str) -> str:
    """What a command prints that was pasted into bash."""
    dbtool = f'dbtool() {{ "{sys.executable}" -m dbtool "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-euc", dbtool + command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
    )
    assert done.returncode == 0, done.stderr
    # As nanobind, by which Python calls DuckDB, says of objects that outlive a process's Python.
    assert "leaked" not in done.stderr
    return done.stdout
