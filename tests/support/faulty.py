"""A folder of sound and faulty files, on which people make their mistakes."""

from collections.abc import Callable, Mapping
from pathlib import Path

from .archives import LINES, small_study, write_tar
from .made_up import write_digits, write_letters, write_release

_MAPPING = """release = "mine"
files = { run = "run", step = "step" }
workload = { dataset = "a", model = "b", optimizer = "c", metric = "val_classification_error" }
study = { batch_size = 8 }
metrics = { val_classification_error = "error" }
"""
_TEXTS: Mapping[str, str] = {
    "notes.txt": "made up\n",
    "notes/a.txt": "made up\n",
    "header.csv": "run,step,error\n",
    "curve.csv": "run,step,error\n1,0,0.9\n1,10,0.5\n",
    "map.toml": _MAPPING,
    "map_goal.toml": _MAPPING.replace('metric = "val', 'goal = "low", metric = "val'),
    "question.sql": "SELECT 1 AS one",
    "plan.toml": 'release = "mine"\n[[sweep]]\nworkloads = ["mnist/fc_64_64_64/sgd"]\n',
}


def write_all(folder: Path) -> None:
    """Writes the files and folders; the release `good` is the one that is read by default."""
    for name, text in _TEXTS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (folder / "empty").mkdir()
    with (folder / "endless.sql").open("wb") as file:
        file.truncate(1 << 40)
    _write_releases(folder)
    _write_archives(folder)


def _write_releases(folder: Path) -> None:
    write_letters(write_digits(folder / "good"))
    write_release(folder / "two" / "first", "first", licence="MIT")
    write_release(folder / "two" / "second", "second", licence="MIT")
    for name, damage in _DAMAGE.items():
        write_release(folder / name, "damaged", licence="MIT")
        damage(folder / name)


def _shard(release: Path) -> Path:
    return next(release.glob("measurements/*/*/*.parquet"))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


_DAMAGE: Mapping[str, Callable[[Path], object]] = {
    "no_manifest": lambda release: (release / "manifest.json").unlink(),
    "no_json": lambda release: (release / "manifest.json").write_text("made up"),
    "flipped_shard": lambda release: _flip(_shard(release)),
    "lost_shard": lambda release: _shard(release).unlink(),
    "text_shard": lambda release: _shard(release).write_text("made up"),
}


def _write_archives(folder: Path) -> None:
    files = small_study(LINES)
    write_tar(folder / "sound.tar", files)
    _cut(write_tar(folder / "cut.tar.bz2", files, "w:bz2"))
