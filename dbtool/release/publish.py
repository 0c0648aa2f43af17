"""Publishes a release folder: its shards with all that readers elsewhere need."""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from string import Template

import msgspec
import pyarrow.parquet as pq

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import (
    expanded,
    remove_files,
    remove_unfinished,
    require_own,
    sha256_of,
    whole_output,
    write_whole,
)
from dbtool.core.index import TABLES, Index
from dbtool.core.manifest import (
    CROISSANT,
    MANIFEST,
    PAGE,
    SUMS,
    About,
    Manifest,
    ReleaseFile,
    check_about,
    encode_manifest,
    is_shard,
    new_manifest,
    publish_command,
    read_manifest,
)
from dbtool.core.release import locked, write_index
from dbtool.core.resources import libraries_of, schema_text
from dbtool.core.shards import Shard
from dbtool.release.citation import check_licence, citation_cff, citation_of
from dbtool.release.descriptions import card, croissant
from dbtool.release.layout import BIBTEX, CARD, CITATION, SCRIPT, SHARDS, sums
from dbtool.release.reduction import WHOLE, Reduction, write_reduced
from dbtool.store.locations import release_folder
from dbtool.store.relations import schema_statements
from dbtool.store.shard_files import copy_shard, in_threads, read_whole, sound_shard
from dbtool.store.statements import sql_text

_SCRIPT = Path(__file__).parent / "assets" / "script.sql"


def publish(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    release: str | None = None,
    title: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    reduction: Reduction = WHOLE,
    explorer: Callable[[Path], Sequence[str]] | None = None,
    iceberg: str | None = None,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    on_message: Callable[[str], None] = lambda _line: None,
) -> Manifest:
    """Make a release a folder for any static host; the same release gives the same bytes.

    Args:
        source: the release folder, whose shards are checked byte by byte, or the name of one of
            the user's own releases.
        out: a new folder; None for the source itself, whose shards stay as they are.
        release: its name; None for the source's, and so for the next three.
        title: one line on what it is.
        licence: SPDX identifier of the measurements' licence.
        citation: BibTeX.
        reduction: which batch losses to drop from the new folder.
        explorer: function that writes a page into the folder, once that is a release, and returns
            its files, the page first; None for no page. See `dbtool.database.explore_beside`.
        iceberg: address that the folder will have, from `check_base_url`, for Iceberg tables over
            its files; None for no tables.
        on_progress: called after each shard with the bytes done and their total.
        on_message: called with a line on the page or the tables of an earlier publication of the
            source that are removed, as they would not tell what it says of itself now.

    Raises:
        UsageError: the source is not a release folder, the new folder exists, the licence is
            missing or misspelt, or the release cannot be reduced like that.
        DbtoolError: the source is damaged, pyiceberg is needed and not installed, or writing
            fails.
    """
    source, out = release_folder(source), None if out is None else expanded(out)
    if iceberg is not None:
        _iceberg_writer()  # or else an error, before the data are read
    manifest = read_whole(source)
    given = {"release": release, "title": title, "licence": licence, "citation": citation}
    changes = {name: value for name, value in given.items() if value is not None}
    about = msgspec.structs.replace(manifest.about, **changes)
    check_about(about)
    if not about.licence:
        raise UsageError(
            f"the release {about.release} has no licence: give the one of its measurements, such "
            "as --licence CC-BY-4.0"
        )
    check_licence(about.licence)
    if out is not None and out.resolve() != source.resolve():
        if source.resolve() in out.resolve().parents:
            raise UsageError(f"{out} lies in {source}: name a folder beside it with --out")
        with whole_output(out) as folder:
            folder.mkdir()
            shards = _shards(source, manifest, folder, reduction, on_progress)
            return _describe(folder, about, shards, explorer, iceberg)
    if reduction != WHOLE:
        raise UsageError("losses are left out of a copy alone: name its folder with --out")
    shards = _shards(source, manifest, None, WHOLE, on_progress)
    with locked(source):
        if read_manifest(source) != manifest:
            raise DbtoolError(f"{source} was added to meanwhile: run the same command again")
        remove_unfinished(source)
        made = _describe(source, about, shards, explorer, iceberg, manifest)
        gone = manifest.paths - made.paths
        remove_files(source, gone)
        before, now = ({path.partition("/")[0] for path in paths} for paths in (gone, made.paths))
        if removed := sorted(before - now):
            on_message(
                f"removed {' and '.join(removed)} of an earlier publication, which "
                f"`{publish_command(source, gone | made.paths)}` makes anew"
            )
        return made


def _shards(
    source: Path,
    manifest: Manifest,
    folder: Path | None,
    reduction: Reduction,
    on_progress: Callable[[int, int], None],
) -> list[Shard]:
    """Check shards, and copy or reduce them into a folder; return them sorted by path."""

    def write(file: ReleaseFile) -> Shard:
        shard = sound_shard(source, file)
        if folder is None:
            return shard
        reduced = write_reduced(source / file.path, shard.footer, reduction, folder)
        if reduced is None:
            copy_shard(source, shard, folder)
        return reduced or shard

    shards = in_threads(write, manifest.shards, on_progress)
    return sorted(shards, key=lambda shard: shard.path)


def _describe(
    folder: Path,
    about: About,
    shards: list[Shard],
    explorer: Callable[[Path], Sequence[str]] | None,
    iceberg: str | None,
    before: Manifest | None = None,
) -> Manifest:
    """Write the index of shards, what describes them, and last the manifest and the hashes.

    A UsageError where a file would be replaced or removed that is not as `before` lists it.
    """
    tables = Index.of(shards).tables()
    files = [shard.listed for shard in shards] + write_index(folder, tables)
    manifest = new_manifest(about, files)
    citation = citation_of(manifest, shards)
    texts = {
        CARD: card(manifest, tables, shards, page=PAGE if explorer else None, iceberg=iceberg),
        CITATION: citation_cff(citation, manifest.licence),
        CROISSANT: croissant(manifest, citation, shards),
        SCRIPT: script(manifest),
    }
    if manifest.citation is not None:
        texts[BIBTEX] = manifest.citation.strip() + "\n"
    held = [] if before is None else [each for each in before.files if not is_shard(each.path)]
    listed = {file.path: file.sha256 for file in held if file.path not in TABLES}
    for name in texts.keys() | listed:
        require_own(folder / name, partial(_is_own, texts.get(name, ""), listed.get(name)))
    pages: Sequence[str] = ()
    metadata: Sequence[str] = ()
    if explorer is not None and PAGE not in listed:
        require_own(folder / PAGE)
    # What is written below is not of the user's own where this is killed. The explorer reads it.
    kept = [file for file in held if file.path in texts]
    write_whole(folder / MANIFEST, encode_manifest(new_manifest(about, [*files, *kept])))
    if explorer is not None:
        pages = explorer(folder)
    if iceberg is not None:
        metadata = _iceberg_writer()(folder, manifest, iceberg, citation.date)
    for name, text in texts.items():
        write_whole(folder / name, text.encode())
    files += [_listed(folder, path) for path in (*pages, *metadata, *texts)]
    manifest = new_manifest(about, files)
    write_whole(folder / MANIFEST, encode_manifest(manifest))
    write_whole(folder / SUMS, sums(manifest).encode())
    return manifest


def _is_own(text: str, listed: str | None, content: bytes) -> bool:
    """Whether a file has a text, as a publication that was killed leaves it, or a listed hash."""
    return content == text.encode() or hashlib.sha256(content).hexdigest() == listed


def _iceberg_writer() -> Callable[[Path, Manifest, str, str | None], list[str]]:
    """Return the function that writes Iceberg tables, unless pyiceberg is not installed."""
    with libraries_of("iceberg", "Iceberg tables need"):
        from dbtool.release.iceberg import write_iceberg
    return write_iceberg


def _listed(folder: Path, path: str) -> ReleaseFile:
    """Return a file as the manifest lists it."""
    file = folder / path
    rows = pq.read_metadata(file).num_rows if file.suffix == ".parquet" else None
    return ReleaseFile(path=path, sha256=sha256_of(file), bytes=file.stat().st_size, rows=rows)


def script(about: About) -> str:
    """Return dbtool.sql: the views and macros of schema/ for plain DuckDB, over the folder."""
    texts = {name: getattr(about, name) for name in ("release", "title", "licence", "citation")}
    literals = {
        name: "NULL::VARCHAR" if text is None else sql_text(text) for name, text in texts.items()
    }
    index = [
        f"CREATE TEMP VIEW incoming AS SELECT {literals['release']} AS release, * FROM '{name}';\n"  # noqa: S608 (names of ours)
        f"{schema_text(f'index/{Path(name).stem}')}\nDROP VIEW incoming;"
        for name in TABLES
    ]
    template = Template(_SCRIPT.read_text(encoding="utf-8"))
    head = template.substitute(literals, index="\n".join(index), script=SCRIPT, shards=SHARDS)
    return "\n".join([head.rstrip("\n"), *schema_statements()])
