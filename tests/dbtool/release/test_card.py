"""What goes with the tables of a published release: Croissant, card, citation, DuckDB's script."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import yaml

import dbtool
from dbtool.core.errors import UsageError
from dbtool.core.manifest import About, new_manifest, read_manifest
from dbtool.database import open_database
from dbtool.release.citation import bibtex_fields, citation_of, read_bibtex
from dbtool.release.layout import published_columns
from dbtool.release.reduction import Reduction
from tests.support.made_up import write_shard
from tests.support.published import OTHERS, SGD, VIEWS, published, write_shards

BIBTEX = """@comment{nothing, title = {Not this}}
@article{made-up,
  title = {{Made-up} numbers, and "{more}"},
  author = {Doe, Jane and {The Others}
            and Émile Zola},
  year = 2025, url = "https://example.org/made-up",
}"""
# What mlcroissant calls in rdflib and pandas.
OLD_CALLS = pytest.mark.filterwarnings("ignore:ConjunctiveGraph", "ignore:The inplace keyword")
TABLE_NAMES = ("workloads", "studies", "trials", "measurements")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    return published(
        write_shards(folder / "own"),
        folder / "out",
        title='Made-up: "numbers"',
        licence="CC-BY-4.0",
        citation=BIBTEX,
        reduction=Reduction(3, 16, 8),
    )


def croissant(folder: Path, caplog: pytest.LogCaptureFixture) -> Any:
    """The data set as mlcroissant has it, whose validator finds nothing to say."""
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(folder / "croissant.json")
    issues = dataset.metadata.ctx.issues
    assert (issues.errors, issues.warnings, caplog.messages) == (set(), set(), [])
    return dataset


def rows_of(folder: Path, table: str) -> int:
    manifest = read_manifest(folder)
    names = [f"{table}.parquet", *(file.path for file in manifest.shards)]
    names = names[1:] if table == "measurements" else names[:1]
    return sum(file.rows or 0 for file in manifest.files if file.path in names)


@OLD_CALLS
def test_croissant_is_sound_and_its_records_are_the_rows(folder, caplog):
    dataset = croissant(folder, caplog)
    assert {each.id for each in dataset.metadata.record_sets} == set(TABLE_NAMES)
    [study] = itertools.islice(dataset.records("studies"), 1)
    assert study["studies/batch_size"] == 8
    for table in TABLE_NAMES:
        records = list(dataset.records(table))
        assert len(records) == rows_of(folder, table)
        fields = [column.name for column in published_columns()[table]]
        assert list(records[0]) == [f"{table}/{name}" for name in fields]
    found = {
        (each["trials/batch_size"], each["trials/trial_id"], each["trials/status"].decode())
        for each in dataset.records("trials")
    }
    assert (8, 3, "INFEASIBLE") in found
    assert len(found) == 6
    rates = sorted(each["trials/learning_rate"] or 0 for each in dataset.records("trials"))
    assert rates == [0, 0, 0.01, 0.01, 0.1, 0.1]
    [trials] = [each for each in dataset.metadata.record_sets if each.id == "trials"]
    [meaning] = [each.description for each in trials.fields if each.name == "metaparameters"]
    assert meaning.endswith(" Of this release: learning_rate, momentum, β.")


def test_the_card_begins_with_what_hugging_face_reads(folder):
    _, header, body = (folder / "README.md").read_text().split("---\n", 2)
    said = yaml.safe_load(header)
    assert said["license"] == "cc-by-4.0"
    assert said["pretty_name"] == 'Made-up: "numbers"'
    assert said["size_categories"] == ["n<1K"]
    configs = {each["config_name"]: each["data_files"] for each in said["configs"]}
    assert set(configs) == set(TABLE_NAMES)
    for table, pattern in configs.items():
        found = sum(pl.read_parquet(path).height for path in folder.glob(pattern))
        assert found == rows_of(folder, table)
    [default] = [each["config_name"] for each in said["configs"] if each.get("default")]
    assert default == "measurements"
    assert body.startswith('\n# Made-up: "numbers"\n')
    assert "2 workloads, 3 studies, 6 trials and " in body
    assert f"| {SGD} | `val_classification_error` | 0.1 | 2, from 8 to 64 |" in body
    assert f"| {OTHERS} | `test_average_precision` | 0.6 | 32 |" in body
    assert "kept at every step up to 3 and at one step in 16 after that, with 8 of 23 bits" in body
    assert "- 4 shards by dbtool 0.1.0 with jax 0.10.2 on made up" in body
    assert "| `step` | BIGINT | Updates made so far" in body


def test_the_card_names_what_wrote_the_shards(tmp_path):
    own, made = tmp_path / "own", {"dbtool": "0.1.0", "device": "a|b"}
    with dbtool.record(own, workload="digits/mlp/sgd", batch_size=8) as trial:
        trial.log(1, batch_cross_entropy_error=1)
    producers: list[dict[str, Any]] = [made, {"source": "own runs"}, {}]
    for number, producer in enumerate(producers):
        write_shard(own, release="own", batch_size=2**number, producer=producer)
    card = (published(own, tmp_path / "out") / "README.md").read_text()
    assert [line for line in card.splitlines() if line.startswith("- 1 shard ")] == [
        "- 1 shard by an unnamed program",
        r"- 1 shard by dbtool 0.1.0 on a\|b",
        f"- 1 shard by dbtool {dbtool.__version__} from dbtool.record",
        "- 1 shard from own runs",
    ]


def test_what_the_card_says_to_run_runs(folder, monkeypatch):
    card = (folder / "README.md").read_text()
    plain, with_macros = (part.split("```")[0] for part in card.split("```sql\n")[1:])
    monkeypatch.chdir(folder)
    with duckdb.connect() as connection:
        found = connection.execute(plain).fetchall()
        connection.execute((folder / "dbtool.sql").read_text())
        counted = "SELECT workload, batch_size, measurements FROM studies ORDER BY ALL"
        assert found == connection.execute(counted).fetchall()
        assert len(connection.execute(with_macros).fetchall()) == 3


def test_the_citation_names_the_authors(folder):
    said = yaml.safe_load((folder / "CITATION.cff").read_text())
    assert said == {
        "cff-version": "1.2.0",
        "message": "If you use these measurements, please cite them as below.",
        "type": "dataset",
        "title": 'Made-up: "numbers"',
        "authors": [
            {"family-names": "Doe", "given-names": "Jane"},
            {"name": "The Others"},
            {"name": "Émile Zola"},
        ],
        "version": said["version"],
        "license": "CC-BY-4.0",
        "url": "https://example.org/made-up",
    }
    assert (folder / "citation.bib").read_text() == BIBTEX + "\n"
    described = json.loads((folder / "croissant.json").read_text())
    assert described["citeAs"] == BIBTEX
    # The entry says the year alone, though the shards tell the day on which they were written.
    assert described["datePublished"] == "2025"
    assert described["url"] == said["url"]
    assert described["version"] == said["version"]


def described(folder: Path, *created: Any) -> dict[str, Any]:
    """What Croissant says of a release of shards that were written at some times."""
    for number, moment in enumerate(created):
        producer = {"created": moment, "also": [{"created": "2024-12-31T00:00:00Z"}, "nobody"]}
        write_shard(folder / "own", batch_size=2**number, producer=producer)
    out = published(folder / "own", folder / "out")
    content: dict[str, Any] = json.loads((out / "croissant.json").read_text())
    return content


def test_without_bibtex_the_shards_tell_date_and_version(tmp_path):
    first, last = "2025-02-28T12:00:00+00:00", "2025-02-28T23:30:00-01:00"
    said = described(tmp_path / "a", first, last)
    assert said["datePublished"] == "2025-03-01"
    name = "The authors of the release made-up: made-up."
    assert said["citeAs"] == f"{name} Version {said['version']}, 2025-03-01."
    assert "url" not in said
    cff = yaml.safe_load((tmp_path / "a" / "out" / "CITATION.cff").read_text())
    assert (cff["version"], str(cff["date-released"])) == (said["version"], "2025-03-01")
    # What is no moment is passed over. Another shard has another digest.
    other = described(tmp_path / "b", 17, "soon", None)
    assert other["datePublished"] == "2024-12-31"
    assert re.fullmatch(r"1\.0\.0\+[0-9a-f]{12}", said["version"])
    assert said["version"] != other["version"]
    # What no date is known of has none.
    write_shard(tmp_path / "own", producer={"archive": "a/b/c/64"})
    folder = published(tmp_path / "own", tmp_path / "out")
    assert "datePublished" not in json.loads((folder / "croissant.json").read_text())
    assert "date-released" not in (folder / "CITATION.cff").read_text()


@pytest.mark.parametrize(
    ("fields", "date", "version", "url"),
    [
        ("date = {2020-05-17}, year = 1999", "2020-05-17", None, None),
        ("year = {in press}, version = {two}", None, None, None),
        ("version = {2.1}, doi = {10.5/ab}", None, "2.1", "https://doi.org/10.5/ab"),
        ("url = {https://a.example}, doi = {10.5/ab}", None, None, "https://a.example"),
    ],
)
def test_bibtex_tells_date_version_and_url(fields, date, version, url):
    about = About(release="made-up", citation=f"@misc{{key, title = {{A}}, {fields}}}")
    said = citation_of(new_manifest(about, []), [])
    assert (said.date, said.url) == (date, url)
    assert said.version == version or (version is None and said.version.startswith("1.0.0+"))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("no entry", {}),
        ("@misc{key}", {}),
        ("@misc{key, title = {A}}", {"title": "A"}),
        ('@misc{key, Title = "A {B} c", year=1999, note = {x', {"title": "A B c", "year": "1999"}),
        ("@misc{key, title = {A}, title = {B}}", {"title": "A"}),
        # Nothing is looked at twice, or these would take hours.
        *((f"@misc{{key, {text}", {}) for text in ("a" * 10**6, "a " * 10**6, "@a{" * 10**6)),
    ],
)
def test_fields_of_bibtex(text, fields):
    assert bibtex_fields(text) == fields


def test_a_citation_is_read_from_a_file(tmp_path):
    path = tmp_path / "a.bib"
    for text in ("", "no entry", "@comment{a, b}"):
        path.write_text(text)
        with pytest.raises(UsageError, match="holds no BibTeX entry, such as @misc"):
            read_bibtex(path)
    path.write_text(f"\n{BIBTEX}\n")
    assert read_bibtex(path) == BIBTEX


QUERIES = (
    *(f"FROM {view}" for view in (*VIEWS, "evaluations")),
    *(f"DESCRIBE {view}" for view in VIEWS),
    "FROM steps_to_result(NULL, NULL, NULL, NULL, 100)",
    "FROM steps_to_result(NULL, 'digits/*', 'val_classification_error', 0.25, 2)",
)


def connected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> duckdb.DuckDBPyConnection:
    """A connection as `duckdb -init dbtool.sql` in the folder leaves it."""
    monkeypatch.chdir(folder)
    connection = duckdb.connect()
    connection.execute((folder / "dbtool.sql").read_text(encoding="utf-8"))
    return connection


def test_plain_duckdb_answers_as_dbtool_does(tmp_path, monkeypatch):
    """Wherever the folder lies, in which nothing is written."""
    out = published(write_shards(tmp_path / "own"), tmp_path / "out", title="It's made up")
    times = {path.name: path.stat().st_mtime_ns for path in out.rglob("*")}
    folder = out.rename(tmp_path / "moved")
    with connected(folder, monkeypatch) as connection, open_database(folder) as db:
        for query in QUERIES:
            found = connection.execute(query).fetchall()
            assert found
            assert sorted(map(str, found)) == sorted(map(str, db.sql(query).rows())), query
    assert {path.name: path.stat().st_mtime_ns for path in folder.rglob("*")} == times


@OLD_CALLS
def test_names_of_any_letters_are_text(tmp_path, monkeypatch, caplog):
    name, workload = "it's; DROP VIEW trials; -- my: {release}", 'it\'s/a "b"/ü$1 c%20'
    write_shard(tmp_path / "own", release=name, workload=workload)
    citation = "@misc{a, title = {'}}"
    folder = published(tmp_path / "own", tmp_path / "it's out", licence="My own", citation=citation)
    with connected(folder, monkeypatch) as connection:
        query = "SELECT release, workload, batch_size FROM measurements"
        assert connection.execute(query).fetchall() == [(name, workload, 64)]
    header = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    said = (header["pretty_name"], header["license"], header["license_name"])
    assert said == (name, "other", "my-own")
    cff = yaml.safe_load((folder / "CITATION.cff").read_text())
    assert "license" not in cff
    assert cff["authors"] == [{"name": f"The authors of the release {name}"}]
    [row] = croissant(folder, caplog).records("measurements")
    assert row["measurements/workload"].decode() == workload
