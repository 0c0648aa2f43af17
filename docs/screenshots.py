"""Takes the pictures of the explorer that docs/explorer.md shows.

Run `python docs/screenshots.py docs/pictures --db DATABASE` after `make explorer`; it needs
Chromium and Playwright. Letters differ from one machine to the next, so `make docs` leaves these
pictures be.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlencode

from PIL.Image import Quantize
from small_pictures import as_webp

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The other way loses the colour of a single star.
_COVERAGE = Quantize.MAXCOVERAGE
_RELEASE = "replication"
_WORKLOADS = ["mnist/fc_64_64_64/sgd", "mnist/fc_128_128_128/sgd", "mnist/fc_1024/sgd"]


@dataclass(frozen=True)
class Picture:
    """A picture of the page.

    Attributes:
        name: of its file.
        state: what is seen, as the page's address has it.
        width: of the window in CSS pixels.
        height: likewise.
        scheme: light or dark.
        element: what of the page is seen; None: what fits in the window.
    """

    name: str
    state: list[tuple[str, str]]
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"
    element: str | None = None


def _key(workload: str) -> str:
    return f"{_RELEASE}:{workload}"


_DRAWN = [("workload", _key(each)) for each in _WORKLOADS]
_STUDY = [("study", _key(_WORKLOADS[0])), ("batch-size", "64")]
PICTURES = (
    Picture("explorer", _DRAWN, 1280, 1010),
    Picture("explorer-study", [*_DRAWN, *_STUDY], 1280, 900, element=".study"),
    Picture("explorer-phone", _DRAWN[:1], 360, 1500, "dark"),
)


def main() -> None:
    """Writes the page, opens it, and takes the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--db", required=True)
    words = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder, "explorer.html")
        command = [sys.executable, "-m", "dbtool", "explore", "--db", words.db, "--out", str(page)]
        subprocess.run(command, check=True)
        browser = playwright.chromium.launch(
            executable_path=which("chromium"), args=["--no-sandbox"]
        )
        for picture in PICTURES:
            png = _taken(browser, page, picture)
            (words.folder / f"{picture.name}.webp").write_bytes(as_webp(png, _COVERAGE))
        browser.close()


def _taken(browser: Browser, page: Path, picture: Picture) -> bytes:
    window = browser.new_page(
        viewport={"width": picture.width, "height": picture.height}, color_scheme=picture.scheme
    )
    window.goto(f"{page.as_uri()}#{urlencode(picture.state)}")
    window.wait_for_selector("#learning-rates svg")
    if picture.element is None:
        return window.screenshot()
    window.wait_for_selector("#study-curves .chart svg")
    return window.locator(picture.element).screenshot()


if __name__ == "__main__":
    main()
