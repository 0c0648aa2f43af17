"""What is malformed or hostile is named with its reason, and the rest goes in."""

from __future__ import annotations

import bz2
import gzip
import os
import re
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from dbtool.core.errors import UsageError
from dbtool.sources.archive import stream
from tests.support.archives import (
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

if TYPE_CHECKING:
    from pathlib import Path

SOUND = small_study(LINES)

WHOLE = "which is not a whole number from 0"
BAD_MEASUREMENTS = {
    "its line 3 has 4 fields, and its header has 3": HEADER + "0,1,1\n1,2,3,4\n",
    "its line 2 has 2 fields, and its header has 3": HEADER + "0,1\n1,2,3\n",
    "its line 2 has 'lost', which is not a number": HEADER + "0,lost,1\n",
    "its line 3 has '1_000', which is not a number": HEADER + "0,1,1\n1,1_000,1\n",
    "its line 2 has '0x10', which is not a number": HEADER + "0,0x10,1\n",
    "its line 2 has '٣', which is not a number": HEADER + "0,٣,1\n",
    f"its line 2 has the step '', {WHOLE}": HEADER + ",1,1\n",
    f"its line 2 has the step '1.5', {WHOLE}": HEADER + "1.5,1,1\n",
    f"its line 2 has the step 'nan', {WHOLE}": HEADER + "nan,1,1\n",
    f"its line 3 has the step '-1', {WHOLE}": HEADER + "0,1,1\n-1,1,1\n",
    f"its line 2 has the step '9223372036854775808', {WHOLE}": HEADER + f"{2**63},1,1\n",
    "it has a measurement at step 11, after the trial's last, 10": HEADER + "0,1,1\n11,1,1\n",
    "its header has no column step": "epoch,val/classification_error\n0,1\n",
    "its header has the column step twice": "step,step\n0,1\n",
    "its header has the column status, which is no metric's name": "step,status\n0,1\n",
    "its header has a column without a name": "step,\n0,1\n",
    "its header is not readable as CSV": 'step,"a"b\n0,1\n',
}
INT32, INT64 = f"a whole number from 0 to {2**31 - 1}", "a whole number from 0"
BAD_METADATA = {
    "it is [1], and should be a table of names and values": b"[1]",
    "it has no trial_id": b'{"status": "COMPLETE", "parameters": {}, "steps": 1}',
    f"trial_id is -1, and should be {INT32}": metadata_json(-1),
    f"trial_id is 2147483648, and should be {INT32}": metadata_json(2**31),
    f"trial_id is true, and should be {INT32}": metadata_json(2, trial_id=True),
    f'trial_id is "2", and should be {INT32}': metadata_json(2, trial_id="2"),
    "its trial_id 3 is not that of its folder, 2": metadata_json(3),
    'status is "DONE", and should be one of COMPLETE, INCOMPLETE, INFEASIBLE': metadata_json(
        2, status="DONE"
    ),
    f"steps is null, and should be {INT64}": metadata_json(2, steps=None),
    f"steps is Infinity, and should be {INT64}": metadata_json(2, steps=float("inf")),
    "parameters is [], and should be a table of names and values": metadata_json(2, parameters=[]),
    'parameters.learning_rate is "high", and should be a number': metadata_json(
        2, parameters={"momentum": 0.9, "learning_rate": "high"}
    ),
    "it holds a null character": metadata_json(2, parameters={"a\0": 1}),
}
CONFIGS = "parameter_configs"
BAD_STUDY = {
    "it has no early_stopping": b'{"batch_size": 32, "train_steps": 1, "parameter_configs": {}}',
    "early_stopping is 1, and should be true or false": study_json(early_stopping=1),
    "its batch_size 64 is not that of its folder, 32": study_json(64),
    f"train_steps is -1, and should be {INT64}": study_json(train_steps=-1),
    f"{CONFIGS}.a is 1, and should be a table of names and values": study_json(
        parameter_configs={"a": 1}
    ),
    f"{CONFIGS} has a metaparameter without a name": study_json(parameter_configs=[{}]),
    f"{CONFIGS} names a metaparameter twice": study_json(parameter_configs=[{"name": "a"}] * 2),
    f"{CONFIGS} holds a number that JSON does not have": study_json(
        parameter_configs={"a": {"max_value": float("inf")}}
    ),
}
UNREADABLE = {
    "bytes": b"\xff\xfe\x00",
    "nothing": b"",
    "cut": b'{"trial_id": 2',
    "deep": b'{"a":' * 100_000,
    "long": b'{"trial_id": ' + b"9" * 5000 + b"}",
    "surrogate": b'{"\\ud800": 1}',
}
BAD = [
    *(("2/measurements.csv", why, text.encode()) for why, text in BAD_MEASUREMENTS.items()),
    *(("2/metadata.json", why, body) for why, body in BAD_METADATA.items()),
    *(("study.json", why, body) for why, body in BAD_STUDY.items()),
    *(
        pytest.param(name, "it is not readable JSON", body, id=f"{name}-{what}")
        for name in ("study.json", "2/metadata.json")
        for what, body in UNREADABLE.items()
    ),
]


@pytest.mark.parametrize(("name", "reason", "body"), BAD)
def test_bad_files(tmp_path: Path, name: str, reason: str, body: bytes) -> None:
    files = small_study(LINES, LINES, LINES) | small_study(LINES, study="a/b/c/1")
    files[f"{STUDY}/{name}"] = body
    report = imported(write_tar(tmp_path / "a.tar", files), tmp_path / "db")
    if name == "study.json":
        reason, left = f"{reason}; its 3 trials are left out", []
    else:
        left = [(1,), (3,)]
    assert [(error.path, error.reason) for error in report.malformed] == [
        (f"{STUDY}/{name}", reason)
    ]
    assert (report.trials, report.left_out) == (1 + len(left), 3 - len(left))
    for view in ("trials", "measurements"):
        ids = f"SELECT DISTINCT trial_id FROM {view} WHERE batch_size = 32 ORDER BY ALL"
        assert query(tmp_path / "db", ids) == left


def test_files_that_are_missing(tmp_path: Path) -> None:
    files = small_study(LINES, LINES)
    del files[f"{STUDY}/2/metadata.json"]
    files["a/b/c/8/1/metadata.json"] = metadata_json(1)
    for path in (write_tar(tmp_path / "a.tar", files), write_folder(tmp_path, files)):
        report = imported(path, tmp_path / f"{path.name}.db")
        assert sorted((error.path, error.reason) for error in report.malformed) == [
            ("a/b/c/8/study.json", "it is missing; its 1 trials are left out"),
            (f"{STUDY}/2", "it has no metadata.json"),
        ]
        assert (report.trials, report.left_out) == (1, 2)


def test_files_out_of_place(tmp_path: Path) -> None:
    files = {"study.json": b"{}", "a/b/c/08/study.json": b"{}", "metadata.json": b"{}"}
    report = imported(write_tar(tmp_path / "a.tar", files | SOUND), tmp_path / "db")
    assert [error.path for error in report.malformed] == [f"batch_science/{name}" for name in files]
    assert report.trials == 1


def test_folders_of_one_trial_id(tmp_path: Path) -> None:
    """Of two folders that name one trial, the one of another name is refused."""
    copies = {
        f"{STUDY}/{folder}/{name}": body
        for folder, last in (("2", 10), ("01", 10), ("1-other", 11))
        for name, body in (
            ("metadata.json", metadata_json(1, steps=last)),
            ("measurements.csv", LINES.encode()),
        )
    }
    report = imported(write_tar(tmp_path / "a.tar", copies | SOUND), tmp_path / "db")
    assert sorted(str(error) for error in report.malformed) == [
        f"{STUDY}/{folder}/metadata.json: its trial_id 1 is not that of its folder, {folder}"
        for folder in ("01", "1-other", "2")
    ]
    assert (report.trials, report.left_out) == (1, 3)


def test_a_file_that_is_in_the_archive_twice(tmp_path: Path) -> None:
    again = [*SOUND.items(), *SOUND.items(), (f"{STUDY}/1/measurements.csv", HEADER.encode())]
    report = imported(write_tar(tmp_path / "a.tar", again), tmp_path / "db")
    [error] = report.malformed
    assert error.path == f"{STUDY}/1/measurements.csv"
    assert "twice" in error.reason
    assert (report.trials, report.measurements) == (1, 2)


def test_archives_of_one_trial_id(tmp_path: Path) -> None:
    imported(write_tar(tmp_path / "a.tar", SOUND), tmp_path / "db")
    before = contents(tmp_path / "db")
    other = trial(1, LINES + "7,1,1\n")
    report = imported(write_tar(tmp_path / "b.tar", SOUND | other), tmp_path / "db")
    assert [str(error) for error in report.malformed] == [
        f"{STUDY}/1: the release holds this trial already, with other contents"
    ]
    changed = SOUND | {f"{STUDY}/study.json": study_json(train_steps=7)}
    report = imported(write_tar(tmp_path / "c.tar", changed), tmp_path / "db")
    [error] = report.malformed
    assert "it differs from the stored study in train_steps (7, there 10)" in error.reason
    assert contents(tmp_path / "db") == before


def test_names_that_no_release_takes(tmp_path: Path) -> None:
    """A workload's name that is too long for a folder leaves its study out, and no other."""
    long = f"{'d' * 90}/{'m' * 90}/{'o' * 90}/8"
    files = small_study(LINES, study=long) | SOUND
    report = imported(write_tar(tmp_path / "a.tar", files), tmp_path / "db")
    [error] = report.malformed
    assert (error.path, "is too long" in error.reason) == (long, True)
    assert (report.trials, report.left_out) == (1, 1)


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
    assert error.path == name
    assert what in error.reason
    assert report.trials == 1
    assert sorted(path.name for path in here.iterdir()) == ["a.tar", "db"]
    assert list(tmp_path.iterdir()) == [here]


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
    monkeypatch.setattr(stream, "_HARMLESS", 16 << 20)
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


def test_what_holds_no_study(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        add(archive, "notes.txt", b"hello")
    imported(write_tar(tmp_path / "sound.tar", SOUND), tmp_path / "db")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").mkdir()
    for path, sentence in (
        (tmp_path / "a.tar", "holds no study, as DATASET/MODEL/OPTIMIZER/BATCH_SIZE/study.json: "),
        (tmp_path / "empty", "holds no study, as "),
        (tmp_path / "db", "holds no archive but Parquet files: add a release folder with `dbtool"),
        (tmp_path / "pipe", "is neither a file nor a folder: give a .tar.bz2, "),
        (tmp_path / "none", "get the archive with `dbtool fetch`"),
    ):
        with pytest.raises(UsageError, match=re.escape(sentence)):
            imported(path, tmp_path / "other")
