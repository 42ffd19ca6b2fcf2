"""Python files of users: found on the command line as FILE.py or FILE.py:NAME, and run as modules."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from annelid.core.errors import AnnelidError, OwnFileFailed

_OWN = "annelid_own_"
"""How the names of modules of users begin."""


def is_own(given: str) -> bool:
    """Whether a name on the command line means a Python file: FILE.py or FILE.py:NAME."""
    return split_own(given) is not None


def split_own(given: str) -> tuple[Path, str] | None:
    """The file and the name of FILE.py:NAME, the name empty where there is none; None for what is no file."""
    match = re.fullmatch(r"(.+\.py)(?::(\w+))?", given)
    return (Path(match[1]), match[2] or "") if match else None


def load_own(path: Path) -> ModuleType:
    """Run the file as a module; where it fails, the sentence names its line, and the error itself is the cause."""
    if not path.is_file():
        raise AnnelidError(f"there is no file {path}.")
    name = _OWN + re.sub(r"\W", "_", path.stem)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AnnelidError(f"{path} cannot be read as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and Warp look their module up by name
    sys.path.insert(0, str(path.parent.resolve()))  # as for a script, what lies beside it can be imported
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception) and not isinstance(error, AnnelidError):
            raise OwnFileFailed(f"{_place(path, error)}: {type(error).__name__}: {_said(error)}") from error
        raise
    finally:
        sys.path.remove(str(path.parent.resolve()))
    return module


def blamed(error: Exception) -> str:
    """A sentence with the line of the user's file that an error comes from; empty where it comes from elsewhere."""
    modules = [
        (frame.f_globals.get("__name__", ""), frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    near = [found for found in modules if found[0].split(".")[0] == "annelid" or found[0].startswith(_OWN)]
    if not near or not near[-1][0].startswith(_OWN):
        return ""
    _, frame, line = near[-1]
    file = Path(frame.f_code.co_filename).name
    return f"{file}, line {line}, in {frame.f_code.co_name}: {type(error).__name__}: {_said(error)}"


def _place(path: Path, error: Exception) -> str:
    """The last line of the file that was being run, as far as it is known."""
    here = path.resolve()  # Python names files by where they are, not as they were given
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == here]
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() == here:
        lines.append(error.lineno)
    return f"{path}, line {lines[-1]}" if lines else str(path)


def _said(error: Exception) -> str:
    """What an error says, in one line that ends like a sentence."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return " ".join(text.split()).rstrip(".") + "."
