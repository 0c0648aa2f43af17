"""Published release folders: what is in them, the same bytes for the same release, reductions."""

import math
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import sha256_of
from dbtool.core.footer import encode_footer
from dbtool.core.index import TABLES
from dbtool.core.manifest import MANIFEST, SUMS, About, read_manifest
from dbtool.core.release import telling_of_change
from dbtool.core.writer import ReleaseWriter
from dbtool.release.publish import publish
from dbtool.release.reduction import Reduction, rounded
from dbtool.release.verify import verify
from dbtool.sources.base import Report
from dbtool.store.locations import user_folder
from tests.support.archives import query
from tests.support.made_up import curve, whole_footer, whole_table, write_shard, write_table
from tests.support.published import (
    LICENCE,
    SGD,
    add_release,
    bytes_of,
    list_as_it_is,
    published,
    rows,
    write_shards,
)

SMALL = Reduction(every_loss_up_to=3, then_one_in=16, loss_bits=8)
LOSS = "batch_cross_entropy_error"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shards(tmp_path_factory.mktemp("own") / "release")


@pytest.fixture(scope="module")
def folder(own: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "release"
    return published(own, out, title="Numbers", citation="@misc{a, title = {b}}")


def test_the_folder_holds_what_it_says(folder, own):
    held = bytes_of(folder)
    shards = {path for path in bytes_of(own) if path.startswith("measurements/")}
    assert set(held) == shards | {
        *("CITATION.cff", "README.md", SUMS, "citation.bib", "croissant.json", "dbtool.sql"),
        *(MANIFEST, *TABLES),
    }
    manifest = read_manifest(folder)
    assert (manifest.title, manifest.licence) == ("Numbers", LICENCE)
    assert {file.path for file in manifest.files} == set(held) - {MANIFEST, SUMS}
    for file in manifest.files:
        assert (file.sha256, file.bytes) == (sha256_of(folder / file.path), len(held[file.path]))
        if file.path.endswith(".parquet"):
            assert pq.read_metadata(folder / file.path).num_rows == file.rows
    # Shards are those of the source, byte by byte.
    assert all(held[path] == (own / path).read_bytes() for path in shards)
    assert verify(folder).problems == ()


def test_the_sums_are_as_other_programs_want_them(folder):
    words = ["sha256sum", "--strict", "-c", SUMS]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(bytes_of(folder)) - 1


def test_the_same_release_gives_the_same_bytes(own, tmp_path):
    """Also where it came to be in another way: added to another release, and published before."""
    first = published(own, tmp_path / "first")
    add_release(own, tmp_path / "added")
    again = published(published(own, tmp_path / "before"), tmp_path / "again")
    assert bytes_of(again) == bytes_of(first)
    assert bytes_of(published(tmp_path / "added", tmp_path / "second")) == bytes_of(first)


@pytest.mark.parametrize("reduction", [SMALL, Reduction(5, None, 3)])
def test_reductions_keep_what_they_say(own, tmp_path, reduction):
    out = published(own, tmp_path / "out", reduction=reduction)
    assert verify(out).problems == ()
    everything = f"SELECT * EXCLUDE ({LOSS}), {LOSS} AS loss FROM measurements ORDER BY ALL"
    expected = []
    trials = query(own, "SELECT workload, batch_size, trial_id, steps FROM trials")
    steps = {(*keys,): last for *keys, last in trials}
    for row in query(own, everything):
        *others, loss = row
        _, workload, *_, batch_size, trial_id, _, step = others[:9]
        is_last = step == steps[workload, batch_size, trial_id]
        evaluated = any(value is not None for value in others[9:])
        if is_last or evaluated or kept(reduction, step):
            expected.append((*others, None if loss is None else nearest(loss, reduction.loss_bits)))
    assert sorted(map(str, query(out, everything))) == sorted(map(str, expected))
    # Reduced again in the same way, or not at all, nothing changes; what was left out stays said.
    for again in (reduction, Reduction()):
        name = f"again-{again.loss_bits}-{again.then_one_in}"
        assert bytes_of(published(out, tmp_path / name, reduction=again)) == bytes_of(out)


def nearest(value: float, bits: int) -> float:
    """A value with so many bits of mantissa, by arithmetic: the nearest, ties to even."""
    if not math.isfinite(value) or value == 0:
        return value
    mantissa, exponent = math.frexp(value)
    scaled = round(math.ldexp(mantissa, bits + 1))
    return math.ldexp(scaled, exponent - bits - 1)


@given(st.floats(width=32), st.integers(1, 23))
def test_rounding_is_to_the_nearest(value, bits):
    [found] = rounded(np.array([value], np.float32), bits).tolist()
    smallest = 2.0**-126
    if abs(value) < smallest:
        # Below it, bits of the mantissa are places after the point.
        assert abs(found - value) <= smallest * 2.0**-bits
    elif abs(value) < 3e38:
        assert found == nearest(value, bits)
    [same] = rounded(np.array([value], np.float32), 23)
    assert struct.pack("f", same) == struct.pack("f", value)


BITS = st.integers(1, 23)
ONE_IN = st.none() | st.integers(1, 6)
REDUCTIONS = st.builds(Reduction, st.integers(0, 12), ONE_IN, BITS)


# The only step that the second keeps beyond the first's 5 is one of the first's every other.
@example(Reduction(5, 2, 1), Reduction(6, None, 1), [0.0])
@given(REDUCTIONS, REDUCTIONS, st.lists(st.floats(0, 10, width=32), min_size=1, max_size=20))
def test_a_reduction_that_follows_another_is_as_one(first, second, losses):
    steps = range(len(losses))
    ids, errors = [0] * len(losses), [0.5 if step % 7 == 0 else None for step in steps]
    columns = {"trial_id": ids, "step": steps, "val_classification_error": errors}
    rows = pa.table({**columns, LOSS: pa.array(losses, pa.float32())})
    last = {0: len(losses) - 1}
    together = second.following(first)
    if together is not None:
        assert second.apply(first.apply(rows, last), last) == together.apply(rows, last)
    elif first.loss_bits == 23 or second.loss_bits in (23, first.loss_bits):
        # Refused for its rows: of steps enough some are kept by the second alone.
        assert any(kept(second, step) and not kept(first, step) for step in range(1, 1_000))


def kept(reduction: Reduction, step: int) -> bool:
    """Whether a reduction keeps the batch loss of a step."""
    one_in = reduction.then_one_in
    return step <= reduction.every_loss_up_to or (one_in is not None and step % one_in == 0)


def test_what_was_reduced_is_reduced_further_where_that_is_exact(own, tmp_path):
    published(own, tmp_path / "out", reduction=SMALL)
    at_once = published(own, tmp_path / "once", reduction=Reduction(0, None, 8))
    twice = published(tmp_path / "out", tmp_path / "twice", reduction=Reduction(then_one_in=None))
    assert bytes_of(twice) == bytes_of(at_once)
    with pytest.raises(UsageError, match="rounded before, so that what is asked for cannot be"):
        published(tmp_path / "out", tmp_path / "again", reduction=Reduction(3, 16, 7))
    assert {path.name for path in tmp_path.iterdir()} == {"out", "once", "twice"}


def test_a_reduction_of_another_version_is_refused(tmp_path):
    trials: Any = [(0, "COMPLETE", {}, curve([0.9]))]
    footer = msgspec.structs.replace(whole_footer(trials), reduced={"every_other_loss": True})
    shard = write_table(tmp_path, whole_table(trials), encode_footer(footer))
    with ReleaseWriter(tmp_path / "own", About(release="made-up", licence=LICENCE)) as writer:
        writer.receive(shard.read_bytes())
    for out in (None, tmp_path / "out"):
        with pytest.raises(DbtoolError, match="says in a way unknown here how it was reduced"):
            publish(tmp_path / "own", out)


def test_names_that_are_no_file_names(tmp_path):
    names = ["../../up/x/y", "/etc/x", "a//b/", ".hidden/x/y", "a/./.", "a.parquet/b/c", "ü/%/*"]
    parts: dict[str, Any] = {"collection": None, "dataset": "a", "model": "b", "optimizer": "c"}
    for name in names:
        write_shard(tmp_path / "own", workload=name, **parts)
    out = published(tmp_path / "own", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "own"]
    assert verify(out).problems == ()
    assert rows(out, "SELECT workload FROM measurements") == sorted(str((name,)) for name in names)


def test_a_release_of_ones_own_is_published_and_verified_by_its_name(own, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = shutil.copytree(own, user_folder() / "numbers")
    assert publish("numbers", title="Numbers", licence=LICENCE).title == "Numbers"
    assert (folder / "README.md").exists()
    assert verify("numbers") == verify(folder)
    # A folder of that name here goes before it.
    monkeypatch.chdir(tmp_path)
    shutil.copytree(own, tmp_path / "numbers")
    assert publish("numbers", title="Others", licence=LICENCE).title == "Others"
    assert read_manifest(folder).title == "Numbers"


def test_a_folder_is_published_where_it_lies(own, tmp_path):
    folder = shutil.copytree(own, tmp_path / "own")
    (folder / "README.md").write_text("notes of mine")
    with pytest.raises(UsageError, match=r"README\.md is not as dbtool wrote it, and would be re"):
        publish(folder, licence=LICENCE)
    assert (folder / "README.md").read_text() == "notes of mine"
    (folder / "README.md").unlink()
    inodes = {path: path.stat().st_ino for path in folder.rglob("measurements/**/*.parquet")}
    publish(folder, title="Numbers", licence=LICENCE)
    assert bytes_of(folder) == bytes_of(published(own, tmp_path / "out", title="Numbers"))
    assert inodes == {path: path.stat().st_ino for path in inodes}
    # What is added makes it a release that nobody published, until it is published again.
    write_shard(folder, trials=[(9, "COMPLETE", {}, curve([0.9]))], workload=SGD, batch_size=16)
    assert not (folder / "README.md").exists()
    publish(folder)
    assert verify(folder).problems == ()
    assert "7 trials" in (folder / "README.md").read_text()
    with pytest.raises(UsageError, match="losses are left out of a copy alone"):
        publish(folder, reduction=SMALL)

    def add_meanwhile(done: int, _total: int) -> None:
        write_shard(folder, trials=[(done, "COMPLETE", {}, curve([0.9]))], workload="a/b/c")

    with pytest.raises(DbtoolError, match="was added to meanwhile: run the same command again"):
        publish(folder, on_progress=add_meanwhile)


def test_what_somebody_edited_is_neither_replaced_nor_removed(own, tmp_path):
    folder = published(own, tmp_path / "out")
    (folder / "README.md").write_text("notes of mine")
    [problem] = verify(folder).problems
    assert problem.remedy == f"run `dbtool publish {folder}`, or get the release anew"
    refused = pytest.raises(
        UsageError, match=r"README\.md is not as dbtool wrote it, .*: move it away"
    )
    with refused:
        publish(folder)
    told: list[str] = []
    with telling_of_change(folder, told.append):
        write_shard(folder, workload="a/b/c")
    assert "; move README.md away, edited since and kept, and write them anew" in told[0]
    assert not (folder / "CITATION.cff").exists()
    with refused:
        publish(folder)
    assert (folder / "README.md").read_text() == "notes of mine"
    [problem] = verify(folder).problems
    assert str(problem).endswith("README.md: the manifest does not list it; move it away")
    (folder / "README.md").unlink()
    publish(folder)
    assert verify(folder).problems == ()


def test_a_publication_that_ended_early_is_not_of_the_users_own(own, tmp_path):
    folder = published(own, tmp_path / "out", explorer=lambda _: [])
    for title in ("First", "Second"):
        with pytest.raises(ZeroDivisionError):
            publish(folder, title=title, explorer=lambda _: [str(1 // 0)])
    publish(folder, title="Third")
    assert verify(folder).problems == ()


def test_what_is_there_already_is_left_alone(own, tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        published(own, tmp_path / "there")
    # No command reads a release there.
    with pytest.raises(UsageError, match="is not UTF-8 text: name another one with --out"):
        published(own, tmp_path / os.fsdecode(b"\xff"))
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_what_a_killed_process_left_goes_and_nothing_of_anybody_else(own, tmp_path):
    (tmp_path / ".dbtool-unfinished-1" / "out").mkdir(parents=True)
    killed = tmp_path / ".writing-1.folder"
    (killed / "other").mkdir(parents=True)
    (tmp_path / ".mine-unfinished").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    (tmp_path / ".writing-2.folder").symlink_to(tmp_path / "mine")
    (killed / "link").symlink_to(tmp_path / "mine")
    published(own, tmp_path / "out")
    names = {"out", "mine", ".mine-unfinished", ".writing-2.folder"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_what_publishing_again_removes_is_said(own, tmp_path):
    """The page of an earlier publication, with its folder, and the command that makes it anew."""
    out, said = tmp_path / "out", list[str]()

    def page(folder: Path) -> list[str]:
        (folder / "explorer").mkdir(exist_ok=True)
        for path in (files := ["explorer.html", "explorer/trials.csv"]):
            (folder / path).touch()
        return files

    published(own, out, explorer=page, on_message=said.append)
    published(out, out, explorer=page, on_message=said.append)
    assert said == []
    published(out, out, licence="MIT", on_message=said.append)
    [sentence] = said
    assert sentence == (
        f"removed explorer and explorer.html of an earlier publication, which `dbtool publish {out}"
        " --explorer` makes anew"
    )
    assert not list(out.glob("explorer*"))
    assert verify(out).problems == ()


@pytest.mark.parametrize("spoil", ["flip", "rows", "unlisted"])
def test_what_is_damaged_is_not_published_or_added(own, tmp_path, spoil):
    source = tmp_path / "source"
    shutil.copytree(own, source)
    path = source / read_manifest(source).shards[1].path
    if spoil == "flip":
        path.write_bytes(path.read_bytes()[:-9] + b"x" + path.read_bytes()[-8:])
        sentence = "is damaged: its contents are not those that the manifest lists"
    elif spoil == "rows":
        table = pq.read_table(path, partitioning=None)
        pq.write_table(pa.concat_tables([table.slice(1), table.slice(0, 1)]), path)
        list_as_it_is(source, path.relative_to(source).as_posix())
        sentence = "is damaged: "
    else:
        write_shard(tmp_path / "more")
        shutil.copytree(tmp_path / "more/measurements", source / "measurements", dirs_exist_ok=True)
        sentence = f"is not listed in the release, .*: wait .* list it with `dbtool index {source}`"
    for act in (published, add_release):
        with pytest.raises(DbtoolError, match=sentence):
            act(source, tmp_path / "out")
    assert not (tmp_path / "out" / MANIFEST).exists()
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_adding_what_is_there_already_changes_nothing_but_fills_in_a_licence(own, tmp_path):
    into = tmp_path / "into"
    told: list[tuple[int, int]] = []
    added = add_release(own, into, on_progress=lambda *each: told.append(each))
    assert added == Report("made-up", into, 4, 3, 6, 169, 0)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert bytes_of(into) == bytes_of(own)
    again = add_release(own, into)
    assert add_release(own, own) == Report("made-up", own, 0, 0, 0, 0, 6)
    assert bytes_of(into) == bytes_of(own)
    assert add_release(published(own, tmp_path / "out"), into) == again
    assert read_manifest(into).licence == LICENCE
    assert bytes_of(into) | {MANIFEST: b""} == bytes_of(own) | {MANIFEST: b""}
    assert verify(into).problems == ()
    # None is a second name of the same bytes.
    for copy in (into, tmp_path / "out"):
        for path in copy.rglob("*.parquet"):
            path.write_bytes(b"damaged")
    assert verify(own).problems == ()
