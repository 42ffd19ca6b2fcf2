"""Python files of users: found on the command line as FILE.py or FILE.py:NAME, and run as modules."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from annelid.core.errors import AnnelidError


def is_own(given: str) -> bool:
    """Whether a name on the command line means a Python file: FILE.py or FILE.py:NAME."""
    return split_own(given) is not None


def split_own(given: str) -> tuple[Path, str] | None:
    """The file and the name of FILE.py:NAME, the name empty where there is none; None for what is no file."""
    match = re.fullmatch(r"(.+\.py)(?::(\w+))?", given)
    return (Path(match[1]), match[2] or "") if match else None


def load_own(path: Path) -> ModuleType:
    """Run the file as a module; what its own code raises is left as it is, with the lines that raised it."""
    if not path.is_file():
        raise AnnelidError(f"there is no file {path}.")
    name = "annelid_own_" + re.sub(r"\W", "_", path.stem)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AnnelidError(f"{path} cannot be read as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and Warp look their module up by name
    sys.path.insert(0, str(path.parent.resolve()))  # as for a script, what lies beside it can be imported
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(str(path.parent.resolve()))
    return module
