"""The explorer's application: a test that needs it is skipped where it was not built."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dbtool
from dbtool.explorer.contents import Material, choose
from dbtool.explorer.page import write_alone
from dbtool.figures.plot import packed_figures
from dbtool.figures.points import Request
from dbtool.figures.specs import find_figure
from dbtool.figures.style import page_looks
from dbtool.release.citation import bibtex

REQUIRED = "DBTOOL_REQUIRE_EXPLORER"
"""The environment variable that makes such a test fail instead."""
BUILT = Path(dbtool.__file__).parent / "explorer" / "built"

needs_explorer = pytest.mark.skipif(
    not os.environ.get(REQUIRED) and not (BUILT / "explorer.js").is_file(),
    reason="the explorer was not built: run `make explorer`, which needs Node.js 18 with npm",
)


@dataclass(frozen=True)
class Contents:
    """What a page holds.

    Attributes:
        facts: its JSON.
        tables: by name, as Polars reads them; those that are not empty.
        figures: its JSON.
    """

    facts: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    figures: dict[str, Any]


def write_page(db: Path, out: Path, *figures: str) -> Path:
    """Writes what `dbtool explore` does, but for figures that are not named; they take the time."""
    with dbtool.open(db) as opened:
        packed = packed_figures(opened, [find_figure(name) for name in figures], Request())
        material = Material(
            opened, choose(opened, None, None), packed, bibtex(opened), page_looks()
        )
        write_alone(material, out, ["--db", str(db)])
    return out


def contents_of(page: Path) -> Contents:
    """What a page holds, read from its file."""
    text = page.read_text(encoding="utf-8")
    held = dict(re.findall(r'<script type="[\w/]+" id="(\w+)">([^<]*)</script>', text))
    packed = {name: base64.b64decode(held[name]) for name in held if name != "facts"}
    return Contents(
        json.loads(held["facts"]),
        {
            name: pl.read_parquet(BytesIO(content))
            for name, content in packed.items()
            if content and name != "figures"
        },
        json.loads(gzip.decompress(packed["figures"])),
    )
