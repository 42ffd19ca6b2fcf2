"""`annelid view NAME`: a simulation in the browser, with its controls.

The simulation runs in a thread of its own (`runner`). Another thread, here, asks it for a picture when someone watches,
and so rarely that looking costs a few hundredths of the time. A slow browser gets the latest picture, not all of them.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from typing import Any

from annelid.core.errors import UnknownName, ViewerFailed
from annelid.core.parameters import values
from annelid.core.scene import Adjustable, Buildable, WithStatus
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Snapshot
from annelid.view.browser.commands import Commands
from annelid.view.browser.grips import Grips
from annelid.view.browser.page import Page, Viewer
from annelid.view.browser.panel import add_controls, converted, parameter_fields, sweep, sweepable
from annelid.view.browser.runner import Moment, Runner
from annelid.view.browser.targets import Targets
from annelid.view.browser.workshop.page import WorkshopPage
from annelid.view.browser.workshop.painting import PaintPage

_MOST_STEPS, _CLICK = 100, 0.05  # that a click takes to begin with: steps, and time [s]
_SPEEDS: dict[str, float | None] = {
    "as fast as it can": None,
    "2 ×": 2.0,
    "1 ×": 1.0,
    "0.5 ×": 0.5,
    "0.1 ×": 0.1,
    "0.01 ×": 0.01,
}
_MAX_RATE = 30.0
_SHARE = 0.06  # of the time that looking may cost the simulation
_SAME = "(all alike)"

Build = Callable[[Buildable], Simulation[Any]]
"""Makes the simulation of a scene."""


class LiveViewer(Viewer):
    """A page with simulations of a scene; paused until someone plays.

    Args:
        scenes: Classes of scenes by name; none leaves out what chooses between scenes and puts several side by side.
        scene: The scene to begin with, an object of one of them.
        build: Makes the simulation of a scene; by default `scene.build()`.
        name: Title; by default the name of the scene.
        host: Address to listen on.
        port: Port to listen on; the next free one if it is taken.
        allow_hosts: Other names under which the page is published: `NAME` or `NAME:PORT`.
    """

    def __init__(
        self,
        scenes: Mapping[str, type[Buildable]],
        scene: Buildable,
        *,
        build: Build | None = None,
        name: str | None = None,
        host: str = "127.0.0.1",
        port: int = 8080,
        allow_hosts: Sequence[str] = (),
    ) -> None:
        self._scenes, self._scene = dict(scenes), scene
        self._build: Build = build or (lambda s: s.build())
        named = (known for known, kind in self._scenes.items() if type(scene) is kind)
        self._name = name or next(named, type(scene).__name__)
        self._variants: list[Buildable] = [scene]
        self._names: list[str] = []
        self._shown: Moment | None = None
        self._last_error: Exception | None = None
        self._cost = 0.0
        self._controls: dict[str, Any] = {}
        self._last_of_all = ExitStack()  # what is closed when nobody uses it any more
        self.page = Page(f"Annelid: {self._name}", host=host, port=port, allow_hosts=allow_hosts)
        self.runner = Runner()
        try:
            self._make_panel()
            self._rebuild()
            self._steps.value = steps_a_click(self.runner.simulations[0].dt)
        except BaseException:
            self.close()
            raise
        self.page.start(self._refresh, "annelid-viewer")

    def close(self) -> None:
        """Stop the simulation and the server."""
        self.page.stopping.set()
        self.runner.close()
        self.page.close()
        self._last_of_all.close()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="100%" height="600" style="border:0"></iframe>'

    # -------------------------------------------------------------------------------------------- the panel

    def _make_panel(self) -> None:
        gui, page = self.page.server.gui, self.page
        self._status = gui.add_markdown("")
        self._play = gui.add_button("Play", hint="Let time pass, or stop it")
        self._buttons = gui.add_button_group("", ("Step", "Reset"))
        tabs = gui.add_tab_group()
        self._workshop = WorkshopPage(page, self.runner, tabs, build=self._build_anew, swap=self._swap)
        self._painting = PaintPage(page, self.runner, tabs, swap=self._swap)
        for bench in (self._workshop, self._painting):
            self._last_of_all.callback(bench.close)
            bench.show(self._scene)
        with tabs.add_tab("Run"):
            self._steps = gui.add_number("Steps a click", _MOST_STEPS, min=1, max=1_000_000, step=1)
            self._speed = gui.add_dropdown("Speed", tuple(_SPEEDS), initial_value=next(iter(_SPEEDS)))
            with gui.add_folder("Show"):
                page.add_show_controls((), parts=True)
            self._folder = gui.add_folder("Parameters")
            self._commands = Commands(gui, self.runner, page.later)
        self._plots = page.add_plots(tabs.add_tab("Numbers"))
        with tabs.add_tab("Scenes") if self._scenes else nullcontext():
            names = tuple(dict.fromkeys([*self._scenes, self._name]))
            self._choice = gui.add_dropdown("Scene", names, initial_value=self._name)
            self._about = gui.add_markdown("")
            self._count = gui.add_slider("Side by side", 1, 16, 1, 1)
            self._vary = gui.add_dropdown("Vary", (_SAME,), initial_value=_SAME)
        for handle in (self._choice, self._about, self._count, self._vary):
            handle.visible = bool(self._scenes)
        self._targets = Targets(page.server, self.runner, page.later)
        self._grips = Grips(page.server, self.runner, page.later)
        self._make_controls()
        self._connect()

    def _connect(self) -> None:
        page = self.page
        self._play.on_click(lambda _: page.later(self._toggle))
        self._buttons.on_click(
            lambda event: page.later(self._take_steps if event.target.value == "Step" else self._reset)
        )
        self._speed.on_update(lambda _: setattr(self.runner, "speed", _SPEEDS[self._speed.value]))
        for handle in (page.color, page.surface, page.springs, page.masses, page.follow):
            handle.on_update(lambda _: page.later(self._show))
        self._choice.on_update(lambda _: page.later(self._switch))
        for handle in (self._count, self._vary):
            handle.on_update(lambda _: page.later(self._rebuild))

    def _make_controls(self) -> None:
        """Controls for the parameters of the current scene, in place of those of the one before."""
        for handle in self._controls.values():
            handle.remove()
        with self._folder:
            self._controls = add_controls(
                self.page.server.gui,
                self._scene,
                lambda name, value: self.page.later(lambda: self._change(name, value)),
                only_live=self._workshop.open or self._painting.open,  # which have controls for the others
            )
        self._folder.visible = bool(self._controls)
        self._vary.options = (_SAME, *sweepable(self._scene))
        doc = type(self._scene).__doc__ or ""
        self._about.content = doc.strip().split("\n\n")[0]

    # -------------------------------------------------------------------------------------------- what the controls do

    def _toggle(self) -> None:
        if self.runner.playing:
            self.runner.pause()
        else:
            self._painting.prepare()
            self.runner.play()
        self._show()

    def _take_steps(self) -> None:
        self._painting.prepare()
        try:
            self.runner.step(int(self._steps.value)).result()
        finally:
            self._show()

    def _change(self, name: str, value: Any) -> None:
        """A parameter was moved: act now if the scene can, else at the next reset."""
        changed = replace(self._scene, **{name: converted(self._scene, name, value)})
        field = changed.__dataclass_fields__[name]
        if field.metadata.get("live") and isinstance(changed, Adjustable):
            new = values(changed)[name]
            variants = [v if self._varied == name else replace(v, **{name: new}) for v in self._variants]
            pairs = list(zip(variants, self.runner.simulations, strict=True))
            self.runner.call(lambda: _adjust(pairs, name)).result()
            self._variants = variants
        self._scene = changed
        self._show()

    @property
    def _varied(self) -> str | None:
        return None if self._vary.value == _SAME or self._count.value == 1 else str(self._vary.value)

    def _switch(self) -> None:
        """Show another scene; if it cannot be built, go on with the one that there is."""
        name = str(self._choice.value)
        if name == self._name:
            return
        if name not in self._scenes:
            raise UnknownName("scene", name, self._scenes)
        try:
            scene = self._scenes[name]()
            variants = [scene] * int(self._count.value)
            simulations = self._built(variants)
        except Exception:
            self._choice.value = self._name
            raise
        self._name, self._scene = name, scene
        self._vary.value = _SAME
        self.page.server.gui.set_panel_label(f"Annelid: {name}")
        self._workshop.show(self._scene)
        self._painting.show(self._scene)
        self._make_controls()
        self._install(simulations, variants, [""] * len(variants), anew=True)

    def _reset(self) -> None:
        """Back to the beginning: with the work that was done in a workshop, or else with the current parameters."""
        if self._workshop.open:
            self._workshop.reset()
        elif self._painting.open:
            self._painting.edit()
            self._show()
        else:
            self._rebuild()

    def _build_anew(self, scene: Buildable) -> None:
        """Build the simulations of another scene of this kind; keep what there is if that fails."""
        now = values(self._scene)
        live = {f.name: now[f.name] for f in parameter_fields(scene) if f.metadata.get("live")}
        before, self._scene = self._scene, replace(scene, **live)
        try:
            self._rebuild(aim=True)
        except Exception:
            self._scene = before
            raise

    def _swap(self, simulations: Sequence[Any]) -> None:
        """Go on with others in place of the simulations, as many of them."""
        was_playing = self.runner.playing
        self.runner.replace(simulations)
        self.page.set_fields(simulations[0].fields)
        self._show()
        if was_playing:
            self.runner.play()

    def _rebuild(self, *, aim: bool = False) -> None:
        """Build the simulations anew from the current parameters; keep the old ones if that fails."""
        variants, names = self._chosen_variants()
        self._install(self._built(variants), variants, names, aim=aim)

    def _built(self, variants: Sequence[Buildable]) -> list[Simulation[Any]]:
        """The simulations of scenes, while those that there are stand still."""
        was_playing = self.runner.playing
        self.runner.pause()
        self._status.content = "building …"
        try:
            simulations = self.runner.call(lambda: [self._build(v) for v in variants]).result()
        except Exception:
            self._status.content = "not built"
            raise
        finally:
            if was_playing:
                self.runner.play()
        return simulations

    def _install(
        self,
        simulations: Sequence[Simulation[Any]],
        variants: list[Buildable],
        names: list[str],
        *,
        aim: bool = False,
        anew: bool = False,
    ) -> None:
        """Put simulations in the place of those that there are; anew: of another scene."""
        was_playing = self.runner.playing
        anew = anew or self._shown is None
        aim = aim or anew or len(variants) != len(self._variants)
        self._variants, self._names = variants, names
        self.runner.replace(simulations)
        self.page.set_fields(simulations[0].fields, anew=anew)
        self._plots.clear()
        moment = self.runner.look(self.page.look()).result()
        self.page.drawing.arrange(moment.snapshots, names)
        if aim:
            self.page.aim(moment.snapshots)
        low, high = self.page.drawing.extent(moment.snapshots)
        self._targets.show(variants[0], float((high - low).max()))
        self._grips.show(float((high - low).max()))
        self._commands.show(simulations)
        self._workshop.attach(simulations, *moment.snapshots[0].bounds())
        self._painting.attach(simulations)
        self._present(moment)
        if was_playing:
            self.runner.play()

    def _chosen_variants(self) -> tuple[list[Buildable], list[str]]:
        count, name = int(self._count.value) if self._scenes else 1, self._varied
        if name is None:
            return [self._scene] * count, [""] * count
        swept = sweep(self._scene, name, count)
        unit = self._scene.__dataclass_fields__[name].metadata.get("unit", "")
        names = [f"{name} = {v:.3g} {unit}".strip() for v in swept]
        return [replace(self._scene, **{name: v}) for v in swept], names

    # -------------------------------------------------------------------------------------------- showing

    def _refresh(self) -> float:
        """Show the present if someone watches; returns the seconds until the next time."""
        if self.runner.failure is not None:
            raise ViewerFailed(f"its simulation ended: {self.runner.failure!r}.") from self.runner.failure
        self._show_status()
        if not self.page.watched or not self.runner.simulations:
            return 0.2
        step = self.runner.simulations[0].step_count
        if not self.runner.playing and self._shown is not None and step == self._shown.snapshots[0].step:
            return 1.0 / _MAX_RATE
        self._show()
        return max(1.0 / _MAX_RATE, min(1.0, self._cost / _SHARE))

    def _show(self) -> None:
        """Show the present; both what the simulation waits for and what is computed here is cost: cores are shared."""
        numbers = self._plots.due or not self.runner.playing
        moment = self.runner.look(self.page.look(numbers=numbers)).result()
        begin = wall.perf_counter()
        self._present(moment)
        self._cost = moment.seconds + wall.perf_counter() - begin

    def _present(self, moment: Moment) -> None:
        self._shown = moment
        self.page.draw(moment.snapshots)
        self._plots.add(moment.snapshots, self._names)
        self._grips.follow()
        self._workshop.refresh()
        self._show_status()

    def _show_status(self) -> None:
        label = "Pause" if self.runner.playing else "Play"
        if self._play.label != label:
            self._play.label = label
        if self.runner.error is not None and self.runner.error is not self._last_error:
            self.page.tell(str(self.runner.error))
        self._last_error = self.runner.error
        if self._shown is not None:
            text = self._status_text(self._shown.snapshots)
            if self._status.content != text:
                self._status.content = text

    def _status_text(self, snapshots: Sequence[Snapshot]) -> str:
        text = f"t = {snapshots[0].time:.3f} s"
        if self.runner.error is not None:
            return f"{text}, stopped: {self.runner.error}"
        text = f"{text}, {self.runner.rate:.2g} × real time" if self.runner.playing else f"{text}, paused"
        if isinstance(self._scene, WithStatus):
            text = f"{text}\n\n{self._scene.status(self.runner.simulations[0])}"
        limitation = self.runner.simulations[0].limitation
        return f"{text}\n\n*{limitation}*" if limitation else text


def steps_a_click(dt: float) -> int:
    """Steps of a time dt [s] that a click takes to begin with: implicit ones are long, and a hundred take minutes."""
    return min(_MOST_STEPS, max(1, round(_CLICK / dt)))


def _adjust(pairs: Sequence[tuple[Buildable, Simulation[Any]]], name: str) -> None:
    """Let the value that each scene has for a parameter act on its simulation."""
    for scene, simulation in pairs:
        if isinstance(scene, Adjustable):
            scene.adjust(simulation, name, values(scene)[name])
