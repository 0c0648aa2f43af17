"""A folder of sound and faulty files, on which people make their mistakes."""

import shutil
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from .archives import LINES, small_study, write_tar
from .made_up import curve, write_release, write_shard

DIGITS = "digits/simple_cnn_base/sgd"
LETTERS = "letters/fc_64_64/nesterov_momentum"
_MAPPING = """release = "mine"
files = { run = "run", step = "step" }
workload = { dataset = "a", model = "b", optimizer = "c", metric = "val_classification_error" }
study = { batch_size = 8 }
metrics = { val_classification_error = "error" }
"""
_TEXTS: Mapping[str, str | bytes] = {
    "notes.txt": "made up\n",
    "notes/a.txt": "made up\n",
    "blank.csv": "",
    "header.csv": "run,step,error\n",
    "words.csv": "run,step,error\n1,ten,0.5\n",
    "twice.csv": "run,step,error\n1,10,0.5\n1,10,0.4\n",
    "short.csv": "run,step,error\n1,10\n",
    "latin.csv": b"run,step,error\nna\xefve,10,0.5\n",
    "curve.csv": "run,step,error\n1,0,0.9\n1,10,0.5\n",
    "broken.jsonl": '{"run": 1, "step": \n',
    "map.toml": _MAPPING,
    "map_syntax.toml": "release = mine\n",
    "map_column.toml": _MAPPING.replace('"error"', '"eror"'),
    "map_goal.toml": _MAPPING.replace('metric = "val', 'goal = "low", metric = "val'),
    "map_batch.toml": _MAPPING.replace("batch_size = 8", 'batch_size = "eight"'),
    "map_transform.toml": _MAPPING.replace('"error" }', '{ column = "error", transform = "up" } }'),
    "map_step.toml": _MAPPING.replace(', step = "step"', ""),
    "map_name.toml": _MAPPING.replace('"mine"', '" "'),
    "map_section.toml": _MAPPING + "trails = { seed = 1 }\n",
    "latin.sql": b"SELECT 'na\xefve'",
    "question.sql": "SELECT 1 AS one",
    "none.bib": "made up\n",
    "page/manifest.json": "<!doctype html><title>Sign in</title>",
    "page/index.html": "<!doctype html><title>Sign in</title>",
}


def write_all(folder: Path) -> None:
    """Writes the files and folders; the release `good` is the one that is read by default."""
    for name, text in _TEXTS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / "empty").mkdir()
    (folder / "loop").symlink_to("loop")
    _write_releases(folder)
    _write_archives(folder)


def _write_releases(folder: Path) -> None:
    good = folder / "good"
    slow, fast = ({"learning_rate": rate, "momentum": 0.9} for rate in (0.01, 0.1))
    for batch_size in (8, 64):
        trials = [
            (0, "COMPLETE", slow, curve([0.9, 0.8, 0.7, 0.6])),
            (1, "COMPLETE", fast, curve([0.9, 0.5, 0.2, 0.05])),
        ]
        write_shard(good, workload=DIGITS, batch_size=batch_size, trials=trials, goal=0.1)
    trials = [(0, "COMPLETE", slow, curve([0.9, 0.8]))]
    write_shard(good, workload=LETTERS, batch_size=32, trials=trials, goal=None)
    write_release(folder / "two" / "first", "first", licence="MIT")
    write_release(folder / "two" / "second", "second", licence="MIT")
    for name, damage in _DAMAGE.items():
        write_release(folder / name, "damaged", licence="MIT")
        damage(folder / name)
    shutil.copytree(folder / "two" / "first", folder / "same" / "a")
    shutil.copytree(folder / "two" / "first", folder / "same" / "b")


def _shard(release: Path) -> Path:
    return next(release.glob("measurements/*/*/*.parquet"))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


def _replace(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


_DAMAGE: Mapping[str, Callable[[Path], object]] = {
    "no_manifest": lambda release: (release / "manifest.json").unlink(),
    "no_json": lambda release: (release / "manifest.json").write_text("made up"),
    "list": lambda release: (release / "manifest.json").write_text("[]"),
    "edited": lambda release: _replace(release / "manifest.json", "damaged", "mended"),
    "newer": lambda release: _replace(
        release / "manifest.json", '"manifest_format": 3', '"manifest_format": 9'
    ),
    "cut_shard": lambda release: _cut(_shard(release)),
    "flipped_shard": lambda release: _flip(_shard(release)),
    "lost_shard": lambda release: _shard(release).unlink(),
    "text_shard": lambda release: _shard(release).write_text("made up"),
}


def _write_archives(folder: Path) -> None:
    files = small_study(LINES)
    sound = write_tar(folder / "sound.tar", files)
    _cut(write_tar(folder / "cut.tar.bz2", files, "w:bz2"))
    write_tar(folder / "other.tar", {"notes.txt": b"made up"})
    with zipfile.ZipFile(folder / "sound.zip", "w") as archive:
        archive.write(sound, "sound.tar")
    with tarfile.open(folder / "plain.tar.gz", "w:gz") as archive:
        archive.add(folder / "notes.txt", "notes.txt")
