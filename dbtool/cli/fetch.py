"""The command that downloads the published archive."""

from typing import Annotated

import typer

from dbtool.cli.bars import download_bar
from dbtool.cli.messages import tell
from dbtool.cli.options import Retries, Timeout


def command(
    *,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Fetch from here in place of the published address: http://, https:// or file://.",
        ),
    ] = None,
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Try this address when those before it fail; may be given more than once.",
        ),
    ] = None,
    dest: Annotated[
        str, typer.Option(metavar="PATH", help="The file to write, or the folder it goes into.")
    ] = ".",
    sha256: Annotated[
        str | None,
        typer.Option(
            metavar="HEX",
            help="The hash of another file than the published one, such as a replica.",
        ),
    ] = None,
    retries: Retries = 5,
    timeout: Timeout = 30.0,
) -> None:
    """Download the published archive and check it.

    What has come is kept in a .part file, so a fetch that was interrupted goes on when the same
    command is given again. The file gets its name once its sha256 is the published one. Its path is
    printed.

    Example: dbtool fetch --dest downloads/
    """
    from dbtool.core.download import RetryPolicy
    from dbtool.sources.archive.fetch import fetch
    from dbtool.sources.archive.published import LICENCE, SHA256

    with download_bar() as (on_progress, on_retry):
        policy = RetryPolicy(most=retries, timeout=timeout, on_retry=on_retry)
        fetched = fetch(
            dest,
            url=url,
            mirrors=mirror or (),
            sha256=sha256,
            retries=policy,
            on_progress=on_progress,
        )
    size = f"{fetched.path.stat().st_size / 1e6:,.1f} MB"
    done = "was there already" if fetched.was_there else "fetched"
    tell(f"{done}: {size}, sha256 {fetched.sha256}")
    if fetched.sha256 == SHA256 and not fetched.was_there:
        tell(f"{LICENCE} `dbtool cite` tells how to cite it.")
    typer.echo(fetched.path)
