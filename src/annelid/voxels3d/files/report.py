"""The report of voxcraft-sim: what became of all robots of a folder, as XML with its fields."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from annelid.voxels3d.files.tags import told
from annelid.voxels3d.files.trials import Result
from annelid.voxels3d.files.writing import write_xml


def write_report(results: Sequence[Result], path: Path) -> None:
    """Write a report."""
    root = ElementTree.Element("report")
    best = max(results, key=lambda result: -math.inf if math.isnan(result.fitness) else result.fitness)
    first = ElementTree.SubElement(root, "bestfit")
    ElementTree.SubElement(first, "filename").text = best.name
    ElementTree.SubElement(first, "fitness_score").text = told(best.fitness)
    detail = ElementTree.SubElement(root, "detail")
    for result in results:
        _add(result, ElementTree.SubElement(detail, element_name(result.name)))
    write_xml(root, path)


def element_name(name: str) -> str:
    """A name that an element can have: letters, digits, points, hyphens, and no digit first."""
    plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
    return plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"


def _add(result: Result, element: ElementTree.Element) -> None:
    values: dict[str, float | int] = {
        "fitness_score": result.fitness, "currentTime": result.time, "num_voxel": len(result.positions),
        "voxSize": result.side_length,
    }  # fmt: skip
    for name, value in values.items():
        ElementTree.SubElement(element, name).text = told(value)
    for name, place in (("initialCenterOfMass", result.begin), ("currentCenterOfMass", result.end)):
        center = ElementTree.SubElement(element, name)
        for axis, part in zip("xyz", place.tolist(), strict=True):
            ElementTree.SubElement(center, axis).text = told(part)
    ElementTree.SubElement(element, "total_distance_of_all_voxels").text = told(result.total_distance)
    if result.with_positions:
        ElementTree.SubElement(element, "init_pos").text = _listed(result.first_positions)
        ElementTree.SubElement(element, "pos").text = _listed(result.positions)
        ElementTree.SubElement(element, "mats").text = "".join(f"{number};" for number in result.materials.tolist())


def _listed(places: np.ndarray) -> str:
    return "".join(",".join(map(told, place)) + ";" for place in places.tolist())
