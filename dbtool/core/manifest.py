"""The manifest of a release folder: its name and the hash of each of its files.

schema/manifest.schema.json defines its form. When a folder changes, the manifest is replaced last
and in one step. So every listed file exists, and a file that is not listed is not yet, or no
longer, part of the release.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from dbtool import __version__
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import open_file
from dbtool.core.http import as_url
from dbtool.core.resources import schema_version
from dbtool.core.walk import access_error, entries, is_folder, is_text, status_of

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
CROISSANT = "croissant.json"
"""The hashes of all files for other programs, added by publishing."""
FORMAT = 3
MEASUREMENTS = "measurements"
"""The folder of the shards."""
SWEEP_LOCK = ".lock"
"""The lock file of a sweep in training; the lock files of slices have this prefix."""
SWEEP_WORK = ".work"
"""The hidden folder of a release folder from which a sweep resumes."""
PAGE = "explorer.html"
# What options of `dbtool publish` add to a folder.
_MADE_BY = {PAGE: "--explorer", "iceberg": "--catalog iceberg"}
# A folder that the file system creates for itself and that only root may read.
_NO_RELEASE = "lost+found"
_LONGEST_NAME = 200
# Larger than any file; the sum over a manifest still fits 64 bits.
_LARGEST_FILE = 2**48
_Version = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class ReleaseFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of a release.

    Attributes:
        path: path relative to the release folder, with forward slashes.
        sha256: in hexadecimal.
        bytes: size of the file.
        rows: rows of a Parquet file; None for other files.
    """

    path: Annotated[str, Meta(min_length=1, max_length=1_000)]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Meta(ge=0, le=_LARGEST_FILE)]
    rows: Annotated[int, Meta(ge=0, le=_LARGEST_FILE)] | None = None


class About(Struct, frozen=True, kw_only=True):
    """The description of a release: its name, title of one line, licence in SPDX, and BibTeX."""

    release: Annotated[str, Meta(min_length=1, max_length=_LONGEST_NAME)]
    title: str | None = None
    licence: str | None = None
    citation: str | None = None


class Manifest(About, frozen=True, kw_only=True):
    """The description of a release, and its files but for the manifest and SHA256SUMS, by path.

    `dbtool` is the version that wrote it, and `schema_version` that of the index and the shards.
    """

    dbtool: str
    schema_version: _Version
    files: tuple[ReleaseFile, ...]
    manifest_format: _Version = FORMAT

    @property
    def about(self) -> About:
        """The description of the release."""
        return About(**{name: getattr(self, name) for name in About.__struct_fields__})

    @property
    def shards(self) -> tuple[ReleaseFile, ...]:
        """The entries of the shards."""
        return tuple(file for file in self.files if is_shard(file.path))

    @property
    def paths(self) -> set[str]:
        """The paths of the files."""
        return {file.path for file in self.files}

    def file(self, path: str) -> ReleaseFile | None:
        """Return the file at a path below the folder; None where it is not listed."""
        return next((file for file in self.files if file.path == path), None)


class _ManifestFormat(Struct, frozen=True):
    manifest_format: _Version


def new_manifest(about: About, files: Iterable[ReleaseFile]) -> Manifest:
    """Return the manifest of a release as this version of dbtool writes it."""
    return Manifest(
        **msgspec.structs.asdict(about),
        dbtool=__version__,
        schema_version=schema_version(),
        files=tuple(sorted(files, key=lambda file: file.path)),
    )


def is_shard(path: str) -> bool:
    """Return whether a path in a release folder is that of a shard."""
    return path.startswith(f"{MEASUREMENTS}/")


def publish_command(folder: Path, paths: Iterable[str]) -> str:
    """Return the command that publishes a folder where it lies, with the options that make paths.

    Example:
        >>> publish_command(Path("runs"), ["README.md", "explorer.html"])
        'dbtool publish runs --explorer'
    """
    tops = {path.partition("/")[0] for path in paths}
    options = [option for top, option in _MADE_BY.items() if top in tops]
    return " ".join(["dbtool publish", str(folder), *options])


def is_release(folder: Path) -> bool:
    """Return whether a folder is a release folder, sound or not.

    Raises:
        AccessError: the folder cannot be read.
        UsageError: it is one, and its path is not UTF-8, in which other libraries take paths.
    """
    # What is no file is a damaged manifest, and not another kind of folder.
    found = status_of(folder / MANIFEST) is not None
    if found and not is_text(folder):
        raise UsageError(f"{folder} has a name that is not UTF-8 text: rename the folder")
    return found


def releases_in(folder: Path) -> list[Path]:
    """List the release folders in a folder, without hidden ones; errors as of `is_release`."""
    names = [entry.name for entry in entries(folder)]
    shown = [name for name in names if not name.startswith(".") and name != _NO_RELEASE]
    return [folder / name for name in shown if is_release(folder / name)]


def lack_of_release(path: Path) -> str:
    """Return why a path is not a release folder, as the rest of a sentence about the path."""
    if not is_folder(path):
        missing = status_of(path) is None
        return f"{'does not exist' if missing else 'is not a folder'}: name a release folder"
    if held := releases_in(path):
        return f"is a folder of releases: name one in it, such as {held[0]}"
    return f"is not a release folder: there is no {MANIFEST} in it"


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a release folder; its errors are those of `parse_manifest`."""
    path = folder / MANIFEST
    try:
        with open_file(path) as file:
            text = file.read()
    except PermissionError as error:
        raise access_error(path, error) from error
    except OSError as error:
        raise DbtoolError(f"{path} cannot be read: {error.strerror}; {_remedy(path)}") from error
    return parse_manifest(text, str(path))


def parse_manifest(text: bytes, origin: str) -> Manifest:
    """Parse the text of a manifest from a path or URL.

    Raises:
        DbtoolError: it is damaged, or of another format or schema version.
    """
    try:
        written = msgspec.json.decode(text, type=_ManifestFormat).manifest_format
        if written != FORMAT:
            raise DbtoolError(
                f"{origin} has manifest format {written} and this dbtool reads {FORMAT}: install "
                "the version of dbtool that wrote it, or get the release in this one's"
            )
        manifest = msgspec.json.decode(text, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if as_url(origin) and text.lstrip()[:1] == b"<":
            raise DbtoolError(
                f"{origin} is a page for a browser and no manifest: give the URL of a release "
                "folder, which holds manifest.json"
            ) from error
        raise DbtoolError(f"{origin} is not a sound manifest; {_remedy(origin)}") from error
    if not _is_sound(manifest):
        raise DbtoolError(f"{origin} is not a sound manifest; {_remedy(origin)}")
    # This also detects a change without an effect on the values, such as an added space.
    if encode_manifest(manifest) != text:
        raise DbtoolError(f"{origin} was altered: its own digest does not match; {_remedy(origin)}")
    if manifest.schema_version != schema_version():
        raise DbtoolError(
            f"{origin} has schema version {manifest.schema_version} and this dbtool reads "
            f"{schema_version()}: get the release in that version, or install the dbtool that "
            f"wrote it ({manifest.dbtool})"
        )
    return manifest


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the text of manifest.json; equal manifests give equal text."""
    content = msgspec.to_builtins(manifest)
    content["totals"] = {
        "files": len(manifest.files),
        "bytes": sum(file.bytes for file in manifest.files),
        "measurements": sum(file.rows or 0 for file in manifest.shards),
    }
    text = msgspec.json.encode(content, order="sorted")
    content["sha256"] = hashlib.sha256(text).hexdigest()
    return msgspec.json.format(msgspec.json.encode(content, order="sorted"), indent=1) + b"\n"


def check_about(about: About) -> None:
    """Raise a UsageError for a description that a terminal does not print as it is."""
    check_name(about.release)
    for name in ("title", "licence", "citation"):
        text = getattr(about, name) or ""
        if text.isspace():
            raise UsageError(f"the {name} is blank: give one, or leave it out")
        if name == "citation":
            text = text.replace("\n", "").replace("\t", "")
        if not text.isprintable():
            raise UsageError(f"the {name} holds a character that cannot be printed: leave it out")


def check_name(name: str) -> None:
    """Raise a UsageError for a name that a terminal, a file system or a URL does not accept."""
    # `dbtool plot --release` takes several names with commas between them.
    is_one = name and "," not in name and name == name.strip() and name.isprintable()
    if not is_one or len(name) > _LONGEST_NAME:
        shown = f"{name[:20]!r}…" if len(name) > _LONGEST_NAME else repr(name)
        raise UsageError(
            f"--release {shown} is not a name for a release; give one of at most {_LONGEST_NAME} "
            "printable characters without commas or spaces around it, such as my-sweep"
        )


def _is_sound(manifest: Manifest) -> bool:
    """Whether all files are inside the folder, none is listed twice, and all text is printable."""
    try:
        check_about(manifest)
    except UsageError:
        return False
    listed = [file.path for file in manifest.files]
    parts = {part for path in listed for part in path.split("/")}
    return (
        parts.isdisjoint({"", ".", ".."})
        and all(map(str.isprintable, (manifest.dbtool, *listed)))
        and listed == sorted(set(listed))
    )


def _remedy(origin: str | Path) -> str:
    if as_url(origin):
        return "tell whoever hosts it, or try again later"
    folder = str(origin).removesuffix(MANIFEST).rstrip("/") or "."
    return (
        f"get the release anew, or make its index anew with `dbtool index {folder} --release NAME`"
    )
