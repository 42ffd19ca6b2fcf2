"""Writing a recording as USD with samples over time, for Omniverse, Blender and Houdini (extra `export`).

Surfaces are meshes, spheres are instances of one ball with their radii as scales, lines are linear curves. The chosen
field is `displayColor`; all fields are primvars under their names. Lengths are metres, z points up, and a
time code is a frame where frames are evenly spaced.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.files import replaced
from annelid.core.packages import optional
from annelid.core.snapshot import Mesh, Spheres, host_array
from annelid.view.camera.camera import Camera
from annelid.view.colors import decode
from annelid.view.files.parts import Finite, finite_parts, index_of, points_of, radii_of, square_of
from annelid.view.files.reel import Reel

_APERTURE = 0.24  # height of the film in tenths of the unit of length, the metre: 24 mm


def write_usd(reel: Reel, path: Path) -> None:
    """Write all frames to a .usda, .usdc or .usd file; the last of these is binary."""
    optional("pxr", purpose="USD", extra="export", package="usd-core")
    reel.require_memory("a USD file")
    with replaced(path) as temporary:
        written = temporary.with_suffix(path.suffix.lower())  # which chooses the kind
        _Stage(reel, str(written)).write()
        written.replace(temporary)


class _Stage:
    """The stage while it is written."""

    def __init__(self, reel: Reel, path: str) -> None:
        from pxr import Sdf, Usd, UsdGeom, UsdLux, UsdShade, Vt

        self.usd, self.geom, self.sdf, self.lux, self.shade, self.vt = Usd, UsdGeom, Sdf, UsdLux, UsdShade, Vt
        self.reel = reel
        self.stage = Usd.Stage.CreateNew(path)
        self.drawn: dict[tuple[str, type], _Drawn] = {}
        self.names: set[str] = set()

    def write(self) -> None:
        """Write everything."""
        geom, stage, reel = self.geom, self.stage, self.reel
        geom.SetStageMetersPerUnit(stage, 1.0)
        geom.SetStageUpAxis(stage, geom.Tokens.z)
        stage.SetTimeCodesPerSecond(reel.rate)
        stage.SetFramesPerSecond(reel.rate)
        stage.SetStartTimeCode(self.code(reel.times[0]))
        stage.SetEndTimeCode(self.code(reel.times[-1]))
        world = geom.Xform.Define(stage, "/world")
        stage.SetDefaultPrim(world.GetPrim())
        stage.GetRootLayer().comment = f"Annelid: {reel.recording.header.scene}"
        self.material = self._material()
        for plane in reel.planes():
            square = _Drawn(self, square_of(plane, reel.low, reel.high))
            square.draw(self.code(reel.times[0]))
        self._camera(reel.camera)
        self._light()
        shown: set[tuple[str, type]] = set()
        for number, (time, snapshot) in enumerate(reel.frames()):
            shown = self._frame(self.code(time), finite_parts(snapshot), shown, first=number == 0)
        stage.GetRootLayer().Save()

    def code(self, time: float) -> float:
        """The time code of a time on the reel [s]."""
        return round(float(time) * self.reel.rate, 6)

    def path_of(self, name: str) -> str:
        """A path below the world that no other part has."""
        from pxr import Tf

        word = found = Tf.MakeValidIdentifier(name or "unnamed")
        number = 1
        while found in self.names:
            found, number = f"{word}_{number}", number + 1
        self.names.add(found)
        return f"/world/{found}"

    def _frame(
        self, code: float, parts: list[Finite], shown: set[tuple[str, type]], *, first: bool
    ) -> set[tuple[str, type]]:
        """Write the parts of a frame, and hide those that were there before and are not now."""
        there = {(part.name, type(part)): part for part in parts}
        for key in shown - there.keys():
            self.drawn[key].show(code, visible=False)
        for key, part in there.items():
            if key not in self.drawn:
                self.drawn[key] = _Drawn(self, part)
                if not first:
                    self.drawn[key].show(self.code(self.reel.times[0]), visible=False)
            if key not in shown and not first:
                self.drawn[key].show(code, visible=True)
            self.drawn[key].draw(code, part)
        return set(there)

    def _camera(self, camera: Camera) -> None:
        from pxr import Gf

        right, up, forward = camera.axes()
        frame = np.eye(4)
        frame[0, :3], frame[1, :3], frame[2, :3], frame[3, :3] = right, up, -forward, camera.position
        made = self.geom.Camera.Define(self.stage, self.path_of("camera"))
        made.AddTransformOp().Set(Gf.Matrix4d(frame.tolist()))
        made.CreateVerticalApertureAttr(_APERTURE)
        made.CreateHorizontalApertureAttr(1.5 * _APERTURE)
        made.CreateFocalLengthAttr(0.5 * _APERTURE / math.tan(0.5 * camera.fov))
        distance = float(np.linalg.norm(np.subtract(camera.target, camera.position)))
        made.CreateClippingRangeAttr(Gf.Vec2f(0.01 * distance, 100.0 * distance))

    def _light(self) -> None:
        self.lux.DomeLight.Define(self.stage, self.path_of("sky")).CreateIntensityAttr(400.0)
        sun = self.lux.DistantLight.Define(self.stage, self.path_of("sun"))
        sun.CreateIntensityAttr(2000.0)
        self.geom.Xformable(sun).AddRotateXYZOp().Set((35.0, 20.0, 0.0))

    def _material(self) -> Any:
        """A dull material that takes its colour from `displayColor`."""
        sdf, stage = self.sdf, self.stage
        path = self.path_of("material")
        material = self.shade.Material.Define(stage, path)
        reader = self.shade.Shader.Define(stage, f"{path}/color")
        reader.CreateIdAttr("UsdPrimvarReader_float3")
        reader.CreateInput("varname", sdf.ValueTypeNames.String).Set("displayColor")
        color = reader.CreateOutput("result", sdf.ValueTypeNames.Float3)
        surface = self.shade.Shader.Define(stage, f"{path}/surface")
        surface.CreateIdAttr("UsdPreviewSurface")
        surface.CreateInput("roughness", sdf.ValueTypeNames.Float).Set(0.7)
        surface.CreateInput("diffuseColor", sdf.ValueTypeNames.Color3f).ConnectToSource(color)
        out = surface.CreateOutput("surface", sdf.ValueTypeNames.Token)
        material.CreateSurfaceOutput().ConnectToSource(out)
        return material


class _Drawn:
    """A part on the stage."""

    def __init__(self, stage: _Stage, part: Finite) -> None:
        self.on, self.part = stage, part
        self.path = stage.path_of(part.name)
        self._last: dict[str, tuple[np.ndarray, float]] = {}
        self._code = 0.0
        geom = stage.geom
        if isinstance(part, Mesh):
            self.prim = geom.Mesh.Define(stage.stage, self.path)
            self.prim.CreateSubdivisionSchemeAttr(geom.Tokens.none)
            self.prim.CreateDoubleSidedAttr(True)
        elif isinstance(part, Spheres):
            self.prim = geom.PointInstancer.Define(stage.stage, self.path)
            ball = geom.Sphere.Define(stage.stage, f"{self.path}/ball")
            ball.CreateRadiusAttr(1.0)
            ball.CreateExtentAttr([(-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)])
            self.prim.CreatePrototypesRel().SetTargets([ball.GetPath()])
            stage.shade.MaterialBindingAPI.Apply(ball.GetPrim()).Bind(stage.material)
        else:
            self.prim = geom.BasisCurves.Define(stage.stage, self.path)
            self.prim.CreateTypeAttr(geom.Tokens.linear)
            width = 0.002 * float(np.linalg.norm(stage.reel.high - stage.reel.low))
            self.prim.CreateWidthsAttr([width])
            self.prim.SetWidthsInterpolation(geom.Tokens.constant)
        if not isinstance(part, Spheres):
            stage.shade.MaterialBindingAPI.Apply(self.prim.GetPrim()).Bind(stage.material)
        color = np.asarray(decode(np.array([part.color])), np.float32)
        if stage.reel.scale is None or stage.reel.scale.name not in part.fields:
            self._primvar("displayColor", color, "constant", kind="Color3fArray")

    def show(self, code: float, *, visible: bool) -> None:
        """Show or hide it from a time on."""
        tokens = self.on.geom.Tokens
        self.prim.CreateVisibilityAttr().Set(tokens.inherited if visible else tokens.invisible, code)

    def draw(self, code: float, part: Finite | None = None) -> None:
        """Write a frame; arrays that did not change are not written again."""
        part = part or self.part
        points, index = np.asarray(points_of(part), np.float32), index_of(part)
        if isinstance(part, Mesh):
            self._set(self.prim.CreateFaceVertexCountsAttr(), np.full(len(index), 3, np.int32), code)
            self._set(self.prim.CreateFaceVertexIndicesAttr(), index.astype(np.int32).ravel(), code)
            self._set(self.prim.CreatePointsAttr(), points, code)
            per_element = "vertex"
        elif isinstance(part, Spheres):
            radii = radii_of(part)
            self._set(self.prim.CreateProtoIndicesAttr(), np.zeros(len(points), np.int32), code)
            self._set(self.prim.CreatePositionsAttr(), points, code)
            self._set(self.prim.CreateScalesAttr(), radii[:, None].repeat(3, axis=1), code)
            per_element = "vertex"
        else:
            points = points[index.ravel()]
            self._set(self.prim.CreateCurveVertexCountsAttr(), np.full(len(index), 2, np.int32), code)
            self._set(self.prim.CreatePointsAttr(), points, code)
            per_element = "uniform"
        self._extent(part, points, code)
        colors = self.on.reel.colors(part)
        if colors is not None:
            linear = np.asarray(decode(colors), np.float32)
            self._primvar("displayColor", linear, per_element, kind="Color3fArray", code=code)
        for name, field in part.fields.items():
            values = np.asarray(host_array(field.values), np.float32)
            self._primvar(name, values, per_element, kind="FloatArray", code=code, unit=field.unit)
        self._code = code

    def _extent(self, part: Finite, points: np.ndarray, code: float) -> None:
        reach = float(radii_of(part).max(initial=0.0)) if isinstance(part, Spheres) else 0.0
        box = np.stack([points.min(axis=0) - reach, points.max(axis=0) + reach]) if len(points) else np.zeros((2, 3))
        self._set(self.prim.CreateExtentAttr(), box.astype(np.float32), code)

    def _primvar(
        self, name: str, values: np.ndarray, per: str, *, kind: str, code: float | None = None, unit: str = ""
    ) -> None:
        from pxr import Tf

        types = self.on.sdf.ValueTypeNames
        holder = self.on.geom.PrimvarsAPI(self.prim)
        primvar = holder.CreatePrimvar(Tf.MakeValidIdentifier(name), getattr(types, kind), per)
        if unit:
            primvar.GetAttr().SetCustomDataByKey("unit", unit)
        if code is None:
            primvar.Set(self._array(values))
        else:
            self._set(primvar.GetAttr(), values, code)

    def _set(self, attribute: Any, values: np.ndarray, code: float) -> None:
        """Write a sample if the values have changed; what stayed until then stays until the frame before, in all."""
        name = attribute.GetName()
        before = self._last.get(name)
        if before is not None and (before[0] is values or np.array_equal(before[0], values)):
            return
        if before is not None and before[1] < self._code:
            attribute.Set(self._array(before[0]), self._code)
        attribute.Set(self._array(values), code)
        self._last[name] = values, code

    def _array(self, values: np.ndarray) -> Any:
        vt, data = self.on.vt, np.ascontiguousarray(values)
        if data.dtype.kind == "i":
            return vt.IntArray.FromNumpy(data)
        return (vt.Vec3fArray if data.ndim == 2 else vt.FloatArray).FromNumpy(data)
