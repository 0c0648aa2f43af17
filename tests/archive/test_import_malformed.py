"""What is malformed or hostile is named with its reason, and the rest goes in."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
from support.archives import (
    HEADER,
    LINES,
    STUDY,
    add,
    contents,
    imported,
    metadata_json,
    query,
    small_study,
    study_json,
    trial,
    write_folder,
    write_tar,
)

from dbtool.archive import tar
from dbtool.archive.errors import ArchiveError

if TYPE_CHECKING:
    from pathlib import Path

SOUND = small_study(LINES)

BAD_MEASUREMENTS = {
    "its line 3 has 4 fields, and its header has 3": HEADER + "0,1,1\n1,2,3,4\n",
    "its line 2 has 2 fields, and its header has 3": HEADER + "0,1\n1,2,3\n",
    "its line 2 has 'lost', which is not a number": HEADER + "0,lost,1\n",
    "its line 3 has '1_000', which is not a number": HEADER + "0,1,1\n1,1_000,1\n",
    "its line 2 has '0x10', which is not a number": HEADER + "0,0x10,1\n",
    "its line 2 has '٣', which is not a number": HEADER + "0,٣,1\n",
    "its line 2 has no step": HEADER + ",1,1\n",
    "its line 2 has the step '1.5', which is not a whole number": HEADER + "1.5,1,1\n",
    "its line 2 has the step 'nan', which is not a whole number": HEADER + "nan,1,1\n",
    "its line 2 has the step '9223372036854775808', which is out of range": (
        HEADER + "9223372036854775808,1,1\n"
    ),
    "its header has no column step": "epoch,val/classification_error\n0,1\n",
    "its header has the column step twice": "step,step\n0,1\n",
    "its header has a column without a name": "step,\n0,1\n",
    "its header is not readable as CSV": 'step,"a"b\n0,1\n',
}


@pytest.mark.parametrize("reason", BAD_MEASUREMENTS)
def test_bad_measurements(tmp_path: Path, reason: str) -> None:
    files = small_study(LINES, BAD_MEASUREMENTS[reason], LINES)
    report = imported(write_tar(tmp_path / "a.tar", files), tmp_path / "db")
    [error] = report.malformed
    assert (error.path, error.reason) == (f"{STUDY}/2/measurements.csv", reason)
    assert (report.trials, report.left_out) == (2, 1)
    assert query(tmp_path / "db", "SELECT trial_id FROM trials ORDER BY ALL") == [(1,), (3,)]
    assert query(tmp_path / "db", "SELECT DISTINCT trial_id FROM measurements ORDER BY ALL") == [
        (1,),
        (3,),
    ]


BAD_METADATA: dict[str, bytes] = {
    "it is not readable JSON": b'{"trial_id": 2',
    "it is not a JSON object": b"[1]",
    "it has no trial_id": b'{"status": "COMPLETE", "parameters": {}, "steps": 1}',
    "its trial_id -1 is out of range": metadata_json(-1),
    "its trial_id 2147483648 is out of range": metadata_json(2**31),
    "its trial_id true is not a whole number": metadata_json(2, trial_id=True),
    'its trial_id "2" is not a whole number': metadata_json(2, trial_id="2"),
    'its status "DONE" is none of COMPLETE, INCOMPLETE, INFEASIBLE': metadata_json(
        2, status="DONE"
    ),
    "its status [] is none of COMPLETE, INCOMPLETE, INFEASIBLE": metadata_json(2, status=[]),
    "its steps null is not a whole number": metadata_json(2, steps=None),
    "its steps Infinity is not a whole number": metadata_json(2, steps=float("inf")),
    "its parameters are not an object": metadata_json(2, parameters=[]),
    'its metaparameter learning_rate is "high", which is not a number': metadata_json(
        2, parameters={"learning_rate": "high"}
    ),
    "it holds a null character": metadata_json(2, parameters={"a\0": 1}),
}
UNREADABLE = (
    b"\xff\xfe\x00",
    b"",
    b'{"a":' * 100_000,
    b'{"trial_id": ' + b"9" * 5000 + b"}",
    b'{"\\ud800": 1}',
)


@pytest.mark.parametrize("reason", BAD_METADATA)
def test_bad_metadata(tmp_path: Path, reason: str) -> None:
    files = small_study(LINES, LINES)
    files[f"{STUDY}/2/metadata.json"] = BAD_METADATA[reason]
    report = imported(write_folder(tmp_path, files), tmp_path / "db")
    assert [(error.path, error.reason) for error in report.malformed] == [
        (f"{STUDY}/2/metadata.json", reason)
    ]
    assert (report.trials, report.left_out) == (1, 1)


@pytest.mark.parametrize("body", UNREADABLE, ids=range(len(UNREADABLE)))
@pytest.mark.parametrize("name", ["study.json", "2/metadata.json"])
def test_json_that_no_reader_takes(tmp_path: Path, body: bytes, name: str) -> None:
    files = small_study(LINES, LINES)
    files[f"{STUDY}/{name}"] = body
    report = imported(write_tar(tmp_path / "a.tar", files), tmp_path / "db")
    [error] = report.malformed
    assert error.path == f"{STUDY}/{name}"
    assert error.reason.startswith("it is not readable JSON")
    assert report.trials == (1 if name.startswith("2") else 0)


BAD_STUDY: dict[str, bytes] = {
    "it has no early_stopping": b'{"batch_size": 32, "train_steps": 1, "parameter_configs": {}}',
    "its early_stopping 1 is not a truth value": study_json(early_stopping=1),
    "its batch_size 64 is not that of its folder, 32": study_json(64),
    "its train_steps -1 is out of range": study_json(train_steps=-1),
    "its parameter_configs are not an object of objects": study_json(parameter_configs={"a": 1}),
    "its parameter_configs are not objects with names": study_json(parameter_configs=[{}]),
    "its parameter_configs hold a number that JSON does not have": study_json(
        parameter_configs={"a": {"max_value": float("inf")}}
    ),
}


@pytest.mark.parametrize("reason", BAD_STUDY)
def test_bad_study(tmp_path: Path, reason: str) -> None:
    files = small_study(LINES, LINES, study=f"{STUDY}") | small_study(LINES, study="a/b/c/1")
    files[f"{STUDY}/study.json"] = BAD_STUDY[reason]
    report = imported(write_tar(tmp_path / "a.tar", files), tmp_path / "db")
    [error] = report.malformed
    assert error.path == f"{STUDY}/study.json"
    assert error.reason == f"{reason}; its 2 trials are left out"
    assert (report.trials, report.left_out) == (1, 2)


def test_files_that_are_missing(tmp_path: Path) -> None:
    files = small_study(LINES, LINES)
    del files[f"{STUDY}/2/metadata.json"]
    files["a/b/c/8/1/metadata.json"] = metadata_json(1)
    with tarfile.open(write_tar(tmp_path / "a.tar", files), "a") as archive:
        add(archive, f"batch_science/{STUDY}/7", type=tarfile.DIRTYPE)
    for number, path in enumerate((tmp_path / "a.tar", write_folder(tmp_path, files))):
        if path.is_dir():
            (path / STUDY / "7").mkdir()
        report = imported(path, tmp_path / f"{number}.db")
        assert sorted((error.path, error.reason) for error in report.malformed) == [
            ("a/b/c/8/study.json", "it is missing; its 1 trials are left out"),
            (f"{STUDY}/2", "it has no metadata.json"),
            (f"{STUDY}/7", "it has no metadata.json"),
        ]
        assert (report.trials, report.left_out) == (1, 3)


def test_files_out_of_place(tmp_path: Path) -> None:
    files = {"study.json": b"{}", "a/b/c/08/study.json": b"{}", "metadata.json": b"{}"}
    report = imported(write_tar(tmp_path / "a.tar", files | SOUND), tmp_path / "db")
    assert [error.path for error in report.malformed] == [f"batch_science/{name}" for name in files]
    assert report.trials == 1


def test_a_trial_id_with_different_contents(tmp_path: Path) -> None:
    copies = {
        f"{STUDY}/1-same/metadata.json": metadata_json(1),
        f"{STUDY}/1-same/measurements.csv": LINES.encode(),
        f"{STUDY}/1-other/metadata.json": metadata_json(1, steps=11),
        f"{STUDY}/1-other/measurements.csv": LINES.encode(),
    }
    report = imported(write_tar(tmp_path / "a.tar", SOUND | copies), tmp_path / "db")
    [error] = report.malformed
    assert error.path == f"{STUDY}/1-other"
    assert error.reason == f"its trial_id 1 is already in {STUDY}/1, with different contents"
    assert (report.trials, report.already_there) == (1, 1)


def test_a_file_that_is_in_the_archive_twice(tmp_path: Path) -> None:
    again = [*SOUND.items(), *SOUND.items(), (f"{STUDY}/1/measurements.csv", HEADER.encode())]
    report = imported(write_tar(tmp_path / "a.tar", again), tmp_path / "db")
    [error] = report.malformed
    assert error.path == f"{STUDY}/1/measurements.csv"
    assert "twice" in error.reason
    assert (report.trials, report.measurements) == (1, 2)


def test_an_archive_that_changed(tmp_path: Path) -> None:
    imported(write_tar(tmp_path / "a.tar", SOUND), tmp_path / "db")
    before = contents(tmp_path / "db")
    other = trial(1, LINES + "20,1,1\n")
    report = imported(write_tar(tmp_path / "b.tar", SOUND | other), tmp_path / "db")
    [error] = report.malformed
    assert "already in the database, with different contents" in error.reason
    changed = SOUND | {f"{STUDY}/study.json": study_json(train_steps=7)}
    report = imported(write_tar(tmp_path / "c.tar", changed), tmp_path / "db")
    [error] = report.malformed
    assert "differs from the stored study in train_steps" in error.reason
    assert contents(tmp_path / "db") == before


HOSTILE: dict[str, tuple[str, dict[str, Any]]] = {
    "absolute path": ("/batch_science/a/b/c/1/study.json", {}),
    "leads out": ("batch_science/../../a/b/c/1/study.json", {}),
    "backslash": ("batch_science\\..\\study.json", {}),
    "symbolic link": ("batch_science/link", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}),
    "hard link": ("batch_science/link", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}),
    "character device": ("batch_science/dev", {"type": tarfile.CHRTYPE}),
    "block device": ("batch_science/dev", {"type": tarfile.BLKTYPE}),
    "named pipe": ("batch_science/pipe", {"type": tarfile.FIFOTYPE}),
    "unknown kind": ("batch_science/odd", {"type": b"Q"}),
    "absolute path ": ("/folder", {"type": tarfile.DIRTYPE}),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_members_are_refused_by_name(tmp_path: Path, what: str) -> None:
    name, header = HOSTILE[what]
    here = tmp_path / "here"
    here.mkdir()
    with tarfile.open(here / "a.tar", "w") as archive:
        contents = b"x" * 700 if not header or header["type"] == b"Q" else b""
        add(archive, name, contents, **header)
        for file, body in SOUND.items():
            add(archive, f"batch_science/{file}", body)
    report = imported(here / "a.tar", here / "db")
    [error] = report.malformed
    assert error.path.rstrip("/") == name
    assert what.strip() in error.reason
    assert report.trials == 1
    assert sorted(path.name for path in here.iterdir()) == ["a.tar", "db"]
    assert list(tmp_path.iterdir()) == [here]
    with pytest.raises(ArchiveError, match=what.strip()):
        imported(here / "a.tar", here / "strict.db", strict=True)


def claiming(size: int, name: str = f"batch_science/{STUDY}/1/measurements.csv") -> bytes:
    """A header that claims so many bytes."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


def unfinished(path: Path) -> bytes:
    """A tar file without its end mark."""
    whole = path.read_bytes().rstrip(b"\0")
    return whole + bytes(-len(whole) % 512)


@pytest.mark.parametrize("name", ["measurements.csv", "other.bin"])
def test_petabytes_are_refused_by_name(tmp_path: Path, name: str) -> None:
    sound = unfinished(write_tar(tmp_path / "a.tar", small_study(LINES, study="a/b/c/1")))
    name = f"batch_science/{STUDY}/1/{name}"
    path = tmp_path / "a.tar.bz2"
    path.write_bytes(bz2.compress(sound + claiming(1 << 50, name)))
    report = imported(path, tmp_path / "db")
    assert report.failure is not None
    assert report.failure.path == name
    assert "claims 1,125,899,906,842,624 bytes" in report.failure.reason


def test_a_large_file_is_passed_over_by_name(tmp_path: Path) -> None:
    files = SOUND | {f"{STUDY}/2/metadata.json": b" " * (16 << 20) + b"{}"}
    for path in (write_tar(tmp_path / "a.tar", files), write_folder(tmp_path / "folder", files)):
        report = imported(path, tmp_path / f"{path.name}.db")
        assert report.malformed[0].path.endswith(f"{STUDY}/2/metadata.json")
        assert "claims 16,777,218 bytes" in report.malformed[0].reason
        assert report.trials == 1


@pytest.mark.parametrize("compress", [bz2.compress, gzip.compress])
def test_bombs_are_refused_by_name(
    tmp_path: Path, compress: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tar, "_HARMLESS", 16 << 20)
    start = unfinished(write_tar(tmp_path / "a.tar", SOUND))
    path = tmp_path / "bomb"
    path.write_bytes(compress(start + claiming(1 << 34, "zeros.bin") + bytes(64 << 20)))
    report = imported(path, tmp_path / "db")
    assert report.failure is not None
    assert report.failure.path == "zeros.bin"
    assert "it is a bomb" in report.failure.reason


def test_sparse_files_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        add(archive, "batch_science/x", b"1", pax_headers={"GNU.sparse.major": "1"})
        for name, body in SOUND.items():
            add(archive, f"batch_science/{name}", body)
    report = imported(tmp_path / "a.tar", tmp_path / "db")
    assert [error.reason for error in report.malformed] == [
        "it is a sparse file, which can claim any size"
    ]
    assert report.trials == 1


def test_hostile_folders(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "folder", SOUND | small_study(LINES, study="a/b/c/1"))
    secret = tmp_path / "secret.json"
    secret.write_bytes(study_json(1))
    (root / "a/b/c/1/study.json").unlink()
    (root / "a/b/c/1/study.json").symlink_to(secret)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe")
    deep = root / "deep"
    deep.mkdir()
    report = imported(root, tmp_path / "db")
    assert {(error.path, error.reason) for error in report.malformed} == {
        ("batch_science/a/b/c/1/study.json", "it is a symbolic link"),
        ("batch_science/loop", "it is a symbolic link"),
        ("batch_science/pipe", "it is neither a file nor a folder"),
        ("a/b/c/1/study.json", "it is missing; its 1 trials are left out"),
    }
    assert report.trials == 1


def test_names_cannot_move_the_cursor(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        add(archive, "\x1b[2J\n\u202e/study.json", b"{}")
    [error] = imported(tmp_path / "a.tar", tmp_path / "db").malformed
    assert str(error).startswith("\\x1b[2J\\n\\u202e/study.json: ")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_archives_that_were_cut_short(tmp_path: Path, compress: Any, share: float) -> None:
    path = write_tar(tmp_path / "a.tar", small_study(*[LINES] * 20))
    whole = compress(path.read_bytes().rstrip(b"\0"))
    path.write_bytes(whole[: int(len(whole) * share)])
    report = imported(path, tmp_path / "db")
    assert report.failure is not None
    assert report.failure.path == str(path)
    assert "cut short" in report.failure.reason or "it is no archive" in report.failure.reason
    # What the rest would have held is not known, so nothing of the study is stored.
    assert report.trials == 0


@pytest.mark.parametrize(
    "body", [b"", b"hello", b"PK\x03\x04" + bytes(600), os.urandom(2000), b"BZh9", b"\x1f\x8b"]
)
def test_what_is_no_archive(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(body)
    report = imported(path, tmp_path / "db")
    assert report.failure is not None
    assert report.failure.path == str(path)


def test_a_damaged_header_ends_the_work(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", small_study(LINES, LINES))
    whole = bytearray(path.read_bytes())
    whole[1024 + 2] ^= 1
    path.write_bytes(whole)
    report = imported(path, tmp_path / "db")
    assert report.failure is not None
    assert report.failure.reason.startswith("it is damaged after batch_science/")


def test_an_archive_of_nothing(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w"):
        pass
    report = imported(tmp_path / "a.tar", tmp_path / "db")
    assert (report.failure, report.malformed, report.trials) == (None, (), 0)


def test_old_tar_files_with_signed_sums(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, body in small_study(LINES, study="größe/b/c/1").items():
            add(archive, f"batch_science/{name}", body)
    whole = bytearray(buffer.getvalue())
    for start in (0, 1024, 2048):
        header = whole[start : start + 512]
        signed = sum(byte - 256 * (byte > 127) for byte in header) - sum(header[148:156]) + 256
        whole[start + 148 : start + 156] = f"{signed:06o}\0 ".encode()
    (tmp_path / "a.tar").write_bytes(whole)
    report = imported(tmp_path / "a.tar", tmp_path / "db")
    assert (report.failure, report.trials) == (None, 1)
