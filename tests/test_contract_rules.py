"""What the protocols of solvers, scenes and states are for: nobody asks them by name what they have."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "annelid"
SOURCES = sorted(PACKAGE.rglob("*.py"))

GENERIC = {"core/state.py", "core/identity.py"}
"""Where what all states have in common is written, and what all values have; they read what classes declare."""

ALLOWED = {
    ("core/device.py", "hasattr(os, 'sched_getaffinity')"): "not every operating system has it",
    ("evolve/registry.py", "hasattr(kind, 'build')"): "a class of the user's, which is refused with a sentence",
    ("evolve/executors/ray_cluster.py", "getattr(error, 'cause', None)"): "an exception of Ray's, which may have none",
    ("envs/stable.py", "hasattr(self.worlds, attr_name)"): "Stable-Baselines3 asks for attributes by name",
    (
        "envs/training/agents.py",
        "getattr(agent, 'replay_buffer', None)",
    ): "only some agents of Stable-Baselines3 have one",
}
"""Questions to objects of other libraries, and why they are asked."""


def lookups(source: str) -> list[str]:
    """The calls of a text that look an attribute up by name and should not.

    A name that is written out, or a default, asks an object what it has. A name that varies goes through fields that
    a dataclass declares, which is fine unless the object is a solver, a scene or a state.
    """
    if "attr(" not in source:
        return []
    found = []
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id == "hasattr":
            found.append(ast.unparse(node))
        elif node.func.id == "getattr":
            asked = ast.unparse(node.args[0])
            fixed = isinstance(node.args[1], ast.Constant) or len(node.args) > 2
            if fixed or re.search(r"(^|[._])(state|solver|scene|twin)$", asked):
                found.append(ast.unparse(node))
    return found


def test_nothing_is_asked_by_name_or_hidden_from_the_type_checker() -> None:
    asked, hidden = {}, []
    for path in SOURCES:
        name, source = path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")
        calls = [call for call in lookups(source) if (name, call) not in ALLOWED and name not in GENERIC]
        if calls:
            asked[name] = calls
        if re.search(r"#\s*type:\s*ignore", source):
            hidden.append(name)
    assert not asked, "these ask by name; declare a protocol and ask with isinstance"
    assert not hidden, "these hide something from the type checker"


def test_allowances_are_used() -> None:
    unused = [entry for entry in ALLOWED if entry[1] not in lookups((PACKAGE / entry[0]).read_text(encoding="utf-8"))]
    assert not unused


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("hasattr(scene, 'targets')", 1),
        ("getattr(scene, 'status', None)", 1),
        ("getattr(thing, 'status')", 1),
        ("getattr(self.state, name)", 1),
        ("getattr(grain_state, name)", 1),
        ("getattr(simulation.solver, name)", 1),
        ("[getattr(self, name) for name in names]", 0),
        ("getattr(import_module(module), attribute)", 0),
    ],
)
def test_what_counts_as_asking_by_name(source: str, count: int) -> None:
    assert len(lookups(source)) == count
