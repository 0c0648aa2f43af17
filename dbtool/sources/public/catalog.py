"""The public sources by name, as schema/catalog/sources.toml lists them."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, cast

import msgspec

from dbtool.core.errors import unknown
from dbtool.core.manifest import About
from dbtool.core.resources import schema_folder

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from dbtool.sources.base import Source

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

    def url(self, host: str = "https://github.com") -> str:
        """Return the URL of the archive at a host."""
        return f"{host.rstrip('/')}/{self.repository}/archive/{self.commit}.tar.gz"


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


def public_source_names() -> list[str]:
    """Return the names of the sources and of their parts."""
    sources = public_sources()
    parts = (part.name for source in sources.values() for part in source.part)
    return list(dict.fromkeys([*sources, *parts]))


def is_source(name: str) -> bool:
    """Return whether a source or a part of one has a name."""
    return name in public_source_names()


def source_table() -> pa.Table:
    """Return the sources for people: name, what it holds, licence and names of parts."""
    import pyarrow as pa

    rows = [
        {
            "name": name,
            "holds": source.holds,
            "licence": source.licence,
            "parts": ", ".join(part.name for part in source.part if part.name != name),
        }
        for name, source in public_sources().items()
    ]
    return pa.Table.from_pylist(rows)


def parts_of(name: str) -> tuple[SourcePart, ...]:
    """Return the repositories of a source, or the one of a part of it such as mlperf-v5.1.

    Raises:
        UsageError: no source or part has the name.
    """
    sources = public_sources()
    if name in sources:
        return sources[name].part
    if not is_source(name):
        raise unknown("source", name, public_source_names(), "dbtool fetch --list")
    parts = (part for source in sources.values() for part in source.part)
    return tuple(part for part in parts if part.name == name)


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
