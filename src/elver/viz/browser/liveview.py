"""The page of a live robot: picture, sliders, buttons, plots, and the loop that keeps them in time."""

from __future__ import annotations

import logging
import threading
import time as clock
from collections import deque
from html import escape
from typing import Any, Self

import numpy as np

from elver.errors import BadInput
from elver.integrators.live import LiveRobot, Snapshot
from elver.viz.browser.actors import Place, actors_of
from elver.viz.browser.plots import ScrollingPlot
from elver.viz.browser.server import Served, paragraph
from elver.viz.browser.stage import Stage, rgb
from elver.viz.style import COLOURS

__all__ = ["LiveView"]

_log = logging.getLogger("elver.view")

_PICTURES = 60.0  # a second, at most
_PLOTS, _WORDS = 5.0, 4.0  # updates a second
_TRAIL = 120  # points


class LiveView(Served):
    """A page that shows ``robot`` and moves it; the loop starts with ``start`` and ends with ``stop``."""

    def __init__(self, robot: LiveRobot, server: Any, title: str) -> None:
        super().__init__(server)
        self.robot, self.title = robot, title
        self._clock = 0.0  # s of running, for the plots
        self._due = {"plots": 0.0, "words": 0.0}
        self._shown: deque[float] = deque(maxlen=120)
        self._trail: deque[np.ndarray] = deque(maxlen=_TRAIL)
        self._drags: deque[tuple[str, float | None, Any]] = deque()  # what the mouse did since the last picture
        self._dragged: np.ndarray | None = None  # where the point was when it was grabbed
        self._known: dict[str, Any] = {}  # inputs that the sliders show,
        self._known_pull: np.ndarray | None = None  # pull,
        self._known_point = robot.point  # and point
        seen = robot.snapshot()
        self._weight = seen.energy[2]  # J, at the beginning: its zero is where somebody put it
        self.stage = Stage(server, actors_of(robot.system), self.places(seen))
        self.stage.add_ground()
        position, look_at = self.stage.camera()
        server.initial_camera.position, server.initial_camera.look_at = position, look_at
        server.initial_camera.fov = np.radians(40.0)
        self._add_scene()
        self._add_panel()
        self.draw(seen)

    # The page -----------------------------------------------------------------------------------------------

    def _add_scene(self) -> None:
        scene, size = self.server.scene, self.stage.size
        self.arrow = scene.add_arrows(
            "/robot/pull", np.zeros((1, 2, 3), dtype=np.float32), rgb("accent"), shaft_radius=0.006 * size,
            head_radius=0.016 * size, head_length=0.04 * size, visible=False,
        )  # fmt: skip
        self.trail = scene.add_line_segments(
            "/robot/trail",
            np.zeros((1, 2, 3), dtype=np.float32),
            rgb("gold"),
            thickness=2.0,
            visible=False,
            thickness_units="screen",
        )
        self.stage.on_drag(lambda *what: self._drags.append(what))

    def _add_panel(self) -> None:
        gui, robot = self.server.gui, self.robot
        self.status = gui.add_html("")
        self.modes = gui.add_button_group("mode", ("dynamics", "statics"))
        self.modes.on_click(lambda _: self._say(robot.set_mode, self.modes.value))
        self.buttons = gui.add_button_group("run", ("pause", "reset", "settle"))
        self.buttons.on_click(lambda _: self._press(self.buttons.value))
        self.sliders: dict[str, Any] = {}
        if robot.names:
            with gui.add_folder("inputs"):
                for name in robot.names:
                    self._add_slider(name)
        if robot.points:
            with gui.add_folder("pull, or drag with the mouse", expand_by_default=False):
                self.point = gui.add_dropdown("at", tuple(robot.points), initial_value=robot.point)
                self.point.on_update(lambda e: self._by_hand(e, robot.set_point, self.point.value))
                reach = robot.pull_range
                self.pulls = [
                    gui.add_slider(f"{axis} [N]", -reach, reach, reach / 100.0, 0.0) for axis in ("x", "y", "z")
                ]
                for slider in self.pulls:
                    slider.on_update(lambda e: self._by_hand(e, robot.set_pull, [s.value for s in self.pulls]))
                gui.add_button("let go").on_click(lambda _: self.let_go())
        with gui.add_folder("plots"):
            self.point_plot = ScrollingPlot(gui, robot.point or "point", ["x", "y", "z"], "m")
            self.energy_plot = ScrollingPlot(gui, "energy", ["kinetic", "elastic", "weight, change"], "J")
        with gui.add_folder("look", expand_by_default=False):
            self._add_look(gui)

    def _add_look(self, gui: Any) -> None:
        robot = self.robot
        self.measure = gui.add_dropdown("colour", (*self.stage.measures, "none"), initial_value="curvature")
        self.measure.on_update(lambda _: self.stage.choose(self.measure.value))
        self.frames = gui.add_checkbox("frames", False)
        self.frames.on_update(lambda _: self.stage.show_frames(self.frames.value))
        self.trailing = gui.add_checkbox("trail", False)
        self.trailing.on_update(lambda _: self._trail.clear())
        self.following = gui.add_checkbox("camera follows", robot.system.free)
        self.speed = gui.add_slider("speed", 0.05, 2.0, 0.05, robot.speed)
        self.speed.on_update(lambda _: setattr(robot, "speed", float(self.speed.value)))
        hint = "Damping in proportion to the mass, besides what the model has. 0 is the model itself."
        self.calm = gui.add_slider("calm [1/s]", 0.0, 5.0, 0.1, robot.calm, hint=hint)
        self.calm.on_update(lambda _: setattr(robot, "calm", float(self.calm.value)))

    def _add_slider(self, name: str) -> None:
        low, high = self.robot.ranges[name]
        unit = self.robot.units[name]
        label = f"{name} [{unit}]" if unit != "1" else f"{name} \N{MULTIPLICATION SIGN}"
        value = float(np.clip(self.robot.inputs_now()[name], low, high))
        slider = self.server.gui.add_slider(label, low, high, (high - low) / 200.0, value)
        slider.on_update(lambda e: self._by_hand(e, self.robot.set_input, name, slider.value))
        self.sliders[name] = slider

    # What a person does -------------------------------------------------------------------------------------

    def _press(self, what: str) -> None:
        if what == "pause":
            self.robot.paused = not self.robot.paused
        elif what == "reset":
            self.reset()
        else:
            self._say(self.robot.settle)
        self._due["words"] = 0.0

    def reset(self) -> None:
        """Back to the beginning, sliders too."""
        self.robot.reset()
        self._trail.clear()
        self.point_plot.clear()
        self.energy_plot.clear()
        self._dragged = None
        self._follow()

    def let_go(self) -> None:
        """No pull any more."""
        self._dragged = None
        self.robot.set_pull(np.zeros(3))

    def _drag(self, part: str, s: float | None, event: Any) -> None:
        """The force grows with the way of the mouse from where the point was grabbed."""
        if event.phase == "end":
            self.let_go()
            return
        if event.phase == "start" or self._dragged is None:
            self.robot.grab(part, s)
            self._dragged = np.asarray(event.end_position)
        pull = 2.0 * self.robot.pull_range / self.stage.size * (np.asarray(event.end_position) - self._dragged)
        self.robot.set_pull(pull * min(1.0, self.robot.pull_range / max(float(np.linalg.norm(pull)), 1e-12)))

    def _follow(self) -> None:
        """Sliders go with inputs that follow a program, and with what the mouse or Python set."""
        robot, known = self.robot, self._known
        with robot.lock:
            goals = robot.goals()
            for name, slider in self.sliders.items():
                if robot.follows_time(name) or known.get(name) is not robot.signals[name]:
                    known[name] = robot.signals[name]
                    slider.value = float(np.clip(goals[name], slider.min, slider.max))
            if robot.points and self._known_pull is not robot.pull:
                self._known_pull = robot.pull
                for slider, value in zip(self.pulls, robot.pull, strict=True):
                    slider.value = float(np.clip(round(value / slider.step) * slider.step, slider.min, slider.max))
            if self._known_point != robot.point:
                self._known_point = robot.point
                self.point.options, self.point.value = tuple(robot.points), robot.point
                self.point_plot.begin(robot.point)

    def _by_hand(self, event: Any, action: Any, *arguments: Any) -> None:
        """Do what a person asked for; what the program itself sets has no client."""
        if event.client is not None:
            robot = self.robot
            with robot.lock:
                signals, pull = dict(robot.signals), robot.pull
                self._say(action, *arguments)
                # the page shows that already; to send it back would tear the slider out of the hand
                self._known.update({name: new for name, new in robot.signals.items() if new is not signals[name]})
                if robot.pull is not pull:
                    self._known_pull = robot.pull

    def _say(self, action: Any, *arguments: Any) -> None:
        """Do what was asked; what cannot be is said on the page."""
        try:
            action(*arguments)
        except BadInput as error:
            self.robot.trouble = str(error)
        self._due["words"] = 0.0

    # The loop -----------------------------------------------------------------------------------------------

    @property
    def pictures(self) -> float:
        """Pictures per second, lately."""
        if len(self._shown) < 2:
            return 0.0
        return (len(self._shown) - 1) / max(self._shown[-1] - self._shown[0], 1e-9)

    def start(self) -> Self:
        """Run in a thread of its own, with another that looks for equilibria: some take seconds."""
        threading.Thread(target=self._look, name="elver-view-balance", daemon=True).start()
        return super().start()

    def _look(self) -> None:
        while not self._stop.wait(0.2):
            self.robot.check_balance()

    def _run(self) -> None:
        last = after = clock.perf_counter()
        while not self._stop.is_set():
            now = clock.perf_counter()
            try:
                self.tick(now - last)
            except Exception as error:  # the page stays, and says what happened
                _log.exception("live view")
                self.robot.paused = True
                self.robot.trouble = f"stopped by an error: {error}"
            last = now
            after = max(after + 1.0 / _PICTURES, clock.perf_counter() - 1.0 / _PICTURES)
            self._stop.wait(max(after - clock.perf_counter(), 5e-4))

    def tick(self, wall: float) -> None:
        """Move on by ``wall`` seconds of the clock, and show it."""
        while self._drags:
            self._say(self._drag, *self._drags.popleft())
        self.robot.advance(wall)
        if not self.robot.paused:
            self._clock += wall
        seen = self.robot.snapshot()
        if not self.robot.paused:
            self.point_plot.add(self._clock, *seen.point)
            kinetic, elastic, weight = seen.energy
            self.energy_plot.add(self._clock, kinetic, elastic, weight - self._weight)
        if self.server.get_clients():
            self.draw(seen)
            self._shown.append(clock.perf_counter())
            self._refresh(seen)

    def _refresh(self, seen: Snapshot) -> None:
        now = clock.perf_counter()
        if now >= self._due["plots"]:
            self._due["plots"] = now + 1.0 / _PLOTS
            self.point_plot.show()
            self.energy_plot.show()
            if self.trailing.value:
                self._show_trail()
        if now >= self._due["words"]:
            self._due["words"] = now + 1.0 / _WORDS
            self.status.content = self.words(seen)
            self._follow()

    def places(self, seen: Snapshot) -> dict[str, Place]:
        """Where the parts are in a snapshot."""
        rods, bodies = self.robot.frames()
        places = {rod.name: Place(at.s, seen.position[at.frames], seen.rotation[at.frames]) for rod, at in rods.items()}
        for body, k in bodies.items():
            places[body.name] = Place(np.zeros(1), seen.position[[k]], seen.rotation[[k]])
        return places

    def draw(self, seen: Snapshot) -> None:
        """Show a snapshot."""
        system = self.robot.system
        q = {rod.name: seen.q[system.coordinates(rod)] for rod in system.mechanism.rods if rod in system.blocks}
        full = {name: high for name, (_, high) in self.robot.ranges.items()}
        places = self.places(seen)
        self.stage.draw(places, q, seen.inputs, full)
        shift = self.stage.follow(places, self.following.value)
        if shift.any():
            self.stage.world.position = self.stage.world.position + shift
        force = float(np.linalg.norm(seen.pull))
        pulls = force > 1e-9 * self.robot.pull_range
        if pulls:
            way = 0.5 * self.stage.size / self.robot.pull_range * seen.pull
            self.arrow.points = np.array([[seen.point, seen.point + way]], dtype=np.float32)
        if self.arrow.visible != pulls:
            self.arrow.visible = pulls
        self._trail.append(seen.point)

    def _show_trail(self) -> None:
        points = np.array(self._trail, dtype=np.float32)
        if len(points) < 2:
            return
        fresh = np.linspace(0.0, 1.0, len(points) - 1)[:, None]
        colour = (1.0 - fresh) * np.array(rgb("floor")) + fresh * np.array(rgb("gold"))
        self.trail.points = np.stack([points[:-1], points[1:]], axis=1)
        self.trail.colors = np.repeat(colour.astype(np.uint8)[:, None], 2, axis=1)
        if self.trail.visible != self.trailing.value:
            self.trail.visible = self.trailing.value

    def words(self, seen: Snapshot) -> str:
        """The status in HTML: what runs, how fast, whether it stands, what went wrong, and the scale of the colours."""
        robot = self.robot
        doing = "paused" if robot.paused else robot.mode
        first = f"<b>{doing}</b> &nbsp; t = {seen.time:.2f} s"
        if robot.mode == "dynamics" and not robot.paused:
            first += f" &nbsp; {robot.ratio * robot.speed:.2f}&times; real time"
        found = robot.balance
        if robot.searching:
            second = f"<span style='color:{COLOURS['grey']}'>equilibrium: looking for it</span>"
        elif found is None:  # a robot that floats has none, or all
            known = "no equilibrium found for these inputs" if not robot.system.free else "free"
            second = f"<span style='color:{COLOURS['grey']}'>{known}</span>"
        elif found.stable == "neutral":
            second = f"<span style='color:{COLOURS['rod']}'>equilibrium: neutral</span>"
        elif found.stable:
            second = f"<span style='color:{COLOURS['rod']}'>equilibrium: stable</span>"
        else:
            second = f"<span style='color:{COLOURS['accent']}'><b>equilibrium: unstable</b></span>"
        second += f" &nbsp; {self.pictures:.0f} pictures/s"
        lines = [first, second, self.stage.scale()]
        if said := robot.energy_words:
            lines.append(f"<span style='color:{COLOURS['accent']}'>{escape(said)}</span>")
        if robot.trouble:
            lines.append(f"<span style='color:{COLOURS['accent']}'>{escape(robot.trouble)}</span>")
        return paragraph(*lines)
