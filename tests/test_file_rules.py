"""Files are read and written by way of `core.files`: what else opens one is listed here, with the reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "annelid"

OPENING = {
    "open", "os.open", "io.open", "np.load", "np.loadtxt", "np.genfromtxt", "np.fromfile", "np.memmap", "json.load",
    "tomllib.load", "pickle.load", "ElementTree.parse", "zipfile.ZipFile", "meshio.read", "trimesh.load",
    "Image.open", "image_kind.open", "tempfile.mkstemp",
    "np.save", "np.savez", "np.savez_compressed", "np.savetxt", "json.dump", "os.replace",
    "os.rename", "shutil.copy", "shutil.copyfile",
}  # fmt: skip
"""Functions that open files by name."""

METHODS = {"open", "read_text", "read_bytes", "write_text", "write_bytes"}
"""Methods of a path that do so."""

KNOWN = {
    "core/files.py": "here it is done",
    "core/device.py": "the null device",
    "core/file_locks.py": "files that are locked, which are not read",
    "core/warp_build/lean_headers.py": "headers of Warp",
    "core/memory.py": "what the system says of memory",
    "core/recording/recorder.py": "recordings grow, and are locked while they do",
    "commands/support/terminal.py": "streams of the process",
    "fem/robots/stream.py": "a table that grows while a robot moves",
    "gallery/study_pages.py": "a picture that was just drawn",
    "shapes/mesh_files.py": "into a new folder; text in memory",
    "shapes/tet/bounded.py": "for meshio, which reads a regular file of a size that was checked",
    "shapes/tet/meshio_files.py": "meshio reads by name, after kind and size of the file were checked",
    "view/browser/workshop/uploads.py": "a folder of its own",
    "view/files/html.py": "parts of the page that come with the package",
    "view/files/trajectories.py": "into a new folder, which takes its place as a whole",
    "view/showing.py": "opens a page in the browser",
    "voxels3d/changes.py": "opens a gap between voxels",
    "voxels3d/files/folders.py": "histories that grow while robots move",
}
"""Files that open others in another way, and why they may."""


def named(node: ast.expr) -> str:
    return f"{named(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def given_a_place(tree: ast.Module) -> set[str]:
    """Names of files that `replaced` and `open_regular` have given."""
    return {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.withitem) and isinstance(node.context_expr, ast.Call) and node.optional_vars
        if named(node.context_expr.func) in ("replaced", "open_regular", "zipfile.ZipFile")
        for name in [node.optional_vars]
        if isinstance(name, ast.Name)
    }


def openings(tree: ast.Module) -> list[str]:
    """Calls that open files which `core.files` has not looked at."""
    looked_at = given_a_place(tree)
    found = []
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = named(call.func)
        owner = named(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        method = isinstance(call.func, ast.Attribute) and call.func.attr in METHODS and owner not in ("self", "cls")
        given = {owner, *(named(each.func if isinstance(each, ast.Call) else each) for each in call.args)}
        if (name in OPENING or method) and not given & {*looked_at, "io.BytesIO"}:
            found.append(ast.unparse(call))
    return found


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Files of the package in which one of these words occurs."""
    words = re.compile("|".join(rf"\b{name.rpartition('.')[2]}\(" for name in sorted(OPENING | METHODS)))
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if words.search(text):
            yield path.relative_to(PACKAGE).as_posix(), ast.parse(text)


def test_files_are_opened_in_one_place() -> None:
    found = {name: calls for name, tree in sources() if (calls := openings(tree))}
    assert {name: calls for name, calls in found.items() if name not in KNOWN} == {}
    assert set(KNOWN) - set(found) == set(), "these open nothing any more"
