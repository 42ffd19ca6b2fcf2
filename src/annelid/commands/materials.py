"""`annelid materials`: the materials there are, their laws and where their figures come from."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from annelid.commands.support.options import parse
from annelid.core.errors import InvalidValue
from annelid.materials import Law, Material, NeoHooke, Ogden, Yeoh, matching, material, names

_POINTS, _FIRST = 200, 0.05
"""Points of a curve, and the strain of the first."""
_SOURCES, _VARIANTS = 5, 25
"""Most materials whose sources are told in full, and whose laws are."""
_ATTRIBUTION = (
    "Laws of silicones are our fits to the Soft Robotics Materials Database (L. Marechal, L. Lindenroth; ODbL 1.0, "
    "contents DbCL 1.0); published stiffnesses of one silicone differ by a factor of 1.5 to 2."
)
_MORE = (
    "Silicones with /ogden also come as NAME/yeoh and NAME/neo-hooke, most as NAME/ogden-corrected: "
    "annelid materials NAME."
)


@dataclass(frozen=True)
class Options:
    """The materials there are, with their figures: all of them, or those that a word names."""

    word: Annotated[str, tyro.conf.Positional] = ""
    """A material, a part of its name, or a kind such as ecoflex or rubber; then all its laws and constants are told."""
    plot: Path | None = None
    """Draw stress against strain in uniaxial tension, as far as laws were measured, to this PNG."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""


def command(arguments: list[str]) -> int:
    """Print the table, and draw what is asked for."""
    options = parse(Options, arguments, "annelid materials")
    found = matching(options.word) if options.word else tuple(material(name) for name in names())
    brief = not options.word or len(found) > _VARIANTS
    shown = tuple(each for each in found if each.name in names()) if brief else found
    drawn = {} if options.plot is None else {"plot": str(plot(options.plot, shown))}
    if options.json:
        print(json.dumps({"materials": [_record(each) for each in found], "attribution": _ATTRIBUTION, **drawn}))
        return 0
    console = Console(highlight=False)
    console.print(_overview(shown) if brief else _details(shown))
    for source, of in _by_source(shown if options.word and len(shown) <= _SOURCES else ()).items():
        console.print(f"\n[bold]{', '.join(of)}[/bold]: {source}")
    if any(each.law is not None for each in shown):
        console.print(f"\n{_MORE}\n{_ATTRIBUTION}" if brief else f"\n{_ATTRIBUTION}")
    for path in drawn.values():
        console.print(path, soft_wrap=True)
    return 0


def _by_source(shown: tuple[Material, ...]) -> dict[str, list[str]]:
    """Names of materials by their source, each source once."""
    found: dict[str, list[str]] = {}
    for each in shown:
        found.setdefault(each.source, []).append(each.name)
    return found


def plot(path: Path, found: tuple[Material, ...]) -> Path:
    """Draw stress against strain of the materials that have a law, to a PNG."""
    from annelid.view.figures import range_plot

    if path.suffix.lower() != ".png":
        raise InvalidValue(f"--plot {path} must be the name of a PNG, such as materials.png.")
    curves = {each.name: _curve(each.law, each.measured_to) for each in found if each.law and each.measured_to}
    if not curves:
        raise InvalidValue(f"{found[0].name!r} has no law for large strains that could be drawn: name a silicone.")
    return range_plot(path, curves, x_label="strain [-]", y_label="nominal stress in uniaxial tension [kPa]")


def _curve(law: Law, farthest: float) -> np.ndarray:
    strains = np.linspace(_FIRST, farthest, _POINTS)
    return np.column_stack([strains, 1e-3 * law.uniaxial(1.0 + strains)])


def _overview(found: tuple[Material, ...]) -> Table:
    """Figures at small strains, and how far laws reach."""
    table = _table("density\nkg/m³", "E\nkPa", "yields or\nbreaks at", "measured\nto strain")
    for each in found:
        numbers = (f"{each.density:g}", f"{1e-3 * each.youngs_modulus:.4g}", f"{each.yield_strain:.3g}")
        table.add_row(each.name, *numbers, _farthest(each))
    return table


def _details(found: tuple[Material, ...]) -> Table:
    """Constants of laws, and how far they reach."""
    table = _table("E\nkPa", "measured\nto strain")
    table.add_column("constants\nmoduli in kPa")
    for each in found:
        table.add_row(each.name, f"{1e-3 * each.youngs_modulus:.4g}", _farthest(each), _in_words(each.law))
    return table


def _table(*numbers: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("\nmaterial", no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _farthest(each: Material) -> str:
    return "" if each.measured_to is None else f"{each.measured_to:g}"


def _in_words(law: Law | None) -> str:
    """Constants of a law, moduli in kPa."""
    if isinstance(law, Ogden):
        return "; ".join(f"μ {1e-3 * mu:.4g}, α {alpha:.4g}" for mu, alpha in law.terms)
    if isinstance(law, Yeoh):
        return f"C {1e-3 * law.c1:.4g}, {1e-3 * law.c2:.4g}, {1e-3 * law.c3:.4g}"
    return f"μ {1e-3 * law.shear:.4g}" if isinstance(law, NeoHooke) else "small strains only"


def _record(each: Material) -> dict[str, Any]:
    """All figures of a material, in SI units."""
    known = {key: value for key, value in vars(each).items() if key != "law"}
    law = None
    if each.law is not None:
        law = {"kind": type(each.law).__name__, **{f.name: vars(each.law)[f.name] for f in fields(each.law)}}
    return {**known, "law": law}
