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

REQUIRED = "DBTOOL_REQUIRE_EXPLORER"
"""The environment variable that makes such a test fail instead."""
BUILT = Path(dbtool.__file__).parent / "explorer" / "built"

needs_explorer = pytest.mark.skipif(
    not os.environ.get(REQUIRED) and not (BUILT / "explorer.js").is_file(),
    reason="the explorer was not built: run `make explorer`, which needs Node.js with npm",
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
