"""The command that prints how to cite the data."""

import typer

from dbtool.cli import options
from dbtool.cli.database import reading


def command(db: options.Database = None, release: options.Release = None) -> None:
    """Print BibTeX entries for the releases.

    First the paper that measured the archive of 2018, then the one that did so for sparse networks,
    then this program, and last what the releases themselves give.

    Example: dbtool cite >> references.bib
    """
    with reading(db, release) as database:
        typer.echo(database.cite())
