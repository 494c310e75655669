"""What a conserving step carries on and works with, and the columns of all frames that tie them to the robot.

See :mod:`.conserving`. J[f] holds the spatial twist of frame f, world axes about the base point, per unknown of its
path; a free base has the unknowns (turn; displacement) in world axes.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.kinds import Record, record_of
from elver.kernels.build.tables import Unpacker, table_of, unpack
from elver.kernels.march.groups import groups_of
from elver.kernels.march.memory import solver_types
from elver.kernels.terms.closures import closure_diagonal
from elver.kernels.tree.interval import interval_columns
from elver.kernels.tree.program import Program, smallest_program, work_for
from elver.kernels.tree.recursion import has_inertia
from elver.kernels.tree.tangent import world_inertia

__all__ = [
    "Passage",
    "add_block",
    "add_products",
    "add_tie_column",
    "clear_block",
    "frame_columns",
    "passage_for",
    "project_wrenches",
    "reach_of",
    "segment_columns",
    "settle",
    "unpack_step",
    "words_of",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Passage(NamedTuple):
    """What a conserving step carries on and works with."""

    rate: Floats  # (frames, 6) spin and velocity of its centre, world axes: carried from step to step
    spin: Floats  # (n,) rates of rotors, likewise
    last: Floats  # (n + 1,) Δq of the step before, and its length, 0 at the start
    begun: Floats  # (1,) 1 when rates are those of a step before
    register: Floats  # registers at the start of the step, where steps go along the tree
    mass_front: Ints  # table of the front of inertia there, else empty
    start_columns: Floats  # (frames, 6, longest path) columns at the start of the step, world axes about the base point
    columns: Floats  # (frames, 6, longest path) at its end
    product: Floats  # (6, longest path)
    sum: Floats  # (longest path, longest path)
    static: Floats  # (coordinates + rows,) residual at rest there, rows of the base in world axes
    closure: Floats  # (rows, 6)
    span: Floats  # (spans, 6)
    tendon: Floats  # (tendons, n)
    length: Floats  # (tendons,)
    root: Floats  # (3, 6) wrench on the base at rest at the start, that over the step, and the base's displacement
    force: Floats  # (frames, 6)
    residual: Floats  # (coordinates + rows,)
    inputs: Floats  # (2, inputs) those that act, with imposed coordinates and wound lengths of start and end
    none: Floats  # (rows,) zeros
    mass: Floats  # (coordinates + rows, coordinates + rows)
    pivots: NDArray[np.int64]
    held: Floats  # (rows,) multipliers of the step before, likewise
    debt: Floats  # (1,) energy that steps brought in and velocities have not given back yet: carried on
    most: Floats  # (1,) largest energy in play so far: kinetic, elastic, and what weight, loads and cables brought
    fallen: Floats  # (1,) the latter, likewise carried on
    fall: Floats  # (1,) in the step
    least: Floats  # (1,) s, length of steps that may owe what they like
    refused: Floats  # (1,) 1 where the last step was found, but would owe too much
    carried: Floats  # (1,) kinetic energy of frames beside that of the rates of coordinates
    aim: Floats  # (frames, 6) rates at the end that are not to be changed
    whole: Floats  # (7, 6) inertia of all frames, and their momentum
    whole_pivots: NDArray[np.int64]  # (6,)
    mean: Floats  # (frames, 6) mean twists over the step, of frames with friction, drag or water (:mod:`.moving_loads`)
    push: Floats  # (frames, 6)
    slope: Floats  # (frames, 6, 12) variation of what acts on them at its start; of no frames where none has any
    heat: Floats  # (1,) less the work of feedback, in the step
    light: Floats  # (n,) weight of the rates of coordinates that move no mass, where velocities are put back
    floats: Ints  # (floats, 3) joints that let parts float apart: segment, last frame and group
    floats_by: Ints  # (frames,) the one of them that carries a frame, or -1
    group: Ints  # (frames,) what floats as a whole, by ties and cables too; -1 where it holds on to the world
    drift: Floats  # (groups, 6) twist of each group as one rigid body

    @property
    def state(self) -> tuple[Floats, ...]:
        """What is carried from step to step."""
        return self.rate, self.spin, self.last, self.begun, self.held, self.debt, self.most, self.fallen


def passage_for(
    program: Program, rows: int, inputs: int, light: Floats | None = None, floating: tuple[int, ...] = (),
    mass_front: Ints | None = None,
) -> Passage:
    """Arrays of the right sizes; ``floating``: segments of joints that let parts float apart, in a world at rest."""
    frames, n = program.inertia.shape[0], program.component.size
    coordinates = 6 * int(program.free[0]) + n
    floats, floats_by, group = groups_of(program, floating)
    longest = max(int(np.max(program.segment[:, 8])), 6) if mass_front is None else 0
    moving = frames if program.slide_frame.size + program.drag_frame.size + program.strip_frame.size else 0
    size, tendons, spans = coordinates + rows, program.tendon_input.size, program.span_tendon.size
    return Passage(
        rate=np.zeros((frames, 6)),
        spin=np.zeros(n),
        last=np.zeros(n + 1),
        begun=np.zeros(1),
        register=work_for(program).register if mass_front is not None else np.zeros((0, 0, 6)),
        mass_front=np.zeros(0, dtype=np.int64) if mass_front is None else mass_front,
        start_columns=np.zeros((frames, 6, longest)),
        columns=np.zeros((frames, 6, longest)),
        product=np.zeros((6, longest)),
        sum=np.zeros((longest, longest)),
        static=np.zeros(size),
        closure=np.zeros((max(rows, 1), 6)),
        span=np.zeros((spans, 6)),
        tendon=np.zeros((max(tendons, 1), n)),
        length=np.zeros(tendons),
        root=np.zeros((3, 6)),
        force=np.zeros((frames, 6)),
        residual=np.zeros(size),
        inputs=np.zeros((2, inputs)),
        none=np.zeros(rows),
        mass=np.zeros((size, size) if mass_front is None else (0, 0)),
        pivots=np.zeros(size, dtype=np.int64),
        held=np.zeros(rows),
        debt=np.zeros(1),
        most=np.zeros(1),
        fallen=np.zeros(1),
        fall=np.zeros(1),
        least=np.zeros(1),
        refused=np.zeros(1),
        carried=np.zeros(1),
        aim=np.zeros((frames, 6)),
        whole=np.zeros((7, 6)),
        whole_pivots=np.zeros(6, dtype=np.int64),
        mean=np.zeros((moving, 6)),
        push=np.zeros((moving, 6)),
        slope=np.zeros((moving, 6, 12)),
        heat=np.zeros(1),
        light=np.zeros(n) if light is None else light,
        floats=floats,
        floats_by=floats_by,
        group=group,
        drift=np.zeros((1 + int(group.max(initial=-1)), 6)),
    )


@cache
def _step_types() -> tuple[Record, ...]:
    return (*solver_types(), record_of(passage_for(smallest_program(), 0, 0)))


def words_of(passage: Passage) -> NDArray[np.int64]:
    """A passage as compiled code takes it, behind the table of a solver."""
    return table_of(_step_types()[-1:], passage)


unpack_step = Unpacker(_step_types, parts=(2, 5))
"""(Trial, Passage) of a solver that has both, in compiled code."""


@kernel
def settle(frame_columns, robot, step):
    """Columns, and [M Jᵀ; J 0] in s.mass, at the registers and poses of the last residual."""
    _, s = unpack_step(step)
    frame_columns(robot, s.start_columns)
    _mass(robot, step, s.start_columns)


@kernel
def frame_columns(robot, J):
    """J of all frames at the registers and poses of the last residual."""
    p, _ = unpack(robot)
    for c in range(6):
        for k in range(p.slot_path[0, 1]):
            J[0, c, k] = 1.0 if c == k else 0.0
    for segment in range(p.segment.shape[0]):
        segment_columns(robot, segment, J)


@inner
def segment_columns(robot, segment, J):
    """J of the frames of a segment; that of its parent is known."""
    p, w = unpack(robot)
    before, start, count = p.segment[segment, 0], p.segment[segment, 1], p.segment[segment, 4]
    poly, size, strains = p.segment[segment, 5], p.segment[segment, 8], p.active[segment, 0]
    first = size - count
    moments = p.poly_size[poly, 0]
    for i in range(start, start + p.segment[segment, 2]):
        near, out = J[before], J[i + 1]
        known = first if i == start else size
        for c in range(6):
            for k in range(size):
                out[c, k] = near[c, k] if k < known else 0.0
        if strains > 0:
            interval_columns(robot, segment, i, before, 1)
            for slot in range(strains):
                low, high, shift = p.bend[i, 3 * slot], p.bend[i, 3 * slot + 1], p.bend[i, 3 * slot + 2]
                for moment in range(moments):
                    z, phi = w.local[slot * moments + moment, 0], p.phi[i, moment]
                    for c in range(6):
                        target = out[c]
                        for k in range(low, high):
                            target[first + k] += z[c] * phi[k - shift]
        before = i + 1


@inner
def project_wrenches(robot, J, force, out):
    """out += Σ Jᵀ of the wrenches of all frames."""
    p, _ = unpack(robot)
    for segment in range(-1, p.segment.shape[0]):
        low, high, path, size = reach_of(robot, segment)
        for f in range(low, high):
            a, b, c, d, e, g = force[f, 0], force[f, 1], force[f, 2], force[f, 3], force[f, 4], force[f, 5]
            z = J[f]
            for k in range(size):
                out[p.path[path + k]] += (
                    a * z[0, k] + b * z[1, k] + c * z[2, k] + d * z[3, k] + e * z[4, k] + g * z[5, k]
                )


@inner
def _mass(robot, step, J):
    """s.mass = [M Jᵀ; J 0] at the poses of the last residual."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    n, size = s.spin.size, s.mass.shape[0]
    coordinates = size - s.none.size
    offset, out = coordinates - n, s.product
    for i in range(size):
        for k in range(size):
            s.mass[i, k] = 0.0
    for segment in range(-1, p.segment.shape[0]):
        low, high, path, length = reach_of(robot, segment)
        clear_block(length, s.sum)
        for f in range(low, high):
            if not has_inertia(p.inertia[f]):
                continue
            z, b = J[f], w.stiffness[f]
            world_inertia(p.inertia[f], w.pose, f, b, 12)
            for k in range(length):
                for c in range(6):
                    out[c, k] = (
                        b[c, 12] * z[0, k] + b[c, 13] * z[1, k] + b[c, 14] * z[2, k]
                        + b[c, 15] * z[3, k] + b[c, 16] * z[4, k] + b[c, 17] * z[5, k]
                    )  # fmt: skip
            add_products(z, out, length, s.sum)
        add_block(p.path, path, length, s.sum, s.mass)
    for k in range(n):
        s.mass[offset + k, offset + k] += p.rotor[k] + s.light[k]
    for j in range(p.closure_frame.shape[0]):
        for row in range(p.closure_rows[j, 0], p.closure_rows[j, 0] + p.closure_rows[j, 1]):
            add_tie_column(robot, J, p.closure_frame[j], w.closure[row], coordinates + row, s.mass)
    for j in range(p.span_tendon.size):
        row = p.tendon_row[p.span_tendon[j]]
        if row >= 0:
            add_tie_column(robot, J, p.span_frame[j], w.span[j], coordinates + row, s.mass)
    for t in range(p.tendon_row.size):
        if p.tendon_row[t] >= 0:
            for k in range(n):
                s.mass[offset + k, coordinates + p.tendon_row[t]] += w.tendon_rate[t, k]
    for i in range(coordinates, size):
        for k in range(coordinates):
            s.mass[i, k] = s.mass[k, i]
    closure_diagonal(coordinates, p.row_axes, p.row_soft, s.mass)
    for j in range(p.imposed.shape[0]):
        me = offset + p.imposed[j, 0]
        for k in range(size):
            s.mass[me, k] = 0.0
        s.mass[me, me] = 1.0


@inner
def clear_block(size, block):
    """Zeros for the unknowns of a path."""
    for i in range(size):
        for k in range(size):
            block[i, k] = 0.0


@inner
def add_products(left, right, size, block):
    """block += leftᵀ right over the unknowns of a path: both (6, size)."""
    for i in range(size):
        row = block[i]
        for c in range(6):
            value, line = left[c, i], right[c]
            if value != 0.0:
                for k in range(size):
                    row[k] += value * line[k]


@inner
def add_block(paths, path, size, block, matrix):
    """A block of the unknowns of a path into the matrix of all."""
    for i in range(size):
        row = matrix[paths[path + i]]
        for k in range(size):
            row[paths[path + k]] += block[i, k]


@inner
def add_tie_column(robot, J, frames, wrench, column, matrix):
    """matrix[:, column] += Jᵀ of a wrench between two frames."""
    p, _ = unpack(robot)
    for side in range(2):
        f = frames[side]
        if f < 0:
            continue
        path, size = _path_of(robot, f)
        for k in range(size):
            value = 0.0
            for c in range(6):
                value += J[f, c, k] * wrench[c]
            matrix[p.path[path + k], column] += value if side == 1 else -value


@inner
def reach_of(robot, segment):
    """First frame of a segment and the one behind its last, first entry and length of their path; -1 is the base."""
    p, _ = unpack(robot)
    if segment < 0:
        return 0, 1, p.slot_path[0, 0], p.slot_path[0, 1]
    first = p.segment[segment, 1] + 1
    return first, first + p.segment[segment, 2], p.segment[segment, 7], p.segment[segment, 8]


@inner
def _path_of(robot, f):
    """First entry and length of the path of a frame."""
    p, _ = unpack(robot)
    if f > 0:
        for segment in range(p.segment.shape[0]):
            if p.segment[segment, 1] < f <= p.segment[segment, 1] + p.segment[segment, 2]:
                return p.segment[segment, 7], p.segment[segment, 8]
    return p.slot_path[0, 0], p.slot_path[0, 1]
