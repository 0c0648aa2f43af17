"""Runs the command line as `python -m dbtool`."""

from dbtool.cli.main import run

run()
