"""The command that takes a whole published release from a server."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.release_options import Retries, Timeout


def command(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="The release's folder on a server: http:// or https://.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder to put it in; without it one named like the release, here.",
            show_default=False,
        ),
    ] = None,
    retries: Retries = 5,
    timeout: Timeout = 30.0,
) -> None:
    """Take a whole published release from a server, and check it.

    What has come is kept, so a pull that was interrupted goes on when the same command is given
    again, and of a release that was published anew only the files that changed are fetched. Every
    file's sha256 is that of the manifest. The folder is printed.

    Example: dbtool pull https://example.org/my-release --out my-release
    """
    from dbtool.archive.download.watch import Patience
    from dbtool.cli.fetch_progress import fetch_watch
    from dbtool.cli.messages import counted
    from dbtool.release.pull import pull

    with fetch_watch() as watch:
        pulled = pull(url, out, watch, Patience(retries=retries, timeout=timeout))
    came = f"{counted(pulled.files, 'file')} with {pulled.bytes / 1e6:,.1f} MB"
    done = f"fetched {came}" if pulled.files else "everything was there already"
    sys.stderr.write(
        f"{pulled.manifest.release}: {done}; load it with `dbtool ingest {pulled.folder}`, or read "
        f"it where it is with `--db {pulled.folder}`\n"
    )
    sys.stdout.write(f"{pulled.folder}\n")
