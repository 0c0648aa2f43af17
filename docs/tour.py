"""Takes the tour as a newcomer does: runs its commands one after the other, in an empty folder.

Run `python docs/tour.py docs/tour.md`, which writes what they print into the page anew, or with
`--check`, which fails where that is not what stands there. `--bin` names the folder of the `dbtool`
and `python` to take it with: those of any environment that the wheel was installed in.

A block of the page that is marked `console` holds commands after `$ ` (their further lines after
`> `), each with what it prints; what it writes to standard error is left out. One that is marked
`python` is a script, and what it prints follows in a block marked `text`.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

_BLOCK = re.compile(
    r"```console\n(?P<commands>.*?)```|```python\n(?P<script>.*?)```\n\n```text\n.*?```", re.DOTALL
)
_COMMAND = re.compile(r"^\$ (.*(?:\n> .*)*)", re.MULTILINE)
# Nothing of the person who takes the tour plays a part, but where data sets lie.
_KEPT = ("PATH", "LANG", "DBTOOL_DATASETS", "SSL_CERT_FILE")


def main() -> None:
    """Takes the tour, and writes or compares the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--check", action="store_true", help="compare the page, change nothing")
    arguments = parser.parse_args()
    page = arguments.page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="dbtool-tour-") as folder:
        taken = as_printed(page, arguments.bin.absolute(), Path(folder))
    if not arguments.check:
        arguments.page.write_text(taken, encoding="utf-8")
    elif taken != page:
        lines = difflib.unified_diff(page.splitlines(), taken.splitlines(), "written", "printed")
        sys.exit("\n".join([f"{arguments.page} is not what its commands print:", *lines]))


def as_printed(page: str, programs: Path, folder: Path) -> str:
    """The page with what its commands print.

    Args:
        page: its text.
        programs: the folder of the programs to take it with, which come before all others.
        folder: an empty one to take it in.
    """
    (folder / "tour").mkdir()
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"HOME": str(folder), "PATH": f"{programs}{os.pathsep}{environment['PATH']}"}

    def printed(command: list[str]) -> str:
        ended = subprocess.run(
            command,
            cwd=folder / "tour",
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            sys.exit(f"{command[-1]}\nfailed:\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def taken(found: re.Match[str]) -> str:
        if found["script"] is not None:
            text = printed(["python", "-c", found["script"]])
            return f"```python\n{found['script']}```\n\n```text\n{text}```"
        lines = []
        for command in _COMMAND.findall(found["commands"]):
            text = printed(["bash", "-c", command.replace("\n> ", "\n")])
            lines.append(f"$ {command}\n{text}")
        return f"```console\n{''.join(lines)}```"

    return _BLOCK.sub(taken, page)


if __name__ == "__main__":
    main()
