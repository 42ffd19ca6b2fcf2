"""The rules for kernels of docs/design.md, held against the source of every kernel."""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .source_trees import statements

PACKAGE = Path(__file__).parents[1] / "src" / "annelid"

ATOMICS = {
    "springs/kernels/contact_lists.py": "chains of a cell, from which sorted lists are made",
    "fem/kernels/columns_pairs.py": "hits of a column are sorted before they are used; the fullest column is a maximum",
    "grains/kernels/near_boundary.py": "rows near a boundary are listed in no order: each is swept by itself",
    "grains/kernels/bodies.py": "largest speed: a maximum is the same in any order",
    "grains/kernels/cells.py": "grains of a cell are counted, placed and then ordered by number; a maximum",
    "grains/kernels/linked.py": "a published method, measured for comparison (CUDA): its chains are in no order",
    "grains/kernels/sensing.py": "highest grain above a cell: a maximum is the same in any order",
}
"""Files that may call `wp.atomic_*`, and why their results do not depend on the order."""

READ_BACK = {
    "springs/kernels/program.py:pass_over_masses:v_out": "the last pass of Runge-Kutta finds the third velocity there",
}
"""Outputs that one variant of a kernel reads first, and why."""

READ, WRITE, UNKNOWN = "read", "write", "unknown"


@dataclass(eq=False)
class Source:
    """A file with kernels or functions of kernels, and what its names stand for."""

    path: Path
    tree: ast.Module
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    imports: dict[str, tuple[Path, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.relative_to(PACKAGE).as_posix()


def dotted(node: ast.expr) -> str:
    """The source of an expression, which is found quickly where it is a name such as `wp.func`."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ast.unparse(node)


def decorators(function: ast.FunctionDef) -> list[ast.expr]:
    return [d for d in function.decorator_list if ast.unparse(d).startswith("wp.")]


def is_decorated(function: ast.AST, *names: str) -> bool:
    if not isinstance(function, ast.FunctionDef):
        return False
    return any(dotted(d.func if isinstance(d, ast.Call) else d) in names for d in function.decorator_list)


@functools.cache
def read_source(path: Path) -> Source:
    source = Source(path, ast.parse(path.read_text(encoding="utf-8")))
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef):
            source.functions[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("annelid."):
            file = PACKAGE.joinpath(*node.module.split(".")[1:]).with_suffix(".py")
            source.imports |= {alias.asname or alias.name: (file, alias.name) for alias in node.names}
    return source


@functools.cache
def sources() -> list[Source]:
    """Files that use Warp, the only ones that have to be parsed; read by the first test that asks, not by pytest."""
    return [
        read_source(path) for path in sorted(PACKAGE.rglob("*.py")) if "import warp" in path.read_text(encoding="utf-8")
    ]


@dataclass
class Scope:
    """What a name stands for inside one function: those of its file, and of the function that makes it."""

    source: Source
    maker: ast.FunctionDef | None = None

    def find(self, name: str) -> tuple[ast.FunctionDef, "Scope"] | None:
        """The Warp function that a name stands for, if that can be told from the source."""
        found = self._made(name) if self.maker else None
        found = found or self._global(name)
        return found if found and is_decorated(found[0], "wp.func", "wp.kernel") else None

    def _global(self, name: str) -> tuple[ast.FunctionDef, "Scope"] | None:
        if name in self.source.functions:
            return self.source.functions[name], Scope(self.source)
        path, original = self.source.imports.get(name, (None, ""))
        return Scope(read_source(path))._global(original) if path and path.is_file() else None

    def _made(self, name: str) -> tuple[ast.FunctionDef, "Scope"] | None:
        """A function that the maker defines, or gets by calling another maker."""
        assert self.maker
        for node in self.maker.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node, self
            if isinstance(node, ast.Assign):
                for target, value in pairs_of(node):
                    if isinstance(target, ast.Name) and target.id == name:
                        return self._returned(value)
        return None

    def _returned(self, value: ast.expr) -> tuple[ast.FunctionDef, "Scope"] | None:
        """What a call of a maker returns."""
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name)):
            return None
        maker = self._global(value.func.id)
        if not maker or not isinstance(maker[0].body[-1], ast.Return):
            return None
        returned = maker[0].body[-1].value
        return Scope(maker[1].source, maker[0])._made(returned.id) if isinstance(returned, ast.Name) else None


def pairs_of(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets and values of an assignment, one by one."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value


def owner_of(node: ast.expr) -> str | None:
    """The name that `a.b[i].c` belongs to."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


class Effects(ast.NodeVisitor):
    """What a function does to its arguments, in the order of the source."""

    def __init__(self, function: ast.FunctionDef, scope: Scope) -> None:
        self.scope = scope
        self.of: dict[str, list[str]] = {argument.arg: [] for argument in function.args.args}
        for statement in function.body:
            self.visit(statement)

    def note(self, name: str | None, *effects: str) -> None:
        if name in self.of:
            self.of[name].extend(effects)

    def store(self, target: ast.expr, *effects: str) -> None:
        if isinstance(target, ast.Tuple):
            for part in target.elts:
                self.store(part, *effects)
        elif isinstance(target, ast.Subscript | ast.Attribute):
            node: ast.expr = target
            while isinstance(node, ast.Subscript | ast.Attribute):
                if isinstance(node, ast.Subscript):
                    self.visit(node.slice)
                node = node.value
            self.note(owner_of(target), *effects)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.store(target, WRITE)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        self.store(node.target, READ, WRITE)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr != "shape":
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.note(node.id, READ)

    def visit_Call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        called = self.scope.find(name)
        inner = list(effects_of(*called).values()) if called else []
        for k, argument in enumerate(node.args):
            if not isinstance(argument, ast.Name | ast.Attribute):
                self.visit(argument)
            elif name.startswith("wp.atomic") and k == 0:
                self.note(owner_of(argument), READ, WRITE)
            elif name == "wp.tile_store" and k == 0:
                self.note(owner_of(argument), WRITE)
            elif called:
                self.note(owner_of(argument), *inner[k])
            elif name.startswith("wp.") or name in ("int", "float", "range"):
                self.visit(argument)
            else:
                self.note(owner_of(argument), UNKNOWN)
        for keyword in node.keywords:
            self.visit(keyword.value)


_known: dict[ast.FunctionDef, dict[str, list[str]]] = {}


def effects_of(function: ast.FunctionDef, scope: Scope) -> dict[str, list[str]]:
    if function not in _known:
        # While it is being read: makers may call themselves.
        _known[function] = {argument.arg: [UNKNOWN] for argument in function.args.args}
        _known[function] = Effects(function, scope).of
    return _known[function]


@functools.cache
def functions_with_makers(source: Source) -> list[tuple[ast.FunctionDef, Scope]]:
    """All functions of a file, each with the names that it can see."""
    found = []
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef):
            found.append((node, Scope(source)))
            inner = (each for each in statements(node) if isinstance(each, ast.FunctionDef))
            found += [(each, Scope(source, node)) for each in inner]
    return found


def kernels() -> Iterator[tuple[ast.FunctionDef, Scope]]:
    """Every kernel of the library."""
    for source in sources():
        for function, scope in functions_with_makers(source):
            if is_decorated(function, "wp.kernel"):
                yield function, scope


def rule_breaks(function: ast.FunctionDef, scope: Scope) -> list[str]:
    """What a kernel's arguments do against the rules for their names and their order."""
    out_seen, breaks = False, []
    for name, effects in effects_of(function, scope).items():
        is_out = name.endswith("_out")
        if effects and set(effects) == {WRITE} and not is_out:
            breaks.append(f"{name} is only written: its name ends in _out")
        if is_out and not {WRITE, UNKNOWN} & set(effects):
            breaks.append(f"{name} is never written")
        known = f"{scope.source.name}:{function.name}:{name}" in READ_BACK
        if is_out and effects and effects[0] == READ and not known:
            breaks.append(f"{name} is read before it is written: state that is updated in place keeps its name")
        if out_seen and not is_out:
            breaks.append(f"{name} comes after an output: outputs are last")
        out_seen = out_seen or is_out
    return breaks


def test_what_makes_kernels_makes_them_once_for_all_threads() -> None:
    makers = [
        (source.name, node)
        for source in sources()
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(each, ast.FunctionDef) and decorators(each) for each in statements(node))
    ]
    assert len(makers) > 200
    assert [f"{name}:{node.name}" for name, node in makers if is_decorated(node, "functools.cache", "cache")] == []
    kernels = [each for each in makers if any(is_decorated(inner, "wp.kernel") for inner in statements(each[1]))]
    assert [f"{name}:{node.name}" for name, node in kernels if not is_decorated(node, "once")] == []


def test_statics_make_no_kernels() -> None:
    """Who reads a kernel would wait for one to be made, and who makes one waits for those that read."""
    made = {
        node.name
        for source in sources()
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef) and is_decorated(node, "once")
    }
    called = {
        dotted(call.func)
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and dotted(node.func) == "wp.static"
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
    }
    assert len(made) > 200
    assert called & made == set()


def in_the_module_of_its_file(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return False
    found = [text for d in node.decorator_list if (text := ast.unparse(d)).startswith("wp.")]
    return bool(found) and "module=" not in found[0]


def test_nothing_is_added_to_a_module_while_its_kernels_are_loaded() -> None:
    """Makers add functions to the module of their file whenever they are called, also by another thread."""
    shared = [
        f"{source.name}:{node.name}"
        for source in sources()
        if any(
            in_the_module_of_its_file(each) for function in source.functions.values() for each in statements(function)
        )
        for node in source.functions.values()
        if is_decorated(node, "wp.kernel") and in_the_module_of_its_file(node)
    ]
    assert shared == [], 'these need wp.kernel(module="unique")'


def test_outputs_are_named_and_come_last() -> None:
    found = {f"{scope.source.name}:{function.name}": rule_breaks(function, scope) for function, scope in kernels()}
    assert len(found) > 100  # so many kernels were read
    assert {kernel: breaks for kernel, breaks in found.items() if breaks} == {}


@pytest.mark.parametrize(
    ("source", "breaks"),
    [
        ("def k(a: wp.array[int], b_out: wp.array[int]):\n  b_out[0] = a[0]", 0),
        ("def k(a: wp.array[int], b: wp.array[int]):\n  b[0] = a[0]", 1),
        ("def k(b_out: wp.array[int], a: wp.array[int]):\n  b_out[0] = a[0]", 1),
        ("def k(b_out: wp.array[int]):\n  b_out[0] += 1", 1),
        ("def k(b_out: wp.array[int]):\n  b_out[0] = 1\n  b_out[0] += 1", 0),
        ("def k(b: wp.array[int]):\n  b[0] += 1", 0),
        ("def k(b: wp.array[int]):\n  wp.atomic_add(b, 0, 1)", 0),
        ("def k(a: wp.array[int], b_out: wp.array[int]):\n  print(b_out.shape[0], a[0])", 1),
        ("@wp.func\ndef f(b: wp.array[int]):\n  b[0] = 1\ndef k(b: wp.array[int]):\n  f(b)", 1),
    ],
)
def test_the_rule_sees(source: str, breaks: int) -> None:
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    scope = Scope(Source(PACKAGE, tree, functions))
    assert len(rule_breaks(functions["k"], scope)) == breaks


def test_the_backward_pass_is_off() -> None:
    """A kernel in a module of its own takes no options from its file: it says so itself."""
    option, on = "wp.set_module_options({'enable_backward': False", []
    for function, scope in kernels():
        text = " ".join(ast.unparse(d) for d in decorators(function))
        calls = (node for node in scope.source.tree.body if isinstance(node, ast.Expr))
        whole_file = any(ast.unparse(node).startswith(option) for node in calls)
        if "enable_backward=False" not in text and not (whole_file and "unique" not in text):
            on.append(f"{scope.source.name}:{function.name}")
    assert on == [], "these compile a backward pass"


def test_arrays_are_annotated_by_subscript() -> None:
    wrong = [
        f"{source.name}:{function.name}: {argument.arg}"
        for source in sources()
        for function, _ in functions_with_makers(source)
        if is_decorated(function, "wp.kernel", "wp.func", "wp.func_native")
        for argument in function.args.args
        if not argument.annotation or "wp.array(" in ast.unparse(argument.annotation)
    ]
    assert wrong == [], "these have no type, or one that is not written as wp.array[...]"


def test_atomics_are_used_only_where_the_order_does_not_matter() -> None:
    users = {
        source.name
        for source in sources()
        if "wp.atomic_" in source.path.read_text(encoding="utf-8")  # in code, or in a comment
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and dotted(node.func).startswith("wp.atomic_")
    }
    assert users == set(ATOMICS)


def constants_cast_twice(function: ast.FunctionDef) -> list[str]:
    """Python numbers from outside of a function that it casts to a type of 64 bits, and uses again.

    Warp gives such a number its value where it is first cast, and nowhere else: if that is inside of a branch which is
    not taken, what follows reads a variable that was never set. A number in `wp.static` is written anew at each place.
    """
    nodes = [
        node for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name | ast.Call)
    ]
    calls = {node: dotted(node.func) for node in nodes if isinstance(node, ast.Call)}
    static = {inner for call, name in calls.items() if name == "wp.static" for inner in ast.walk(call)}
    names = [node for node in nodes if isinstance(node, ast.Name) and node not in static]
    own = {argument.arg for argument in function.args.args} | {n.id for n in names if isinstance(n.ctx, ast.Store)}
    wide = ("real", "f64", "wp.float64", "wp.int64", "wp.uint64")
    cast = {
        call.args[0].id
        for call, name in calls.items()
        if name in wide and call not in static and isinstance(call.args[0], ast.Name)
    }
    return [name for name in sorted(cast - own) if sum(node.id == name for node in names) > 1]


def test_constants_are_set_wherever_they_are_read() -> None:
    functions = (
        (source, function)
        for source in sources()
        for function, _ in functions_with_makers(source)
        if is_decorated(function, "wp.kernel", "wp.func")
    )
    found = {f"{source.name}:{function.name}": constants_cast_twice(function) for source, function in functions}
    assert {where: names for where, names in found.items() if names} == {}, "write real(wp.static(NAME))"
    seen = ast.parse("def f(a: int):\n  if a > 0:\n    b = real(TWO)\n  c = real(TWO)").body[0]
    assert isinstance(seen, ast.FunctionDef)
    assert constants_cast_twice(seen) == ["TWO"]


MAKERS = re.compile(r"\bwp\.(zeros|ones|full|empty|array|launch)\(")


def test_arrays_and_launches_name_their_device() -> None:
    """Those that do not go to the GPU wherever there is one, beside others that are on the CPU."""
    nameless = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if MAKERS.search(text):
            calls = [node for node in ast.walk(read_source(path).tree) if isinstance(node, ast.Call)]
            made = [call for call in calls if MAKERS.match(f"{dotted(call.func)}(") and call.args]
            nameless += [
                f"{path.relative_to(PACKAGE)}:{call.lineno}"
                for call in made
                if not any(keyword.arg in ("device", None) for keyword in call.keywords)
            ]
    assert nameless == []
