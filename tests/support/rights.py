"""Commands run by somebody who may not read everything, as root may."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

# Gives up CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH for the program that takes this one's place.
_GIVE_UP = """
import ctypes, os, sys
if os.geteuid() == 0:
    libc = ctypes.CDLL(None)
    for capability in (1, 2):
        if libc.prctl(24, capability, 0, 0, 0):
            sys.exit("cannot give up rights")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
_COMMANDS = """
import contextlib, io, json, sys
from dbtool.cli.main import run
outcomes = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            try:
                run(words)
            except SystemExit as end:
                code = end.code
    outcomes.append((code or 0, out.getvalue(), errors.getvalue()))
print(json.dumps(outcomes))
"""


def run_without_rights(*commands: Sequence[str | Path]) -> list[tuple[int, str, str]]:
    """The exit code, standard output and standard error of each of some commands of dbtool."""
    if os.geteuid() == 0 and sys.platform != "linux":
        pytest.skip("root may read everything: run the tests as another user")
    words = json.dumps([[str(word) for word in command] for command in commands])
    result = subprocess.run(
        [sys.executable, "-c", _GIVE_UP, "-c", _COMMANDS, words],
        capture_output=True,
        text=True,
        check=True,
    )
    return [(code, out, errors) for code, out, errors in json.loads(result.stdout)]
