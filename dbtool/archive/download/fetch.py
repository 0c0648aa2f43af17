"""Fetches a file that is known by its hash: whole and right under its name, or not there."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.archive.download.digest import remember_sha256, remembered_sha256, sha256_of
from dbtool.archive.download.part import open_part
from dbtool.archive.download.watch import CHECKING, Patience, Watch
from dbtool.errors import DbtoolError, UsageError
from dbtool.folders import make_parent

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.archive.download.part import Part
    from dbtool.archive.download.source import Source
    from dbtool.archive.download.transfer import Transfer


_UNWATCHED = Watch()
_PATIENCE = Patience()


@dataclass(frozen=True)
class Fetched:
    """A file that is there and right.

    Attributes:
        path: where it is.
        bytes: its size.
        was_there: whether it was there before.
    """

    path: Path
    bytes: int
    was_there: bool


def fetch(
    source: Source, dest: Path, watch: Watch = _UNWATCHED, patience: Patience = _PATIENCE
) -> Fetched:
    """Fetches a file, or finds that it is there.

    What comes lies in a .part file beside it, which outlives every failure and with which the next
    call goes on. Addresses are tried in order; each goes on with what the last one brought.

    Args:
        source: the file and where to get it.
        dest: its path, or a folder to put it in under its own name; folders are made.
        watch: whom to tell how far it is.
        patience: how long each address is tried.

    Raises:
        UsageError: the path cannot be a file's.
        DbtoolError: no address gave the file, another file or another process is in the way, or the
            disk is too small or cannot be written.
    """
    target = dest / source.name if dest.is_dir() else dest
    if target.exists() and not target.is_file():
        raise UsageError(f"{target} is no file: name another one with --dest")
    # Without a lock, so that it can be found where nobody may write.
    if remembered_sha256(target) == source.sha256:
        return Fetched(target, target.stat().st_size, was_there=True)
    make_parent(target, "choose another place with --dest")
    with open_part(target, source) as part:
        was_there = _is_there(target, source, watch)
        if was_there:
            part.restart()
        else:
            _bring(part, source, watch, patience)
            remember_sha256(target, source.sha256)
    return Fetched(target, target.stat().st_size, was_there)


def _is_there(target: Path, source: Source, watch: Watch) -> bool:
    """Whether the file is there; another file of that name is left alone.

    Raises:
        DbtoolError: there is another one.
    """
    if not target.exists():
        return False
    found = remembered_sha256(target) or _sha256_of(target, watch)
    remember_sha256(target, found)
    if found == source.sha256:
        return True
    raise DbtoolError(
        f"{target} is there already and is another file (sha256 {found} in place of "
        f"{source.sha256}): move it away or choose another place with --dest"
    )


def _bring(part: Part, source: Source, watch: Watch, patience: Patience) -> None:
    """Brings the file from the first address that gives it.

    Raises:
        DbtoolError: none does.
    """
    # These bring httpx, which a file that is there does not need.
    from dbtool.archive.download.replies import PermanentError, http_client
    from dbtool.archive.download.transfer import Transfer, megabytes

    failures = []
    with http_client(patience.timeout) as client:
        for address in source.addresses:
            try:
                _bring_from(Transfer(client, address, source, part, patience, watch))
            except PermanentError as error:
                failures.append(f"{address.shown}: {error}")
            else:
                part.publish()
                return
    mend = (
        f"{megabytes(part.size)} of it are kept, give the same command again to go on"
        if part.size
        else "try again later or name another address with --mirror"
    )
    raise DbtoolError(f"cannot fetch {source.name} from {'; from '.join(failures)}; {mend}")


def _bring_from(transfer: Transfer) -> None:
    """Brings the file from one address and checks it.

    Raises:
        PermanentError: the address does not give it.
    """
    from dbtool.archive.download.replies import PermanentError

    part, source = transfer.part, transfer.source
    tried_anew = False
    while True:
        began_with = part.size
        transfer.run()
        found = _sha256_of(part.path, transfer.watch)
        if found == source.sha256:
            return
        if part.version.total is None and part.size > began_with:
            continue  # a server that does not say the length may have closed too early
        may_be_mixed = not transfer.in_one_piece
        transfer.start_over(changed=False)
        if tried_anew or not may_be_mixed:
            raise PermanentError(
                f"what it sends has the sha256 {found} in place of {source.sha256}"
            )
        tried_anew = True


def _sha256_of(path: Path, watch: Watch) -> str:
    """The hash of a file.

    Raises:
        DbtoolError: it cannot be read.
    """
    try:
        return sha256_of(path, functools.partial(watch.on_progress, CHECKING))
    except OSError as error:
        raise DbtoolError(f"cannot read {path}: {error.strerror}") from error
