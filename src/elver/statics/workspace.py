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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.dynamics.core import core
from elver.dynamics.states import Arrays, as_state
from elver.errors import BadInput, Interrupted, expect, finite
from elver.guards import guarded
from elver.mechanism import Hold, Part
from elver.rods import Rod
from elver.rods.fields import Station
from elver.statics.closing import retract
from elver.statics.equilibrium import Equilibrium
from elver.statics.moving import at_rest
from elver.statics.search import equilibrium
from elver.statics.target import Target, input_units
from elver.statics.verdict import reduced, verdict
from elver.system import Inputs, System

if TYPE_CHECKING:
    import xarray as xr  # half a second to import: only where a dataset is made

__all__ = ["workspace"]

Array: TypeAlias = NDArray[np.float64]
Progress: TypeAlias = Callable[[int, int], None]
Cell: TypeAlias = tuple[int, int]

_LONGEST_MOVE = 0.6  # rad of bending over a rod or of a joint, from cell to cell: further is another branch
_BEND = 0.5  # part of a step by which a sheet may depart from its tangent
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
    expect("workspace", "over", over, (list, tuple), wanted="two inputs or positions", example="('x', 'y')")
    if len(over) != 2:
        raise BadInput(f"over has {len(over)} entries: a map has two, inputs or positions such as ('x', 'y')")
    bounds = finite("ranges", ranges, (2, 2), "the units of the inputs, or m")
    sizes = (resolution, resolution) if isinstance(resolution, int) else tuple(resolution)
    if len(sizes) != 2 or any(int(size) != size or size < 2 for size in sizes):
        raise BadInput(f"resolution = {resolution}: give one or two whole numbers >= 2")
    if any(low >= high for low, high in bounds):
        raise BadInput(f"ranges = {bounds.tolist()}: each goes from a low to a high value")
    part = system.mechanism.part(part) if isinstance(part, str) else (part or system.rod)
    axes = tuple(np.linspace(low, high, int(size)) for (low, high), size in zip(bounds, sizes, strict=True))
    first = guess or equilibrium(system, inputs)
    places = all(isinstance(key, str) and key in ("x", "y", "z") for key in over)
    solver: _Forward | _Inverse
    if places:
        solver = _Inverse(system, tuple(over), part, at, by, position, orientation, first)
    else:
        solver = _Forward(system, [system.input_index(key) for key in over])
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


@dataclass(frozen=True, eq=False)
class _Point:
    """A state of rest and its inputs."""

    a: Arrays
    u: Array
    sign: float = 0.0  # of the determinant of the equations of a cell, which one sheet of solutions keeps


class _Solver:
    """Newton for a cell from a point near by."""

    def __init__(self, system: System, channels: list[int]) -> None:
        self.system, self.core, self.channels = system, core(system), channels
        k = self.core
        self.unit = input_units(k, channels)
        forces = np.full(k.rows, k.assembly.energy / k.assembly.length)
        self.scale = np.concatenate([k.assembly.scale, forces])
        self.weight = np.concatenate([k.assembly.scale / k.assembly.energy, np.ones(k.rows)])
        # where an imposed coordinate is in the unknowns, by its channel
        self.driven = {int(column): k.coordinates - k.n + int(q) for q, column, *_ in k.program.imposed}

    def slopes(self, matrix: Array, at: _Point) -> Array:
        """∂R/∂u of the channels, (unknowns, channels)."""
        columns = []
        for channel in self.channels:
            if channel in self.driven:
                column = matrix[:, self.driven[channel]].copy()
                column[self.driven[channel]] = 0.0
            else:
                column = self.core.input_slope(at.a, at.u, channel)
            columns.append(column)
        return np.column_stack(columns)

    def linear(self, at: _Point) -> tuple[Array, Array, Array]:
        """Scaled R, ∂R/∂(unknowns) and ∂R/∂(channels)."""
        matrix = self.core.tangent(at.a, at.u, (1.0, 0.0, 0.0), jets=1)
        R = self.weight * self.core.residual(at.a, at.u, jets=1)
        slopes = self.weight[:, None] * self.slopes(matrix, at) * self.unit
        return R, self.weight[:, None] * matrix * self.scale, slopes

    def step(self, at: _Point, dx: Array, du: Array) -> _Point:
        """The point at scaled increments of unknowns and channels."""
        c, step, u = self.core.coordinates, self.scale * dx, at.u.copy()
        u[self.channels] += self.unit * du
        for k, channel in enumerate(self.channels):
            if channel in self.driven:
                step[self.driven[channel]] = self.unit[k] * du[k]
        moved = retract(self.core, at.a, step[:c])
        return _Point(replace(moved, multipliers=at.a.multipliers + step[c:]), u, at.sign)

    def newton(self, near: _Point, moved: Callable[[_Point], tuple[Array, Array]]) -> _Point | None:
        """Newton from a point near by, on the same sheet: None where it fails or leaves for another one.

        ``moved(point)`` gives the scaled equations and their Jacobian by (unknowns, channels). The first step is
        the tangent of the sheet; where the others change more than a part of it, the sheet bends too much for one step,
        or ends. So it does where the determinant has changed its sign.
        """
        at, size = near, self.scale.size
        tangent, rest = np.zeros(0), np.zeros(0)
        for iteration in range(14):
            R, J = moved(at)
            square = J.shape[0] == J.shape[1]
            if iteration and float(np.max(np.abs(R))) < 1e-10:
                sign = float(np.linalg.slogdet(J)[0]) if square else 1.0
                return None if near.sign * sign < 0.0 else replace(at, sign=sign)
            try:
                found = np.linalg.solve(J, -R) if square else np.linalg.lstsq(J, -R, rcond=1e-12)[0]
            except np.linalg.LinAlgError:
                return None
            step: Array = np.asarray(found, dtype=float)
            motion = np.concatenate([step[: self.core.coordinates], step[size:]])
            tangent, rest = (motion, 0.0 * motion) if iteration == 0 else (tangent, rest + motion)
            bent = float(np.linalg.norm(rest)) > _BEND * float(np.linalg.norm(tangent)) + 1e-9
            if bent or not float(np.max(np.abs(motion))) < _LONGEST_MOVE:
                return None
            at = self.step(at, step[:size], step[size:])
        return None


class _Forward(_Solver):
    """Cells are values of two inputs."""

    def where(self, at: _Point) -> Array:
        return at.u[self.channels]

    def solve(self, near: _Point, value: Array) -> _Point | None:
        """The equilibrium at the inputs of a cell."""

        def moved(at: _Point) -> tuple[Array, Array]:
            R, J, slopes = self.linear(at)
            away = (at.u[self.channels] - value) / self.unit
            below = np.hstack([np.zeros((2, self.scale.size)), np.eye(2)])
            return np.concatenate([R, away]), np.vstack([np.hstack([J, slopes]), below])

        return self.newton(near, moved)


class _Inverse(_Solver):
    """Cells are positions of a part; inputs are unknown."""

    def __init__(
        self,
        system: System,
        over: tuple[str, ...],
        part: Part,
        at: Station,
        by: Sequence[Any] | None,
        position: Sequence[float | None] | None,
        orientation: ArrayLike | None,
        first: Equilibrium,
    ) -> None:
        super().__init__(system, [system.input_index(key) for key in (system.actuators if by is None else by)])
        wanted: list[float | None] = [None, None, None] if position is None else list(position)
        self.axes = ["xyz".index(key) for key in over]
        if len(set(self.axes)) < 2:
            raise BadInput(f"over = {over}: give two different axes")
        here = first.pose(part, at if isinstance(part, Rod) else None)[:3, 3]
        for axis in self.axes:
            wanted[axis] = float(here[axis])
        hold = Hold(
            at=at if isinstance(part, Rod) else "tip",
            position=tuple(wanted),  # type: ignore[arg-type]
            orientation=orientation,  # type: ignore[arg-type]
            name="target",
            part=part,
        )
        self.target, self.origin = Target(system, hold), here[self.axes]
        first_row = sum(other.rows for other in system.mechanism.holds) + len(hold.rotation_axes)
        places = [first_row + hold.position_axes.index(axis) for axis in self.axes]
        if any(row not in self.target.rows for row in places):
            raise BadInput(f"over = {over}: the part does not move along both axes")
        self.moving = [int(np.flatnonzero(self.target.rows == row)[0]) for row in places]
        if len(self.channels) < self.target.rows.size:
            raise BadInput(
                f"workspace: {self.target.rows.size} components of the pose are wanted of {len(self.channels)} inputs; "
                "want less, or name more actuators with by=[...]"
            )
        self.rows = np.where(self.target.turns, 1.0, self.core.assembly.length)

    def where(self, at: _Point) -> Array:
        gap = self.target.gap(at.a)
        return self.origin + gap[self.moving]

    def solve(self, near: _Point, value: Array) -> _Point | None:
        """State and inputs at the position of a cell."""
        c, rows = self.core.coordinates, self.core.rows
        shift = np.zeros(self.target.rows.size)
        shift[self.moving] = value - self.origin

        def moved(at: _Point) -> tuple[Array, Array]:
            R, J, slopes = self.linear(at)
            gap = (self.target.gap(at.a) - shift) / self.rows
            G = self.target.gradient(at.a) * self.scale[:c] / self.rows[:, None]
            direct = np.zeros((gap.size, len(self.channels)))
            for k, channel in enumerate(self.channels):
                if channel in self.driven:
                    j = self.driven[channel]
                    direct[:, k] = G[:, j] * self.unit[k] / self.scale[j]
                    G[:, j] = 0.0
            below = np.hstack([G, np.zeros((gap.size, rows)), direct])
            return np.concatenate([R, gap]), np.vstack([np.hstack([J, slopes]), below])

        return self.newton(near, moved)


@dataclass(frozen=True, eq=False)
class _Seen:
    """What a map shows of a point."""

    point: _Point
    stable: bool
    eigenvalue: float
    stiffness: float
    condition: float
    position: Array


class _Map:
    """Cells of a grid, solved outward from one."""

    def __init__(
        self, system: System, part: Part, at: Station, axes: tuple[Array, ...], solver: _Forward | _Inverse
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
    def known(first: Equilibrium) -> _Point:
        """An equilibrium as a point."""
        return _Point(at_rest(first.state), first.inputs.copy())

    def fill(self, first: Equilibrium, progress: Progress | None) -> None:
        """Solve all cells that can be reached, and remember how far the moves came that failed."""
        here = self.known(first)
        begin = tuple(int(np.argmin(np.abs(axis - x))) for axis, x in zip(self.axes, self.solver.where(here)))
        waiting: deque[tuple[Cell, Cell | None]] = deque([((begin[0], begin[1]), None)])
        ends: dict[tuple[Cell, Cell], _Point] = {}
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

    def _walk(self, near: _Point, stop: Array, least: float) -> tuple[_Point, bool]:
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

    def _seen(self, found: _Point) -> _Seen:
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
        if isinstance(self.solver, _Inverse):
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
            "over": "position" if isinstance(self.solver, _Inverse) else "inputs",
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
