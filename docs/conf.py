"""Sphinx configuration."""

import inspect
import re
import sys
from collections import Counter
from dataclasses import is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager
from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock
from sphinx.util.inspect import stringify_signature

import annelid
from annelid.commands.atlas import write_page
from annelid.commands.support.study_results import find_results

project = "Annelid"
author = "The Annelid authors"
project_copyright = "The Annelid authors"
version = release = annelid.__version__  # an editable install goes on telling the version with which it was made

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
extensions = [
    "gallery_page",
    "myst_nb",
    "public_surface",
    "search_excerpts",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "**.ipynb"]  # notebooks that readers have made of tutorials, beside them
html_static_path = ["_static"]
html_css_files = ["front.css"]
templates_path = ["_templates"]
default_role = "code"  # docstrings put code between single backticks

myst_enable_extensions = [
    "deflist"
]  # formulas are written with Unicode: MathJax would have to be fetched from its server
myst_update_mathjax = False
myst_heading_anchors = 3

# Tutorials are notebooks. They are executed once, about a minute in all, and again only where their cells have changed.
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
if "transport_encryption" in KernelManager.class_trait_names():  # else what runs the cells warns of open ports
    KernelManager.transport_encryption.default_value = "auto"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # dataclass fields are documented in their class, not a second time as members

# What an extra brings need not be there to describe the modules that use it.
autodoc_mock_imports = ["skrl", "stable_baselines3", "tensordict", "torch"]

html_theme = "pydata_sphinx_theme"
html_title = "Annelid"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "header_links_before_dropdown": 6}
html_sidebars = {"*": [], "api/**": ["sidebar-nav-bs"]}
html_show_sourcelink = False
html_show_search_summary = False  # it would be fetched, which browsers refuse for files: see search_excerpts
html_context = {"default_mode": "auto"}  # as the machine of the reader has it


def escape_formulas(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Keep |x| and x_ outside backticks from being read as markup; docstrings are written to be read as they are."""
    pieces = re.split(r"(`+[^`]*`+)", "\n".join(lines))
    pieces[::2] = [re.sub(r"(\||(?<=\w)_(?!\w))", r"\\\1", piece) for piece in pieces[::2]]
    lines[:] = "".join(pieces).split("\n")


def tell_fields(app: Sphinx, what: str, name: str, item: Any, options: Any, signature: str | None, returns: Any) -> Any:
    """Give dataclasses that look at the names of their arguments first (`Named`) the signature of their fields."""
    if what == "class" and is_dataclass(item) and signature == "(*given, **options)":
        fields = inspect.signature(item.__init__)
        fields = fields.replace(parameters=list(fields.parameters.values())[1:])
        return stringify_signature(fields, show_annotation=False, show_return_annotation=False), returns
    return None


def by_use(package: str, names: list[str], folder: Path) -> list[str]:
    """The names that a package offers: those first that most pages use, the others by alphabet.

    A page uses `name` of `annelid.fem` where it has `fem.name`, or imports it from there.
    """
    alias = package.rpartition(".")[2]
    imported = re.compile(rf"from {re.escape(package)} import (?:\(([^)]*)\)|(.*))")
    uses: Counter[str] = Counter()
    for page in sorted(folder.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        found = set(re.findall(rf"\b{alias}\.(\w+)", text))
        uses.update(found.union(*(re.findall(r"\w+", "".join(each)) for each in imported.findall(text))))
    return sorted(names, key=lambda name: (-uses[name], name))


def import_offered(app: Sphinx) -> None:
    """Import the names that packages offer on demand: autodoc sees only what is there."""
    listed = re.findall(r"^ {3}(annelid[.\w]*)$", (Path(app.srcdir) / "api" / "index.rst").read_text(), re.MULTILINE)
    with mock(autodoc_mock_imports):
        for module in map(import_module, listed):
            for name in getattr(module, "__all__", ()):
                getattr(module, name)
            if hasattr(module, "__all__"):
                module.__all__ = by_use(module.__name__, module.__all__, Path(app.srcdir))


def make_atlas(app: Sphinx) -> None:
    """The page of published numbers beside ours, from the results in the checkout."""
    root = Path(app.srcdir).parent
    found = [
        replace(each, path=each.path.relative_to(root)) for each in find_results([root / "benchmarks" / "results"])
    ]
    write_page(found, Path(app.srcdir) / "atlas.md")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", import_offered)
    app.connect("builder-inited", make_atlas)
    app.connect("autodoc-process-signature", tell_fields)
    app.connect("autodoc-process-docstring", escape_formulas, priority=400)  # before napoleon


# The packages share their nouns on purpose: a bare `Model` or `Solver` in a signature may mean that of any of them.
suppress_warnings = ["ref.python"]
