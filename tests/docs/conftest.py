"""Runs the command line in this process, as its own tests do."""

from tests.dbtool.cli.conftest import call, database

__all__ = ["call", "database"]
