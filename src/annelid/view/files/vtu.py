"""Writing a snapshot as VTU (VTK unstructured grid, binary), for ParaView.

Meshes become triangles, lines become line cells, spheres become vertices with the point array `radius` (use a glyph
filter). Fields are point arrays; those of lines are cell arrays. The cell array `part` numbers the parts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from annelid.core.snapshot import Snapshot
from annelid.core.vtu import LINE, TRIANGLE, VERTEX, write_grid
from annelid.view.files.combined import Combined, combined


def write_vtu(snapshot: Snapshot, path: Path) -> None:
    """Write the geometry of a snapshot."""
    whole = combined(snapshot)
    cells = [(TRIANGLE, whole.triangles), (LINE, whole.segments), (VERTEX, whole.balls.reshape(-1, 1))]
    write_grid(
        path,
        whole.points,
        cells,
        point_arrays={**({"radius": whole.radii} if len(whole.balls) else {}), **whole.point_fields},
        cell_arrays=_cell_arrays(whole, np.concatenate([nodes[:, 0] for _, nodes in cells])),
        whole_arrays={"TimeValue": np.array([snapshot.time], "<f8")},
    )


def _cell_arrays(whole: Combined, first: np.ndarray) -> dict[str, np.ndarray]:
    arrays = {"part": whole.part_of_point[first].astype("<i4")}
    for name, values in whole.segment_fields.items():
        column = np.full(len(first), np.nan, np.float32)
        column[len(whole.triangles) : len(whole.triangles) + len(values)] = values
        arrays[f"{name} of lines"] = column
    return arrays
