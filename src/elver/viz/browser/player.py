"""The page of a recorded run: time slider, speed, trails, a camera that follows, plots linked to time; or two runs.

Poses come from the run. Where the model stands in it, tendons, joints and all colours are known too; else rods show
their curvature.
"""

from __future__ import annotations

import logging
import threading
import time as clock
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import xarray as xr

from elver.errors import BadInput
from elver.io import loads
from elver.system import System
from elver.viz.browser.actors import Actors, Place, actors_of, actors_of_cast
from elver.viz.browser.plots import LinkedPlot
from elver.viz.browser.server import Served, paragraph
from elver.viz.browser.shapes import MEASURES
from elver.viz.browser.stage import Stage, rgb
from elver.viz.history import Cast, cast_of

__all__ = ["Player", "Recording"]

_log = logging.getLogger("elver.view")
_PICTURES = 60.0


class Recording:
    """One run with all that is needed to draw it at any instant."""

    def __init__(self, run: xr.Dataset) -> None:
        self.run = run
        self.cast: Cast = cast_of(run)
        self.time = np.asarray(self.cast.time, dtype=float)
        self.system = _system_of(run)
        self.actors: Actors = actors_of_cast(self.cast) if self.system is None else actors_of(self.system)
        drawn = {rod.name for rod in self.cast.rods} | {body.name for body in self.cast.bodies}
        if self.system is not None and not set(self.actors.rods) | set(self.actors.bodies) <= drawn:
            self.system, self.actors = None, actors_of_cast(self.cast)  # the run holds only a part of its model
        self.q = run["q"].values[self.cast.steps] if self.system is not None and "q" in run else None

    def step_at(self, t: float) -> int:
        """The recorded instant nearest to ``t`` [s]."""
        k = int(np.searchsorted(self.time, t))
        if k == 0:
            return 0
        if k == self.time.size:
            return k - 1
        return k if self.time[k] - t < t - self.time[k - 1] else k - 1

    def places(self, k: int) -> dict[str, Place]:
        """Where all parts are."""
        places = {}
        for rod in self.cast.rods:
            R = rod.orientation[k] if rod.orientation is not None else _frames_along(rod.position[k])
            places[rod.name] = Place(rod.s, rod.position[k], R)
        for body in self.cast.bodies:
            middle, R = body.position[k], body.orientation[k]
            _, centre = self.actors.bodies.get(body.name, (None, np.zeros(3)))
            places[body.name] = Place(np.zeros(1), (middle - R @ centre)[None], R[None])
        return places

    def coordinates(self, k: int) -> dict[str, np.ndarray]:
        """Coordinates of each rod, where the model is known."""
        if self.q is None or self.system is None:
            return {}
        rods = [rod for rod in self.system.mechanism.rods if rod in self.system.blocks]
        return {rod.name: self.q[k][self.system.coordinates(rod)] for rod in rods}

    def inputs(self, k: int) -> dict[str, float]:
        """Inputs by name."""
        if "inputs" not in self.run:
            return {}
        values = self.run["inputs"].values[self.cast.steps[k]]
        return dict(zip(map(str, self.run["input"].values), map(float, values), strict=True))

    @property
    def full(self) -> dict[str, float]:
        """Largest value of each input."""
        if "inputs" not in self.run:
            return {}
        largest = np.abs(self.run["inputs"].values).max(axis=0)
        return dict(zip(map(str, self.run["input"].values), map(float, largest), strict=True))


class Player(Served):
    """A page that plays one run, or two side by side."""

    def __init__(self, runs: Sequence[xr.Dataset], server: Any, title: str, names: Sequence[str] = ()) -> None:
        if not 1 <= len(runs) <= 2:
            raise BadInput(f"view: {len(runs)} runs; give one run, or two to see them side by side")
        self.recordings = [Recording(run) for run in runs]
        self.names = list(names) or [f"run {k + 1}" for k in range(len(runs))]
        super().__init__(server)
        self.title = title
        self.start_time = min(float(r.time[0]) for r in self.recordings)
        self.end_time = max(float(r.time[-1]) for r in self.recordings)
        self.t, self.playing, self.rate = self.start_time, True, 1.0
        self._lock = threading.RLock()
        self._words_due = self._plots_due = 0.0
        self._drawn: list[int] = []
        self.stages: list[Stage] = []
        self.trails: list[list[tuple[np.ndarray, Any]]] = []
        self._build_scene()
        self._build_panel()
        self.draw()

    def _build_scene(self) -> None:
        scene = self.server.scene
        for k, recording in enumerate(self.recordings):
            root = f"/run{k + 1}"
            stage = Stage(self.server, recording.actors, recording.places(0), root)
            ways = np.concatenate([way.reshape(-1, 3) for way in recording.cast.traces])
            stage.low, stage.high = np.minimum(stage.low, ways.min(axis=0)), np.maximum(stage.high, ways.max(axis=0))
            lines = []
            for n, way in enumerate(recording.cast.traces):
                line = scene.add_line_segments(
                    f"{root}/trail{n}",
                    np.tile(way[0], (1, 2, 1)).astype(np.float32),
                    rgb("gold"),
                    thickness=3.0,
                    thickness_units="screen",
                )
                lines.append((way, line))
            self.trails.append(lines)
            self.stages.append(stage)
        first, last = self.stages[0], self.stages[-1]
        if last is not first:
            self._set_beside(first, last)
        first.add_ground()
        camera = self.server.initial_camera
        camera.position, camera.look_at = first.camera()
        camera.fov = np.radians(40.0)

    def _set_beside(self, first: Stage, second: Stage) -> None:
        """The second run right of the first, names above both."""
        way = np.array([float(first.high[0] - second.low[0]) + 0.5 * first.size, 0.0, 0.0])
        second.world.position = way
        for name, stage in zip(self.names, self.stages, strict=True):
            above = 0.5 * (stage.low + stage.high)
            above[2] = stage.high[2] + 0.15 * stage.size
            self.server.scene.add_label(
                f"{stage.root}/name", name, position=above, anchor="bottom-center", font_screen_scale=1.3
            )
        first.low, first.high = np.minimum(first.low, way + second.low), np.maximum(first.high, way + second.high)

    def _build_panel(self) -> None:
        gui = self.server.gui
        self.status = gui.add_html("")
        span = max(self.end_time - self.start_time, 1e-9)
        self.slider = gui.add_slider("time [s]", self.start_time, self.start_time + span, span / 1000.0, self.t)
        self.slider.on_update(lambda e: self._moved(e))
        self.buttons = gui.add_button_group("play", ("play", "pause", "start"))
        self.buttons.on_click(lambda _: self.press(self.buttons.value))
        self.speed = gui.add_slider("speed", 0.05, 4.0, 0.05, 1.0)
        self.speed.on_update(lambda _: setattr(self, "rate", float(self.speed.value)))
        self.repeat = gui.add_checkbox("repeat", True)
        self.trailing = gui.add_checkbox("trails", True)
        self.trailing.on_update(lambda _: self._drawn.clear())
        self.follow = gui.add_checkbox("camera follows", False)
        known = [one.measures for r, one in zip(self.recordings, self.stages, strict=True) if r.q is not None]
        shared = [name for name in MEASURES if all(name in own for own in known)] if known else ["curvature"]
        self.measure = gui.add_dropdown("colour", (*shared, "none"))
        self.measure.on_update(lambda _: self._choose())
        self.frames = gui.add_checkbox("frames", False)
        self.frames.on_update(lambda _: self._show_frames())
        self.plots: list[LinkedPlot] = []
        with gui.add_folder("plots"):
            for name, recording in zip(self.names, self.recordings, strict=True):
                self._add_plots(gui, "" if len(self.recordings) == 1 else f"{name}: ", recording)

    def _add_plots(self, gui: Any, prefix: str, recording: Recording) -> None:
        if recording.time.size < 2:
            return
        part, way = next(iter(recording.cast.ways.items()))
        curves = dict(zip(("x", "y", "z"), way.T, strict=True))
        self.plots.append(LinkedPlot(gui, f"{prefix}{part}", recording.time, curves, "m"))
        run, steps = recording.run, recording.cast.steps
        energies = {
            kind: run[f"energy/{kind}"].values[steps] for kind in ("kinetic", "elastic") if f"energy/{kind}" in run
        }
        if "energy/total" in run:  # its zero is where somebody put it
            total = run["energy/total"].values[steps]
            energies["total, change"] = total - total[0]
        if energies:
            self.plots.append(LinkedPlot(gui, f"{prefix}energy", recording.time, energies, "J"))

    def _show_frames(self) -> None:
        for stage in self.stages:
            stage.show_frames(self.frames.value)
        self._drawn.clear()

    def _choose(self) -> None:
        for stage in self.stages:
            stage.choose(self.measure.value)
        self._drawn.clear()

    # What a person does -------------------------------------------------------------------------------------

    def _moved(self, event: Any) -> None:
        if event.client is not None:  # what the program itself sets has no client
            self._go(float(self.slider.value))

    def press(self, what: str) -> None:
        """Play, pause, or go to the start."""
        with self._lock:
            if what == "start":
                self.t = self.start_time
            else:
                self.playing = what == "play"
                if self.playing and self.t >= self.end_time:
                    self.t = self.start_time

    def seek(self, t: float) -> None:
        """Go to ``t`` [s] and stay there."""
        self._go(t)
        self.slider.value = self.t

    def _go(self, t: float) -> None:
        with self._lock:
            self.t, self.playing = float(np.clip(t, self.start_time, self.end_time)), False

    # The loop -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        last = clock.perf_counter()
        while not self._stop.is_set():
            now = clock.perf_counter()
            try:
                self.tick(now - last)
            except Exception:
                _log.exception("playback")
                self.playing = False
            last = now
            self._stop.wait(max(1.0 / _PICTURES - (clock.perf_counter() - now), 1e-3))

    def tick(self, wall: float) -> None:
        """Move on by ``wall`` seconds of the clock, and show it."""
        with self._lock:
            if self.playing:
                self.t += wall * self.rate
                if self.t > self.end_time:
                    again = self.repeat.value and self.end_time > self.start_time
                    self.t = self.start_time if again else self.end_time
                    self.playing = bool(again)
            t = self.t
        steps = [recording.step_at(t) for recording in self.recordings]
        if steps != self._drawn:
            self._drawn = steps
            self.draw()
        now = clock.perf_counter()
        if now >= self._words_due:
            self._words_due = now + 0.1
            self.status.content = self.words()
            if self.playing:
                self.slider.value = float(t)
            for plot in self.plots:
                plot.show(t)

    def draw(self) -> None:
        """Show all runs at the present time."""
        for recording, stage, lines in zip(self.recordings, self.stages, self.trails, strict=True):
            k = recording.step_at(self.t)
            stage.colours = self.stages[0].colours or stage.colours  # one scale, so that runs can be compared
            stage.draw(recording.places(k), recording.coordinates(k), recording.inputs(k), recording.full)
            for way, line in lines:
                if line.visible != self.trailing.value:
                    line.visible = self.trailing.value
                if self.trailing.value:
                    self._draw_trail(way[: k + 1], line)
        first = self.recordings[0]
        shift = self.stages[0].follow(first.places(first.step_at(self.t)), self.follow.value)
        if shift.any():
            for stage in self.stages:
                stage.world.position = stage.world.position + shift

    @staticmethod
    def _draw_trail(way: np.ndarray, line: Any) -> None:
        keep = np.unique(np.linspace(0, len(way) - 1, min(len(way), 200)).round().astype(int))
        points = np.asarray(way[keep], dtype=np.float32)
        if len(points) < 2:
            points = np.tile(points, (2, 1))
        fresh = np.linspace(0.15, 1.0, len(points) - 1)[:, None]
        colour = (1.0 - fresh) * np.array(rgb("floor")) + fresh * np.array(rgb("gold"))
        line.points = np.stack([points[:-1], points[1:]], axis=1)
        line.colors = np.repeat(colour.astype(np.uint8)[:, None], 2, axis=1)

    def words(self) -> str:
        """The status in HTML."""
        doing = "playing" if self.playing else "paused"
        states = [str(r.run.attrs.get("status", "complete")) for r in self.recordings]
        broken = (
            escape(f"{name}: {state}") for name, state in zip(self.names, states, strict=True) if state != "complete"
        )
        text = f"<b>{doing}</b> &nbsp; t = {self.t:.3f} of {self.end_time:g} s"
        return paragraph(text, self.stages[0].scale() or self.stages[-1].scale(), *broken)


def _system_of(run: xr.Dataset) -> System | None:
    """The system in a run; None where there is none, or one that cannot be read."""
    text = run.attrs.get("model")
    if not isinstance(text, str):
        return None
    try:
        system = loads(text)
    except (BadInput, ValueError, TypeError, KeyError):
        return None
    return system if isinstance(system, System) else None


def _frames_along(points: np.ndarray) -> np.ndarray:
    """Section frames (N, 3, 3) along a line of which only points are known, without twist."""
    tangent = np.gradient(points, axis=0)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), 1e-12)
    y = np.cross(np.eye(3)[np.argmin(np.abs(tangent[0]))], tangent[0])
    frames = np.empty((len(points), 3, 3))
    for i, x in enumerate(tangent):
        y = y - (y @ x) * x
        y /= max(float(np.linalg.norm(y)), 1e-12)
        frames[i] = np.stack([x, y, np.cross(x, y)], axis=1)
    return frames
