"""Workspace maps: stability by colour, singularities as lines, the robot in some of its places.

Stable shapes are teal, the deeper the stiffer the part is held; unstable ones are red. The line between is where the
robot snaps, an output singularity. What is white cannot be reached on this branch of equilibria.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke
from matplotlib.tri import Triangulation

from elver.dynamics.quantities import poses
from elver.errors import BadInput
from elver.rods import Rod
from elver.system import System
from elver.viz.style import COLOURS, style

__all__ = ["draw_workspace"]

_STIFFNESS = LinearSegmentedColormap.from_list("elver-stiffness", ["#eaf5f5", "#b5dbdc", "#6fb9be", "#2c8f98"])
_UNSTABLE = "#f6cdbf"


def draw_workspace(
    map: xr.Dataset,
    *,
    axes: Axes | None = None,
    system: System | None = None,
    shapes: Sequence[Sequence[float]] = (),
    positions: bool = False,
    levels: Sequence[float] | None = None,
    bar: bool = True,
) -> Figure:
    """The map of :func:`elver.workspace`: stable places by their stiffness [N/m], unstable ones in red.

    ``shapes`` are places on the map at which the robot is drawn, for which ``system`` is needed; ``positions`` draws a
    map over inputs in the plane of the part's positions instead; ``levels`` are the steps of the stiffness, chosen from
    the map by default; ``bar`` adds its scale.
    """
    if not map["reached"].values.any():
        raise BadInput("nothing to draw: no cell of this map is reached")
    with style():
        if axes is None:
            axes = plt.subplots(figsize=(6.6, 6.2), layout="constrained")[1]
        mesh, eigenvalue, stiffness = _triangles(map, positions)
        steps = _levels(stiffness[eigenvalue > 0.0]) if levels is None else np.asarray(levels, dtype=float)
        shade = BoundaryNorm(np.arange(steps.size + 1), _STIFFNESS.N)
        # the step each value is in, with fractions, so that steps of any size get colours of one size
        step = np.interp(stiffness, steps, np.arange(steps.size))
        beyond = stiffness > steps[-1]
        step[beyond] = steps.size - steps[-1] / stiffness[beyond]
        axes.tricontourf(mesh, step, levels=np.arange(steps.size + 1), cmap=_STIFFNESS, norm=shade, zorder=1)
        # what is unstable, and the line where it becomes so
        if np.min(eigenvalue) < 0.0:
            lowest = 2.0 * float(np.min(eigenvalue))
            axes.tricontourf(mesh, eigenvalue, levels=[lowest, 0.0], colors=[_UNSTABLE], zorder=2)
        if np.min(eigenvalue) < 0.0 < np.max(eigenvalue):
            axes.tricontour(mesh, eigenvalue, levels=[0.0], colors=COLOURS["accent"], linewidths=1.8, zorder=3)
        if shapes:
            _draw_shapes(axes, map, system, shapes, positions)
        _label(axes, map, positions)
        if bar:
            scale = axes.figure.colorbar(
                ScalarMappable(shade, _STIFFNESS), ax=axes, shrink=0.6, aspect=26, pad=0.02, ticks=np.arange(steps.size)
            )
            scale.set_ticklabels([f"{value:g}" for value in steps])
            scale.set_label(f"least stiffness of {map.attrs['part']} [N/m]")
            scale.outline.set_visible(False)
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def _levels(stiffness: np.ndarray) -> np.ndarray:
    """Steps 0, then 1, 2, 5, 10 ... over what most of the map has."""
    known = stiffness[np.isfinite(stiffness) & (stiffness > 0.0)]
    if not known.size:
        return np.array([0.0, 1.0])
    low, high = np.quantile(known, [0.1, 0.95])
    series = [m * 10.0**e for e in range(-12, 13) for m in (1, 2, 5)]
    return np.array([0.0, *(x for x in series if 0.7 * low <= x <= 1.01 * high)] if high > low else [0.0, low])


def _triangles(map: xr.Dataset, positions: bool) -> tuple[Triangulation, np.ndarray, np.ndarray]:
    """What is reached as triangles, up to the edges, with the eigenvalue and the stiffness at their corners.

    Where it snaps both are zero, and triangles end.
    """
    reached = map["reached"].values.astype(bool)
    first, second = (map[name].values for name in map["reached"].dims)
    places = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1)
    beside = [map[f"{kind}/place"].values for kind in ("edge", "snap")]
    if positions:
        plane = list(_plane(map["position"].values))
        places = map["position"].values[..., plane]
        beside = [map[f"{kind}/position"].values[:, plane] for kind in ("edge", "snap")]
    corners = np.concatenate([places[reached], *beside])
    values = []
    for name in ("eigenvalue", "stiffness"):
        parts = [map[name].values[reached], map[f"edge/{name}"].values, np.zeros(map.sizes["snap"])]
        values.append(np.nan_to_num(np.concatenate(parts), nan=0.0, posinf=1e300, neginf=-1e300))

    # numbers of the corners: cells, then edges and snaps by the two cells they lie between
    number = np.full(reached.shape, -1)
    number[reached] = np.arange(int(reached.sum()))
    count, between = int(reached.sum()), {}
    for kind in ("edge", "snap"):
        for k, (i, j, m, n) in enumerate(map[f"{kind}/cells"].values.astype(int).tolist()):
            between[kind, (i, j), (m, n)] = count + k
        count += map.sizes[kind]

    triangles: list[tuple[int, int, int]] = []
    for i in range(reached.shape[0] - 1):
        for j in range(reached.shape[1] - 1):
            ring = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            polygon: list[int] = []
            for a, b in zip(ring, [*ring[1:], ring[0]], strict=True):
                polygon += [int(number[a])] if reached[a] else []
                side = (("snap", a, b), ("edge", a, b), ("edge", b, a), ("snap", b, a))
                polygon += [between[key] for key in side if key in between]
            triangles += _fans(polygon, count - map.sizes["snap"])
    mesh = Triangulation(corners[:, 0], corners[:, 1], np.array(triangles))
    # an edge that is at its cell makes triangles without area, which contours cannot use
    x, y = corners[mesh.triangles, 0], corners[mesh.triangles, 1]
    area = np.abs((x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (x[:, 2] - x[:, 0]) * (y[:, 1] - y[:, 0]))
    mesh.set_mask(area < 1e-12 * np.max(area))
    return mesh, values[0], values[1]


def _fans(polygon: list[int], first_snap: int) -> list[tuple[int, int, int]]:
    """Triangles of the part of a cell that is reached, parted by the line between its two snaps, if it has two."""
    snaps = [k for k, corner in enumerate(polygon) if corner >= first_snap]
    if len(snaps) == 2:
        a, b = snaps
        pieces = [polygon[a : b + 1], [*polygon[b:], *polygon[: a + 1]]]
    else:
        pieces = [polygon]
    return [(piece[0], piece[k], piece[k + 1]) for piece in pieces for k in range(1, len(piece) - 1)]


def _plane(place: np.ndarray) -> tuple[int, int]:
    """The two axes along which positions vary most."""
    spread = np.nanmax(place, axis=(0, 1)) - np.nanmin(place, axis=(0, 1))
    a, b = sorted(np.argsort(-spread, kind="stable")[:2].tolist())
    return a, b


def _label(axes: Axes, map: xr.Dataset, positions: bool) -> None:
    dims = [str(name) for name in map["reached"].dims]
    if positions:
        names, units = ["xyz"[k] for k in _plane(map["position"].values)], ["m", "m"]
    else:
        names = [name.removeprefix("wanted_") for name in dims]
        units = [str(map[name].attrs.get("units", "")) for name in dims]
    texts = [f"{name} [{unit}]" if unit else name for name, unit in zip(names, units, strict=True)]
    axes.set_xlabel(texts[0])
    axes.set_ylabel(texts[1])
    if units == ["m", "m"]:
        axes.set_aspect("equal")
    axes.set_title(f"workspace of {map.attrs['part']}")


def _draw_shapes(
    axes: Axes, map: xr.Dataset, system: System | None, shapes: Sequence[Sequence[float]], positions: bool
) -> None:
    """The rods of the robot, and its joints in the world, at the cells nearest to some places."""
    if system is None:
        raise BadInput("shapes need the robot itself: draw_workspace(map, system=system, shapes=[...])")
    if not positions and map.attrs["over"] != "position":
        raise BadInput("shapes are drawn among positions: use a map over positions, or positions=True")
    place = map["position"].values
    plane = list(_plane(place))
    halo = [Stroke(linewidth=3.6, foreground="white"), Normal()]
    for wanted in shapes:
        distance = np.linalg.norm(place[..., plane] - np.asarray(wanted, dtype=float), axis=-1)
        cell = np.unravel_index(int(np.nanargmin(distance)), distance.shape)
        state = system.rest().with_(q=map["q"].values[cell])
        if "base" in map:
            state = state.with_(g=map["base"].values[cell])
        look: dict[str, Any] = {"color": COLOURS["ink"], "linewidth": 1.7, "zorder": 5}
        for rod in (part for part in system.mechanism.parts if isinstance(part, Rod)):
            line = poses(system, state, rod)[:, plane, 3]
            if bool(map["stable"].values[cell]):
                axes.plot(*line.T, **look, path_effects=halo)
            else:
                axes.plot(*line.T, **look, linestyle=(0, (3.5, 1.5)))
        axes.plot(*place[cell][plane], "o", color="white", markeredgecolor=COLOURS["ink"], markersize=6, zorder=6)
    feet = {tuple(f.g[plane, 3]) for j in system.mechanism.joints for f in (j.a, j.b) if f.part == "world"}
    for foot in feet:
        axes.plot(*foot, "s", color=COLOURS["steel"], markeredgecolor=COLOURS["ink"], markersize=7.5, zorder=6)
