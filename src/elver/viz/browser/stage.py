"""The scene in the browser: tubes, tendons, bodies, joints, frames, ground and shadow, moved with each picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from elver.bodies import Sphere
from elver.lie import so3
from elver.mechanism import Frame
from elver.numerics.round_numbers import nice_step
from elver.rods import Rod
from elver.viz.bodies import solid
from elver.viz.browser.actors import Actors, Line, Place
from elver.viz.browser.shapes import MEASURES, RAMP, Colours, RodSkin, ball, disk, interpolation, open_tube, triangles
from elver.viz.style import COLOURS

__all__ = ["Stage", "rgb"]

_TENDON_POINTS = 48
_DISKS = 9


def rgb(name: str, white: float = 0.0) -> tuple[int, int, int]:
    """A colour of the house in 0 ... 255, mixed with some white."""
    r, g, b = ((1.0 - white) * np.array(to_rgb(COLOURS[name])) + white) * 255.0
    return int(r), int(g), int(b)


class Stage:
    """What the browser shows of some actors; ``draw`` moves them. ``root`` separates two stages of one server."""

    def __init__(self, server: Any, actors: Actors, places: Mapping[str, Place], root: str = "/robot") -> None:
        self.server, self.scene, self.actors, self.root = server, server.scene, actors, root
        points = _points(places)
        self.low, self.high = points.min(axis=0), points.max(axis=0)
        length = max((float(s[-1] - s[0]) for s, _, _ in actors.rods.values()), default=0.0)
        self.size = max(float(np.max(self.high - self.low)), length, 1e-3)
        self.least_radius = 0.006 * self.size
        self.pieces = 64 if len(actors.rods) <= 8 else 32
        self.measure = "curvature"
        self.colours: Colours | None = None
        self._skins: dict[str, RodSkin] = {}
        self._handles: dict[str, Any] = {}
        self._lines: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self.frames_shown = False
        self.middle = points.mean(axis=0)
        self.world = self.scene.add_frame(root, show_axes=False)
        self._show_all(places)

    # Setting up ---------------------------------------------------------------------------------------------

    def _show_all(self, places: Mapping[str, Place]) -> None:
        scene, root = self.scene, self.root
        if self.actors.rods:
            centres, turns, sizes, ends, end_turns, end_sizes = self._rod_pieces(places)
            common: dict[str, Any] = {"lod": "off", "receive_shadow": False, "batched_colors": rgb("rod")}
            self._handles["tubes"] = scene.add_batched_meshes_simple(
                f"{root}/rods", *open_tube(), turns, centres, batched_scales=sizes, **common
            )
            self._handles["caps"] = scene.add_batched_meshes_simple(
                f"{root}/ends", *ball(), end_turns, ends, batched_scales=end_sizes, **common
            )
        marker = 1.6 * max((float(h.max()) for _, h, _ in self.actors.rods.values()), default=0.0)
        for name, (shape, _) in self.actors.bodies.items():
            form = shape or Sphere(max(0.02 * self.size, marker))
            mesh = triangles(solid(form, 0.05 * self.size, colour=COLOURS["body"], stripe=False))
            self._handles[f"body {name}"] = scene.add_mesh_simple(
                f"{root}/bodies/{name}", *mesh, color=rgb("body"), flat_shading=False
            )
        for k, (frame, kind) in enumerate(self.actors.joints):
            radius = self._thickness(frame)
            vertices, faces = disk() if kind == "plate" else ball()
            size = np.array([0.9, 2.6, 2.6]) if kind == "plate" else np.full(3, 1.7)
            self._handles[f"joint {k}"] = scene.add_mesh_simple(
                f"{root}/joints/{k}", vertices * size * radius, faces, color=rgb("steel"), flat_shading=False
            )
        for line in self.actors.tendons:
            self._handles[f"tendon {line.name}"] = scene.add_line_segments(
                f"{root}/tendons/{line.name}",
                np.zeros((1, 2, 3), dtype=np.float32),
                rgb("grey"),
                thickness=2.5,
                thickness_units="screen",
            )
            self._show_disks(line)
        count = len(self.actors.rods) * 2 + len(self.actors.bodies)
        self._handles["axes"] = scene.add_batched_axes(
            f"{root}/frames", np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)), np.zeros((count, 3)),
            axes_length=0.09 * self.size, axes_radius=0.0025 * self.size, visible=False,
        )  # fmt: skip

    def _show_disks(self, line: Line) -> None:
        """The disks that carry a tendon outside of the section."""
        reach = line.tendon.reach
        if reach is None:
            return
        for rod in line.tendon.rods:
            thickness = 0.012 * rod.length
            vertices, faces = disk()
            self._handles[f"disks {line.name} {rod.name}"] = self.scene.add_batched_meshes_simple(
                f"{self.root}/disks/{line.name}/{rod.name}",
                vertices * [thickness, reach * 1.08, reach * 1.08],
                faces,
                np.tile([1.0, 0.0, 0.0, 0.0], (_DISKS, 1)),
                np.tile(self.low, (_DISKS, 1)),
                batched_colors=rgb("steel", 0.45),
                lod="off",
                receive_shadow=False,
            )

    def _thickness(self, frame: Frame) -> float:
        if not isinstance(frame.part, Rod):
            return max(0.012 * self.size, self.least_radius)
        _, half, _ = self.actors.rods[frame.part.name]
        return max(float(half[0 if frame.s < 0.5 * frame.part.length else -1].max()), self.least_radius)

    def add_ground(self) -> None:
        """A floor with a grid of known size below everything, and a lamp above whose shadow it takes."""
        self.cell = nice_step(2.0 * self.size, 10)
        self.floor = self._floor_below(float(self.low[2]))
        middle = 0.5 * (self.low + self.high)
        self._handles["ground"] = self.scene.add_grid(
            f"{self.root}/ground", width=24 * self.cell, height=24 * self.cell, cell_size=self.cell,
            section_size=24 * self.cell, section_thickness=0.0, cell_color=rgb("shadow"), plane_color=rgb("floor"),
            plane_opacity=1.0, shadow_opacity=0.3, fade_distance=24 * self.cell,
            position=(*np.round(middle[:2] / self.cell) * self.cell, self.floor),
        )  # fmt: skip
        # It gives no light, only shadow: narrow, so that thin rods have one.
        radius, height = 0.6 * (self.size + float(np.linalg.norm(self.high - self.low))), 6.0 * self.size
        self._handles["lamp"] = self.scene.add_light_spot(
            f"{self.root}/lamp", position=middle + height * np.eye(3)[2], direction=(0.0, 0.0, -1.0), decay=0.0,
            angle=float(np.arctan2(radius, height)), intensity=1e-3, cast_shadow=True,
        )  # fmt: skip

    def _floor_below(self, lowest: float) -> float:
        step = 0.5 * nice_step(2.0 * self.size, 10)
        return float(np.floor((lowest - 0.1 * self.size) / step) * step)

    def camera(self) -> tuple[np.ndarray, np.ndarray]:
        """Place of a camera that sees everything, and what it looks at."""
        look_at = 0.5 * (self.low + self.high)
        span = self.high - self.low
        flat = span[2] < 0.15 * max(span[0], span[1])
        e, a = np.radians([66.0 if flat else 20.0, -90.0 if flat else -58.0])
        direction = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        reach = max(self.size, 0.9 * float(np.linalg.norm(span)))
        look_at = look_at + 0.25 * reach * right  # the robot stands left of the panel
        return look_at + (1.9 if flat else 2.2) * reach * direction, look_at

    # Moving -------------------------------------------------------------------------------------------------

    @property
    def measures(self) -> tuple[str, ...]:
        """Measures that all rods have."""
        return tuple(name for name in MEASURES if all(name in skin.measures for skin in self._skins.values()))

    def choose(self, measure: str) -> None:
        """Colour rods by a measure, or by "none"."""
        self.measure, self.colours = measure, None

    def scale(self) -> str:
        """What the colours mean, in HTML."""
        if self.colours is None:
            return ""
        look = f"display:inline-block;width:7em;height:0.7em;background:linear-gradient(90deg,{','.join(RAMP)})"
        bar = f"<span style='{look}'></span>"
        return f"{self.measure} 0 {bar} {self.colours.largest:.3g} {self.colours.unit}"

    def on_drag(self, dragged: Callable[[str, float | None, Any], None]) -> None:
        """Call ``dragged(part, s, event)`` in order while a mouse drags a part: a rod at arc length ``s``, a body."""

        def listen(handle: Any, where: Callable[[int], tuple[str, float | None]]) -> None:
            # a coroutine, since viser runs plain functions in threads, in any order
            async def heard(event: Any) -> None:
                dragged(*where(event.instance_index or 0), event)

            handle.on_drag("left")(heard)

        rods, n = list(self.actors.rods), self.pieces
        if rods:
            listen(self._handles["tubes"], lambda k: (rods[k // n], float(self._skins[rods[k // n]].middle[k % n])))
            listen(self._handles["caps"], lambda k: (rods[k // 2], float(self._skins[rods[k // 2]].s[-(k % 2)])))
        for name in self.actors.bodies:
            listen(self._handles[f"body {name}"], partial(_body, name))

    def follow(self, places: Mapping[str, Place], followed: bool) -> np.ndarray:
        """How far to move the world so that the robot stays where it was seen before; the camera is the person's."""
        before, self.middle = self.middle, _points(places).mean(axis=0)
        return (before - self.middle) if followed else np.zeros(3)

    def show_frames(self, shown: bool) -> None:
        """Axes at the ends of rods and on bodies."""
        self.frames_shown = shown
        if "axes" in self._handles:
            self._handles["axes"].visible = shown

    def draw(
        self, places: Mapping[str, Place], q: Mapping[str, np.ndarray] | None = None,
        inputs: Mapping[str, float] | None = None, full: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """Move everything to ``places``; ``q`` per rod for strain, ``inputs`` of tendons and their ``full`` values."""
        with self.server.atomic():
            self._draw_rods(places, q or {})
            for name, (_, centre) in self.actors.bodies.items():
                at = places[name]
                handle = self._handles[f"body {name}"]
                handle.position = at.position[0] + at.rotation[0] @ centre
                handle.wxyz = so3.to_quaternion(at.rotation[0])
            for k, (frame, kind) in enumerate(self.actors.joints):
                p, R = _frame_at(frame, places)
                handle = self._handles[f"joint {k}"]
                thickness = 0.45 * self._thickness(frame) if kind == "plate" else 0.0
                handle.position, handle.wxyz = p - thickness * R[:, 0], so3.to_quaternion(R)
            self._draw_tendons(places, inputs or {}, full or {})
            if self.frames_shown:
                self._draw_frames(places)
            if "ground" in self._handles:
                self._keep_below(_points(places))

    def _keep_below(self, points: np.ndarray) -> None:
        """The ground goes with a robot that leaves it, by whole cells so that its lines stay, and sinks below it."""
        ground, lamp = self._handles["ground"], self._handles["lamp"]
        way = np.zeros(3)
        way[:2] = np.round((points.mean(axis=0) - ground.position)[:2] / self.cell) * self.cell
        if np.abs(way).max() < 4.0 * self.cell:
            way[:] = 0.0
        lowest = float(points[:, 2].min())
        if self._floor_below(lowest + 0.05 * self.size) < self.floor:
            way[2] = self._floor_below(lowest) - self.floor
            self.floor += way[2]
        if way.any():
            ground.position, lamp.position = ground.position + way, lamp.position + way

    def _skin(self, name: str, s: np.ndarray) -> RodSkin:
        skin = self._skins.get(name)
        if skin is None or skin.s.shape != s.shape or not np.array_equal(skin.s, s):
            known, half, rod = self.actors.rods[name]
            if rod is not None:
                half = np.column_stack(rod.section.half_widths(s, rod.length))
            elif half.shape[0] != s.size:
                half = np.stack([np.interp(s, known, half[:, k]) for k in (0, 1)], axis=1)
            skin = self._skins[name] = RodSkin(s, half, self.pieces, self.least_radius, rod)
            self._lines.clear()
        return skin

    def _rod_pieces(self, places: Mapping[str, Place]) -> tuple[np.ndarray, ...]:
        """Places, quaternions and sizes of all pieces, then of all rounded ends."""
        rows: list[tuple[np.ndarray, ...]] = []
        for name in self.actors.rods:
            at = places[name]
            skin = self._skin(name, at.s)
            centre, turn, size = skin.pieces(at.position, at.rotation)
            end_size = np.column_stack([0.6 * skin.ends.min(axis=1), skin.ends])
            rows.append((centre, turn, size, at.position[[0, -1]], turn[[0, -1]], end_size))
        return tuple(np.concatenate(column).astype(np.float32) for column in zip(*rows, strict=True))

    def _draw_rods(self, places: Mapping[str, Place], q: Mapping[str, np.ndarray]) -> None:
        if not self.actors.rods:
            return
        centres, turns, sizes, ends, end_turns, end_sizes = self._rod_pieces(places)
        tubes, caps = self._handles["tubes"], self._handles["caps"]
        tubes.batched_positions, tubes.batched_wxyzs = centres, turns
        _set(tubes, "batched_scales", sizes)
        caps.batched_positions, caps.batched_wxyzs = ends, end_turns
        _set(caps, "batched_scales", end_sizes)
        values = []
        if self.measure in MEASURES:
            for name in self.actors.rods:
                values.append(self._skins[name].measure(self.measure, q.get(name), places[name].rotation))
        if values:
            if self.colours is None:
                least = max(skin.least(self.measure) for skin in self._skins.values())
                self.colours = Colours(MEASURES[self.measure], least)
            painted = self.colours(np.concatenate(values))
        else:
            painted = np.tile(np.array(rgb("rod"), dtype=np.uint8), (len(centres), 1))
        _set(tubes, "batched_colors", painted, exact=True)
        n = self.pieces
        at_ends = np.ravel([(k * n, (k + 1) * n - 1) for k in range(len(self.actors.rods))])
        _set(caps, "batched_colors", painted[at_ends], exact=True)

    def _draw_tendons(
        self, places: Mapping[str, Place], inputs: Mapping[str, float], full: Mapping[str, float]
    ) -> None:
        for line in self.actors.tendons:
            parts: list[np.ndarray] = []
            for rod in line.tendon.rods:
                at = places[rod.name]
                skin = self._skin(rod.name, at.s)
                key = f"{line.name} {rod.name}"
                if key not in self._lines:
                    s = np.linspace(*line.tendon.stretch(rod), _TENDON_POINTS)
                    inside = np.clip(s, *line.tendon.stretch(rod))
                    D = skin.on_skin(inside, line.tendon.geometry(inside, rod)[0])
                    disks = np.linspace(0.5 / _DISKS, 1.0, _DISKS) * rod.length
                    self._lines[key] = D, interpolation(at.s, s), interpolation(at.s, disks)
                D, matrix, to_disks = self._lines[key]
                points = skin.line(at.position, at.rotation, D, matrix)
                parts.append(np.stack([points[:-1], points[1:]], axis=1))
                carried = self._handles.get(f"disks {line.name} {rod.name}")
                if carried is not None:
                    R = np.einsum("nk,kij->nij", to_disks, at.rotation)
                    carried.batched_positions = (to_disks @ at.position).astype(np.float32)
                    carried.batched_wxyzs = np.asarray(so3.to_quaternion(R), dtype=np.float32)
            for a, b in line.tendon.spans:
                parts.append(np.array([[_frame_at(a, places)[0], _frame_at(b, places)[0]]]))
            handle = self._handles[f"tendon {line.name}"]
            points = np.concatenate(parts).astype(np.float32)
            pulled = np.clip(abs(inputs.get(line.name, 0.0)) / max(abs(full.get(line.name, 1.0)), 1e-12), 0.0, 1.0)
            mixed = (1.0 - pulled) * np.array(rgb("grey")) + pulled * np.array(rgb("accent"))
            handle.points = points
            colour = np.broadcast_to(mixed.astype(np.uint8), points.shape).copy()
            _set(handle, "colors", colour, exact=True)

    def _draw_frames(self, places: Mapping[str, Place]) -> None:
        positions, turns = [], []
        for name in self.actors.rods:
            at = places[name]
            positions += [at.position[0], at.position[-1]]
            turns += [at.rotation[0], at.rotation[-1]]
        for name in self.actors.bodies:
            positions.append(places[name].position[0])
            turns.append(places[name].rotation[0])
        axes = self._handles["axes"]
        axes.batched_positions = np.array(positions, dtype=np.float32)
        axes.batched_wxyzs = np.asarray(so3.to_quaternion(np.array(turns)), dtype=np.float32)

    def place_of(self, frame: Frame, places: Mapping[str, Place]) -> np.ndarray:
        """World position (3,) of a frame."""
        return _frame_at(frame, places)[0]


def _body(name: str, _: int) -> tuple[str, None]:
    return name, None


def _set(handle: Any, name: str, value: np.ndarray, exact: bool = False) -> None:
    """Send a property only where it changed visibly."""
    old = getattr(handle, name)
    if isinstance(old, np.ndarray) and old.shape == value.shape:
        same = np.array_equal(old, value) if exact else np.allclose(old, value, rtol=2e-3, atol=0.0)
        if same:
            return
    setattr(handle, name, value)


def _points(places: Mapping[str, Place]) -> np.ndarray:
    return np.concatenate([at.position.reshape(-1, 3) for at in places.values()])


def _frame_at(frame: Frame, places: Mapping[str, Place]) -> tuple[np.ndarray, np.ndarray]:
    """Position and rotation of a frame on a part, or in the world."""
    g = frame.g
    if isinstance(frame.part, str):
        return g[:3, 3], g[:3, :3]
    at = places[frame.part.name]
    k = int(np.argmin(np.abs(at.s - frame.s))) if isinstance(frame.part, Rod) else 0
    return at.position[k] + at.rotation[k] @ g[:3, 3], at.rotation[k] @ g[:3, :3]
