"""The command that downloads a whole published release from a server."""

from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.bars import download_bar
from dbtool.cli.messages import tell
from dbtool.cli.options import Retries, Timeout
from dbtool.core.errors import counted


def command(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="The release's folder on a server, http:// or https://.",
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder to write; without it one here that is named like the release.",
        ),
    ] = None,
    retries: Retries = 5,
    timeout: Timeout = 30.0,
) -> None:
    """Download a whole published release from a server, and check it.

    What has come is kept, so a download that was interrupted goes on when the same command is given
    again, and of a release that was published anew only the files that changed are fetched. Every
    file is checked against its sha256. The folder is printed.

    Example: dbtool pull https://example.org/my-release --out my-release
    """
    from dbtool.core.download import RetryPolicy
    from dbtool.release.pull import pull

    with download_bar() as (on_progress, on_retry):
        policy = RetryPolicy(most=retries, timeout=timeout, on_retry=on_retry)
        pulled = pull(url, out, policy, on_progress)
    came = f"{counted(pulled.files, 'file')} with {pulled.bytes / 1e6:,.1f} MB"
    done = f"fetched {came}" if pulled.files else "everything was there already"
    tell(
        f"{pulled.manifest.release}: {done}; read it with `--db {pulled.folder}`, or add it to "
        f"your own with `dbtool ingest {pulled.folder}`"
    )
    typer.echo(pulled.folder)
