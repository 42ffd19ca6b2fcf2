"""Sources of the project as trees, for tests of its rules."""

import ast
from collections.abc import Iterator


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node; expressions, which are most of a source, hold none."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = node.__dict__.get(part)
        for each in inner if isinstance(inner, list) else ():  # the body of a lambda is none
            yield each
            yield from statements(each)
