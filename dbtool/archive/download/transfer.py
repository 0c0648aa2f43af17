"""Brings a part to the whole file from one address, however often the connection breaks."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

from dbtool.archive.download.part import Version
from dbtool.archive.download.replies import PermanentError, StartOverError, TemporaryError, ask
from dbtool.archive.download.watch import FETCHING
from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    import httpx

    from dbtool.archive.download.part import Part
    from dbtool.archive.download.replies import Reply
    from dbtool.archive.download.source import Address, Source
    from dbtool.archive.download.watch import Patience, Watch

# A server whose file is another one at every try never gives it whole.
_MOST_CHANGES = 3


class Transfer:
    """The tries at one address.

    Attributes:
        part: where the bytes go.
        source: what the file must be.
        watch: whom to tell.
        in_one_piece: whether all that the part holds came with one reply.
    """

    def __init__(
        self,
        client: httpx.Client,
        address: Address,
        source: Source,
        part: Part,
        patience: Patience,
        watch: Watch,
    ) -> None:
        self.part = part
        self.source = source
        self.watch = watch
        self.in_one_piece = part.size == 0
        self._client = client
        self._address = address
        self._patience = patience
        self._furthest = 0
        self._changes = 0

    def run(self) -> None:
        """Receives what the part lacks.

        Where the server does not say the length, what has come when it closes counts as the whole.

        Raises:
            PermanentError: this address cannot be used, or failed too often.
            DbtoolError: the disk is too small or cannot be written.
        """
        failures = 0
        self._furthest = self.part.size
        while not self.part.complete:
            wait = None
            try:
                self._receive()
                if self.part.version.total is None or self.part.complete:
                    return
                reason = "the server closes before the end"
            except TemporaryError as error:
                reason, wait = str(error), error.wait
            except StartOverError:
                self.start_over(changed=True)
                continue
            if self.part.size > self._furthest:
                self._furthest = self.part.size
                failures = 0
            elif failures == self._patience.retries:
                tries = f" ({failures + 1} tries in a row)" if failures else ""
                raise PermanentError(f"{reason}{tries}")
            else:
                failures += 1
            self._wait(reason, wait or self._patience.first_wait * 2 ** max(failures - 1, 0))

    def start_over(self, *, changed: bool) -> None:
        """Lets go of what has come.

        Args:
            changed: because the server has another file now.

        Raises:
            PermanentError: that happened too often.
        """
        self.part.restart()
        self.in_one_piece = True
        if changed:
            self._furthest = 0
            self._changes += 1
            if self._changes > _MOST_CHANGES:
                raise PermanentError("the file changes while it is fetched")

    def _receive(self) -> None:
        """Asks once for what is missing and writes what comes.

        Raises:
            TemporaryError: another try may bring more.
            PermanentError: it will not.
            StartOverError: what is there cannot be gone on with.
        """
        part, known = self.part, self.part.version
        if part.origin != self._address.shown:
            # Servers of the same file have the size in common alone.
            known = Version(total=known.total)
        with ask(self._client, self._address, part.size, known) as reply:
            self._accept(reply, known)
            total = part.version.total
            self.watch.on_progress(FETCHING, part.position, total)
            for chunk in reply.chunks:
                part.write(chunk)
                if total is None and not self.source.can_grow_to(part.position):
                    self.start_over(changed=False)
                    raise PermanentError("it is longer than the file can be")
                self.watch.on_progress(FETCHING, part.position, total)

    def _accept(self, reply: Reply, known: Version) -> None:
        """Makes the part ready for the bytes of a reply.

        Raises:
            PermanentError: the file cannot be the one that is wanted.
            StartOverError: the reply goes on with another version.
            DbtoolError: the disk is too small.
        """
        part, total = self.part, reply.version.total
        if total is not None and not self.source.can_have(total):
            expected = megabytes(self.source.about_bytes or 0)
            raise PermanentError(f"it has {total:,} bytes there in place of about {expected}")
        same = known.same_as(reply.version)
        # Where the file ends, a length that was said before was wrong; the hash decides.
        if reply.start and same is False and not reply.at_end:
            raise StartOverError
        self._check_space(total or self.source.about_bytes or 0)
        if reply.start < part.size and not same:
            self.start_over(changed=same is False)
        elif part.size:
            self.in_one_piece = False
        version = reply.version.or_else(known) if reply.start else reply.version
        part.go_on(reply.start, self._address, version)

    def _check_space(self, total: int) -> None:
        """Checks that the disk has room for what is missing.

        Raises:
            DbtoolError: it has not.
        """
        folder = self.part.path.parent
        missing = total - self.part.size
        free = shutil.disk_usage(folder).free
        if missing > free:
            raise DbtoolError(
                f"{folder} has {megabytes(free)} free and {self.source.name} needs "
                f"{megabytes(missing)} more: make room or choose another place with --dest"
            )

    def _wait(self, reason: str, seconds: float) -> None:
        seconds = min(seconds, self._patience.longest_wait)
        self.watch.on_retry(reason, seconds)
        time.sleep(seconds)


def megabytes(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e6:,.1f} MB"
