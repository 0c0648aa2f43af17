"""What `dbtool verify` finds in a published release: any flipped byte, any row that does not go."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
from typing import TYPE_CHECKING

import duckdb
import pytest
from support.published import OTHERS, SGD, bytes_of, database, published, write_shards

from dbtool.release.publish.parquet import described
from dbtool.release.verify import verify
from dbtool.resources import queries_folder
from dbtool.store.published.manifest import read_published, sums
from dbtool.store.published.views import make_measurements_view, open_published

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GET_ANEW = "get the release anew from where it came from, or run its `dbtool publish` again"
FLIPS = 12


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    stored = database(folder / "db", write_shards(folder / "shards"))
    return published(stored, folder / "release")


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    copied: Path = shutil.copytree(sound, tmp_path / "release")
    return copied


def reasons(folder: Path) -> dict[str, str]:
    """What is wrong, by the place below the folder."""
    return {
        problem.path.relative_to(folder).as_posix(): problem.reason
        for problem in verify(folder).problems
    }


def test_a_sound_release_passes(sound: Path) -> None:
    found = verify(sound)
    assert (found.problems, found.releases, found.measurements) == ((), 1, 169)
    assert verify(sound / "manifest.json") == found
    assert verify(sound.parent).releases == 1


@pytest.mark.parametrize(
    "place",
    [
        *("manifest.json", "SHA256SUMS", "README.md", "CITATION.cff", "croissant.json"),
        *(f"measurements/{name}.parquet" for name in (SGD, OTHERS)),
        *(
            f"tables/{name}.parquet"
            for name in ("releases", "workloads", "studies", "shards", "trials", "improvements")
        ),
    ],
)
def test_every_flipped_byte_is_found(folder: Path, place: str) -> None:
    path = folder / place
    content = path.read_bytes()
    chance = random.Random(place)
    positions = [0, len(content) - 1, *(chance.randrange(len(content)) for _ in range(FLIPS))]
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        assert list(reasons(folder)) == [place], position


def test_no_file_is_left_out_of_the_flips(sound: Path) -> None:
    assert len(bytes_of(sound)) == 13


def test_cut_missing_and_extra_files_are_found(folder: Path) -> None:
    for place, content in bytes_of(folder).items():
        path = folder / place
        path.write_bytes(content[:-1])
        assert list(reasons(folder)) == [place]
        path.write_bytes(content + b"\n")
        assert list(reasons(folder)) == [place]
        path.unlink()
        assert list(reasons(folder)) == [place]
        path.write_bytes(content)
    (folder / "measurements" / "more.parquet").write_bytes(b"PAR1")
    (folder / "notes.txt").write_text("made up")
    (folder / ".gitattributes").write_text("what a host puts there")
    [first, second] = verify(folder).problems
    assert str(first) == (
        f"{folder / 'measurements' / 'more.parquet'}: the manifest does not list it; remove it"
    )
    assert second.path == folder / "notes.txt"


def test_a_missing_manifest_is_one_sentence(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    [problem] = verify(folder.parent).problems
    assert str(problem) == (
        f"{folder / 'manifest.json'} cannot be read: No such file or directory; {GET_ANEW}; "
        "nothing else was checked"
    )


def test_a_swapped_file_is_found(folder: Path) -> None:
    files = [folder / f"measurements/{name}.parquet" for name in (SGD, OTHERS)]
    contents = [path.read_bytes() for path in files]
    for path, content in zip(files, reversed(contents), strict=True):
        path.write_bytes(content)
    assert list(reasons(folder)) == [f"measurements/{name}.parquet" for name in (SGD, OTHERS)]


def test_another_schema_version_is_told(folder: Path) -> None:
    newer = dataclasses.replace(read_published(folder), schema_version=99)
    (folder / "manifest.json").write_text(newer.to_json())
    (folder / "SHA256SUMS").write_text(sums(newer))
    [problem] = verify(folder).problems
    assert str(problem).endswith("check it with the dbtool that wrote it (0.1.0)")


def rewrite(folder: Path, place: str, query: str) -> None:
    """Replaces a file by the rows of a query, with a manifest that lists it as it then is."""
    path, new = folder / place, folder.with_name("new.parquet")
    with duckdb.connect() as connection:
        text = query.format(rows=f"read_parquet('{path}')")
        connection.execute(f"COPY ({text}) TO '{new}' (FORMAT parquet)")
        [(rows,)] = connection.execute(f"SELECT count(*) FROM '{new}'").fetchall()
    new.rename(path)
    manifest = read_published(folder)
    files = tuple(
        described(path, place, file.table, rows, file.workload) if file.path == place else file
        for file in manifest.files
    )
    write_manifest(folder, lambda found: dataclasses.replace(found, files=files))


def write_manifest(folder: Path, change: Callable[..., object]) -> None:
    manifest = change(read_published(folder))
    (folder / "manifest.json").write_text(manifest.to_json())
    (folder / "SHA256SUMS").write_text(sums(manifest))


OF_SGD = f"measurements/{SGD}.parquet"


@pytest.mark.parametrize(
    ("place", "query", "expected"),
    [
        (
            OF_SGD,
            "FROM {rows} WHERE NOT (study_id = 2 AND step = 7)",
            {".": "trial 0 of study 2 has 40 rows and should have 41"},
        ),
        (
            OF_SGD,
            "SELECT * REPLACE (if(study_id = 2, 9, trial_id)::INTEGER AS trial_id) FROM {rows}",
            {".": "study 2 has rows of trial 9, which it does not list"},
        ),
        (
            OF_SGD,
            "SELECT * REPLACE (if(step = 7, 6, step) AS step) FROM {rows}",
            {".": "trial 0 of study 2 has a step twice"},
        ),
        (
            OF_SGD,
            "FROM {rows} ORDER BY trial_id, study_id, step",
            {OF_SGD: "its rows of study 1 are not sorted by study, trial and step"},
        ),
        (
            OF_SGD,
            (
                "SELECT * REPLACE (if(study_id = 2, 65, batch_size)::INTEGER AS batch_size) "
                "FROM {rows}"
            ),
            {OF_SGD: "its rows of study 2 name another workload or batch size than the study"},
        ),
        (
            OF_SGD,
            "SELECT * EXCLUDE (step), step FROM {rows}",
            {OF_SGD: "its columns are not those of measurements"},
        ),
        (
            OF_SGD,
            "SELECT * REPLACE (step::DOUBLE AS step) FROM {rows}",
            {OF_SGD: "its columns are not those of measurements"},
        ),
        (
            "tables/trials.parquet",
            "FROM {rows} UNION ALL FROM {rows} WHERE study_id = 3 ORDER BY ALL",
            {"tables/trials.parquet": "study_id and trial_id 3 and 7 is there 2 times"},
        ),
        (
            "tables/trials.parquet",
            "SELECT * REPLACE (if(study_id = 3, NULL, shard_id)::INTEGER AS shard_id) FROM {rows}",
            {},
        ),
        (
            "tables/shards.parquet",
            "FROM {rows} WHERE study_id < 3",
            {".": "trial 7 of study 3 names a shard that is not there"},
        ),
        (
            "tables/studies.parquet",
            "SELECT * REPLACE ((4 - study_id)::SMALLINT AS study_id) FROM {rows}",
            {"tables/studies.parquet": "study 3 should have the number 1"},
        ),
        (
            "tables/studies.parquet",
            (
                "SELECT * REPLACE (if(study_id = 3, 9, workload_id)::SMALLINT AS workload_id) "
                "FROM {rows}"
            ),
            {"tables/studies.parquet": "study 3 belongs to workload 9, which is not there"},
        ),
        (
            "tables/improvements.parquet",
            "FROM {rows} WHERE study_id < 3 OR step > 0",
            {
                "tables/improvements.parquet": "the improvements of trial 7 of study 3 are not "
                "those of its rows"
            },
        ),
        (
            "tables/improvements.parquet",
            "FROM {rows} ORDER BY step, study_id, trial_id",
            {
                "tables/improvements.parquet": "its rows of study 1 are not sorted by study, trial "
                "and step"
            },
        ),
        (
            "tables/releases.parquet",
            "SELECT * REPLACE ('MIT' AS licence) FROM {rows}",
            {
                "tables/releases.parquet": "it says other things about the release than "
                "manifest.json"
            },
        ),
    ],
)
def test_rows_that_do_not_go_are_found(
    folder: Path, place: str, query: str, expected: dict[str, str]
) -> None:
    """Though every hash fits, as where a program of another make wrote the folder."""
    rewrite(folder, place, query)
    found = {
        (problem.path.relative_to(folder).as_posix(), problem.reason)
        for problem in verify(folder).problems
    }
    assert set(expected.items()) <= found
    if not expected:
        # A shard whose trials are no longer its own.
        assert [reason.split(" of shard ")[0] for _, reason in found] == ["the trials"]


def test_order_is_checked_without_sorting(sound: Path) -> None:
    with open_published(sound) as connection:
        make_measurements_view(connection, sound, read_published(sound))
        query = (queries_folder() / "verify" / "published.sql").read_text()
        [(_, plan)] = connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
    names = [node["name"] for node in nodes(json.loads(plan))]
    assert names.count("STREAMING_WINDOW") >= 2
    # The numbers of workloads and of studies, which are few.
    assert names.count("WINDOW") <= 2


def nodes(plan: list[dict[str, object]]) -> list[dict[str, object]]:
    """The steps of a plan, at every depth."""
    return [each for node in plan for each in (node, *nodes(node.get("children", [])))]
