"""Release folders: what is kept and rounded, and that any damage is found."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_up import curve, write_shard

from dbtool.errors import DbtoolError, UsageError
from dbtool.release.manifest import MANIFEST, read_manifest
from dbtool.release.merge import merge_shards
from dbtool.release.reduction import Reduction, rounded
from dbtool.release.verify import verify
from dbtool.resources import schema_folder
from dbtool.store.database import open_for_writing
from dbtool.store.ingest import find_shards, ingest

if TYPE_CHECKING:
    from pathlib import Path

LOSS = "batch_cross_entropy_error"


def shards(folder: Path) -> list[Path]:
    """Two studies, one of them in two shards; an evaluation every ten steps up to 40."""
    values = [0.9, 0.5, 0.3, 0.2, 0.1]
    trial = {
        number: (number, "COMPLETE", {"learning_rate": 0.1}, curve(values)) for number in (0, 1)
    }
    return [
        write_shard(folder, batch_size=8, trials=[trial[1]]),
        write_shard(folder, batch_size=8, trials=[trial[0]]),
        write_shard(folder, batch_size=64, trials=[trial[0], trial[1]]),
    ]


def merged(tmp_path: Path, reduction: Reduction, name: str = "release") -> Path:
    out = tmp_path / name
    about = {"release": "made-up", "title": "Made-up numbers", "licence": "CC-BY-4.0"}
    merge_shards(shards(tmp_path / f"shards-{name}"), out, **about, reduction=reduction)
    return out


def rows(release: Path, batch_size: int) -> list[dict[str, float]]:
    (path,) = release.rglob(f"{batch_size}/*.parquet")
    return pq.read_table(path).to_pylist()


def test_nothing_is_lost_without_a_reduction(tmp_path: Path) -> None:
    release = merged(tmp_path, Reduction())
    found = rows(release, 8)
    assert [(row["trial_id"], row["step"]) for row in found] == [
        (trial, step) for trial in (0, 1) for step in range(41)
    ]
    expected = [None if step == 0 else np.float32(2 / (1 + step)) for step in range(41)]
    assert [row[LOSS] for row in found[:41]] == expected
    assert [row["val_classification_error"] for row in found[:41:10]] == [0.9, 0.5, 0.3, 0.2, 0.1]


def test_evaluations_and_last_rows_are_kept(tmp_path: Path) -> None:
    release = merged(tmp_path, Reduction(every_loss_up_to=3, then_one_in=16))
    assert [row["step"] for row in rows(release, 8)[:9]] == [0, 1, 2, 3, 10, 16, 20, 30, 32]
    alone = merged(tmp_path, Reduction(then_one_in=None), "alone")
    assert [row["step"] for row in rows(alone, 8)] == [0, 10, 20, 30, 40] * 2
    values = curve([0.9, 0.5])[:8]  # ends at step 7, between evaluations
    path = write_shard(
        tmp_path / "short", trials=[(0, "INFEASIBLE", {"learning_rate": 9.0}, values)]
    )
    about = {"release": "made-up", "title": "", "licence": "CC0-1.0"}
    merge_shards([path], tmp_path / "ended", **about, reduction=Reduction(then_one_in=None))
    assert [row["step"] for row in rows(tmp_path / "ended", 64)] == [0, 7]


def test_the_manifest_describes_the_files(tmp_path: Path) -> None:
    reduction = Reduction(loss_bits=8)
    manifest = read_manifest(merged(tmp_path, reduction))
    assert [(file.batch_size, file.trials, file.measurements) for file in manifest.files] == [
        (64, 2, 82),
        (8, 2, 82),
    ]
    assert manifest.reduced == {"every_loss_up_to": 0, "then_one_in": 1, "loss_bits": 8}
    metadata = pq.read_metadata(next((tmp_path / "release").rglob("*.parquet"))).metadata
    assert json.loads(metadata[b"dbtool_producer"])["reduced"] == manifest.reduced


def test_the_same_shards_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (merged(tmp_path, Reduction(loss_bits=8), name) for name in ("a", "b"))
    for path in first.rglob("*.*"):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()


def test_a_release_can_be_loaded(tmp_path: Path) -> None:
    release = merged(tmp_path, Reduction(then_one_in=None))
    with open_for_writing(tmp_path / "db.duckdb") as connection:
        report = ingest(connection, find_shards([release]))
        assert (report.added, report.refused, report.measurements) == (2, (), 20)
        about = connection.execute("SELECT release, title, licence FROM releases").fetchall()
        assert about == [("made-up", "Made-up numbers", "CC-BY-4.0")]


@given(st.floats(width=32), st.integers(1, 23))
def test_rounding_is_to_the_nearest(value: float, bits: int) -> None:
    (found,) = rounded(np.array([value], np.float32), bits)
    if not np.isfinite(value):
        assert np.array_equal(found, np.float32(value), equal_nan=True)
    elif abs(value) >= 1e-30 and np.isfinite(found):
        assert abs(float(found) - value) <= 2.0 ** -(bits + 1) * abs(value)


def test_rounding_by_hand() -> None:
    # One bit of mantissa leaves 1, 1.5, 2, 3, 4, …; ties go to the even last bit.
    values = np.array([1.2, 1.3, 1.25, 1.75, 2.4, -3.7, 0.0], np.float32)
    assert rounded(values, 1).tolist() == [1.0, 1.5, 1.0, 2.0, 2.0, -4.0, 0.0]


def test_a_sound_release_passes(tmp_path: Path) -> None:
    release = merged(tmp_path, Reduction())
    for path in (release, tmp_path, next(release.rglob("*.parquet"))):
        assert verify(path).problems == ()
    assert verify(release).shards == 2
    assert verify(release).measurements == 164


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    release = merged(tmp_path, Reduction(then_one_in=None))
    chance = random.Random(4)
    for path in [path for path in release.rglob("*") if path.is_file()]:
        sound = path.read_bytes()
        for _ in range(25):
            position = chance.randrange(len(sound))
            damaged = bytearray(sound)
            damaged[position] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            problems = verify(release).problems
            assert path in {problem.path for problem in problems}, position
        path.write_bytes(sound)
    assert verify(release).problems == ()


def test_missing_extra_cut_and_swapped_files_are_found(tmp_path: Path) -> None:
    release = merged(tmp_path, Reduction())
    first, second = sorted(release.rglob("*.parquet"))
    sound = first.read_bytes()
    first.unlink()
    assert [(problem.path, problem.reason) for problem in verify(release).problems] == [
        (first, "it is missing")
    ]
    first.write_bytes(sound[:-1])
    assert [problem.path for problem in verify(release).problems] == [first]
    first.write_bytes(second.read_bytes())
    assert [problem.path for problem in verify(release).problems] == [first]
    first.write_bytes(sound)
    extra = release / "notes.txt"
    extra.write_text("made up")
    assert [problem.reason for problem in verify(release).problems] == [
        "the manifest does not list it"
    ]


def test_a_missing_manifest_is_found(tmp_path: Path) -> None:
    release = merged(tmp_path, Reduction())
    (release / MANIFEST).unlink()
    problems = verify(release).problems
    assert [problem.path for problem in problems] == sorted(release.rglob("*.parquet"))
    assert {problem.reason for problem in problems} == {
        "it is part of the release made-up, whose manifest.json is missing"
    }


def test_another_line_end_in_the_manifest_is_found(tmp_path: Path) -> None:
    release = merged(tmp_path, Reduction())
    sound = (release / MANIFEST).read_bytes()
    (release / MANIFEST).write_bytes(sound.replace(b"\n", b"\r", 1))
    assert [problem.path for problem in verify(release).problems] == [release / MANIFEST]


def test_unfinished_files_of_a_producer_are_passed_over(tmp_path: Path) -> None:
    paths = shards(tmp_path / "shards")
    (paths[0].parent / ".writing-abc.parquet").write_bytes(b"PAR1")
    assert verify(tmp_path / "shards").problems == ()
    assert verify(tmp_path / "shards").shards == 3


def test_the_manifest_follows_its_schema(tmp_path: Path) -> None:
    schema = json.loads((schema_folder() / "manifest.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    for name, reduction in (("a", Reduction()), ("b", Reduction(9, None, 8))):
        content = json.loads((merged(tmp_path, reduction, name) / MANIFEST).read_text())
        jsonschema.validate(content, schema)
        assert content["totals"]["trials"] == 4


def test_a_manifest_of_another_format_is_refused(tmp_path: Path) -> None:
    release = merged(tmp_path, Reduction())
    content = json.loads((release / MANIFEST).read_text())
    (release / MANIFEST).write_text(json.dumps(content | {"manifest_format": 2}))
    with pytest.raises(DbtoolError, match="format 2 and this dbtool reads 1"):
        read_manifest(release)


def test_merge_refuses_what_it_would_spoil(tmp_path: Path) -> None:
    paths = shards(tmp_path / "shards")
    about = {"release": "made-up", "title": "", "licence": "CC0-1.0", "reduction": Reduction()}
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        merge_shards(paths, tmp_path / "there", **about)
    with pytest.raises(UsageError, match="no shards"):
        merge_shards([], tmp_path / "new", **about)
    copy = tmp_path / "again" / paths[0].name
    copy.parent.mkdir()
    shutil.copy(paths[0], copy)
    with pytest.raises(DbtoolError, match="overlap"):
        merge_shards([*paths, copy], tmp_path / "new", **about)
    (tmp_path / "file").write_text("made up")
    with pytest.raises(DbtoolError, match="choose another folder with --out"):
        merge_shards(paths, tmp_path / "file" / "new", **about)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "file", "shards", "there"]


BIBTEX = "@misc{made-up,\n  title = {Made-up numbers},\n}"


def test_title_licence_and_citation_go_with_the_measurements(tmp_path: Path) -> None:
    about = {"title": "Made-up numbers", "licence": "CC0-1.0", "citation": BIBTEX}
    first, again = tmp_path / "first", tmp_path / "again"
    merge_shards(
        shards(tmp_path / "shards"), first, release="made-up", **about, reduction=Reduction()
    )
    # What the shards say holds on where nothing else is given.
    merge_shards(find_shards([first]), again, release="other", reduction=Reduction())
    schema = json.loads((schema_folder() / "manifest.schema.json").read_text())
    for folder in (first, again):
        manifest = read_manifest(folder)
        assert asdict(manifest) | about == asdict(manifest)
        assert verify(folder).problems == ()
        jsonschema.validate(json.loads((folder / MANIFEST).read_text()), schema)
    with open_for_writing(tmp_path / "db.duckdb") as connection:
        ingest(connection, find_shards([again]))
        query = "SELECT release, title, licence, citation FROM releases"
        assert connection.execute(query).fetchall() == [("other", *about.values())]


def test_a_release_need_not_name_a_citation(tmp_path: Path) -> None:
    out = tmp_path / "release"
    merge_shards(shards(tmp_path / "shards"), out, release="made-up", reduction=Reduction())
    manifest = read_manifest(out)
    assert (manifest.title, manifest.licence, manifest.citation) == ("", "CC-BY-4.0", None)
    assert "citation" not in json.loads((out / MANIFEST).read_text())


def test_shards_of_different_licences_need_a_choice(tmp_path: Path) -> None:
    free, other = tmp_path / "free", tmp_path / "other"
    paths = shards(tmp_path / "shards")
    for folder, part, licence in ((free, paths[:2], "CC0-1.0"), (other, paths[2:], "MIT")):
        merge_shards(part, folder, release="a", licence=licence, reduction=Reduction())
    both = find_shards([free, other])
    with pytest.raises(DbtoolError, match="more than one licence; choose one with --licence"):
        merge_shards(both, tmp_path / "both", release="a", reduction=Reduction())
    about = {"release": "a", "licence": "MIT", "reduction": Reduction()}
    assert merge_shards(both, tmp_path / "both", **about).licence == "MIT"
