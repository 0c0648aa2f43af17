"""The public sources by name, as schema/catalog/sources.toml lists them: fetched, and imported."""

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from dbtool.core.download import Downloader, RetryPolicy
from dbtool.core.errors import UsageError, unknown
from dbtool.core.files import expanded
from dbtool.core.http import RemoteFile, as_url, check_url
from dbtool.core.manifest import About
from dbtool.core.release import telling_of_change
from dbtool.core.resources import schema_folder
from dbtool.sources.base import OnMessage, OnProgress, Report, Source, add_source, conclude
from dbtool.sources.mlperf.source import MlperfSource, ReferenceSource
from dbtool.sources.public.files import tree_id
from dbtool.sources.public.repositories import NanogptSource, OpdaSource, Wav2vecSource
from dbtool.sources.public.runs import RunsSource
from dbtool.store.locations import folder_to_write

_READERS: dict[str, type[RunsSource]] = {
    "mlperf-reference": ReferenceSource,
    "mlperf": MlperfSource,
    "opda": OpdaSource,
    "modded-nanogpt": NanogptSource,
    "w2v2-batch-size": Wav2vecSource,
}


class SourcePart(msgspec.Struct, frozen=True):
    """A repository, OWNER/NAME, at a commit, with git's id of its tree to check an archive by."""

    name: str
    repository: str
    commit: str
    tree: str

    @property
    def file_name(self) -> str:
        """Return the name of the archive, which has that of the repository in it."""
        return f"{self.repository.rpartition('/')[2]}-{self.commit[:12]}.tar.gz"

    def url(self, mirror: str | os.PathLike[str] = "https://github.com") -> str:
        """Return the URL of the archive at a host, or in a folder."""
        if host := as_url(mirror):
            return f"{host.rstrip('/')}/{self.repository}/archive/{self.commit}.tar.gz"
        return (expanded(mirror).absolute() / self.file_name).as_uri()


class PublicSource(msgspec.Struct, frozen=True):
    """Measurements that others publish, with the repositories that they are in."""

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


def source_table() -> pa.Table:
    """Return the sources for people: name, what it holds, licence and names of parts."""
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
    parts = (part for source in sources.values() for part in source.part)
    if found := tuple(part for part in parts if part.name == name):
        return found
    raise unknown("source", name, public_source_names(), "dbtool fetch --list")


def public_source(name: str, *paths: Path) -> Source:
    """Return the source of a name, or of a part's name, that is read from what was fetched.

    Raises:
        UsageError: no source has the name.
    """
    [part, *_] = parts_of(name)
    whole, source = next((key, each) for key, each in public_sources().items() if part in each.part)
    about = About(
        release=whole, title=source.title, licence=source.licence, citation=source.citation
    )
    return _READERS[whole](paths, about)


def fetch_source(
    name: str,
    dest: str | os.PathLike[str] = ".",
    *,
    mirrors: Sequence[str | os.PathLike[str]] = (),
    retries: RetryPolicy | None = None,
    on_progress: Callable[[str, int, int | None], None] = lambda _what, _done, _total: None,
) -> list[Path]:
    """Download the archives of a public source, and check them by git's id of their files.

    What has arrived is kept, so the same call goes on after an interruption where the host can.

    Args:
        name: a source such as mlperf, or a part of one such as mlperf-v5.1.
        dest: the folder for the archives.
        mirrors: URLs to use in place of the host, which serve OWNER/NAME/archive/COMMIT.tar.gz as
            it does, or folders that have the archives under the names that this function gives.
        retries: how long to try each archive.
        on_progress: see `dbtool.core.download.Downloader.download`.

    Returns:
        The archives.

    Raises:
        UsageError: there is no such source.
        DbtoolError: an archive cannot be downloaded, is another one or cannot be written.

    Example:
        >>> dbtool.fetch_source("mlperf-reference", "downloads")
        [PosixPath('downloads/logging-7bbf79268693.tar.gz')]
    """
    folder, fetched = expanded(dest), []
    with Downloader(retries, "choose another folder with --out") as downloader:
        for part in parts_of(name):
            urls = [part.url(mirror) for mirror in mirrors] or [part.url()]
            file = RemoteFile(
                part.file_name,
                tuple(map(check_url, urls)),
                part.tree,
                algorithm="git tree",
                digest_of=tree_id,
                remedy="try again later or name a mirror with --mirror",
            )
            downloader.download(file, folder / file.name, on_progress)
            fetched.append(folder / file.name)
    return fetched


def import_source(
    name: str,
    *paths: str | os.PathLike[str],
    into: str | os.PathLike[str] | None = None,
    on_progress: OnProgress = lambda _done, _total: None,
    on_message: OnMessage = lambda _sentence: None,
) -> Report:
    """Import a public source into a release of yours that has its name.

    Runs that the release already has change nothing.

    Args:
        name: a source such as mlperf, or a part of one such as mlperf-v5.1.
        paths: archives, or folders of archives or of their files; none: the archives in the current
            folder, where `fetch_source` puts them.
        into: folder of the database; None: the default one.
        on_progress: called with the number of bytes read, and of all.
        on_message: called with what is to be said.

    Raises:
        UsageError: there is no such source or path.
        DbtoolError: an archive is damaged, or the release could not be written.
    """
    given = [expanded(path) for path in paths]
    if not given:
        given = [Path(part.file_name) for part in parts_of(name)]
        if missing := [path for path in given if not path.exists()]:
            raise UsageError(f"there is no {missing[0]} here: get it with `dbtool fetch {name}`")
    source = public_source(name, *given)
    folder = folder_to_write(into, source.about.release)
    with telling_of_change(folder, on_message):
        report = add_source(source, folder, on_progress=on_progress)
        return conclude(report, report.added(), on_message)
