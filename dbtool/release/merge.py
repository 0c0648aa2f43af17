"""Writes a release folder: one shard a study, a manifest, whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

import dbtool
from dbtool.errors import DbtoolError, UsageError
from dbtool.release.manifest import MANIFEST, Manifest, ReleaseFile
from dbtool.release.reduction import REDUCED_KEY
from dbtool.store.contract import shard_format, without_about
from dbtool.store.shards import read_rows, read_shard
from producers.shards import write_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dbtool.release.reduction import Reduction
    from dbtool.store.shards import Shard

_LICENCE = "CC-BY-4.0"
_ROWS_A_GROUP = 200_000
# Takes 2 seconds a million rows and saves an eighth; a release is written once and read often.
_COMPRESSION_LEVEL = 19


def merge_shards(
    shards: Sequence[Path],
    out: Path,
    *,
    release: str,
    title: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    reduction: Reduction,
    on_study: Callable[[str, int], None] = lambda _name, _batch_size: None,
) -> Manifest:
    """Writes the shards of producers as a release folder.

    Args:
        shards: their paths.
        out: the folder, which must not be there yet.
        release: the release's name, which its shards then carry.
        title: one line on what it is; None: what the shards say, if anything.
        licence: SPDX identifier; None: what the shards say, or else CC-BY-4.0.
        citation: BibTeX; None: what the shards say, if anything.
        reduction: what to leave out.
        on_study: told of each study before it is written.

    Raises:
        UsageError: when the folder is there already, or there are no shards.
        DbtoolError: when a shard is out of contract, two hold the same trial, or writing fails.
    """
    if out.exists():
        raise UsageError(f"{out} is there already; choose another folder with --out or remove it")
    if not shards:
        raise UsageError("there are no shards to merge; `dbtool produce` writes them")
    checked = sorted((read_shard(path) for path in shards), key=_study_and_first_trial)
    about = _about(checked, {"title": title, "licence": licence, "citation": citation})
    temporary = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        files = []
        for (workload, batch_size), group in groupby(checked, key=_study_key):
            on_study(workload, batch_size)
            path = _write_study(list(group), temporary, {"release": release, **about}, reduction)
            files.append(_release_file(path, temporary))
        manifest = Manifest(
            release=release,
            title=about.get("title", ""),
            licence=about["licence"],
            citation=about.get("citation"),
            dbtool=dbtool.__version__,
            shard_format=shard_format(),
            reduced=reduction.to_json(),
            files=tuple(sorted(files, key=lambda file: file.path)),
        )
        (temporary / MANIFEST).write_bytes(manifest.to_json().encode())
        temporary.chmod(0o755)
        temporary.rename(out)
    except OSError as error:
        raise DbtoolError(
            f"could not write {out}: {error.strerror or error}; "
            "free some space or choose another folder with --out, then run the command again"
        ) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return manifest


def _about(shards: Sequence[Shard], given: dict[str, str | None]) -> dict[str, str]:
    """What is said about a release: what was given, or else what its shards agree on.

    Shards of producers say nothing, and agree with anything.

    Raises:
        DbtoolError: when they say different things.
    """
    about = {"licence": _LICENCE}
    for name, value in given.items():
        held = {said for shard in shards if (said := _said(shard, name))}
        if value is None and len(held) > 1:
            raise DbtoolError(f"the shards name more than one {name}; choose one with --{name}")
        chosen = value if value is not None else "".join(held)
        if chosen:
            about[name] = chosen
    return about


def _said(shard: Shard, name: str) -> str:
    """What a shard says about its release under that name; empty where it says nothing."""
    value = cast("Mapping[str, Any]", shard.study).get(name)
    return value if isinstance(value, str) else ""


def _write_study(
    shards: Sequence[Shard], folder: Path, about: dict[str, str], reduction: Reduction
) -> Path:
    trials = [trial for shard in shards for trial in shard.trials]
    ids = [trial["trial_id"] for trial in trials]
    if ids != sorted(set(ids)):
        names = ", ".join(str(shard.path) for shard in shards)
        raise DbtoolError(f"the trials of {names} overlap; merge shards of one sweep")
    study, *others = [without_about(cast("Mapping[str, Any]", shard.study)) for shard in shards]
    if any(other != study for other in others):
        raise DbtoolError(
            f"the shards of {study['workload']['workload']} at batch size {study['batch_size']} "
            "define the study differently; merge shards of one sweep"
        )
    return write_shard(
        folder / study["workload"]["workload"] / str(study["batch_size"]),
        study={**study, **about},
        trials=trials,
        producer=_producer(shards, reduction),
        tables=_reduced_tables(shards, reduction),
        compression_level=_COMPRESSION_LEVEL,
    )


def _producer(shards: Sequence[Shard], reduction: Reduction) -> dict[str, Any]:
    """Where the rows come from: the first shard's word, and what in others differs from it."""
    first = shards[0].producer
    others = [shard.producer for shard in shards[1:] if shard.producer != first]
    also = {"also": others} if others else {}
    return {**first, **also, REDUCED_KEY: reduction.to_json()}


def _reduced_tables(shards: Sequence[Shard], reduction: Reduction) -> Iterator[pa.Table]:
    """The rows that are kept, in tables that each become a row group."""
    optional = frozenset().union(*(shard.optional for shard in shards))
    pending: list[pa.RecordBatch] = []
    for shard in shards:
        last_steps = {trial["trial_id"]: trial["steps"] for trial in shard.trials}
        for rows in read_rows(shard.path, optional):
            pending.append(reduction.apply(rows, last_steps))
            if sum(map(len, pending)) >= _ROWS_A_GROUP:
                yield pa.Table.from_batches(pending)
                pending = []
    if pending:
        yield pa.Table.from_batches(pending)


def _release_file(path: Path, folder: Path) -> ReleaseFile:
    shard = read_shard(path)
    return ReleaseFile(
        path=path.relative_to(folder).as_posix(),
        sha256=shard.sha256,
        bytes=path.stat().st_size,
        workload=shard.study["workload"]["workload"],
        batch_size=shard.study["batch_size"],
        trials=len(shard.trials),
        measurements=shard.rows,
    )


def _study_key(shard: Shard) -> tuple[str, int]:
    return shard.study["workload"]["workload"], shard.study["batch_size"]


def _study_and_first_trial(shard: Shard) -> tuple[str, int, int]:
    return (*_study_key(shard), shard.trials[0]["trial_id"])
