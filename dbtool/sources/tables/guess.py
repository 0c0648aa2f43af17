"""Writes a first mapping for runs, with ? where a person has to say more."""

import json
import math
import operator
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dbtool.core.errors import UsageError, printable
from dbtool.core.index import OWN_COLUMN
from dbtool.core.manifest import is_release
from dbtool.sources.logs import LogFormat
from dbtool.sources.numbers import number, whole_number
from dbtool.sources.tables import words
from dbtool.sources.tables.layout import Layout, layout_of
from dbtool.store.table_files import TableFormat

_COLUMN = 'or a column as in { column = "…" }'
_ASKED = {
    ("workload", "dataset"): f'such as "cifar_10", {_COLUMN}',
    ("workload", "model"): f'such as "resnet_8", {_COLUMN}',
    ("workload", "optimizer"): f'such as "momentum", {_COLUMN}',
    ("study", "batch_size"): f"the global one: a number, {_COLUMN}",
}


class Guess(NamedTuple):
    """A first mapping as TOML, the format of the files that it is for, and their number."""

    mapping: str
    kind: TableFormat | LogFormat
    files: int


def guess(*folders: Path) -> Guess:
    """Write a first mapping for the runs in a folder: valid, or its errors say what to fill in.

    Raises:
        UsageError: there is another number of folders, or no file has a column that could be the
            step.
        RunsError: a file is malformed, or has no history, as `read_own_runs` says.
    """
    if len(folders) != 1 or not folders[0].is_dir():
        beside = folders[0].parent if folders and folders[0].is_file() else "FOLDER"
        raise UsageError(
            "--guess takes one folder, that with the files of your runs: `dbtool ingest --guess "
            f"{shlex.quote(str(beside))}`"
        )
    [folder] = folders
    if is_release(folder):
        again = f"dbtool ingest {shlex.quote(str(folder))}"
        raise UsageError(f"{folder} is a release folder: add it with `{again}`")
    layout, kind = layout_of(folder)
    return Guess(mapping_text(layout, folder), kind, layout.files)


def mapping_text(layout: Layout, folder: Path) -> str:
    """Return a first mapping for a layout as TOML; the folder names the release."""
    keys = {*layout.keys, *(layout.table or ())[1:]}
    texts = {
        column: values
        for column, values in layout.run_texts.items()
        if column not in layout.differing
        and words.is_setting(column, values)
        and (column in keys or not _names_runs(column, layout.run_texts))
    }
    metrics, ignored = _metric_lines(layout)
    goal = next((each for each in words.GOALS if each in metrics), "?")
    release = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "runs"
    lines = [
        "# Guessed by `dbtool ingest --guess`: fill in each ?, and look at the rest, of which",
        "# docs/your_own_runs.md tells more. Comments show the first values.",
        f"release = {_toml(release)}",
        "\n[files]",
        *_file_lines(layout, ignored),
    ]
    if layout.table is not None:
        path, column = layout.table
        lines += ["\n[runs]", f"file = {_toml(path.as_posix())}", f"run = {_toml(column)}"]
    tables = _property_lines(texts, layout)
    tables["workload"] += [f"metric = {_toml(goal)}", "# goal = 0.1 # or say it to dbtool steps"]
    for table in ("workload", "study", "trial", "metaparameters"):
        lines += [f"\n[{table}]", *tables[table]]
    reason = "no setting, a name of each run, or different in two files"
    left_out = sorted(layout.run_texts.keys() - texts.keys())
    lines += [f"# left out, as {reason}: {_toml(each)}" for each in left_out]
    lines += [f"# left out, as it cannot be read: {_toml(each)}" for each in layout.unread]
    lines += ["\n[metrics] # guessed from their names; others are kept under their own"]
    return "\n".join([*lines, *metrics.values(), ""])


def _file_lines(layout: Layout, ignored: list[str]) -> Iterator[str]:
    """Yield the lines of [files]."""
    step = _toml(layout.step)
    plus = layout.plus
    if "epoch" in layout.step.lower():
        added = f", plus = {plus}" if plus else ""
        step = f'{{ column = {step}, times = "?"{added} }} # updates in an epoch, {_COLUMN}'
    elif layout.step == words.CALLS and plus:
        step = f'{{ column = {step}, times = "?", plus = 1 }} # updates a call of wandb.log'
    elif plus:
        step = f"{{ column = {step}, plus = 1 }} # as steps are counted from 0"
    yield f"step = {step}"
    if layout.name:
        yield f"name = {_toml(layout.name)} # what is in braces is a column; rename it at will"
    elif not layout.run_texts:
        yield '# name = "lr{lr}_bs{bs}" # where names of runs say more: in braces are columns'
    if layout.keys and not (layout.name and layout.keys == ["run"]):
        yield f"run = {_toml(layout.keys[0] if len(layout.keys) == 1 else layout.keys)}"
    if layout.metric and layout.value:
        yield f"metric = {_toml(layout.metric)}"
        yield f"value = {_toml(layout.value)}"
    if layout.beside:
        yield f"beside = {_toml(layout.beside)}"
    if ignored:
        yield f"ignore = {_toml(ignored)}"


def _names_runs(column: str, texts: Mapping[str, list[str]]) -> bool:
    """Return whether a column has a name for each run, by its own or made of what runs differ in.

    As a metaparameter, it would make each replicate a setting.
    """
    own, name = texts[column], words.bare(column)
    if len(set(own)) < max(2, len(own)) or any(name in names for names in words.ROLES.values()):
        return False
    others = (each for other, each in texts.items() if other != column and len(each) == len(own))
    return name in words.RUNS or any(
        len(set(each)) > 1 and all(map(operator.contains, own, each)) for each in others
    )


def _property_lines(texts: Mapping[str, list[str]], layout: Layout) -> dict[str, list[str]]:
    """Return the lines of the tables of properties."""
    lines: dict[str, list[str]] = defaultdict(list)
    known: dict[tuple[str, str], str] = {}
    for role, names in words.ROLES.items():
        fitting = [c for name in names for c in texts if words.bare(c) == name]
        if role == ("study", "batch_size") and (product := _product(fitting, texts)):
            known[role] = ""
            lines["study"].append(f'batch_size = "?" # the global one: {product}')
            continue
        for column in [column for column in fitting if _fits(role, texts[column])][:1]:
            known[role] = column
            values = ""
            if role[1] == "status":
                meant = {each: words.STATUS_WORDS[each.lower()] for each in texts[column]}
                pairs = ", ".join(f"{_toml(each)} = {_toml(meant[each])}" for each in meant)
                values = f", values = {{ {pairs} }}"
            lines[role[0]].append(_property_line(role[1], column, texts[column], values))
        if role in _ASKED and role not in known:
            lines[role[0]].append(f'{role[1]} = "?" # {_ASKED[role]}')
    # A column that names the run by itself is already the run's name.
    own_name = {*(layout.keys if len(layout.keys) == 1 else ()), *(layout.table or ())[1:]}
    others = texts.keys() - known.values() - own_name
    names_of = Counter(map(words.bare, others))
    for column in (column for column in texts if column in others):
        own = words.bare(column)
        is_text = any(number(each) is None for each in texts[column])
        taken = ("metaparameters", own) in known or (own in OWN_COLUMN and is_text)
        name = _toml(column) if taken or not own or names_of[own] > 1 else own
        lines["metaparameters"].append(_property_line(name, column, texts[column]))
    return lines


def _product(sizes: Sequence[str], texts: Mapping[str, list[str]]) -> str:
    """Return the global batch size as a product; empty where nothing says it is one."""
    own = [column for name in words.BATCH_SIZES for column in texts if words.bare(column) == name]
    factors = [each for each in texts if words.is_factor(each) and {*texts[each]} != {"1"}]
    is_global = any("global" in size or "total" in size for size in sizes)
    if is_global or not (own or (factors and sizes)):
        return ""
    columns = [*own[:1], *([] if own else sizes[:1]), *factors]
    numbers = [whole_number(texts[column][0]) or 0 for column in columns]
    named = " x ".join(f"{printable(c)} {n}" for c, n in zip(columns, numbers, strict=True))
    return f"{named} = {math.prod(numbers):,}, unless more devices share it"


def _fits(role: tuple[str, str], texts: Sequence[str]) -> bool:
    """Return whether values fit the role that the column's name suggests."""
    match role:
        case (_, "status"):
            return all(text.lower() in words.STATUS_WORDS for text in texts)
        case (_, "dataset" | "model" | "optimizer"):
            return not any(re.search(r"[/\\*?\[\]]", text) for text in texts)
        case ("metaparameters", _):
            return all(number(text) is not None for text in texts)
    return all(whole_number(text) is not None for text in texts)


def _metric_lines(layout: Layout) -> tuple[dict[str, str], list[str]]:
    """Return the lines of [metrics] by the database's columns, and the names of other columns."""
    if layout.metric and layout.value:
        long = layout.rows.select(layout.metric, layout.value).drop_nulls()
        parts = long.partition_by(layout.metric, as_dict=True)
        values = {str(name): part[layout.value].to_list() for (name,), part in parts.items()}
    else:
        measured = layout.rows.drop(layout.step, *layout.run_texts, *layout.keys, strict=False)
        values = {column.name: column.drop_nulls().to_list() for column in measured}
    ignored = []
    found: dict[str, str] = {}
    # Names without a split come first: a bare loss is that of the batch.
    for name in sorted(values, key=lambda name: (len(words.split(name)), name)):
        numbers = [number(text) for text in values[name]]
        is_count = words.TIMES.search(name.lower()) or words.step_column([name])
        if None in numbers or is_count:
            ignored.append(name)
            continue
        largest = max((each for each in numbers if each and each < math.inf), default=0)
        for column, transform in words.metrics(name, percent=largest > 1):
            if column not in found:
                given = {"column": name, "transform": transform} if transform else {"column": name}
                source = ", ".join(f"{key} = {_toml(text)}" for key, text in given.items())
                if layout.tests_are_counted and "test" in words.split(name):
                    source += ", plus = 0"
                source = f"{{ {source} }}" if ", " in source else _toml(name)
                found[column] = f"{column} = {source} # {_first_values(values[name])}"
                break
    return found, ignored


def _property_line(name: str, column: str, texts: Sequence[str], values: str = "") -> str:
    return f"{name} = {{ column = {_toml(column)}{values} }} # {_first_values(texts)}"


def _first_values(texts: Sequence[str]) -> str:
    few = list(dict.fromkeys(texts))
    return printable(f"{', '.join(few[:3]):.60}") + (", …" if len(few) > 3 else "")


def _toml(value: str | list[str]) -> str:
    """Return a text, or a list of texts, as TOML."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
