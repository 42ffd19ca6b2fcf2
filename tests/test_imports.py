"""Imports: they follow the table of docs/design.md and make no circles.

Imports for type checkers and imports inside functions count like all others: a circle is no better for being hidden.
"""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from .source_trees import statements

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


@functools.cache
def import_statements(source: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """All import statements of a text; reading them is most of the work, and both kinds of test need them."""
    return tuple(node for node in statements(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom))


def imported_units(source: str, module: list[str], *, is_package: bool = False) -> set[str]:
    """The entries that a source text imports from; `module` is its dotted name, split."""
    parent = module if is_package else module[:-1]
    names: list[list[str]] = []
    for node in import_statements(source):
        if isinstance(node, ast.Import):
            names += [alias.name.split(".") for alias in node.names]
        else:
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


def test_imports_point_down() -> None:
    unlisted, upward = set(), []
    for path in SOURCES:
        module = module_name(path)
        unit = unit_of(module)
        source = path.read_text(encoding="utf-8")
        targets = imported_units(source, module, is_package=path.name == "__init__.py") - {unit}
        unlisted |= (targets | {unit}) - TABLE.keys()
        wrong = sorted(target for target in targets if TABLE.get(target, 0) <= TABLE.get(unit, -1))
        upward += [f"{'.'.join(module)} imports {target}, which does not stand below {unit}" for target in wrong]
    assert not unlisted, "these have no row in the import table of docs/design.md"
    assert not upward


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
        ("class Late:\n    def late():\n        with x:\n            from annelid.core import errors", {"core"}),
        ("try:\n    pass\nexcept OSError:\n    import annelid.core\nfinally:\n    import annelid.fem", {"core", "fem"}),
        ("while x:\n    pass\nelse:\n    match x:\n        case 1:\n            import annelid.core", {"core"}),
        ("if TYPE_CHECKING:\n    import annelid.core", {"core"}),
    ],
)
def test_every_form_of_import_is_seen(source: str, units: set[str]) -> None:
    assert imported_units(source, ["annelid", "springs", "solver"]) == units


def test_relative_imports_of_a_package_start_at_itself() -> None:
    assert imported_units("from .errors import X", ["annelid", "core"], is_package=True) == {"core"}


def test_table_reads_rows_from_the_top() -> None:
    assert TABLE["cli"] < TABLE["scenes"] < TABLE["springs"] == TABLE["view"] < TABLE["shapes"] < TABLE["core"]


# --- circles ---


def named(path: Path) -> str:
    return ".".join(module_name(path))


MODULES = {named(path): path for path in SOURCES}


def imported_modules(source: str, module: str, *, is_package: bool = False) -> set[str]:
    """The modules of the library that a source text imports; `from package import module` imports the module."""
    parent = module.split(".") if is_package else module.split(".")[:-1]
    names: set[str] = set()
    for node in import_statements(source):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            base = parent[: len(parent) - node.level + 1] if node.level else []
            whole = ".".join(base + (node.module.split(".") if node.module else []))
            members = {f"{whole}.{alias.name}" for alias in node.names}
            names |= {name if name in MODULES else whole for name in members}
    return (names & MODULES.keys()) - {module}


def circle(arrows: Mapping[str, set[str]]) -> list[str]:
    """Some circle of a graph, none if there is none."""
    try:
        tuple(TopologicalSorter(arrows).static_order())
    except CycleError as error:
        return list(error.args[1])[::-1]
    return []


@functools.cache
def arrows() -> dict[str, set[str]]:
    """What each module imports; read by the first test that asks, not by each process that collects tests."""
    return {
        name: imported_modules(path.read_text(encoding="utf-8"), name, is_package=path.name == "__init__.py")
        for name, path in MODULES.items()
    }


def test_no_circles() -> None:
    found = circle(arrows())
    assert not found, " imports ".join(found) + ": move what they share into a module of its own"


@functools.cache  # each is asked for tens of times
def room(module: str) -> str:
    """The folder of a module, by the name of its package."""
    return named(MODULES[module].parent / "__init__.py")


def crossings() -> Iterator[tuple[str, str, str, str]]:
    """Each import from one folder into another: the two modules and their folders."""
    for module, targets in arrows().items():
        for target in targets:
            if MODULES[module].name != "__init__.py" and room(module) != room(target):
                yield module, target, room(module), room(target)


def test_rooms_beside_each_other_import_in_one_direction() -> None:
    rooms: dict[str, set[str]] = {}
    for _, _, here, there in crossings():
        if not (here.startswith(f"{there}.") or there.startswith(f"{here}.")):
            rooms.setdefault(here, set()).add(there)
    found = [(here, there) for here in rooms for there in rooms[here] if here in rooms.get(there, set())]
    assert not found


def test_kernels_and_helpers_do_not_import_what_uses_them() -> None:
    upward = [
        (module, target)
        for module, target, here, there in crossings()
        if here.rpartition(".")[2] in ("kernels", "support") and here.rpartition(".")[0] == there
    ]
    assert not upward


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("import numpy", set()),
        ("from annelid.core.errors import InvalidValue", {"annelid.core.errors"}),
        ("from annelid.springs import model", {"annelid.springs.model"}),
        ("from annelid.springs import Body", {"annelid.springs"}),
        ("from .model import Model", {"annelid.springs.model"}),
        ("if TYPE_CHECKING:\n    from annelid.springs.edit import Editor", {"annelid.springs.edit"}),
        ("def late():\n    import annelid.springs.edit", {"annelid.springs.edit"}),
    ],
)
def test_imports_of_modules_are_seen(source: str, modules: set[str]) -> None:
    assert imported_modules(source, "annelid.springs.solver") == modules


def test_a_circle_is_found() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


# --- who starts Warp ---


def at_the_top(source: str) -> set[str]:
    """Names that a source text imports as it is imported itself."""
    names: set[str] = set()
    for node in import_statements(source):
        if node.col_offset > 0:  # it is indented, and imported later or for type checkers
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def reached(module: str, tops: Mapping[str, set[str]]) -> set[str]:
    """Modules that are imported with a module, the packages around them included."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in tops and name not in seen:
            seen.add(name)
            waiting += [*tops[name], name.rpartition(".")[0]]
    return seen


def test_warp_is_started_quietly_and_only_by_whom_it_serves() -> None:
    tops = {name: at_the_top(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}
    silent = [name for name, names in tops.items() if "warp" in names]
    assert [name for name in silent if "annelid.core.device" not in reached(name, tops)] == []
    light = reached("annelid.cli", tops)  # what runs before an interruption can be met
    assert {name for module in light for name in tops[module]} & {"warp", "numpy", "scipy", "rich", "tyro"} == set()
