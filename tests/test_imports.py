"""The import table of docs/design.md, held against the imports that the source files really make."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "annelid"
FACADE = "annelid"


def read_table(text: str) -> dict[str, int]:
    """Row of each package in the table, counted from the top."""
    block = re.search(r"```\{code-block\} text\n:name: import-table\n\n(.*?)```", text, re.DOTALL)
    assert block, "docs/design.md has lost its import table"
    rows = [re.sub(r"\(.*?\)", "", line) for line in block[1].splitlines() if line.strip()]
    return {name: row for row, line in enumerate(rows) for name in re.findall(r"\w+", line)}


def unit_of(module: list[str]) -> str:
    """The entry of the table that a module belongs to: its first name below `annelid`, or the facade itself."""
    name = module[1] if len(module) > 1 else FACADE
    return "cli" if name == "__main__" else name


def is_unit(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def imported_units(source: str, module: list[str], *, is_package: bool = False) -> set[str]:
    """The entries that a source text imports from; `module` is its dotted name, split."""
    parent = module if is_package else module[:-1]
    names: list[list[str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = parent[: len(parent) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            # `from annelid import springs` reaches springs; `from annelid import Simulation` reaches the facade.
            names += [[*base, alias.name] if is_unit(alias.name) else base for alias in node.names]
    return {unit_of(name) for name in names if name[0] == "annelid"}


def module_name(path: Path) -> list[str]:
    parts = list(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


TABLE = read_table((ROOT / "docs" / "design.md").read_text(encoding="utf-8"))
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_point_down(path: Path) -> None:
    module = module_name(path)
    unit = unit_of(module)
    assert unit in TABLE, f"{unit} has no row in the import table of docs/design.md"
    source = path.read_text(encoding="utf-8")
    targets = imported_units(source, module, is_package=path.name == "__init__.py") - {unit}
    assert targets <= TABLE.keys(), f"unknown: {sorted(targets - TABLE.keys())}"
    upward = sorted(target for target in targets if TABLE[target] <= TABLE[unit])
    assert not upward, f"{'.'.join(module)} imports {upward}, which do not stand below {unit}"


@pytest.mark.parametrize(
    ("source", "units"),
    [
        ("import numpy\nfrom scipy import sparse", set()),
        ("import annelid.core.errors as errors", {"core"}),
        ("from annelid.core.errors import InvalidValue", {"core"}),
        ("from annelid import core", {"core"}),
        ("from annelid import Simulation", {FACADE}),
        ("import annelid", {FACADE}),
        ("from . import kernels", {"springs"}),
        ("from .. import core", {"core"}),
        ("from ..core import errors", {"core"}),
        ("def late():\n    from annelid.core import errors", {"core"}),
        ("if TYPE_CHECKING:\n    import annelid.core", {"core"}),
    ],
)
def test_every_form_of_import_is_seen(source: str, units: set[str]) -> None:
    assert imported_units(source, ["annelid", "springs", "solver"]) == units


def test_relative_imports_of_a_package_start_at_itself() -> None:
    assert imported_units("from .errors import X", ["annelid", "core"], is_package=True) == {"core"}


def test_table_reads_rows_from_the_top() -> None:
    assert TABLE["cli"] < TABLE["scenes"] < TABLE["springs"] == TABLE["view"] < TABLE["shapes"] < TABLE["core"]
