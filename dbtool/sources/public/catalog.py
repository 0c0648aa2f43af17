"""The public sources by name, as schema/catalog/sources.toml lists them."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, cast

import msgspec

from dbtool.core.errors import unknown
from dbtool.core.git_tree import GIT_TREE
from dbtool.core.http import RemoteFile
from dbtool.core.manifest import About
from dbtool.core.resources import schema_folder

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.sources.base import Source

HOST = "https://github.com"
_READERS = {
    "mlperf-reference": "dbtool.sources.mlperf.reference:ReferenceSource",
    "mlperf": "dbtool.sources.mlperf.source:MlperfSource",
    "opda": "dbtool.sources.public.opda:OpdaSource",
    "modded-nanogpt": "dbtool.sources.public.logs:NanogptSource",
    "w2v2-batch-size": "dbtool.sources.public.logs:Wav2vecSource",
}


class SourcePart(msgspec.Struct, frozen=True):
    """A repository at a commit.

    Attributes:
        name: what `dbtool fetch` calls it.
        repository: OWNER/NAME at the host.
        commit: id of the commit.
        tree: git's id of the commit's files, by which an archive of them is checked.
    """

    name: str
    repository: str
    commit: str
    tree: str

    @property
    def file_name(self) -> str:
        """Return the name of the archive, which has that of the repository in it."""
        return f"{self.repository.rpartition('/')[2]}-{self.commit[:12]}.tar.gz"

    def remote_file(self, mirror: str = HOST) -> RemoteFile:
        """Return the archive at a host that serves as the repository's does."""
        url = f"{mirror.rstrip('/')}/{self.repository}/archive/{self.commit}.tar.gz"
        return RemoteFile(self.file_name, (url,), self.tree, algorithm=GIT_TREE)


class PublicSource(msgspec.Struct, frozen=True):
    """Measurements that others publish.

    Attributes:
        title: what they are.
        holds: what they hold, in a line.
        licence: SPDX identifier of their licence.
        citation: how to cite them.
        part: the repositories.
    """

    title: str
    holds: str
    licence: str
    citation: str
    part: tuple[SourcePart, ...]


@functools.cache
def public_sources() -> dict[str, PublicSource]:
    """Return the public sources by name, in the order of the catalogue."""
    text = (schema_folder() / "catalog" / "sources.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, PublicSource])


def parts_of(name: str) -> tuple[SourcePart, ...]:
    """Return the repositories of a source, or the one of a part of it such as mlperf-v5.1.

    Raises:
        UsageError: no source or part has the name.
    """
    sources = public_sources()
    if name in sources:
        return sources[name].part
    parts = {part.name: part for source in sources.values() for part in source.part}
    if name not in parts:
        raise unknown("source", name, [*sources, *parts], "dbtool fetch --list")
    return (parts[name],)


def public_source(name: str, *paths: Path) -> Source:
    """Return a source of the catalogue that is read from some paths.

    Args:
        name: its name, or that of a part of it.
        paths: what was fetched: archives, or folders of archives or files.

    Raises:
        UsageError: no source has the name.
    """
    [part, *_] = parts_of(name)
    whole, source = next((key, each) for key, each in public_sources().items() if part in each.part)
    module, _, reader = _READERS[whole].partition(":")
    about = About(
        release=whole, title=source.title, licence=source.licence, citation=source.citation
    )
    return cast("Source", getattr(importlib.import_module(module), reader)(paths, about))
