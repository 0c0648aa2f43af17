"""Reads the files that tools log to as they are: a module a tool, found by its name.

Each has `is_log(path)`, whether a file is one of the tool's, and `read(path)`, which yields a
`LoggedRun` for each run in it.
"""
