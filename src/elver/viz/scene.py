"""The stage on which rods and bodies are drawn: equal axes, a floor with a grid of known size, a soft shadow below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection
from mpl_toolkits.mplot3d.proj3d import proj_transform

from elver.bodies import Sphere
from elver.numerics.round_numbers import nice_step
from elver.viz.bodies import corners_of, placed, solid
from elver.viz.history import BodyHistory, RodHistory
from elver.viz.style import COLOURS
from elver.viz.tube import Surface, flange, join, shaded, tube

__all__ = ["Scene", "bounds", "pleasant_view", "surface_of", "surface_of_body"]


def bounds(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner (3,) of the points (n, 3), with a margin."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = float(np.max(high - low))
    if size < 1e-9:
        size = 0.3  # a point at rest has no size of its own: show a tenth of a metre around it
    # a planar motion still gets room across, so that the tube is not squeezed into a line
    margin = np.maximum(0.06 * size, 0.5 * (0.34 * size - (high - low)))
    return low - margin, high + margin


def pleasant_view(points: np.ndarray) -> tuple[float, float]:
    """Elevation and azimuth [degrees] from which the points (n, 3) are seen well: flat ones from further above."""
    spread = np.ptp(points, axis=0)
    return (52.0, -75.0) if spread[2] < 0.15 * spread.max() else (18.0, -62.0)


def surface_of(
    rod: RodHistory, instant: int, least_radius: float, *, colour: str = COLOURS["rod"], base: bool = True
) -> Surface:
    """The tube of a rod at one instant, with a plate behind a clamped base or a ball around a pivot."""
    orientation = None if rod.orientation is None else rod.orientation[instant]
    around = 20 if rod.half_width.max() > 2.0 * least_radius else 12  # sides of a thin tube cannot be told apart
    body = tube(
        rod.s,
        rod.position[instant],
        orientation,
        rod.half_width,
        colour=colour,
        least_radius=least_radius,
        around=around,
    )
    if not (base and rod.base_rests and orientation is not None):
        return body
    radius, p = max(float(rod.half_width[0].max()), least_radius), rod.position[instant, 0]
    if rod.base_turns:
        ball = solid(Sphere(1.7 * radius), radius, colour=COLOURS["steel"], stripe=False)
        return join([placed(ball, np.eye(3), p), body])
    return join([flange(p, orientation[0], 2.6 * radius, 0.9 * radius, colour=COLOURS["steel"]), body])


def surface_of_body(
    body: BodyHistory, instant: int, size: float, marker: float = 0.0, *, colour: str = COLOURS["body"]
) -> Surface:
    """A body at one instant in a scene of ``size`` [m]; a point is a small ball, of radius ``marker`` or more."""
    shape = body.shape or Sphere(max(0.02 * size, marker))
    surface = solid(shape, 0.025 * size, colour=colour, stripe=body.shape is not None)
    return placed(surface, body.orientation[instant], body.position[instant])


@dataclass(frozen=True)
class Scene:
    """3-D axes without frame, ready for tubes and bodies: floor, shadow, and equal scale along all axes."""

    axes: Any
    points: np.ndarray  # (n, 3) all places that rods and bodies come to
    low: np.ndarray
    high: np.ndarray
    elevation: float
    azimuth: float

    @classmethod
    def of(
        cls, axes: Any, rods: Sequence[RodHistory], view: tuple[float, float] | None, bodies: Sequence[BodyHistory] = ()
    ) -> Scene:
        """A stage for everything that they do, seen from elevation and azimuth ``view`` [degrees]."""
        places = [rod.position for rod in rods]
        for body in bodies:
            seen = body.position if body.shape is None else corners_of(body.shape, body.orientation, body.position)
            places.append(seen)
        points = np.concatenate([place.reshape(-1, 3) for place in places])
        return cls(axes, points, *bounds(points), *(view or pleasant_view(points)))

    def prepare(self, width_by_height: float = 1.0) -> None:
        """Set the view so that the scene fills a panel of this shape; draw the floor and its grid."""
        axes, low, high = self.axes, self.low, self.high
        axes.set_axis_off()
        axes.set_proj_type("persp", focal_length=0.9)
        axes.view_init(elev=self.elevation, azim=self.azimuth)
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        axes.set_zlim(low[2], high[2])
        axes.set_box_aspect(high - low)
        axes.computed_zorder = False
        self._fill(self._floor(), width_by_height)

    def _fill(self, floor: np.ndarray, width_by_height: float) -> None:
        """Centre and scale the picture plane on the floor and all that happens above it.

        matplotlib draws 3-D axes in the largest square of their panel; nothing here is clipped by it.
        """
        points = np.concatenate([floor, self.points])
        x, y, _ = proj_transform(*points.T, self.axes.get_proj())
        width, height = np.ptp(x), np.ptp(y)
        side = min(width_by_height, 1.0)  # of the square, in panel heights
        window = 1.1 * side * max(width / width_by_height, height)
        for interval, middle in (("intervalx", x), ("intervaly", y)):
            centre = 0.5 * (np.min(middle) + np.max(middle))
            setattr(self.axes.viewLim, interval, (centre - 0.5 * window, centre + 0.5 * window))

    @property
    def size(self) -> float:
        """Longest edge of the space that is shown, in metres."""
        return float(np.max(self.high - self.low))

    @property
    def grid_step(self) -> float:
        """Width of a square of the floor, in metres."""
        return nice_step(self.size)

    def _floor(self) -> np.ndarray:
        """Draw the floor; its corners (4, 3)."""
        step, z = self.grid_step, self.low[2]
        lines_x = step * np.arange(np.floor(self.low[0] / step), np.ceil(self.high[0] / step) + 1)
        lines_y = step * np.arange(np.floor(self.low[1] / step), np.ceil(self.high[1] / step) + 1)
        x0, x1, y0, y1 = lines_x[0], lines_x[-1], lines_y[0], lines_y[-1]
        corners = np.array([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)])
        ground = Poly3DCollection([corners], zorder=0, clip_on=False)
        ground.set_facecolor(COLOURS["floor"])
        self.axes.add_collection3d(ground)
        segments = [((x, y0, z), (x, y1, z)) for x in lines_x] + [((x0, y, z), (x1, y, z)) for y in lines_y]
        grid = Line3DCollection(segments, colors="white", linewidths=1.4, zorder=1, clip_on=False)
        self.axes.add_collection3d(grid)
        return corners

    def add(self, surface: Surface, zorder: float = 10.0) -> Poly3DCollection:
        """Draw a surface; the returned artist can be moved with :meth:`move`."""
        artist = Poly3DCollection(surface.corners, zorder=zorder, linewidths=0.9, joinstyle="round", clip_on=False)
        self.axes.add_collection3d(artist)
        self.move(artist, surface)
        return artist

    def move(self, artist: Poly3DCollection, surface: Surface) -> None:
        """Give a drawn surface a new shape."""
        colours = shaded(surface, self.elevation, self.azimuth)
        artist.set_verts(surface.corners)
        artist.set_facecolor(colours)
        artist.set_edgecolor(colours)  # closes the hairlines between neighbouring faces

    def visible(self, surface: Surface) -> Surface:
        """The faces of closed surfaces that look at the camera, for pictures whose view stays; half the work."""
        camera = np.linalg.inv(self.axes.get_proj()) @ [0.0, 0.0, 1.0, 0.0]  # what is projected to infinity
        to_camera = camera[:3] / camera[3] - surface.corners.mean(axis=1)
        return surface.where(np.sum(surface.normals * to_camera, axis=1) > 0.0)

    def add_shadow(self, surface: Surface) -> Poly3DCollection:
        """What a lamp straight above would leave dark on the floor."""
        artist = Poly3DCollection(self._flat(surface), zorder=2, linewidths=0.6, clip_on=False)
        artist.set_facecolor(COLOURS["shadow"])
        artist.set_edgecolor(COLOURS["shadow"])
        self.axes.add_collection3d(artist)
        return artist

    def move_shadow(self, artist: Poly3DCollection, surface: Surface) -> None:
        artist.set_verts(self._flat(surface))

    def _flat(self, surface: Surface) -> np.ndarray:
        corners = surface.where(surface.normals[:, 2] > -1e-9).corners  # of a closed surface, what looks up is enough
        corners[..., 2] = self.low[2]
        return corners
