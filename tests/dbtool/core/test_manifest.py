"""A manifest is what was written, or is refused in a sentence that says what mends it."""

import json
import os
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.manifest import (
    About,
    Manifest,
    ReleaseFile,
    check_about,
    encode_manifest,
    new_manifest,
    parse_manifest,
)
from dbtool.core.resources import schema_folder
from tests.support.published import flipped

ABOUT = About(release="made-up", title="Numbers, ü", licence="CC0-1.0", citation="@misc{a,\n\tb}")
FILES = [
    ReleaseFile(path=path, sha256="0" * 64, bytes=2**47, rows=rows)
    for path, rows in (("trials.parquet", 3), ("measurements/a/b.parquet", 7), ("README.md", None))
]
SOUND = new_manifest(ABOUT, FILES)


def test_what_was_written_reads_back():
    text = encode_manifest(SOUND)
    assert parse_manifest(text, "it") == SOUND
    assert [file.path for file in SOUND.files] == sorted(file.path for file in FILES)
    assert [file.path for file in SOUND.shards] == ["measurements/a/b.parquet"]
    assert SOUND.about == ABOUT
    schema = json.loads((schema_folder() / "manifest.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(text), schema)


def test_a_flipped_bit_of_every_byte_is_found():
    text = encode_manifest(SOUND)
    for position in range(len(text)):
        with pytest.raises(DbtoolError):
            parse_manifest(flipped(text, position, position % 8), "it")


def hostile(**changes: Any) -> bytes:
    """A manifest whose own digest is right, but for what no digest can be made of."""
    try:
        return encode_manifest(msgspec.structs.replace(SOUND, **changes))
    except (TypeError, AttributeError, OverflowError, UnicodeEncodeError):
        return json.dumps(msgspec.to_builtins(SOUND) | changes, default=str).encode()


def with_file(**changes: Any) -> bytes:
    """A manifest with a file more."""
    added = msgspec.structs.replace(FILES[0], **{"path": "zzz", **changes})
    return hostile(files=tuple(sorted([*FILES, added], key=lambda each: each.path)))


def refusal(text: bytes) -> str:
    with pytest.raises(DbtoolError) as caught:
        parse_manifest(text, "folder/manifest.json")
    assert str(caught.value).isprintable()
    return str(caught.value)


HOSTILE = {
    "release": (5, " ", "x" * 201, "\x1b[31m", "\ud800"),
    "title": ("\x1b]0;owned\x07",),
    "citation": ("@misc{a,\r\x1b[31m}",),
    "dbtool": ("\x1b[31m",),
    "files": ([5],),
    "manifest_format": (10**400,),
}
HOSTILE_FILES = {
    "path": ("../outside", "/outside", "", "a/", "README.md", "a\ud800b", "a\x1b[31mb"),
    "bytes": (2**50,),
    "rows": (-1,),
    "sha256": ("x" * 64,),
}


@pytest.mark.parametrize(("make", "values"), [(hostile, HOSTILE), (with_file, HOSTILE_FILES)])
def test_hostile_values_are_refused(make, values):
    for name, hostile_values in values.items():
        for value in hostile_values:
            told = refusal(make(**{name: value}))
            assert "is not a sound manifest; get the release anew" in told, (name, value)


@given(st.binary(max_size=40))
@example(b"[" * 100_000)
@example(b'{"manifest_format": 3}')
@example(b"<html>")
def test_no_bytes_break_it(text):
    assert refusal(text).endswith("with `dbtool index folder --release NAME`")


def test_other_versions_are_named():
    assert "has manifest format 99 and this dbtool reads 3" in refusal(hostile(manifest_format=99))
    sentence = refusal(hostile(schema_version=99))
    assert "folder/manifest.json has schema version 99 and this dbtool reads " in sentence
    assert sentence.endswith(f"install the dbtool that wrote it ({SOUND.dbtool})")


@pytest.mark.parametrize(
    ("about", "sentence"),
    [
        (About(release="a\ud800"), "is not a name for a release"),
        (About(release="a,b"), "printable characters without commas or spaces around it"),
        (About(release=" a"), "is not a name for a release"),
        (About(release="a", title="\x1b[31m"), "the title holds a character that cannot be"),
        (About(release="a", citation="\0"), "the citation holds a character that cannot be"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(about, sentence):
    with pytest.raises(UsageError) as caught:
        check_about(about)
    assert sentence in str(caught.value)
    assert str(caught.value).isprintable()


@given(st.builds(About, release=st.text(), title=st.none() | st.text(), citation=st.text()))
def test_what_is_not_refused_reads_back(about):
    try:
        check_about(about)
    except UsageError:
        return
    manifest: Manifest = new_manifest(about, FILES)
    assert parse_manifest(encode_manifest(manifest), os.fspath("it")) == manifest
