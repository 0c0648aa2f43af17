"""Imports run one way: from the command line down to the core.

Producers know the core alone; their command knows what all commands share, too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.programs import CHECKOUT

FEATURES = {"explorer", "figures", "analysis", "release", "sources"}
BELOW = {
    "core": set(),
    "store": {"core"},
    "dialects": {"core"},
    **{feature: {"store", "core"} for feature in FEATURES},
    # How to cite the archive of 2018.
    "release": {"sources", "store", "core"},
    # A figure shows what an analysis found.
    "figures": {"analysis", "store", "core"},
    "report": {"analysis", "figures", "store", "core"},
    "database": {"report", *FEATURES, "store", "core"},
    "cli": {"report", "database", *FEATURES, "dialects", "store", "core", "producers"},
    "producers": {"core"},
    "producers.cli": {"producers", "core"},
    # What the top level of the package promises to Python users.
    "__init__": {"callbacks", "database", "report", *FEATURES, "core"},
    "callbacks": {"sources"},
    "__main__": {"cli"},
    "data_loader": {"database", *FEATURES, "store", "core"},
}
# Beside that, of the command line, what its commands share.
SHARED = {
    "producers.cli": {
        ("dbtool", "cli", "messages"),
        ("dbtool", "cli", "options"),
        ("dbtool", "cli", "output"),
    }
}


def room(module: tuple[str, ...]) -> str:
    """The part of a package that a module belongs to."""
    if module[:2] == ("producers", "cli"):
        return "producers.cli"
    return module[1] if module[0] == "dbtool" else module[0]


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules of this project that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            # What is taken from the package itself may be a module in it.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = tuple(name.split("."))
            if parts[0] in {"dbtool", "producers"}:
                yield parts


def test_imports_run_one_way():
    wrong = {}
    for path in [*CHECKOUT.glob("dbtool/**/*.py"), *CHECKOUT.glob("producers/**/*.py")]:
        own = room(path.relative_to(CHECKOUT).with_suffix("").parts)
        # The package's own names, such as its version, are above nothing.
        rooms = {
            room(module)
            for module in imported(path)
            if module[1:] and module[1] != "__version__" and module[:3] not in SHARED.get(own, ())
        }
        if against := rooms - {own} - BELOW[own]:
            wrong[str(path)] = against
    assert wrong == {}
