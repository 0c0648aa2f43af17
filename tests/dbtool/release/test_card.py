"""What goes with the tables of a published release: Croissant, the card, the citation."""

import itertools
import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import yaml

from dbtool.core.errors import UsageError
from dbtool.core.manifest import read_manifest
from dbtool.release.publish.citation import bibtex_fields, read_bibtex
from dbtool.release.publish.columns import published_columns, table_path
from dbtool.release.reduction import Reduction
from tests.support.made_up import curve, write_shard
from tests.support.published import OTHERS, SGD, published, write_shards

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


def croissant(folder: Path) -> Any:
    mlcroissant = pytest.importorskip("mlcroissant")
    return mlcroissant.Dataset(folder / "croissant.json")


def rows_of(folder: Path, table: str) -> int:
    manifest = read_manifest(folder)
    names = [f"{table}.parquet", *(file.path for file in manifest.shards)]
    names = names[1:] if table == "measurements" else names[:1]
    return sum(file.rows or 0 for file in manifest.files if file.path in names)


@OLD_CALLS
def test_croissant_is_sound_and_its_records_are_the_rows(folder: Path) -> None:
    dataset = croissant(folder)
    issues = dataset.metadata.ctx.issues
    assert not issues.errors
    # A date or a version of its own would change without the release.
    assert sorted(warning.split('"')[1].split("/")[-1] for warning in issues.warnings) == [
        "datePublished",
        "version",
    ]
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


@OLD_CALLS
def test_croissant_takes_any_name(tmp_path: Path) -> None:
    trials: list[Any] = [(0, "COMPLETE", {}, curve([0.9]))]
    write_shard(tmp_path / "own", workload="a b/ü/c%20", release="my: {release}", trials=trials)
    folder = published(tmp_path / "own", tmp_path / "out", licence="My own")
    dataset = croissant(folder)
    assert not dataset.metadata.ctx.issues.errors
    [row] = dataset.records("measurements")
    assert row["measurements/workload"].decode() == "a b/ü/c%20"
    header = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    assert (header["license"], header["license_name"]) == ("other", "My own")
    assert header["pretty_name"] == "my: {release}"
    citation = yaml.safe_load((folder / "CITATION.cff").read_text())
    assert "license" not in citation
    assert citation["authors"] == [{"name": "The authors of the release my: {release}"}]


def test_every_column_is_described_with_its_type(folder: Path) -> None:
    with duckdb.connect() as connection:
        for table, columns in published_columns().items():
            found = connection.execute(f"DESCRIBE FROM '{folder}/{table_path(table)}'").fetchall()
            named = [(name, kind) for name, kind, *_ in found]
            expected = [(column.name, column.type) for column in columns]
            if table == "measurements":
                # Of the folders, whose names DuckDB takes for columns, it finds the type itself.
                named = [pair for pair in named if pair[0] != "batch_size"]
                expected.remove(("batch_size", "INTEGER"))
            assert named == expected
            assert all(column.meaning for column in columns), table
    card = (folder / "README.md").read_text()
    assert "| `step` | BIGINT | Updates made so far" in card


def test_the_card_begins_with_what_hugging_face_reads(folder: Path) -> None:
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
    assert f"| {OTHERS} | `test_average_precision` | 0.6 | 1, from 32 to 32 |" in body
    assert "kept at every step up to 3 and at one step in 16 after that, with 8 of 23 bits" in body
    assert "- 4 shards by dbtool 0.1.0 with jax 0.10.2 on made up" in body


def test_what_the_card_says_to_run_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = (folder / "README.md").read_text()
    plain, with_macros = (part.split("```")[0] for part in card.split("```sql\n")[1:])
    monkeypatch.chdir(folder)
    with duckdb.connect() as connection:
        found = connection.execute(plain).fetchall()
        assert [row[:2] for row in found] == [(SGD, 8), (SGD, 64), (OTHERS, 32)]
        connection.execute((folder / "dbtool.sql").read_text())
        assert len(connection.execute(with_macros).fetchall()) == 3
    names: dict[str, Any] = {}
    exec(card.split("```python\n")[1].split("```")[0], names)  # noqa: S102 (what the card says)
    assert names["trials"].collect().height == 6
    assert names["measurements"].collect().height == rows_of(folder, "measurements")


def test_the_citation_names_the_authors(folder: Path) -> None:
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
        "license": "CC-BY-4.0",
        "url": "https://example.org/made-up",
    }
    assert (folder / "citation.bib").read_text() == BIBTEX + "\n"
    assert json.loads((folder / "croissant.json").read_text())["citeAs"] == BIBTEX


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {}),
        ("no entry", {}),
        ("@misc{key}", {}),
        ("@misc{key, title = {A}}", {"title": "A"}),
        ('@misc{key, Title = "A {B} c", year=1999, note = {x', {"title": "A B c", "year": "1999"}),
        ("@misc{key, title = {A}, title = {B}}", {"title": "A"}),
    ],
)
def test_fields_of_bibtex(text: str, fields: dict[str, str]) -> None:
    assert bibtex_fields(text) == fields


def test_a_citation_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    for text in ("", "no entry", "@comment{a, b}"):
        path.write_text(text)
        with pytest.raises(UsageError, match="holds no BibTeX entry, such as @misc"):
            read_bibtex(path)
    path.write_text(f"\n{BIBTEX}\n")
    assert read_bibtex(path) == BIBTEX
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_bibtex(tmp_path / "none.bib")
