"""Reads the files that tools log to as they are, by a pair of functions a tool.

`is_TOOL(path)` returns whether a file is one of the tool's, and `read_TOOL(path)` yields a
`LoggedRun` for each run in it. The pairs are listed in `dbtool.sources.logs.source`.
"""

from typing import Literal, TypeAlias, get_args

LogFormat: TypeAlias = Literal[
    "tensorboard", "huggingface", "mlflow", "lightning", "keras", "levanter", "trackio", "text"
]
LOG_FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)
"""The tools whose logs are read as they are."""
