"""Writing a recording as GLB, for web pages and Blender: surfaces and lines that change shape, balls that move.

Each frame is a morph target of its mesh, and an animation blends from one to the next. Few balls are nodes that
move; many are points of one mesh. A part that is not there, or has another topology, has the size 0 in that time.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.snapshot import Color, Field, Lines, Mesh, Spheres
from annelid.shapes.primitives import Sphere
from annelid.view.colors import decode
from annelid.view.files.gltf import LINES, POINTS, TRIANGLES, Document
from annelid.view.files.parts import finite_parts, radii_of, square_of
from annelid.view.files.reel import Reel
from annelid.view.files.runs import Run, Runs

_MOST_BALLS = 1000  # of a part that are drawn as balls; each is a node, and pages are slow with more
_SHADES = 15.0  # steps of red, green and blue of balls; those of one colour share a mesh
_UPRIGHT = [-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)]  # in glTF y points up


def write_glb(reel: Reel, path: Path) -> None:
    """Write all frames."""
    reel.require_memory("a glTF file")
    runs = Runs()
    for number, (_, snapshot) in enumerate(reel.frames()):
        for part in finite_parts(snapshot):
            runs.add(part, number)
    scene = _Scene(reel)
    nodes = [node for run in runs.all for node in scene.nodes_of(run)]
    nodes += [scene.still(square_of(plane, reel.low, reel.high)) for plane in reel.planes()]
    root = scene.document.add("nodes", name=reel.recording.header.scene or "scene", rotation=_UPRIGHT, children=nodes)
    scene.finish()
    about: dict[str, Any] = {"generator": "Annelid"}
    if reel.scale is not None:
        scale = reel.scale
        about["extras"] = {"field": scale.name, "unit": scale.unit, "limits": scale.limits, "labels": scale.labels}
    scene.document.write(path, scene={"nodes": [root, scene.camera()]}, asset=about)


class _Scene:
    """What is drawn, and how it moves."""

    def __init__(self, reel: Reel) -> None:
        self.reel, self.document = reel, Document()
        self._channels: list[dict[str, Any]] = []
        self._samplers: list[dict[str, Any]] = []
        self._times: dict[tuple[int, int], int] = {}
        self._blends: dict[tuple[int, int], int] = {}
        self._materials: dict[Color | None, int] = {}
        self._ball: dict[str, int] = {}

    def nodes_of(self, run: Run) -> list[int]:
        """The node of a part; none where it is empty."""
        if not len(run.positions[0] if isinstance(run.part, Spheres) else run.index):
            return []
        if isinstance(run.part, Spheres) and len(run.positions[0]) <= _MOST_BALLS:
            node = self.document.add("nodes", name=run.part.name, children=self._balls(run))
        else:
            node = self._changing(run)
        if len(run.positions) < len(self.reel):
            self._channels.append({"sampler": self._presence(run), "target": {"node": node, "path": "scale"}})
        return [node]

    def still(self, mesh: Mesh) -> int:
        """A mesh that stays."""
        attributes = {"POSITION": self.document.array(np.asarray(mesh.vertices, np.float32), bounds=True)}
        indices = self.document.array(np.asarray(mesh.triangles).ravel())
        primitive = {"attributes": attributes, "indices": indices, "material": self._material(mesh.color)}
        return self.document.add("nodes", name=mesh.name, mesh=self.document.add("meshes", primitives=[primitive]))

    def camera(self) -> int:
        """A camera that sees everything."""
        camera = self.reel.camera
        distance = float(np.linalg.norm(np.subtract(camera.target, camera.position)))
        lens = {"yfov": camera.fov, "aspectRatio": 1.5, "znear": 0.01 * distance}
        number = self.document.add("cameras", type="perspective", perspective=lens)
        right, up, forward = camera.axes()
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = np.stack([right, up, -forward], axis=1), camera.position
        inner = self.document.add("nodes", camera=number, name="camera", matrix=frame.T.ravel().tolist())
        return self.document.add("nodes", rotation=_UPRIGHT, children=[inner])

    def finish(self) -> None:
        """Add the animation."""
        if self._channels:
            self.document.add("animations", name="recording", channels=self._channels, samplers=self._samplers)

    # --- surfaces, lines and clouds, which change shape ---

    def _changing(self, run: Run) -> int:
        """One mesh with a target for each frame after the first."""
        spread = run.index.ravel() if isinstance(run.part, Lines) else slice(None)  # each segment has its own colour
        frames = [np.nan_to_num(points[spread]) for points in run.positions]
        colors = self._colors(run)
        document, base = self.document, frames[0]
        primitive: dict[str, Any] = {
            "attributes": {"POSITION": document.array(base, bounds=True)},
            "material": self._material(run.part.color if colors is None else None),
            "mode": TRIANGLES if isinstance(run.part, Mesh) else LINES if isinstance(run.part, Lines) else POINTS,
        }
        if isinstance(run.part, Mesh):
            primitive["indices"] = document.array(run.index.ravel())
        if colors is not None:
            primitive["attributes"]["COLOR_0"] = document.array(colors[0])
        moving = any(not np.array_equal(points, base) for points in frames[1:])
        painted = colors is not None and any(not np.array_equal(each, colors[0]) for each in colors[1:])
        if moving or painted:
            primitive["targets"] = [{"POSITION": document.array(points - base, bounds=True)} for points in frames[1:]]
            if painted and colors is not None:
                for target, each in zip(primitive["targets"], colors[1:], strict=True):
                    target["COLOR_0"] = document.array(each - colors[0])
        mesh = document.add("meshes", name=run.part.name, primitives=[primitive])
        node = document.add("nodes", name=run.part.name, mesh=mesh)
        if moving or painted:
            document.lists["meshes"][mesh]["weights"] = [0.0] * (len(frames) - 1)
            self._channels.append({"sampler": self._blend(run), "target": {"node": node, "path": "weights"}})
        return node

    def _colors(self, run: Run) -> list[np.ndarray] | None:
        """Linear colour of each point in each frame; None where the part lacks the field."""
        scale = self.reel.scale
        if scale is None or scale.name not in run.fields:
            return None
        twice = 2 if isinstance(run.part, Lines) else 1
        return [_linear(scale.colors(values)).repeat(twice, axis=0) for values in run.fields[scale.name]]

    # --- balls, which move ---

    def _balls(self, run: Run) -> list[int]:
        assert isinstance(run.part, Spheres)
        track = np.nan_to_num(np.stack(run.positions))
        radii = radii_of(run.part).tolist()
        scale = self.reel.scale
        colors = np.tile(np.asarray(run.part.color, np.float32), (len(radii), 1))
        if scale is not None and scale.name in run.fields:
            colors = scale.colors(Field(run.fields[scale.name][0]).values)
        shades = np.round(colors * _SHADES) / _SHADES
        moving = (track != track[0]).any(axis=(0, 2))
        nodes = []
        for ball, radius in enumerate(radii):
            mesh = self._ball_mesh((float(shades[ball, 0]), float(shades[ball, 1]), float(shades[ball, 2])))
            place = track[0, ball].tolist()
            nodes.append(self.document.add("nodes", mesh=mesh, translation=place, scale=[radius] * 3))
            if moving[ball]:
                ways = self.document.array(track[:, ball])
                sampler = self._sampler(self._clock(run), ways)
                self._channels.append({"sampler": sampler, "target": {"node": nodes[-1], "path": "translation"}})
        return nodes

    def _ball_mesh(self, color: Color) -> int:
        """The ball of radius 1 in a colour; all share one array of points."""
        if not self._ball:
            ball = Sphere(1.0).surface(12)
            points = np.asarray(ball.vertices, np.float32)
            self._ball = {
                "POSITION": self.document.array(points, bounds=True),
                "NORMAL": self.document.array(points / np.linalg.norm(points, axis=1, keepdims=True)),
                "": self.document.array(np.asarray(ball.triangles).ravel()),
            }
        material = self._material(color)
        known = f"ball {material}"
        if known not in self._ball:
            attributes = {name: self._ball[name] for name in ("POSITION", "NORMAL")}
            primitive = {"attributes": attributes, "indices": self._ball[""], "material": material}
            self._ball[known] = self.document.add("meshes", primitives=[primitive])
        return self._ball[known]

    # --- time ---

    def _clock(self, run: Run) -> int:
        span = run.first, len(run.positions)
        if span not in self._times:
            times = self.reel.times[run.first : run.first + len(run.positions)] - self.reel.times[0]
            self._times[span] = self.document.array(times.astype(np.float32), bounds=True)
        return self._times[span]

    def _blend(self, run: Run) -> int:
        """In frame k the target k − 1 counts, in the first none; parts of the same frames share this."""
        span = run.first, len(run.positions)
        if span not in self._blends:
            weights = np.eye(len(run.positions), dtype=np.float32)[:, 1:]
            self._blends[span] = self._sampler(self._clock(run), self.document.array(weights.ravel()))
        return self._blends[span]

    def _presence(self, run: Run) -> int:
        """The size of a part that is there in some frames only: 1 or 0."""
        there = np.zeros(len(self.reel), np.float32)
        there[run.first : run.first + len(run.positions)] = 1.0
        times = (self.reel.times - self.reel.times[0]).astype(np.float32)
        sizes = self.document.array(there[:, None].repeat(3, axis=1))
        return self._sampler(self.document.array(times, bounds=True), sizes, "STEP")

    def _sampler(self, times: int, values: int, how: str = "LINEAR") -> int:
        self._samplers.append({"input": times, "output": values, "interpolation": how})
        return len(self._samplers) - 1

    def _material(self, color: Color | None) -> int:
        """A dull material of a colour; None for one that takes the colours of points."""
        if color not in self._materials:
            base = [1.0, 1.0, 1.0] if color is None else _linear(np.array(color)).tolist()
            look = {"baseColorFactor": [*base, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.7}
            self._materials[color] = self.document.add("materials", pbrMetallicRoughness=look, doubleSided=True)
        return self._materials[color]


def _linear(colors: np.ndarray) -> np.ndarray:
    return np.asarray(decode(colors), np.float32)
