"""Writes made-up studies as an archive in the published format."""

import bz2
import gzip
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from .plan import StudyPlan
from .study import ROOT, Member, Truth, make_study

Layout: TypeAlias = Literal["tar.bz2", "tar.gz", "tar", "folder"]
Order: TypeAlias = Literal["sorted", "shuffled", "interleaved"]

Part = TypeVar("Part")

TOGETHER = 8  # studies whose members are mixed where members are interleaved
END = bytes(2 * tarfile.BLOCKSIZE)


def write_archive(
    dest: Path,
    *,
    studies: Iterable[StudyPlan],
    seed: int = 0,
    layout: Layout = "tar.bz2",
    order: Order = "sorted",
    processes: int = 1,
) -> Truth:
    """Writes an archive and returns what it holds.

    Args:
        dest: the file to write; for a folder, where the folder batch_science is put.
        studies: what to write; see `plan_study` and `published_plans`.
        seed: of all numbers and orders.
        layout: tar.bz2, tar.gz, tar or folder.
        order: of the members. sorted: by study, study.json first, trials by id. shuffled: studies
            in any order, and the members of each in any order. interleaved: the members of up to
            eight studies mixed with one another.
        processes: how many work at once. A compressed file consists of several streams, one after
            another, which every decoder takes.
    """
    plans = tuple(studies)
    positions = np.arange(len(plans))
    if order != "sorted":
        np.random.default_rng(seed).shuffle(positions)
    placed = [plans[position] for position in positions]
    together = TOGETHER if order == "interleaved" else 1
    groups = [placed[start : start + together] for start in range(0, len(placed), together)]
    measurements = 0
    if layout == "folder":
        for members, found in _work(partial(_members, seed=seed, order=order), groups, processes):
            measurements += found
            _write_folder(dest, members)
    else:
        pack = partial(_pack, seed=seed, order=order, layout=layout)
        with dest.open("wb") as file:
            file.write(_compressed(_headers([(ROOT, None)]), layout))
            for data, found in _work(pack, groups, processes):
                measurements += found
                file.write(data)
            file.write(_compressed(END, layout))
    return Truth(plans, measurements)


def _work(
    make: Callable[[list[StudyPlan]], Part], groups: Sequence[list[StudyPlan]], processes: int
) -> Iterator[Part]:
    """What is made of each group, in their order."""
    if processes == 1:
        yield from map(make, groups)
        return
    # Workers that start afresh do not inherit the threads of the process that asks.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from pool.map(make, groups)


def _pack(plans: list[StudyPlan], *, seed: int, order: Order, layout: Layout) -> tuple[bytes, int]:
    """Part of a tar file, compressed by itself where asked for, and how many measurements."""
    members, measurements = _members(plans, seed=seed, order=order)
    return _compressed(_headers(members), layout), measurements


def _members(plans: list[StudyPlan], *, seed: int, order: Order) -> tuple[list[Member], int]:
    """The members of some studies in the order asked for, and how many measurements these have."""
    made = [make_study(plan, seed) for plan in plans]
    members = [member for files, _ in made for member in files]
    if order != "sorted":
        order_rng = plans[0].rng(seed + 1)
        members = [members[position] for position in order_rng.permutation(len(members))]
    return members, sum(measurements for _, measurements in made)


def _headers(members: Iterable[Member]) -> bytes:
    """The members as tar stores them: a header and the contents of each, in whole blocks."""
    parts = []
    for path, contents in members:
        info = tarfile.TarInfo(path)
        info.mtime = 1_541_635_200  # a day of November 2018, so that equal seeds give equal files
        if contents is None:
            info.type, info.mode = tarfile.DIRTYPE, 0o755
        else:
            info.size = len(contents)
        parts.append(info.tobuf(tarfile.GNU_FORMAT))
        if contents:
            parts += [contents, bytes(-len(contents) % tarfile.BLOCKSIZE)]
    return b"".join(parts)


def _compressed(data: bytes, layout: Layout) -> bytes:
    if layout == "tar.bz2":
        return bz2.compress(data)
    return gzip.compress(data, 6, mtime=0) if layout == "tar.gz" else data


def _write_folder(dest: Path, members: Iterable[Member]) -> None:
    for path, contents in members:
        target = dest / path
        if contents is None:
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents)
