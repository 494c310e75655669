"""The stage on which rods are drawn: equal axes, a floor with a grid of known size, a soft shadow below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection
from mpl_toolkits.mplot3d.proj3d import proj_transform

from elver.viz.history import RodHistory
from elver.viz.style import COLOURS
from elver.viz.tube import Surface, flange, join, shaded, tube

__all__ = ["Scene", "bounds", "nice_step", "surface_of"]


def bounds(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner (3,) of the points (n, 3), with a margin."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float(np.max(high - low)), 1e-9)
    # a planar motion still gets room across, so that the tube is not squeezed into a line
    margin = np.maximum(0.06 * size, 0.5 * (0.34 * size - (high - low)))
    return low - margin, high + margin


def nice_step(size: float, count: int = 5) -> float:
    """A round number (1, 2 or 5 times a power of ten) that divides ``size`` into about ``count`` parts."""
    raw = size / count
    power = 10.0 ** math.floor(math.log10(raw))
    return min((1.0, 2.0, 5.0, 10.0), key=lambda m: abs(math.log(m * power / raw))) * power


def surface_of(
    rod: RodHistory, instant: int, least_radius: float, *, colour: str = COLOURS["rod"], base: bool = True
) -> Surface:
    """The tube of a rod at one instant, with a plate behind its base if the base is held."""
    orientation = None if rod.orientation is None else rod.orientation[instant]
    body = tube(
        rod.s, rod.position[instant], orientation, rod.half_width, colour=colour, least_radius=least_radius
    )
    if not (base and rod.base_rests and orientation is not None):
        return body
    radius = max(float(rod.half_width[0].max()), least_radius)
    plate = flange(
        rod.position[instant, 0], orientation[0], 2.6 * radius, 0.9 * radius, colour=COLOURS["steel"]
    )
    return join([plate, body])


@dataclass(frozen=True)
class Scene:
    """3-D axes without frame, ready for tubes: floor, shadow, and equal scale along all axes."""

    axes: Any
    points: np.ndarray  # (n, 3) all places the rods come to
    low: np.ndarray
    high: np.ndarray
    elevation: float
    azimuth: float

    @classmethod
    def of(cls, axes: Any, rods: list[RodHistory], view: tuple[float, float]) -> Scene:
        """A stage for everything that ``rods`` do, seen from elevation and azimuth ``view`` [degrees]."""
        points = np.concatenate([rod.position.reshape(-1, 3) for rod in rods])
        return cls(axes, points, *bounds(points), *view)

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
        artist = Poly3DCollection(surface.corners, zorder=zorder, linewidths=0.35, clip_on=False)
        self.axes.add_collection3d(artist)
        self.move(artist, surface)
        return artist

    def move(self, artist: Poly3DCollection, surface: Surface) -> None:
        """Give a drawn surface a new shape."""
        colours = shaded(surface, self.elevation, self.azimuth)
        artist.set_verts(surface.corners)
        artist.set_facecolor(colours)
        artist.set_edgecolor(colours)  # closes the hairlines between neighbouring faces

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
        corners = surface.corners.copy()
        corners[..., 2] = self.low[2]
        return corners
