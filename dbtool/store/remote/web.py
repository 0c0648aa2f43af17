"""The bytes of a published release on a server."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from dbtool.archive.download.part import Version
from dbtool.archive.download.replies import (
    PermanentError,
    TemporaryError,
    http_client,
    part_sent,
    plain_failures,
    refusal,
    version_of,
)
from dbtool.archive.download.source import parse_address
from dbtool.archive.download.watch import Patience
from dbtool.errors import DbtoolError
from dbtool.store.published.layout import MANIFEST
from dbtool.store.remote.places import Traffic, changed, file_address

if TYPE_CHECKING:
    import httpx

    from dbtool.store.published.manifest import PublishedFile

PATIENCE = Patience(retries=3, timeout=30.0, first_wait=0.5)
"""A server that is down for a moment is waited for; one that is not there is told soon."""
# No manifest is nearly as long.
_LONGEST_MANIFEST = 64 << 20
_OK, _PARTIAL = 200, 206
_NOT_THERE = {404, 410, 416}


class WebPlace:
    """A folder on a server; threads may share it.

    Args:
        folder: its URL, from `folder_address`.
        patience: how long each request is tried.
    """

    def __init__(self, folder: str, patience: Patience = PATIENCE) -> None:
        self.name = parse_address(folder).shown
        self.traffic = Traffic()
        self._folder = folder
        self._patience = patience
        self._client = http_client(patience.timeout)
        self._versions: dict[str, Version] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """As of every place."""
        self._client.close()

    def manifest(self) -> bytes:
        """As of every place."""
        status, content, _ = self._asked(MANIFEST, None, _LONGEST_MANIFEST)
        if status == _OK:
            return content
        raise DbtoolError(
            f"{self.name} is no published release: there is no {MANIFEST} "
            f"(the server answers {status}); give the URL of a folder that `dbtool publish` wrote"
        )

    def read(self, file: PublishedFile, start: int, length: int) -> bytes:
        """As of every place."""
        if not length:
            return b""
        whole = length == file.bytes
        status, content, version = self._asked(file.path, None if whole else start, length)
        if status == _OK and not whole:
            raise DbtoolError(
                f"the server of {self.name} sends files whole and not the parts that are asked "
                f"for: take the release with `dbtool pull {self._folder}`"
            )
        if status in _NOT_THERE or version.total not in {None, file.bytes}:
            raise changed(self.name, file)
        with self._lock:
            known = self._versions.setdefault(file.path, version)
        if known.same_as(version) is False or len(content) != length:
            raise changed(self.name, file)
        return content

    def _asked(self, path: str, start: int | None, most: int) -> tuple[int, bytes, Version]:
        """The status of an answer, its body and what it says of the file; tried several times.

        Raises:
            DbtoolError: the server does not answer, or refuses.
        """
        for failures in range(self._patience.retries + 1):
            try:
                return self._asked_once(path, start, most)
            except PermanentError as error:
                raise self._failed(path, error) from error
            except TemporaryError as error:
                if failures == self._patience.retries:
                    raise self._failed(path, error, failures + 1) from error
                wait = error.wait or self._patience.first_wait * 2**failures
                time.sleep(min(wait, self._patience.longest_wait))
        raise AssertionError  # the last failure raises

    def _asked_once(self, path: str, start: int | None, most: int) -> tuple[int, bytes, Version]:
        """One try.

        Raises:
            TemporaryError: another may help.
            PermanentError: it will not.
        """
        url = file_address(self._folder, path)
        headers = {} if start is None else {"Range": f"bytes={start}-{start + most - 1}"}
        with plain_failures(), self._client.stream("GET", url, headers=headers) as response:
            content, version = _body(response, start, most)
        with self._lock:
            self.traffic.requests += 1
            self.traffic.bytes += len(content)
        return response.status_code, content, version

    def _failed(
        self, path: str, error: PermanentError | TemporaryError, tries: int = 1
    ) -> DbtoolError:
        often = f" ({tries} tries)" if tries > 1 else ""
        return DbtoolError(
            f"cannot read {self.name}{path}: {error}{often}; check the address and the connection, "
            "then give the same command again"
        )


def _body(response: httpx.Response, start: int | None, most: int) -> tuple[bytes, Version]:
    """What a response brings; nothing where it is not what was asked for.

    Args:
        response: its head.
        start: the first byte that was asked for; None: the whole file.
        most: how many bytes are wanted.

    Raises:
        PermanentError: the server does not give it.
        TemporaryError: it may later.
    """
    if response.status_code in _NOT_THERE or (response.status_code == _OK and start is not None):
        return b"", Version()
    if response.status_code not in {_OK, _PARTIAL}:
        raise refusal(response)
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise PermanentError("the server sends it encoded, which was not asked for")
    total = None
    if response.status_code == _PARTIAL:
        begin, total = part_sent(response)
        if start is None or begin != start:
            raise PermanentError("the server sends another part than was asked for")
    content = bytearray()
    for chunk in response.iter_raw():
        content += chunk
        if len(content) > most:
            break
    return bytes(content), version_of(response, total)
