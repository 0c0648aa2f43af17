"""Checks release folders byte by byte and row by row, and reports faults with their remedies."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.core.errors import DbtoolError, UsageError, counted
from dbtool.core.footer import FooterError
from dbtool.core.index import TABLES, ClashError, Index
from dbtool.core.manifest import (
    CROISSANT,
    MANIFEST,
    MEASUREMENTS,
    SUMS,
    Manifest,
    ReleaseFile,
    is_release,
    is_shard,
    lack_of_release,
    publish_command,
    read_manifest,
)
from dbtool.core.parquet import ParquetError, decoding
from dbtool.core.release import load_shard
from dbtool.core.shards import Shard
from dbtool.core.walk import AccessError, is_folder, walk
from dbtool.release.layout import sums
from dbtool.store.locations import is_swept, release_folder
from dbtool.store.shard_files import checked_shard, fault, in_threads

_GET_ANEW = "get the release anew"


@dataclass(frozen=True)
class Problem:
    """A fault of a release.

    Attributes:
        path: the file or folder.
        reason: the fault.
        remedy: what to do; None where the reason names the file and says what to do.
    """

    path: Path
    reason: str
    remedy: str | None = _GET_ANEW

    def __str__(self) -> str:
        if self.remedy is None:
            return self.reason
        return f"{self.path}: {self.reason}; {self.remedy}"


@dataclass(frozen=True)
class Verified:
    """The result of a check.

    Attributes:
        releases: number of sound releases.
        shards: number of sound shards, of any release.
        measurements: rows of these shards.
        problems: the faults.
        notes: sentences about releases that a sweep or another command is writing to, whose new
            shards need not be listed yet.
    """

    releases: int
    shards: int
    measurements: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()


def verify(
    path: str | os.PathLike[str],
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Verified:
    """Check every byte of a release folder, or of all release folders below a folder.

    Each listed file is compared with the manifest, each shard's rows with its footer, and the index
    with the footers. Entries of folders with hidden names are skipped. A folder or file that cannot
    be read is a problem of its own, since its contents were not checked.

    Args:
        path: the folder to check, or the name of one of the user's own releases.
        on_progress: called with the bytes of shards checked and their total in a release.

    Raises:
        UsageError: there is no release at that path.

    Example:
        >>> dbtool.verify("data/replication").problems
        ()
    """
    path = release_folder(path)
    folders, unreadable = _releases(path)
    found = [_verify_release(folder, on_progress) for folder in folders]
    if not (found or unreadable):
        raise UsageError(f"{path} {lack_of_release(path)}")
    problems = [*unreadable, *(problem for each in found for problem in each.problems)]
    return Verified(
        sum(each.releases for each in found),
        sum(each.shards for each in found),
        sum(each.measurements for each in found),
        tuple(dict.fromkeys(problems)),
        tuple(note for each in found for note in each.notes),
    )


def _releases(path: Path) -> tuple[list[Path], list[Problem]]:
    """Return the release folders at and below a path, also those without a manifest.

    A folder that cannot be read may be a release, and is a problem. Links in a folder of releases
    are followed, as when it is opened.
    """
    errors: list[AccessError] = []
    found = [*walk(path, hidden=False, on_error=errors.append)]
    for link in [each for each in found if each.is_symlink() and Path(each.path).parent == path]:
        found += walk(link.path, hidden=False, on_error=errors.append)
    marks = (MANIFEST, CROISSANT, MEASUREMENTS)
    folders = {Path(entry.path).parent for entry in found if entry.name in marks}
    outermost = [each for each in sorted(folders) if folders.isdisjoint(each.parents)]
    return outermost, [_unreadable(error) for error in errors]


def _unreadable(error: AccessError) -> Problem:
    return Problem(error.path, str(error), None)


def _verify_release(folder: Path, on_progress: Callable[[int, int], None]) -> Verified:
    """Compare a release folder with its manifest, both ways, and its shards with its index."""
    path = folder / MANIFEST
    try:
        # This refuses paths that other libraries do not take.
        is_release(folder)
        manifest = read_manifest(folder)
    except DbtoolError as error:
        reason = f"{error}; nothing else of that release was checked"
        return Verified(0, 0, 0, (Problem(path, reason, None),))
    new, unlisted = _unlisted(folder, manifest)
    problems = [*unlisted, *_wrong_others(folder, manifest)]
    shards, damaged = _checked(folder, manifest.shards, on_progress)
    problems += damaged or _wrong_index(folder, manifest, shards, {each.path for each in problems})
    notes = []
    if (new or problems) and (writer := _writer(folder, manifest)):
        # It lists shards some time after they are written, and the index before the manifest.
        problems = [each for each in problems if each.path not in map(folder.joinpath, TABLES)]
        notes = [f"{writer} in {folder}, and {counted(len(new), 'sound shard')} not listed yet"]
    else:
        remedy = f"list it with `dbtool index {folder}`"
        problems = [
            *(Problem(each, "the manifest does not list it", remedy) for each in new),
            *problems,
        ]
    rows = sum(shard.rows for shard in shards)
    return Verified(int(not problems), len(shards), rows, tuple(problems), tuple(notes))


def _writer(folder: Path, manifest: Manifest) -> str | None:
    """Return what is writing to a release folder: a sweep, or who has changed its manifest."""
    if is_swept(folder):
        return "a sweep is at work"
    return "another command is at work" if read_manifest(folder) != manifest else None


def _unlisted(folder: Path, manifest: Manifest) -> tuple[list[Path], list[Problem]]:
    """Return sound shards outside the release, and other files; hidden ones may be the host's."""
    shards, problems = [], []
    listed = {MANIFEST, SUMS, *(file.path for file in manifest.files)}
    errors: list[AccessError] = []
    found = walk(folder, hidden=False, on_error=errors.append)
    for path in sorted(Path(entry.path) for entry in found):
        below = path.relative_to(folder)
        try:
            if below.as_posix() in listed or is_folder(path):
                continue
            if is_shard(below.as_posix()):
                load_shard(folder, below.as_posix())
                shards.append(path)
                continue
        except AccessError as error:
            errors.append(error)
            continue
        except FooterError:
            pass
        problems.append(Problem(path, "the manifest does not list it", "move it away"))
    return shards, [*problems, *map(_unreadable, errors)]


def _wrong_others(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    """Yield the faults of the files that are not shards."""
    files = set(manifest.files) - set(manifest.shards)
    if manifest.file(CROISSANT) is not None or os.path.lexists(folder / SUMS):
        text = sums(manifest).encode()
        digest = hashlib.sha256(text).hexdigest()
        files.add(ReleaseFile(path=SUMS, sha256=digest, bytes=len(text)))
    for file in sorted(files, key=lambda each: each.path):
        try:
            reason = fault(folder, file)
        except AccessError as error:
            yield _unreadable(error)
            continue
        if reason is not None:
            is_made_anew = file.path in TABLES
            anew = (
                f"dbtool index {folder}"
                if is_made_anew
                else publish_command(folder, manifest.paths)
            )
            yield Problem(folder / file.path, reason, f"run `{anew}`, or {_GET_ANEW}")


def _checked(
    folder: Path, files: Sequence[ReleaseFile], on_progress: Callable[[int, int], None]
) -> tuple[list[Shard], list[Problem]]:

    def check(file: ReleaseFile) -> Shard | Problem:
        try:
            return checked_shard(folder, file)
        except AccessError as error:
            return _unreadable(error)
        except FooterError as error:
            return Problem(folder / file.path, str(error))

    found = in_threads(check, files, on_progress)
    sound = [each for each in found if isinstance(each, Shard)]
    return sound, [each for each in found if isinstance(each, Problem)]


def _wrong_index(
    folder: Path, manifest: Manifest, shards: list[Shard], known: set[Path]
) -> Iterator[Problem]:
    """Yield faults of the index against the shards, or of the shards against each other.

    Files in `known` are faulty already and are skipped.
    """
    try:
        index = Index.of(shards)
    except ClashError as error:
        yield Problem(folder, str(error))
        return
    remedy = f"run `dbtool index {folder}`"
    for name, expected in index.tables().items():
        path = folder / name
        if manifest.file(name) is None:
            yield Problem(path, "the manifest does not list it", remedy)
        elif path not in known and not _equal(path, expected):
            yield Problem(path, "its rows are not those that the shards tell", remedy)


def _equal(path: Path, expected: pa.Table) -> bool:
    """Whether a file has exactly these rows, with NaN equal to NaN."""
    try:
        with decoding(), pq.ParquetFile(path) as file:
            if file.metadata.num_rows != len(expected):
                return False
            found = file.read()
    except ParquetError:
        return False
    if found.schema.remove_metadata() != expected.schema.remove_metadata():
        return False
    return pl.DataFrame(found).equals(pl.DataFrame(expected))
