"""The commands that write and cite releases and files: what they print, and how they exit."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml

from dbtool.release.citation import bibtex_fields
from dbtool.sources.public.catalog import public_sources
from tests.support.archives import HEADER, LINES, small_study, write_tar
from tests.support.made_up import DIGITS, curve, write_release, write_shard
from tests.support.own_runs import write
from tests.support.published import LICENCE, flipped

BIBTEX = "@misc{made-up, title = {Made-up numbers}}\n"


def test_import_twice(call, tmp_path):
    files = small_study(LINES, HEADER + "0,nan,\n0,inf,1\n", "")
    path = str(write_tar(tmp_path / "a.tar.bz2", files, "w:bz2"))
    database = str(tmp_path / "new" / "own")
    words = ("import", path, "--db", database, "--release", "own")
    first = call(*words)
    assert (first.code, first.output) == (0, "")
    assert first.errors == (
        "added 1 study with 3 trials and 4 measurements to own; 0 trials already there\n"
        "kept as they are: 1 empty files, 1 missing values, 1 nan, 1 infinite values, "
        "1 repeated steps\n"
        f"in {database}/own\n"
    )
    second = call(*words)
    assert second.code == 0
    assert second.errors.startswith("added 0 studies with 0 trials and 0 measurements to own; 3 ")


def test_ingest_twice_and_the_bundled_release_is_still_there(call, database, tmp_path, monkeypatch):
    studies = call("studies").output
    monkeypatch.delenv("DBTOOL_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    first = call("ingest", str(database))
    assert (first.code, first.output) == (0, "")
    assert first.errors == (
        "added 3 shards with 7 trials and 157 measurements to made-up; 0 trials already there\n"
        f"in {tmp_path / 'dbtool' / 'releases' / 'made-up'}\n"
    )
    again = call("ingest", str(database)).errors
    assert again.startswith("added 0 shards with 0 trials and 0 measurements to made-up; 7 trials ")
    assert call("studies", "--release", "made-up").output == studies
    listed = call("releases", "--columns", "release", "--format", "csv").output.split()
    assert listed[1:] == ["made-up", "replication"]


def test_a_release_of_the_users_own_is_forgotten_and_no_other(
    call, database, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    own = tmp_path / "dbtool" / "releases"
    for name in ("a", "b"):
        write_release(own / name, name)
    assert "closest: a" in call("forget", "aa").sentence(2)
    assert "ships with dbtool and stays" in call("forget", "replication").sentence(2)
    assert "unknown release" in call("forget", "made-up").sentence(2)
    assert call("forget", "a").errors == f"removed {own / 'a'}: 21 measurements\n"
    assert [path.name for path in own.iterdir()] == ["b"]
    assert database.exists()


def test_several_releases_of_which_one_is_damaged(call, database, tmp_path):
    releases = tmp_path / "releases"
    shutil.copytree(database, releases / "made-up")
    write_release(releases / "sound", "sound")
    damaged = min((releases / "made-up").rglob("*.parquet"))
    damaged.write_bytes(flipped(damaged.read_bytes(), damaged.stat().st_size // 2))
    outcome = call("ingest", str(releases), "--db", str(tmp_path / "own"))
    assert (outcome.code, outcome.output) == (1, "")
    refused, summary, where, sentence = outcome.errors.splitlines()
    assert refused.startswith(f"refused {releases / 'made-up'}: {damaged} is damaged: ")
    assert summary.startswith("added 1 shard with 1 trial")
    assert where == f"in {tmp_path / 'own' / 'sound'}"
    assert sentence.startswith("dbtool: refused 1 of 2 releases, as told above")


def test_a_folder_is_published_and_added_to(call, database, tmp_path):
    folder = shutil.copytree(database, tmp_path / "db" / "made-up")
    done = call("publish", str(folder), "--licence", LICENCE)
    assert (done.code, done.output) == (0, "")
    assert done.errors.startswith(f"published made-up in {folder}: 3 shards, 157 measurements, ")
    assert done.errors.endswith(f" MB, licence {LICENCE}\n")
    words = ("ingest", str(tmp_path / "more"), "--db", str(folder.parent))
    write_shard(tmp_path / "more", workload="a/b/c", trials=[(0, "COMPLETE", {}, curve([0.9]))])
    added, told, where = call(*words).errors.splitlines()
    assert added.startswith("added 1 shard")
    assert where == f"in {folder}"
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
    assert "\\x1b[31mred: the manifest does not list it; move it away\n" in done.errors
    assert done.errors.endswith("dbtool: 1 problem found (listed above)\n")


def test_options_go_into_the_release(call, database, tmp_path):
    (tmp_path / "my.bib").write_text(BIBTEX)
    out = tmp_path / "a" / "b" / "out"
    done = call(
        *("publish", str(database), "--out", str(out), "--release", "mine"),
        # A version that is not listed is no other way to write the one that is.
        *("--title", "A title", "--licence", "CC-BY-2.0", "--citation", str(tmp_path / "my.bib")),
        *("--loss-bits", "8", "--every-loss-up-to", "5", "--evaluations-only"),
    )
    assert done.code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    told = [manifest[name] for name in ("release", "title", "licence", "citation")]
    assert told == ["mine", "A title", "CC-BY-2.0", BIBTEX.strip()]
    # 0 to 5, 10, 20 and 30 of four trials with 31 steps; of two with 11, and of one with 11.
    assert manifest["totals"]["measurements"] == 4 * 9 + 2 * 7 + 7


def test_export_writes_what_is_named(call, tmp_path):
    out = tmp_path / "new" / "part.parquet"
    chosen = ["lett*", DIGITS, "--batch-size", "8"]
    outcome = call("export", *chosen, "--out", str(out))
    assert (outcome.code, outcome.output) == (0, "")
    # Of batch size 8 one of the two has a study.
    assert outcome.errors == f"wrote {out}: 1 study, 3 trials, 73 measurements\n"
    assert pl.read_parquet(out).height == 73
    assert call("export", "--format", "original", "--out", str(tmp_path / "folder")).code == 0
    assert (tmp_path / "folder" / "batch_science" / DIGITS / "8" / "study.json").is_file()


def test_public_sources_are_listed_and_imported_by_their_names(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listed = call("fetch", "--list").output
    assert all(name in listed for name in public_sources())
    write(tmp_path / "logs" / "results", {"a.txt": "step:250/250 val_loss:3.2\n"})
    said = call("import", "modded-nanogpt", "logs", "--db", "db")
    assert said.code == 0
    assert "added 1 trial and 1 measurement to modded-nanogpt" in said.errors


CITATION = Path(__file__).parents[3] / "CITATION.cff"


def test_cite_says_what_the_citation_file_says(call):
    entries = call("cite").output.strip().split("\n\n")
    paper, talk, program, made_up = map(bibtex_fields, entries)
    assert made_up["author"] == "The authors of the release made-up"
    own = yaml.safe_load(CITATION.read_text())
    first, second = own["references"]
    for fields, work in ((paper, first), (talk, second), (program, own)):
        assert fields["title"] == work["title"]
        names = [
            each.get("name") or f"{each['family-names']}, {each['given-names']}"
            for each in work["authors"]
        ]
        assert fields["author"] == " and ".join(names)
        assert fields["year"] == str(work.get("year") or work["date-released"].year)
        assert fields.get("url") == work.get("url")
    assert paper["journal"] == first["journal"]
    assert (paper["volume"], paper["number"]) == (str(first["volume"]), str(first["issue"]))
    assert paper["pages"] == f"{first['start']}--{first['end']}"
    assert talk["booktitle"] == second["conference"]["name"]
    assert program["note"] == f"Version {own['version']}"


OWN = "@misc{own,\n  title = {Made-up numbers},\n}"
# Of a release without an entry.
MADE = r"""@misc{my-runs_1,
  title = {Digits \& letters},
  author = {{The authors of the release my runs\_1}},
  year = {2025},
  note = {Licence CC0-1.0},
}"""


@pytest.mark.parametrize(
    ("about", "own"),
    [
        ({"citation": OWN}, [OWN]),
        # A release of the paper's own measurements names the paper, which is there already.
        ({"citation": "@article{shallue2019measuring,\n  year = {2018},\n}"}, []),
        ({"citation": "Ask the authors."}, ["Ask the authors."]),
        ({"release": "my runs_1", "title": "Digits & {letters}", "licence": "CC0-1.0"}, [MADE]),
    ],
)
def test_cite_prints_what_a_release_gives_once_a_key_or_makes_an_entry(about, own, call, tmp_path):
    database = write_release(tmp_path / "own", **about)
    entries = call("cite", "--db", str(database)).output.strip().split("\n\n")
    # After those of the two papers and of dbtool.
    assert entries[3:] == own
    assert "2018" not in entries[0]
