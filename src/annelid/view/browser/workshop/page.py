"""The workshop in the page: a tab with tools, a box that marks a part, a handle that pulls.

It knows no physics. A scene with a workshop is `FromFile`; its simulations carry a workpiece, which does the work
(`simulation.attachments["workpiece"]`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from annelid.core.errors import AnnelidError
from annelid.core.parameters import values
from annelid.core.scene import FromFile
from annelid.materials import names
from annelid.view.browser.page import Page
from annelid.view.browser.runner import Runner
from annelid.view.browser.workshop.marks import Handle, MarkBox
from annelid.view.browser.workshop.uploads import Uploads, escaped

_UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254}
_BUILT_FROM = ("shape", "length", "width", "height", "radius", "pitch", "material", "drop", "ground", "repair")
_LABELS = {"repair": "Repair holes", "ground": "Ground", "drop": "Height above ground"}


Vector = Sequence[float] | np.ndarray
"""Three numbers."""


class Piece(Protocol):
    """What is asked of a workpiece."""

    simulation: Any

    def reset(self) -> Any: ...  # noqa: D102
    def mark(self, center: Vector, size: Vector) -> int: ...  # noqa: D102
    def fix(self, held: bool = True) -> int: ...  # noqa: D102
    def cut(self) -> int: ...  # noqa: D102
    def paint(self, matter: str) -> int: ...  # noqa: D102
    def actuate(self, amplitude: float, frequency: float) -> int: ...  # noqa: D102
    def pick(self, origin: Vector, direction: Vector) -> np.ndarray: ...  # noqa: D102
    def pull(self, place: Vector, *, at: Vector | None = None) -> np.ndarray: ...  # noqa: D102
    def release(self) -> None: ...  # noqa: D102
    def grip(self) -> tuple[np.ndarray, np.ndarray] | None: ...  # noqa: D102
    def held(self) -> np.ndarray: ...  # noqa: D102
    def set_ground(self, there: bool) -> None: ...  # noqa: D102


class WorkshopPage:
    """The tab of the workshop, there while the scene has one.

    Args:
        page: The page.
        runner: Owner of the simulations.
        tabs: Group of tabs to stand in.
        build: Builds the simulations of a scene anew.
        swap: Puts other simulations in place of those that run.
    """

    def __init__(
        self, page: Page, runner: Runner, tabs: Any, *, build: Callable[[Any], None], swap: Callable[[Any], None]
    ) -> None:
        self._page, self._runner, self._tabs = page, runner, tabs
        self._build, self._swap = build, swap
        self._tab: Any = None
        self._scene: Any = None
        self._pieces: list[Piece] = []
        self.uploads = Uploads()
        self._picking = False
        self.box: MarkBox
        self.handle: Handle

    @property
    def open(self) -> bool:
        """Whether there is a workshop now."""
        return self._tab is not None

    def show(self, scene: Any) -> None:
        """Open the workshop of a scene, or close it if the scene has none."""
        if self._tab is not None:
            self._stop_picking()
            self._tab.remove()
            self.box.remove()
            self.handle.remove()
        self._tab, self._pieces, self._scene = None, [], scene
        if not isinstance(scene, FromFile):
            return
        gui, self._tab = self._page.server.gui, self._tabs.add_tab("Workshop")
        with self._tab:
            self.note = gui.add_markdown("")
            with gui.add_folder("Body"):
                self._add_body(gui, scene)
            self.box = MarkBox(self._page.server)
            with gui.add_folder("Part in the box"):
                self.box.add_controls(gui)
                self._add_tools(gui)
            with gui.add_folder("Pull"):
                self._add_pull(gui)
        self.handle = Handle(self._page.server, self._dragged)

    def attach(self, simulations: Sequence[Any], low: np.ndarray, high: np.ndarray) -> None:
        """Work on these simulations from now on; the box goes to the left end of what lies between two corners [m]."""
        if not self.open:
            return
        self._pieces = [simulation.attachments["workpiece"] for simulation in simulations]
        self._page.follow.value = False  # handles stand still
        self.box.place(low, high)
        self.handle.size = 0.25 * float(np.max(high - low))
        self.note.content = self._scene.about()
        self._mark_held()

    def reset(self) -> None:
        """Back to the beginning, with all work that was done."""
        self._act(lambda piece: _silently(piece.reset))

    def refresh(self) -> None:
        """Draw what moves with the body."""
        if self.open and self._pieces and self.handle.shown:
            piece = self._pieces[0]
            self.handle.draw(self._runner.call(piece.grip).result())

    def close(self) -> None:
        """Delete uploaded files."""
        self.uploads.close()

    # -------------------------------------------------------------------------------------------- controls

    def _add_body(self, gui: Any, scene: FromFile) -> None:
        later = self._page.later
        self.controls: dict[str, Any] = {}
        shapes = tuple(name for name in scene.sizes if name != "file" or values(scene)["file"])
        self.controls["shape"] = gui.add_dropdown("Shape", shapes, initial_value=scene.shape)
        self.upload = gui.add_upload_button("Upload STL, OBJ or PLY", mime_type=".stl,.obj,.ply")
        unit = next((name for name, scale in _UNITS.items() if scale == values(scene)["scale"]), "m")
        self.unit = gui.add_dropdown("Unit of the file", tuple(_UNITS), initial_value=unit)
        for name in ("repair", "length", "width", "height", "radius", "pitch", "drop", "ground"):
            self.controls[name] = _control(gui, scene, name)
        self.controls["material"] = gui.add_dropdown("Material", _materials(scene), initial_value=scene.material)
        self.build = gui.add_button("Build", hint="Make the body anew; all work on it is forgotten")
        self.controls["shape"].on_update(lambda _: self._show_sizes())
        self.controls["ground"].on_update(lambda _: later(self._set_ground))
        self.upload.on_upload(lambda event: self._receive(event.target.value))
        self.build.on_click(lambda _: later(self._build_body))
        self._show_sizes()

    def _add_tools(self, gui: Any) -> None:
        later = self._page.later
        self.hold = gui.add_button_group("", ("Fix", "Free", "Cut away"))
        self.matter = gui.add_dropdown("Other material", _materials(self._scene), initial_value="tpu")
        self.paint = gui.add_button("Give it this material")
        self.amplitude = gui.add_slider("Amplitude", 0.0, 0.5, 0.01, 0.2)
        self.frequency = gui.add_slider("Frequency [Hz]", 0.1, 20.0, 0.1, 2.0)
        self.actuate = gui.add_button("Actuate it", hint="It expands and contracts; amplitude 0 makes it passive")
        self.hold.on_click(lambda event: later(lambda: self._hold(str(event.target.value))))
        self.paint.on_click(lambda _: later(self._paint))
        self.actuate.on_click(lambda _: later(self._actuate))

    def _add_pull(self, gui: Any) -> None:
        later = self._page.later
        self.click = gui.add_button("Click a point", hint="Then click on the body, and drag the handle")
        self.pull = gui.add_button_group("", ("At the box", "Release"))
        self.click.on_click(lambda _: self._start_picking())
        self.pull.on_click(lambda event: later(self._release if event.target.value == "Release" else self._grab))

    def _show_sizes(self) -> None:
        """Only the sizes that the shape has."""
        shape = str(self.controls["shape"].value)
        named = {name for names in self._scene.sizes.values() for name in names} & set(self.controls)
        for name in named:
            self.controls[name].visible = name in self._scene.sizes[shape]
        self.unit.visible = shape == "file"

    # -------------------------------------------------------------------------------------------- what they do

    def _design(self) -> Any:
        chosen = {name: self.controls[name].value for name in _BUILT_FROM}
        return replace(self._scene, **chosen, scale=_UNITS[str(self.unit.value)])

    def _build_body(self) -> None:
        self._try_build(self._design())

    def _try_build(self, design: Any) -> None:
        self._release()
        before, self._scene = self._scene, design
        try:
            self._build(design)
        except Exception as error:
            self._scene = before
            self.note.content = f"**not built:** {escaped(self.uploads.tidy(str(error)))}"
            raise

    def _receive(self, given: Any) -> None:
        self._page.later(lambda: self._uploaded(given.name, given.content))

    def _uploaded(self, name: str, content: bytes) -> None:
        """Keep the file, and build it; if it cannot be built, say why and leave it chosen, to be tried otherwise."""
        path = self.uploads.keep(name, content)
        shapes = tuple(self._scene.sizes)
        self._scene = replace(self._scene, file=str(path))
        self.controls["shape"].options = shapes
        self.controls["shape"].value = "file"
        self._show_sizes()
        try:
            design = replace(self._design(), shape="file").with_file(str(path))
        except AnnelidError as error:
            sentence = self.uploads.tidy(str(error))
            self.note.content = f"**{escaped(name)}:** {escaped(sentence)} Or tick *Repair holes* and *Build*."
            self._page.tell(sentence)
            return
        self.note.content = f"{escaped(name)}: {design.about()}"
        self._try_build(design)

    def _hold(self, tool: str) -> None:
        if tool == "Cut away":
            self._act(lambda piece: f"{self._marked(piece).cut()} cells are cut away.")
        else:
            word = "fixed" if tool == "Fix" else "free"
            self._act(lambda piece: f"{self._marked(piece).fix(tool == 'Fix')} masses are {word}.")

    def _paint(self) -> None:
        matter = str(self.matter.value)
        self._act(lambda piece: f"{self._marked(piece).paint(matter)} cells are {matter}.")

    def _actuate(self) -> None:
        amplitude, frequency = float(self.amplitude.value), float(self.frequency.value)
        self._act(lambda piece: f"{self._marked(piece).actuate(amplitude, frequency)} cells are actuated.")

    def _set_ground(self) -> None:
        there = bool(self.controls["ground"].value)
        self._act(lambda piece: _silently(piece.set_ground, there))
        self._scene = replace(self._scene, ground=there)

    def _marked(self, piece: Piece) -> Piece:
        piece.mark(*self.box.value)
        return piece

    def _act(self, tool: Callable[[Piece], str]) -> None:
        """Use a tool on all workpieces; if it makes new simulations, they take the place of the old ones."""
        pieces = self._pieces
        before = [piece.simulation for piece in pieces]
        try:
            said = self._runner.call(lambda: [tool(piece) for piece in pieces]).result()
            self.note.content = said[0] or self._scene.about()
        finally:
            after = [piece.simulation for piece in pieces]
            if any(a is not b for a, b in zip(after, before, strict=True)):
                self._swap(after)
            self._mark_held()

    def _mark_held(self) -> None:
        if self._pieces:
            self.box.show_held(self._runner.call(self._pieces[0].held).result(), float(self._scene.pitch))

    # -------------------------------------------------------------------------------------------- pulling

    def _start_picking(self) -> None:
        if not self._picking:
            self._picking = True
            self.click.label = "Click on the body …"
            self._page.server.scene.on_click()(self._clicked)

    def _stop_picking(self) -> None:
        if self._picking:
            self._picking = False
            self.click.label = "Click a point"
            self._page.server.scene.remove_click_callback(self._clicked)

    def _clicked(self, event: Any) -> None:
        origin, direction = np.array(event.ray_origin) - self._page.drawing.offset, np.array(event.ray_direction)
        self._page.later(lambda: self._grab_on(origin, direction))

    def _grab_on(self, origin: np.ndarray, direction: np.ndarray) -> None:
        place = self._runner.call(lambda: self._pieces[0].pick(origin, direction)).result()
        self._stop_picking()
        self._grab(place)

    def _grab(self, at: np.ndarray | None = None) -> None:
        point = np.asarray(self.box.value[0] if at is None else at)
        pieces = self._pieces
        places = self._runner.call(lambda: [p.pull(point, at=point) for p in pieces]).result()
        self._runner.call(lambda: [p.pull(place) for p, place in zip(pieces, places, strict=True)]).result()
        self.handle.show(places[0])
        self.note.content = "Drag the handle to pull."

    def _dragged(self) -> None:
        self._page.later(self._pull)

    def _pull(self) -> None:
        place = self.handle.take()
        if place is not None:
            pieces = self._pieces
            self._runner.call(lambda: [piece.pull(place) for piece in pieces]).result()

    def _release(self) -> None:
        self._stop_picking()
        pieces = self._pieces
        self._runner.call(lambda: [_silently(piece.release) for piece in pieces]).result()
        self.handle.hide()


def _silently(tool: Callable[..., Any], *arguments: Any) -> str:
    """Use a tool that has nothing to report."""
    tool(*arguments)
    return ""


def _materials(scene: FromFile) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*names(), scene.material]))


def _control(gui: Any, scene: FromFile, name: str) -> Any:
    """A box for a parameter: sizes are typed, not slid."""
    field, value = scene.__dataclass_fields__[name], values(scene)[name]
    label = _LABELS.get(name, name.capitalize())
    if isinstance(value, bool):
        return gui.add_checkbox(label, value, hint=field.metadata["help"])
    unit = f" [{field.metadata['unit']}]" if field.metadata["unit"] else ""
    return gui.add_number(label + unit, value, min=0.0, step=0.001, hint=field.metadata["help"])
