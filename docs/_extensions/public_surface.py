"""The directive `public-names`: what each package offers in its `__all__`, a line each.

`python docs/_extensions/public_surface.py` writes the names into tests/public_names.txt; a test compares them.
"""

import ast
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import annelid

NAMES = Path(__file__).parents[2] / "tests" / "public_names.txt"


def surface() -> dict[str, list[str]]:
    """The names that each package offers."""
    found = pkgutil.walk_packages(annelid.__path__, "annelid.")
    packages = map(import_module, ["annelid", *(each.name for each in found if each.ispkg)])
    return {package.__name__: sorted(package.__all__) for package in packages if hasattr(package, "__all__")}


def listed() -> str:
    """The names one by one, as the test compares them."""
    return "".join(f"{package}.{name}\n" for package, names in surface().items() for name in names)


def first_line(package: str, name: str) -> str:
    """What a name is, in the first line of its docstring."""
    value = getattr(import_module(package), name)
    value = getattr(value, "cls", getattr(value, "func", value))  # what Warp has compiled
    spoken = inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, ModuleType)
    text = (inspect.getdoc(value) if spoken else _below_assignment(name, value)) or type(value).__name__
    return text.partition("\n")[0]


def _below_assignment(name: str, value: Any) -> str:
    """The docstring below the assignment of a constant."""
    homes = [each for each in list(sys.modules.values()) if getattr(each, "__name__", "").startswith("annelid")]
    texts = (_constants(home).get(name, "") for home in homes if vars(home).get(name) is value)
    return next(filter(None, texts), "")


@cache
def _constants(module: ModuleType) -> dict[str, str]:
    """Docstrings of the constants that a module assigns."""
    return dict(_assigned(ast.parse(inspect.getsource(module)).body))


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, below in zip(body, body[1:], strict=False):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if isinstance(target, ast.Name) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            yield target.id, str(below.value.value)


class PublicNames(SphinxDirective):
    """A section for each package: its public names, and what they are."""

    def run(self) -> list[nodes.Node]:
        return [self._section(package, names) for package, names in surface().items()]

    def _section(self, package: str, names: list[str]) -> nodes.Node:
        section = nodes.section(ids=[nodes.make_id(package)])
        described = nodes.definition_list()
        for name in names:
            text = nodes.definition("", nodes.paragraph(text=first_line(package, name)))
            described += nodes.definition_list_item("", nodes.term("", "", nodes.literal(text=name)), text)
        section += [nodes.title(text=package), described]
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    NAMES.write_text(listed(), encoding="utf-8")
