"""Draw docs/images/floors.svg from the table of imports of the design, and docs/images/data-way.svg."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="15">'
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
    '<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
)
_FLOORS = ("#7a5195", "#955196", "#dd5182", "#ff6e54", "#ffa600", "#b7a34a", "#6f9f5d", "#4c956c", "#2f8f83", "#2a7f9e")


def rows_of(design: str) -> list[list[str]]:
    """Packages of each row of the table, the highest first."""
    found = re.search(r":name: import-table\n\n(.*?)^```", design, re.DOTALL | re.MULTILINE)
    assert found is not None
    lines = [re.sub(r"\(.*", "", line).strip() for line in found[1].splitlines() if line.strip()]
    return [[name.strip() for name in line.split("|")] for line in lines]


def floors(design: str) -> str:
    """The rows as floors of a house: a package imports from floors below its own."""
    rows, width, step = rows_of(design), 860, 42
    out = [_HEAD.format(width=width, height=step * len(rows) + 50)]
    for level, names in enumerate(rows):
        y, each = 10 + step * level, (width - 80) / len(names)
        color = _FLOORS[min(level, len(_FLOORS) - 1)]
        for place, name in enumerate(names):
            x = 20 + each * place
            out.append(
                f'<rect x="{x:.0f}" y="{y}" width="{each - 6:.0f}" height="{step - 6}" rx="5" fill="{color}" '
                f'fill-opacity=".22" stroke="{color}"/>'
                f'<text x="{x + each / 2 - 3:.0f}" y="{y + 23}" text-anchor="middle" fill="#111">{name}</text>\n'
            )
    bottom = 10 + step * len(rows)
    out.append(
        f'<path d="M{width - 35} 14V{bottom - 8}" stroke="#555" stroke-width="2" marker-end="url(#tip)"/>'
        f'<text x="20" y="{bottom + 24}" fill="#333">A package may import from the floors below its own, never from '
        "its own floor or above.</text></svg>\n"
    )
    return "".join(out)


_WAY = (("Body", "arrays of NumPy"), ("Model", "for a device"), ("State", "arrays of Warp"), ("Snapshot", "a moment"))
_ENDS = ("picture, video", "live page", "recording, HTML")
_LOOP = (("Sensors", "named numbers"), ("Controller", "function, network"), ("Controls", "named channels"))


def data_way() -> str:
    """Body → model → state → snapshot → picture, and the loop of sensors, controller and controls."""
    out = [_HEAD.format(width=860, height=300)]

    def box(x: int, y: int, name: str, text: str, color: str, width: int = 130) -> None:
        out.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="54" rx="6" fill="{color}" fill-opacity=".22" '
            f'stroke="{color}"/><text x="{x + width // 2}" y="{y + 23}" text-anchor="middle" font-weight="bold" '
            f'fill="#111">{name}</text><text x="{x + width // 2}" y="{y + 43}" text-anchor="middle" font-size="12" '
            f'fill="#333">{text}</text>\n'
        )

    def arrow(path: str, text: str = "", x: int = 0, y: int = 0) -> None:
        out.append(f'<path d="{path}" fill="none" stroke="#555" stroke-width="1.6" marker-end="url(#tip)"/>')
        if text:
            out.append(f'<text x="{x}" y="{y}" text-anchor="middle" font-size="12" fill="#333">{text}</text>\n')

    for place, (name, text) in enumerate(_WAY):
        box(20 + 175 * place, 60, name, text, "#2a7f9e")
        if place:
            arrow(f"M{20 + 175 * place - 45} 87h43")
    for place, name in enumerate(_ENDS):
        y = 22 + 52 * place
        out.append(
            f'<rect x="722" y="{y}" width="126" height="34" rx="6" fill="#4c956c" fill-opacity=".22" stroke="#4c956c"/>'
            f'<text x="785" y="{y + 22}" text-anchor="middle" fill="#111">{name}</text>\n'
        )
        arrow(f"M675 87L719 {y + 17}")
    arrow("M405 60C395 15 465 15 455 58", "solver.advance(state, steps)", 430, 18)
    for place, (name, text) in enumerate(_LOOP):
        box(545 - 175 * place, 200, name, text, "#dd5182")
        if place:
            arrow(f"M{545 - 175 * (place - 1)} 227h-43")
    arrow("M460 114C500 150 590 150 608 198", "read on the device", 600, 150)
    arrow("M260 200C270 150 380 150 408 116", "commands", 290, 150)
    out.append("</svg>\n")
    return "".join(out)


if __name__ == "__main__":
    design = (DOCS / "design.md").read_text(encoding="utf-8")
    (DOCS / "images" / "floors.svg").write_text(floors(design), encoding="utf-8")
    (DOCS / "images" / "data-way.svg").write_text(data_way(), encoding="utf-8")
