"""`dbtool publish`, and `dbtool ingest` of what it wrote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.published import bytes_of, write_shards

from .conftest import DIGITS

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Call

BIBTEX = "@misc{made-up, title = {Made-up numbers}}\n"


def test_a_database_and_its_shards_give_the_same_folder(
    call: Call, shard_folder: Path, tmp_path: Path
) -> None:
    first = call("publish", "--out", str(tmp_path / "first"))
    assert (first.code, first.output) == (0, "")
    assert first.errors.startswith(
        f"published made-up in {tmp_path / 'first'}: 3 studies, 157 measurements, "
    )
    assert first.errors.endswith(" MB, licence CC-BY-4.0\n")
    second = call("publish", "--out", str(tmp_path / "second"), str(shard_folder))
    assert second.code == 0
    assert bytes_of(tmp_path / "first") == bytes_of(tmp_path / "second")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]


def test_what_was_published_is_loaded(call: Call, tmp_path: Path) -> None:
    call("publish", "--out", str(tmp_path / "out"))
    words = ("ingest", str(tmp_path / "out"), "--db", str(tmp_path / "db"))
    assert call(*words).errors == (
        "added 3 studies of made-up with 7 trials and 157 measurements; 0 studies already there\n"
    )
    # Also as the only one below a folder.
    again = call("ingest", str(tmp_path), "--db", str(tmp_path / "db"))
    assert again.errors == (
        "added 0 studies of made-up with 0 trials and 0 measurements; 3 studies already there\n"
    )
    query = ("sql", "--format", "csv", "FROM measurements ORDER BY ALL")
    assert call(*query, "--db", str(tmp_path / "db")).output == call(*query).output


def test_options_go_into_the_manifest(call: Call, shard_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "my.bib").write_text(BIBTEX)
    out = tmp_path / "a" / "b" / "out"
    done = call(
        *("publish", str(shard_folder), "--out", str(out), "--release", "mine"),
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
    assert manifest["reduced"] == [{"every_loss_up_to": 5, "then_one_in": None, "loss_bits": 8}]
    # 0 to 5, 10, 20 and 30 of six trials with 31 steps; of one with 11, and of one with 11.
    assert manifest["totals"]["measurements"] == 4 * 9 + 2 * 7 + 7


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--release", "mad-up"], "unknown release 'mad-up'; closest: made-up"),
        (["--db", "{db}", "{shards}"], "give shards or --db, not both"),
        (["{shards}", "--release", " "], "--release ' ' is no name"),
        (["{shards}", "--citation", "{notes}"], "holds no BibTeX entry"),
        (["{empty}"], "there are no shards (trials-*.parquet) and no published release in"),
        (["{shards}", "{others}"], "the shards are of several releases (made-up, other)"),
    ],
)
def test_wrong_words_are_one_sentence(
    call: Call,
    shard_folder: Path,
    database: Path,
    tmp_path: Path,
    words: list[str],
    sentence: str,
) -> None:
    (tmp_path / "notes").write_text("made up")
    (tmp_path / "empty").mkdir()
    if "{others}" in words:
        write_shards(tmp_path / "others", release="other")
    places = {"shards": shard_folder, "db": database}
    places |= {name: tmp_path / name for name in ("notes", "empty", "others")}
    given = [word.format(**places) for word in words]
    outcome = call("publish", "--out", str(tmp_path / "out"), *given)
    assert outcome.code == 2
    [line] = outcome.errors.splitlines()
    assert sentence in line
    assert not (tmp_path / "out").exists()


def test_a_release_must_be_named_where_there_are_several(
    call: Call, shard_folder: Path, tmp_path: Path
) -> None:
    path = str(tmp_path / "db")
    others = write_shards(tmp_path / "others", release="other")
    call("ingest", str(shard_folder), str(others), "--db", path)
    outcome = call("publish", "--db", path, "--out", str(tmp_path / "out"))
    assert outcome.code == 2
    assert "holds 2 releases (made-up, other); choose one with --release" in outcome.errors
    named = call("publish", "--db", path, "--out", str(tmp_path / "out"), "--release", "made-up")
    assert named.code == 0
    assert DIGITS in (tmp_path / "out" / "README.md").read_text()


def test_a_damaged_folder_is_refused(call: Call, tmp_path: Path) -> None:
    call("publish", "--out", str(tmp_path / "out"))
    (tmp_path / "out" / "manifest.json").unlink()
    outcome = call("ingest", str(tmp_path / "out"), "--db", str(tmp_path / "db"))
    assert outcome.code == 1
    [line] = outcome.errors.splitlines()
    assert "manifest.json cannot be read: No such file or directory; get the release anew" in line
