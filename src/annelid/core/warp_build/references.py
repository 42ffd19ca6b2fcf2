"""Functions of CPU kernels that take structures where they are, and those of whole passes that are called.

Warp hands structures and arrays to a function as copies, and makes another copy of an array before it reads an element.
A structure of a hundred arrays is 6 kB, and the compiler spends its time on getting rid of the copies; of those for a
function in C++ some are left, which a sweep makes for each grain. Where a function only reads what it is given, it gets
references here. The compiler also inlines every function and then optimises it once more for each function around it:
those that meet at a barrier hold a pass over all masses or grains, so they are called instead, with copies for
themselves, so that loops need not read what they use again. And Warp writes kernels twice, for arrays without gaps and
for others, which only short ones gain from.

Large kernels compile in three quarters of the time, and a bed of grains at rest takes a sixth less of it. No sum or
product changes, only how operands are reached.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

LONG = 6000
"""Characters of C++ from which a kernel is not written twice: some 80 operations."""

FREE_TO_FUSE = "-ffp-contract=fast"
"""What lets the compiler choose which product and sum become one operation."""

_BACKWARD = "_cpu_kernel_backward("  # such files call functions in other ways too
_BARRIER = "team_barrier_0(var_"
_STRUCTURE = re.compile(r"^struct (\w+)\n\{", re.MULTILINE)
_FUNCTION = re.compile(r"^(?=static )", re.MULTILINE)
_NAME = re.compile(r"^static [\w:<>, ]+? (\w+)\(\n", re.MULTILINE)
_HEAD = re.compile(  # of a function that is not native
    r"static (?!CUDA_CALLABLE )[\w:<>, ]+? (?P<name>\w+)\(\n(?P<arguments>(?:    .*\n)*?)\{\n"
)
_NATIVE = re.compile(r"static CUDA_CALLABLE [\w:<>, ]+? \w+\(\n(?:    .*\n)*?\{\n")
_GIVEN = re.compile(r"^    ([\w:<>, ]+) (\w+)(?=[,)]$)", re.MULTILINE)  # names of native arguments are the author's own
_ARGUMENT = re.compile(r"^    ([\w:<>, ]+?) (var_\w+)(?=[,)])", re.MULTILINE)
_TWICE = re.compile(
    r"^    if \(wp_linear_contiguous\)\n +(\w+)_cpu_forward_tasks<true>\(.*\n"
    r"    else\n(?= +\1_cpu_forward_tasks<false>)",
    re.MULTILINE,
)

_PART = re.compile(
    r"(?P<pointer>var_\d+) = &\("
    r"(?:(?:\(var_\w+\)\.|var_\w+\.|var_\w+->)\w+|wp::index\((?:var_\w+|\*\(var_\w+\)), var_\w+\))\);"
)
_ELEMENT = re.compile(r"var_\d+ = &\(\(\(\*wp::address\(\(?var_\w+\)?(?:\.\w+)?(?:, var_\w+)+\)\)\)\.\w+\);")
_READ = re.compile(r"var_\d+ = wp::(?:load|copy)\(var_\w+\);")
_INDEXED = re.compile(r"(?:var_\d+ = wp::address|wp::array_store)\(var_\w+(?:, var_\w+)+\);")
_CALL = re.compile(r"(?:var_\d+ = )?(?P<name>\w+)\(var_\w+(?:, var_\w+)*\);")
_DECLARATION = re.compile(r"[\w:<>, ]+\*? var_\d+;")
_ARRAY = re.compile(r"^    wp::array_t<.*> (var_\d+);\n", re.MULTILINE)
_LOADED = re.compile(r"^ +(var_\d+) = wp::load\((var_\d+)\);\n", re.MULTILINE)


def with_references(source: str, flags: str = "") -> str:
    """The C++ of a module whose functions take structures and arrays that they only read by reference.

    Functions in C++ stay as they are where the flags let the compiler choose which product and sum become one
    operation: it would choose others.
    """
    if _BACKWARD in source:
        return source
    structures = set(_STRUCTURE.findall(source))
    names = set(_NAME.findall(source))
    native = FREE_TO_FUSE not in flags
    parts = [_rewritten(part, structures, names, native=native) for part in _FUNCTION.split(source)]
    return _long_ones_once("".join(parts), parts)


def _rewritten(function: str, structures: set[str], names: set[str], *, native: bool) -> str:
    if native and (own := _NATIVE.match(function)):
        return _native_with_references(own[0], function[own.end() :], structures)
    head = _HEAD.match(function)
    if not head or head["name"].startswith("adj_"):
        return function
    start, body = head[0], function[head.end() :]
    large = {name for kind, name in _ARGUMENT.findall(head["arguments"]) if kind in structures or "array_t<" in kind}
    changed, pointers = _followed(large, body, names)
    body = _without_copies(body, {pointer for pointer, owner in pointers.items() if owner not in changed})
    called = not changed and _BARRIER in body
    copies = []

    def argument(found: re.Match[str]) -> str:
        kind, name = found.groups()
        if name not in large - changed:
            return found[0]
        if called:
            copies.append(f"    {kind} {name} = {name}_given;\n")
            name += "_given"
        return f"    {kind} & {name}"

    start = _ARGUMENT.sub(argument, start)
    if called:
        start = start.replace("static ", "static __attribute__((noinline)) ", 1)
    return start + "".join(copies) + body


def _native_with_references(start: str, body: str, structures: set[str]) -> str:
    """A function in C++ that reads structures and arrays where they are; those that it gives a value it has a copy of.

    They are constant there: where this overlooks a change, nothing is compiled from it.
    """

    def argument(found: re.Match[str]) -> str:
        kind, name = found.groups()
        changes = re.search(rf"(?<![\w.>]){name}(?:\.\w+)*\s*[-+*/|&]?=(?!=)", body)
        if changes or not (kind in structures or "array_t<" in kind):
            return found[0]
        return f"    const {kind} & {name}"

    return _GIVEN.sub(argument, start) + body


def _followed(arguments: set[str], body: str, names: set[str]) -> tuple[set[str], dict[str, str]]:
    """Arguments with which a function may do more than read them or hand them on, and the arguments of its pointers."""
    changed: set[str] = set()
    pointers: dict[str, str] = {}
    owners = {name: name for name in arguments}
    while owners:
        found = {}
        for name, line in _uses(owners, body):
            if part := _PART.fullmatch(line):
                if part["pointer"] != name:
                    found[part["pointer"]] = owners[name]
            elif not any(kind.fullmatch(line) for kind in (_READ, _INDEXED, _ELEMENT, _DECLARATION)):
                call = _CALL.fullmatch(line)
                if not call or call["name"] not in names:
                    changed.add(owners[name])
        pointers |= found
        owners = found
    return changed, pointers


def _without_copies(body: str, pointers: set[str]) -> str:
    """The body of a function that reads elements of arrays that pointers lead to without a copy of the arrays."""
    arrays = set(_ARRAY.findall(body))
    copies = {copy: pointer for copy, pointer in _LOADED.findall(body) if copy in arrays and pointer in pointers}
    for name, line in list(_uses(copies, body)):
        if not (_INDEXED.fullmatch(line) or _DECLARATION.fullmatch(line) or line.startswith(f"{name} = wp::load(")):
            copies.pop(name, None)
    if not copies:
        return body
    body = _ARRAY.sub(lambda found: "" if found[1] in copies else found[0], body)
    body = _LOADED.sub(lambda found: "" if found[1] in copies else found[0], body)
    return re.sub(r"\bvar_\d+\b", lambda found: f"(*{copies[found[0]]})" if found[0] in copies else found[0], body)


def _long_ones_once(source: str, parts: list[str]) -> str:
    """The source with long kernels for arrays of any stride only."""
    long = {head["name"] for part in parts if len(part) > LONG and (head := _HEAD.match(part))}
    return _TWICE.sub(lambda found: "" if f"{found[1]}_cpu_kernel_forward" in long else found[0], source)


def _uses(names: Collection[str], body: str) -> Iterator[tuple[str, str]]:
    """Names with the lines of code that use them."""
    if not names:
        return
    pattern = re.compile(rf"\b(?:{'|'.join(names)})\b")
    for line in body.splitlines():
        text = line.strip()
        if not text.startswith("//"):
            for name in set(pattern.findall(text)):
                yield name, text
