"""`dbtool publish`, and `dbtool ingest` of what it wrote."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from tests.support.made_up import curve, write_shard
from tests.support.published import LICENCE

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Call

BIBTEX = "@misc{made-up, title = {Made-up numbers}}\n"


def test_a_folder_is_published_and_added_to(call: Call, database: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(database, tmp_path / "db" / "made-up")
    done = call("publish", str(folder), "--licence", LICENCE)
    assert (done.code, done.output) == (0, "")
    assert done.errors.startswith(f"published made-up in {folder}: 3 shards, 157 measurements, ")
    assert done.errors.endswith(f" MB, licence {LICENCE}\n")
    words = ("ingest", str(tmp_path / "more"), "--db", str(folder.parent))
    write_shard(tmp_path / "more", workload="a/b/c", trials=[(0, "COMPLETE", {}, curve([0.9]))])
    added, told = call(*words).errors.splitlines()
    assert added.startswith("added 1 shard")
    assert told.endswith(f"write them anew with `dbtool publish {folder}`")
    assert not (folder / "README.md").exists()
    # So it is no more.
    assert call("publish", str(folder)).code == 0
    assert call("verify", str(folder)).errors == (
        f"{folder}: 1 release and 4 shards sound, 158 measurements\n"
    )
    (folder / "\x1b[31mred").touch()
    done = call("verify", str(folder))
    assert (done.code, done.output) == (1, "")
    assert "\\x1b[31mred: the manifest does not list it; remove it\n" in done.errors
    assert done.errors.endswith("dbtool: 1 problem found (listed above)\n")


def test_options_go_into_the_release(call: Call, database: Path, tmp_path: Path) -> None:
    (tmp_path / "my.bib").write_text(BIBTEX)
    out = tmp_path / "a" / "b" / "out"
    done = call(
        *("publish", str(database), "--out", str(out), "--release", "mine"),
        *("--title", "A title", "--licence", "MIT", "--citation", str(tmp_path / "my.bib")),
        *("--loss-bits", "8", "--every-loss-up-to", "5", "--evaluations-only"),
    )
    assert done.code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert {name: manifest[name] for name in ("release", "title", "licence", "citation")} == {
        "release": "mine",
        "title": "A title",
        "licence": "MIT",
        "citation": BIBTEX.strip(),
    }
    # 0 to 5, 10, 20 and 30 of four trials with 31 steps; of two with 11, and of one with 11.
    assert manifest["totals"]["measurements"] == 4 * 9 + 2 * 7 + 7
