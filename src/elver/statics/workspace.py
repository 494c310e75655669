"""Workspace maps: where a part of a robot can be brought, and where it is stable there.

Over a grid of two inputs each cell is an equilibrium; over a grid of positions of the part each cell is the solution of
the inverse model, R(x, u) = 0 and Ψ(x) = 0 for state and inputs together, and shapes that would snap are found as well.
Cells are solved one from the other, outward from a known equilibrium, so that a map shows one branch: it ends where
that branch ends, not where another would go on.

Theory: docs/theory/statics.md, eq. (inverse-statics).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.dynamics.states import as_state
from elver.errors import BadInput, Interrupted, expect, finite
from elver.guards import guarded
from elver.mechanism import Hold, Part
from elver.rods import Rod
from elver.rods.fields import Station
from elver.statics.cells import Forward, Inverse, Point
from elver.statics.equilibrium import Equilibrium
from elver.statics.moving import at_rest
from elver.statics.search import equilibrium
from elver.statics.target import Target
from elver.statics.verdict import reduced, verdict
from elver.system import Inputs, System

if TYPE_CHECKING:
    import xarray as xr  # half a second to import: only where a dataset is made

__all__ = ["workspace"]

Array: TypeAlias = NDArray[np.float64]
Progress: TypeAlias = Callable[[int, int], None]
Cell: TypeAlias = tuple[int, int]

_SHORTEST_PART = 1 / 16  # of the distance of two cells: a move that fails is tried again in parts


@guarded
def workspace(
    system: System,
    over: Sequence[Any],
    ranges: ArrayLike,
    *,
    part: Part | str | None = None,
    at: Station = "tip",
    resolution: int | Sequence[int] = 41,
    by: Sequence[Any] | None = None,
    position: Sequence[float | None] | None = None,
    orientation: ArrayLike | None = None,
    inputs: Inputs | None = None,
    guess: Equilibrium | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Map of the equilibria that are connected to ``guess`` (by default the equilibrium of ``inputs``).

    ``over`` are two inputs, or two of "x", "y", "z": positions of ``part`` (a body or a rod, of which ``at`` says the
    section) in the world, reached by the actuators ``by``, all by default. ``ranges`` is ((low, high), (low, high)) in
    the units of the two, ``resolution`` the number of values of each. ``position`` and ``orientation`` say what else is
    wanted of the part on a grid of positions, as in ``inverse_statics``. ``progress(done, total)`` is called now and
    then. Ctrl-C raises :class:`Interrupted` with what was computed in ``result``.

    Returns a dataset with, for each cell: ``reached``; ``stable``; ``eigenvalue``, the least of the second variation as
    in ``stability`` [J]; ``stiffness``, the least force per motion with which the part resists being displaced while
    inputs are held [N/m]; ``condition``, the largest over the smallest motion of the part's position per motion of the
    inputs (inf where inputs stop moving it); its ``position`` [m]; and ``inputs``, ``q`` and ``multipliers``. The
    same at every ``edge``, the last point reached between a cell and its neighbour that is not, and at every ``snap``,
    where the eigenvalue changes its sign between two neighbours, or between a cell and its edge.
    """
    axes = _axes(over, ranges, resolution)
    part = system.mechanism.part(part) if isinstance(part, str) else (part or system.rod)
    first = guess or equilibrium(system, inputs)
    places = all(isinstance(key, str) and key in ("x", "y", "z") for key in over)
    solver: Forward | Inverse
    if places:
        solver = Inverse(system, tuple(over), part, at, by, position, orientation, first)
    else:
        solver = Forward(system, [system.input_index(key) for key in over])
    cells = _Map(system, part, at, axes, solver)
    try:
        cells.fill(first, progress)
    except KeyboardInterrupt:
        done = int(cells.reached.sum())
        raise Interrupted(
            f"workspace: interrupted after {done} of {cells.reached.size} cells; what was computed is in .result",
            result=cells.dataset(over),
        ) from None
    if not cells.reached.any():
        where = ", ".join(f"{value:.4g}" for value in solver.where(cells.known(first)))
        raise BadInput(
            f"workspace: no cell of the map can be reached from the equilibrium at ({where}); "
            "choose ranges that contain it, or another guess"
        )
    return cells.dataset(over)


def _axes(over: Sequence[Any], ranges: ArrayLike, resolution: int | Sequence[int]) -> tuple[Array, ...]:
    """Values of the cells along both axes."""
    expect("workspace", "over", over, (list, tuple), wanted="two inputs or positions", example="('x', 'y')")
    if len(over) != 2:
        raise BadInput(f"over has {len(over)} entries: a map has two, inputs or positions such as ('x', 'y')")
    bounds = finite("ranges", ranges, (2, 2), "the units of the inputs, or m")
    sizes = (resolution, resolution) if isinstance(resolution, int) else tuple(resolution)
    if len(sizes) != 2 or any(int(size) != size or size < 2 for size in sizes):
        raise BadInput(f"resolution = {resolution}: give one or two whole numbers >= 2")
    if any(low >= high for low, high in bounds):
        raise BadInput(f"ranges = {bounds.tolist()}: each goes from a low to a high value")
    return tuple(np.linspace(low, high, int(size)) for (low, high), size in zip(bounds, sizes, strict=True))


@dataclass(frozen=True, eq=False)
class _Seen:
    """What a map shows of a point."""

    point: Point
    stable: bool
    eigenvalue: float
    stiffness: float
    condition: float
    position: Array


class _Map:
    """Cells of a grid, solved outward from one."""

    def __init__(
        self, system: System, part: Part, at: Station, axes: tuple[Array, ...], solver: Forward | Inverse
    ) -> None:
        self.system, self.part, self.axes, self.solver = system, part, axes, solver
        self.at = at if isinstance(part, Rod) else None
        self.reached = np.zeros(tuple(axis.size for axis in axes), dtype=bool)
        self.cells: dict[Cell, _Seen] = {}
        # between a cell and a neighbour, with the place on the axes: the last point reached, and where it snaps
        self.edges: dict[tuple[Cell, Cell], tuple[Array, _Seen]] = {}
        self.snaps: dict[tuple[Cell, Cell], tuple[Array, _Seen]] = {}
        self._observer: Target | None = None

    @staticmethod
    def known(first: Equilibrium) -> Point:
        """An equilibrium as a point."""
        return Point(at_rest(first.state), first.inputs.copy())

    def fill(self, first: Equilibrium, progress: Progress | None) -> None:
        """Solve all cells that can be reached, and remember how far the moves came that failed."""
        here = self.known(first)
        begin = tuple(int(np.argmin(np.abs(axis - x))) for axis, x in zip(self.axes, self.solver.where(here)))
        waiting: deque[tuple[Cell, Cell | None]] = deque([((begin[0], begin[1]), None)])
        ends: dict[tuple[Cell, Cell], Point] = {}
        total = self.reached.size
        while waiting:
            cell, origin = waiting.popleft()
            if self.reached[cell]:
                continue
            near = here if origin is None else self.cells[origin].point
            found, arrived = self._walk(near, self._place(cell), 1 / 32 if origin is None else _SHORTEST_PART)
            if not arrived:
                if origin is not None:
                    ends[origin, cell] = found
                continue
            self.cells[cell] = self._seen(found)
            self.reached[cell] = True
            waiting.extend((other, cell) for other in self._beside(cell) if not self.reached[other])
            if progress is not None and len(self.cells) % 20 == 0:
                progress(len(self.cells), total)
        for (cell, other), point in ends.items():
            if not self.reached[other]:
                self.edges[cell, other] = self.solver.where(point), self._seen(point)
        for cell, one in self.cells.items():
            for other in self._beside(cell):
                if self.reached[other]:
                    end = (self._place(other), self.cells[other]) if cell < other else None
                else:
                    end = self.edges.get((cell, other))
                if end is not None and one.eigenvalue * end[1].eigenvalue < 0.0:
                    self.snaps[cell, other] = self._snap((self._place(cell), one), end)
        if progress is not None:
            progress(total, total)

    def _beside(self, cell: Cell) -> list[Cell]:
        i, j = cell
        around = ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1))
        return [(i, j) for i, j in around if 0 <= i < self.reached.shape[0] and 0 <= j < self.reached.shape[1]]

    def _place(self, cell: Cell) -> Array:
        return np.array([axis[k] for axis, k in zip(self.axes, cell, strict=True)])

    def _walk(self, near: Point, stop: Array, least: float) -> tuple[Point, bool]:
        """The point at a place, by shorter moves where a long one fails; else the last point, and False."""
        start, done, part = self.solver.where(near), 0.0, 1.0
        while done < 1.0:
            found = self.solver.solve(near, start + min(1.0, done + part) * (stop - start))
            if found is not None:
                near, done = found, done + part
            else:
                part *= 0.5
                if part < least:
                    return near, False
        return near, True

    def _snap(self, first: tuple[Array, _Seen], last: tuple[Array, _Seen]) -> tuple[Array, _Seen]:
        """Where the least eigenvalue is zero between two points: false position, halved now and then."""
        (start, low), (stop, high) = first, last
        a, b, f_a, f_b = 0.0, 1.0, low.eigenvalue, high.eigenvalue
        place, best = first if abs(f_a) < abs(f_b) else last
        for step in range(8):
            x = 0.5 * (a + b) if step % 3 == 2 else (a * f_b - b * f_a) / (f_b - f_a)
            point, arrived = self._walk(best.point, start + x * (stop - start), 1 / 4)
            if not arrived:
                break
            seen = self._seen(point)
            place, best, f = start + x * (stop - start), seen, seen.eigenvalue
            a, f_a, b, f_b = (x, f, b, f_b) if f * f_a > 0.0 else (a, f_a, x, f)
            if abs(f) < 1e-3 * max(abs(low.eigenvalue), abs(high.eigenvalue)) or b - a < 1e-2:
                break
        return place, best

    def _seen(self, found: Point) -> _Seen:
        kernels, solver = self.solver.core, self.solver
        c = kernels.coordinates
        matrix = kernels.tangent(found.a, found.u, (1.0, 0.0, 0.0), jets=1)
        K, _ = reduced(matrix, kernels)
        eigenvalue = float(np.min(np.linalg.eigvalsh(0.5 * (K + K.T)), initial=np.inf))
        stable = verdict(matrix, kernels, found.a, found.u).stable is True
        at = Equilibrium(self.system, as_state(found.a, 0.0), found.u, stable, 0, 0.0)
        position = at.pose(self.part, self.at)[:3, 3]
        if self._observer is None:
            hold = Hold(self.at or "tip", position=tuple(position), name="target", part=self.part)
            self._observer = Target(self.system, hold)
        # motion of the part per force on it, and per motion of the inputs
        G = self._observer.gradient(found.a)
        push = np.zeros((matrix.shape[0], G.shape[0]))
        push[:c] = G.T
        push[list(solver.driven.values())] = 0.0
        try:
            answer = np.linalg.solve(matrix, np.hstack([push, -solver.slopes(matrix, found) * solver.unit]))[:c]
        except np.linalg.LinAlgError:
            return _Seen(found, False, eigenvalue, 0.0, np.inf, position)
        for k, channel in enumerate(solver.channels):
            if channel in solver.driven:
                answer[solver.driven[channel], G.shape[0] + k] += solver.unit[k]
        compliance, gains = np.split(G @ answer, [G.shape[0]], axis=1)
        # of a stable part all stiffnesses are positive; the largest compliance is the least of them
        flexible = np.linalg.eigvalsh(0.5 * (compliance + compliance.T))
        with np.errstate(divide="ignore"):
            stiffness = float(np.min(1.0 / flexible, initial=np.inf)) if G.size else np.inf
        sizes = np.linalg.svd(gains, compute_uv=False)
        condition = float(sizes[0] / sizes[-1]) if sizes.size and sizes[-1] > 0.0 else np.inf
        return _Seen(found, stable, eigenvalue, stiffness, condition, position)

    def dataset(self, over: Sequence[Any]) -> xr.Dataset:
        """What was computed."""
        system = self.system
        if isinstance(self.solver, Inverse):
            names, units = [f"wanted_{key}" for key in over], ["m", "m"]
        else:
            names = [system.channel_names[k] for k in self.solver.channels]
            units = [system.channels[k].unit for k in self.solver.channels]
        data = self._table(names, self.reached.shape, self.cells, "")
        data["reached"] = (names, self.reached)
        for kind, points in (("edge", self.edges), ("snap", self.snaps)):
            seen = dict(enumerate(one for _, one in points.values()))
            data |= self._table([kind], (len(points),), seen, f"{kind}/")
            cells = np.array([[*a, *b] for a, b in points], dtype=np.int64).reshape(-1, 4)
            data[f"{kind}/cells"] = ([kind, "end"], cells, {"long_name": "indices of the two cells it lies between"})
            places = np.array([place for place, _ in points.values()], dtype=float).reshape(-1, 2)
            data[f"{kind}/place"] = ([kind, "axis"], places, {"long_name": "place on the axes of the map"})
        coordinates: dict[str, Any] = {
            name: (name, axis, {"units": unit}) for name, axis, unit in zip(names, self.axes, units, strict=True)
        }
        coordinates |= {
            "xyz": list("xyz"),
            "channel": list(system.channel_names),
            "coordinate": list(system.coordinate_names),
            "multiplier": [name for name, _ in system.multipliers],
        }
        attributes = {
            "title": f"workspace of {self.part.name}",
            "part": self.part.name,
            "over": "position" if isinstance(self.solver, Inverse) else "inputs",
        }
        import xarray as xr

        return xr.Dataset(data, coordinates, attributes)

    def _table(self, names: list[str], shape: tuple[int, ...], seen: dict[Any, _Seen], prefix: str) -> dict[str, Any]:
        """Variables of points that are known, NaN elsewhere."""
        system, channels = self.system, len(self.system.channels)
        sizes = {"inputs": channels, "q": system.n, "multipliers": len(system.multipliers), "position": 3}
        out: dict[str, Array] = {name: np.full((*shape, size), np.nan) for name, size in sizes.items()}
        for name in ("eigenvalue", "stiffness", "condition"):
            out[name] = np.full(shape, np.nan)
        stable = np.zeros(shape, dtype=bool)
        base = np.full((*shape, 4, 4), np.nan)
        for cell, one in seen.items():
            a, u = one.point.a, one.point.u
            out["inputs"][cell], out["q"][cell], out["multipliers"][cell] = u[:channels], a.q[0], a.multipliers
            out["position"][cell], stable[cell] = one.position, one.stable
            for name in ("eigenvalue", "stiffness", "condition"):
                out[name][cell] = getattr(one, name)
            base[cell] = as_state(a, 0.0).g
        notes = {
            "eigenvalue": {"units": "J", "long_name": "least second variation"},
            "stiffness": {"units": "N/m", "long_name": f"least stiffness of {self.part.name}, inputs held"},
            "condition": {"units": "1", "long_name": "condition of the inputs"},
            "position": {"units": "m", "long_name": f"position of {self.part.name}"},
        }
        last = {"inputs": "channel", "q": "coordinate", "multipliers": "multiplier", "position": "xyz"}
        table: dict[str, Any] = {
            prefix + name: ([*names, last[name]] if name in last else names, values, notes.get(name, {}))
            for name, values in out.items()
        }
        table[prefix + "stable"] = (names, stable)
        if system.free:
            table[prefix + "base"] = ([*names, "row", "column"], base)
        return table
