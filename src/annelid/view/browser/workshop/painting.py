"""The workshop for voxels in the page: a tab with brushes, blocks that are clicked, files that come and go.

It knows no physics. A scene with it is `Paintable`; its simulations carry a canvas, which does the work
(`simulation.attachments["canvas"]`). While someone paints, blocks are shown; the simulation is made at *Play*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from annelid.core.errors import AnnelidError
from annelid.core.scene import Paintable
from annelid.view.browser.page import NO_FIELD, Page
from annelid.view.browser.runner import Runner
from annelid.view.browser.workshop.blocks import Blocks
from annelid.view.browser.workshop.uploads import Uploads, escaped, file_name
from annelid.view.colors import Scale

Vector = Sequence[float] | np.ndarray
"""Three numbers."""

_COLORS = ("material", "phase", "amplitude")
_HELP = "Click on the body or the grid, or use the tool on a box of cells. *Play* lets it move, *Reset* goes back here."


class Canvas(Protocol):
    """What is asked of what is painted on."""

    tools: tuple[str, ...]
    vxa: Any

    @property
    def shape(self) -> tuple[int, int, int]: ...  # noqa: D102
    @property
    def side(self) -> float: ...  # noqa: D102
    @property
    def corner(self) -> np.ndarray: ...  # noqa: D102
    @property
    def palette(self) -> list[tuple[str, tuple[float, float, float]]]: ...  # noqa: D102
    @property
    def frequency(self) -> float: ...  # noqa: D102
    def voxels(self) -> dict[str, np.ndarray]: ...  # noqa: D102
    def about(self) -> str: ...  # noqa: D102
    def take_brush(self, *, material: int, phase: float, amplitude: float) -> None: ...  # noqa: D102
    def apply(self, tool: Any, where: np.ndarray) -> int: ...  # noqa: D102
    def click(self, tool: Any, origin: Any, direction: Any, layer: int) -> int: ...  # noqa: D102
    def box(self, first: Vector, last: Vector) -> np.ndarray: ...  # noqa: D102
    def resize(self, shape: Vector) -> int: ...  # noqa: D102
    def clear(self) -> int: ...  # noqa: D102
    def wave(self, frequency: float) -> None: ...  # noqa: D102
    def undo(self) -> bool: ...  # noqa: D102
    def redo(self) -> bool: ...  # noqa: D102
    def load(self, path: Any) -> list[str]: ...  # noqa: D102
    def text(self) -> str: ...  # noqa: D102
    def simulation(self, *, largest: bool = False) -> tuple[Any, list[str]]: ...  # noqa: D102


class PaintPage:
    """The tab in which voxels are painted, there while the scene is paintable.

    Args:
        page: The page.
        runner: Owner of the simulations.
        tabs: Group of tabs to stand in.
        swap: Puts other simulations in place of those that run.

    Attributes:
        editing: Whether blocks are shown rather than the simulation.
    """

    def __init__(self, page: Page, runner: Runner, tabs: Any, *, swap: Callable[[Any], None]) -> None:
        self._page, self._runner, self._tabs, self._swap = page, runner, tabs, swap
        self._tab: Any = None
        self._canvas: Canvas | None = None
        self.editing = False
        self.uploads = Uploads()
        self.blocks: Blocks

    @property
    def open(self) -> bool:
        """Whether there is something to paint on now."""
        return self._tab is not None

    @property
    def canvas(self) -> Canvas:
        """What is painted on."""
        assert self._canvas is not None
        return self._canvas

    def show(self, scene: Any) -> None:
        """Open the tab of a scene, or close it if the scene has none."""
        if self._tab is not None:
            self._page.server.scene.remove_click_callback(self._clicked)
            self._tab.remove()
            self.blocks.remove()
            self._page.drawing.show(True)
        self._tab, self._canvas, self.editing = None, None, False
        if not isinstance(scene, Paintable):
            return
        gui, self._tab = self._page.server.gui, self._tabs.add_tab("Paint")
        with self._tab:
            self.note = gui.add_markdown(_HELP)
            self._add_brush(gui)
            with gui.add_folder("Box of cells"):
                self._add_box(gui)
            with gui.add_folder("Robot"):
                self._add_robot(gui)
        self.blocks = Blocks(self._page.server)
        self._page.server.scene.on_click()(self._clicked)

    def attach(self, simulations: Sequence[Any]) -> None:
        """Paint on what these simulations carry, or go on with what is painted on already."""
        if not self.open:
            return
        self._page.follow.value = False  # blocks stand still
        if self._canvas is None:
            self._canvas = simulations[0].attachments["canvas"]
            self._fit()
            self._recolor()
        self.edit()

    def edit(self) -> None:
        """Stop, and show the body as it is painted."""
        if self._runner.playing or any(simulation.step_count for simulation in self._runner.simulations):
            self._runner.pause()
            self._runner.call(lambda: [simulation.reset() for simulation in self._runner.simulations]).result()
        self.editing = True
        self._draw()

    def prepare(self) -> None:
        """Before time passes: make simulations of the body as it is painted; raises where it cannot move."""
        if not (self.open and self.editing):
            return
        canvas, largest = self.canvas, bool(self.largest.value)
        try:
            self.note.content = "building …"
            count = len(self._runner.simulations)
            built = self._runner.call(lambda: [canvas.simulation(largest=largest) for _ in range(count)]).result()
        except Exception as error:
            self.note.content = f"**not played:** {escaped(str(error))}"
            raise
        self.editing = False
        self._swap([simulation for simulation, _ in built])
        self.note.content = escaped(" ".join([canvas.about(), *built[0][1]]))
        self._draw()

    def close(self) -> None:
        """Delete uploaded files."""
        self.uploads.close()

    # -------------------------------------------------------------------------------------------- controls

    def _add_brush(self, gui: Any) -> None:
        later = self._page.later
        self.tool = gui.add_dropdown("Tool", ("add", "paint", "wave", "erase"), initial_value="add", hint=_TOOLS)
        self.material = gui.add_dropdown("Material", ("1",), initial_value="1")
        self.phase = gui.add_slider("Phase [cycles]", 0.0, 1.0, 0.01, 0.0, hint="Where the wave of a voxel begins")
        self.amplitude = gui.add_slider("Amplitude", 0.0, 2.0, 0.05, 1.0, hint="Over that of the robot; 0 is still")
        self.layer = gui.add_slider("Layer", 0, 1, 1, 0, hint="Where clicks beside the body add voxels")
        self.color = gui.add_dropdown("Colour by", _COLORS, initial_value="material")
        self.steps = gui.add_button_group("", ("Undo", "Redo"))
        self.layer.on_update(lambda _: later(self._draw))
        self.color.on_update(lambda _: later(self._recolor))
        self.steps.on_click(lambda event: later(lambda: self._step(str(event.target.value))))

    def _add_box(self, gui: Any) -> None:
        later = self._page.later
        self.first = gui.add_vector3("First cell", (0.0, 0.0, 0.0), min=(0.0,) * 3, step=1.0)
        self.last = gui.add_vector3("Last cell", (0.0, 0.0, 0.0), min=(0.0,) * 3, step=1.0)
        self.fill = gui.add_button("Use the tool on the box")
        self.fill.on_click(lambda _: later(self._fill))

    def _add_robot(self, gui: Any) -> None:
        later = self._page.later
        self.size = gui.add_vector3("Cells", (1.0, 1.0, 1.0), min=(1.0,) * 3, step=1.0)
        self.lattice = gui.add_button_group("", ("Resize", "Clear"))
        self.frequency = gui.add_number("Frequency [Hz]", 1.0, min=0.01, max=1000.0, step=0.1)
        self.largest = gui.add_checkbox(
            "Largest part only", False, hint="Of a body in several parts, which cannot play"
        )
        self.save = gui.add_button("Save as .vxa")
        self.load = gui.add_upload_button("Load .vxa, .vxd or .vxc", mime_type=".vxa,.vxd,.vxc")
        self.lattice.on_click(lambda event: later(self._resize if event.target.value == "Resize" else self._clear))
        self.frequency.on_update(
            lambda event: later(self._wave) if event.client is not None else None  # not what a file said
        )
        self.save.on_click(lambda event: later(lambda: self._save(event.client)))
        self.load.on_upload(lambda event: self._receive(event.target.value))

    # -------------------------------------------------------------------------------------------- what they do

    def _brush(self) -> str:
        """Give the canvas what is painted with; returns the tool."""
        names = [name for name, _ in self.canvas.palette]
        number = 1 + names.index(str(self.material.value))
        self.canvas.take_brush(material=number, phase=float(self.phase.value), amplitude=float(self.amplitude.value))
        return str(self.tool.value)

    def _clicked(self, event: Any) -> None:
        origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
        self._page.later(lambda: self._click(origin, direction))

    def _click(self, origin: np.ndarray, direction: np.ndarray) -> None:
        """Paint where someone clicked; while it plays a click is no more than a click."""
        if self.editing:
            count = self.canvas.click(self._brush(), origin, direction, int(self.layer.value))
            self._tell("" if count else "nothing there to change")

    def _fill(self) -> None:
        count = self.canvas.apply(self._brush(), self.canvas.box(self.first.value, self.last.value))
        self._tell(f"{count} voxels changed")

    def _step(self, which: str) -> None:
        done = self.canvas.undo() if which == "Undo" else self.canvas.redo()
        self._fit(aim=False)
        self._tell("" if done else f"nothing to {which.lower()}")

    def _resize(self) -> None:
        lost = self.canvas.resize(self.size.value)
        self._fit()
        self._tell(f"{lost} voxels have no room on it: *Undo* brings them back" if lost else "")

    def _clear(self) -> None:
        self.canvas.clear()
        self._tell("")

    def _wave(self) -> None:
        self.canvas.wave(float(self.frequency.value))
        self._tell("")

    def _save(self, client: Any) -> None:
        """Let the browser of whoever asked keep the file; an empty one too, for it is kept to be gone on with."""
        name = file_name(f"{self.canvas.vxa.name}.vxa")
        if client is not None:
            client.send_file_download(name, self.canvas.text().encode(), save_immediately=True)
        self.note.content = f"Saved as {escaped(name)}. {self.canvas.about()}"

    def _receive(self, given: Any) -> None:
        self._page.later(lambda: self._uploaded(given.name, given.content))

    def _uploaded(self, name: str, content: bytes) -> None:
        """Paint on a file; one that cannot be read leaves everything as it was."""
        path: Path = self.uploads.keep(name, content)
        try:
            told = self.canvas.load(path)
        except AnnelidError as error:
            sentence = self.uploads.tidy(str(error))
            self.note.content = f"**{escaped(name)}:** {escaped(sentence)}"
            self._page.tell(sentence)
            return
        self._fit()
        self._tell(escaped(" ".join(told)))

    # -------------------------------------------------------------------------------------------- showing

    def _fit(self, *, aim: bool = True) -> None:
        """Let controls and camera suit the lattice and the palette."""
        canvas = self.canvas
        names, (_, _, z) = tuple(name for name, _ in canvas.palette), canvas.shape
        if tuple(self.material.options) != names:
            self.material.options = names
            self.material.value = names[0]
        self.layer.max = max(z - 1, 1)
        self.layer.value = min(int(self.layer.value), z - 1)
        self.size.value = tuple(map(float, canvas.shape))
        self.frequency.value = round(max(canvas.frequency, 0.01), 6)
        if aim:
            self._page.aim_at(canvas.corner, canvas.corner + canvas.side * np.array(canvas.shape))

    def _tell(self, sentence: str) -> None:
        """Show the body as it is painted, and say what happened."""
        self.edit()
        self.note.content = (
            f"{sentence[:1].upper()}{sentence[1:]}. {self.canvas.about()}"
            if sentence
            else (f"{self.canvas.about()}\n\n{_HELP}")
        )

    def _recolor(self) -> None:
        """Colour blocks and, where it can be, what plays in the same way."""
        self._page.color.value = "phase" if self.color.value == "phase" else NO_FIELD
        self._draw()

    def _draw(self) -> None:
        self._page.drawing.show(not self.editing)
        self.blocks.show(self.editing)
        if not self.editing:
            return
        canvas, voxels = self.canvas, self.canvas.voxels()
        name = str(self.color.value)
        if name == "material":
            colors = np.array([color for _, color in canvas.palette])[voxels["material"].astype(int) - 1]
        else:
            scale = Scale(name, "", (0.0, 1.0 if name == "phase" else 2.0))
            colors = scale.colors(voxels[name])
        self.blocks.draw(voxels["cells"], colors, canvas.corner, canvas.side)
        self.blocks.draw_lattice(canvas.shape, int(self.layer.value), canvas.corner, canvas.side)


_TOOLS = "add voxels; paint: give voxels the material; wave: give voxels phase and amplitude; erase voxels"
