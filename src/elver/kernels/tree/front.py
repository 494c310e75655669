"""The front of the elimination along the tree: its arrays, and the order in which coordinates join and leave it.

See :mod:`elver.kernels.tree.elimination` for what is done with it. *Ties* are frames that something joins to another
branch or to the world: ends of closures and of free spans of cables.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.kernels.build.kinds import Record, record_of
from elver.kernels.build.tables import Unpacker
from elver.kernels.tree.program import Program, smallest_program

__all__ = ["Front", "Order", "front_for", "front_types", "order_of", "unpack_front"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Order(NamedTuple):
    """Where each coordinate joins and leaves the front; fixed while a system is solved."""

    own: Ints  # (intervals, most) coordinates that bend each interval, strain by strain
    low: Ints  # (intervals, 7) first of each strain among them, then their number
    place: Ints  # (n,) place of each coordinate in the front
    top: Ints  # (segments,) places in use
    moved: Ints  # (segments,) 1 where the segment starts at a frame that moves
    pair: Ints  # (segments,) 1 for the half of a rod that waits for the other, 2 for the other, else 0
    enter: Ints  # (intervals + 1,) first of the coordinates that join at each interval, in enter_at
    enter_at: Ints
    leave: Ints  # (intervals + 1,) first of those that leave behind each interval, in leave_at
    leave_at: Ints
    group: Ints  # (intervals,) number of those that leave behind an interval, or -1
    alone: Ints  # (intervals,) 1 where nothing stays in the front
    block: Ints  # (n,) first coordinate of its rod or joint
    given: Ints  # (n,) 1 where the motion is imposed
    point: Ints  # (frames,) quadrature point at each frame, or -1
    start_point: Ints  # (segments,) the same at the section by which a rod hangs
    tie: Ints  # (frames,) number of the tie at each frame, or -1; none at a base that does not move
    tie_frame: Ints  # (ties,)
    scale: Floats  # (coordinates,) unit of each unknown, a free base first
    size: Floats  # (2,) length [m] and energy [J] of the robot


class Front(NamedTuple):
    """The front, and what the way back needs: it belongs to the state at which the matrix was taken."""

    front: Floats  # (12 + places, 18 + places)
    held: Floats  # (12 + places, 18 + places) of the half that waits
    live: Ints  # (places,) coordinate at each place, or -1
    ahead: Floats  # (12 + places, local columns) [P; E] u
    across: Floats  # (local columns, 18 + places) zᵀ [P Q]
    turned: Floats  # (local columns, 6) coad(z) F
    column: Floats  # (intervals, local columns, 12) z; over a conserving step that of its start, then of its end
    start: Floats  # (intervals, local columns, 6) z at the start of such a step
    spread: Floats  # (intervals, local columns, 18) u
    factor: Floats  # (groups, most of a group, most of a group) of H, scaled
    pivot: Ints  # (groups, most of a group)
    answer: Floats  # (groups, most of a group, 18 + places) H⁻¹ [E H]
    load: Floats  # (groups, 12 + places, most of a group) [Q; H] of those that leave
    base: Floats  # (6, 6) of a free base, factored
    base_pivot: Ints  # (6,)
    base_columns: Floats  # (24, 6) of a free base: variation, then rows
    wrench: Floats  # (frames + 1, 12) constant part of W; last, of what is on its way home
    extra: Floats  # (n,) on the diagonal, of conserving steps
    variation: Floats  # (frames, 18) Y
    demand: Floats  # (places,) constant part of r, then the coordinates at their places
    part: Floats  # (most of a group,)
    spare: Floats  # (most of a group, most of a group)
    nature: Floats  # (2,) in statics: largest part by which the matrix is not symmetric, smallest pivot of LDLᵀ over
    #                  its diagonal; with all of them positive the shape is stable
    solution: Floats  # (n,)
    right: Floats  # (coordinates,) right-hand side, kept
    compliance: Floats  # (6 ties, 6 ties) variation of the ties per unit wrench on them
    stiffness: Floats  # (6 ties, 6 ties) wrenches on the ties per variation of others
    lever: Floats  # (6 ties, rows) wrenches on the ties per multiplier
    lever_start: Floats  # (6 ties, rows) the same where a conserving step starts
    cable: Floats  # (rows, 6 ties + rows) change of length of wound cables along their rods per unit wrench and tension
    pulled: Floats  # (6 ties, rows) variation of the ties per unit tension of wound cables along their rods
    rate: Floats  # (2 wound cables, n) change of their length along their rods per coordinate; then weighted
    border: Floats  # (6 ties + rows, 6 ties + rows) factored
    border_pivot: Ints  # (6 ties + rows,)
    border_step: Floats  # (6 ties + rows,)


def order_of(program: Program, points: Ints, scale: Floats, length: float, energy: float) -> Order:
    """The order of elimination; ``points`` are the frames of the quadrature points, the rest as in the assembly."""
    p = program
    intervals, n, segments = p.rest.shape[0], p.component.size, p.segment.shape[0]
    enter: list[list[int]] = [[] for _ in range(intervals)]
    leave: list[list[int]] = [[] for _ in range(intervals)]
    alone = np.ones(intervals, dtype=np.int64)
    place, top, pair = np.zeros(n, dtype=np.int64), np.zeros(segments, dtype=np.int64), _pairs(p)
    shared: set[int] = set()
    for s in range(segments - 1, -1, -1):
        _, start, count, first, m = p.segment[s, :5]
        if not m:
            continue
        near, far, bent = _extent(p, s)
        if pair[s] == 1:
            other = _extent(p, s - 1)[2]
            shared = {int(k) for k in np.flatnonzero(bent & other)}
            own = bent  # what bends neither half is left to the other
        elif pair[s] == 2:
            own = bent | ~_extent(p, s + 1)[2]
        else:
            shared, own = set(), np.ones(m, dtype=bool)
        here = slice(start, start + count)
        tables = place[first : first + m], enter[here], leave[here], alone[here]
        top[s] = _places(first, near, far, np.flatnonzero(own), shared, pair[s] == 1, *tables)
    low = np.concatenate([np.zeros((intervals, 1), int), np.cumsum(p.bend[:, 1::3] - p.bend[:, ::3], axis=1)], axis=1)
    most = max(int(low.max(initial=1)), 1)
    own_at = np.zeros((intervals, most), dtype=np.int64)
    for s in range(segments):
        _, start, count, first = p.segment[s, :4]
        for i in range(start, start + count):
            k = np.concatenate([np.arange(p.bend[i, j], p.bend[i, j + 1]) for j in range(0, 18, 3)])
            own_at[i, : k.size] = first + k
    block = np.zeros(n, dtype=np.int64)
    for first, count, _ in p.block:
        block[first : first + count] = first
    given = np.zeros(n, dtype=np.int64)
    given[p.imposed[:, 0]] = 1
    ends = np.concatenate([p.closure_frame.ravel(), p.span_frame.ravel()])
    tie_frame = np.unique(ends[ends >= (0 if p.free[0] else 1)])
    tie = np.full(intervals + 1, -1, dtype=np.int64)
    tie[tie_frame] = np.arange(tie_frame.size)
    moved = np.array([int(size > count) for size, count in p.segment[:, [8, 4]]], dtype=np.int64)
    point, start_point = _points(p, points)
    leaves = np.array([bool(one) for one in leave], dtype=bool)
    group = np.where(leaves, np.cumsum(leaves) - 1, -1)
    joined, left = (np.array([k for one in lists for k in one], dtype=np.int64) for lists in (enter, leave))
    return Order(
        own_at, low, place, top, moved, pair, _starts(enter), joined, _starts(leave), left, group, alone, block,
        given, point, start_point, tie, tie_frame.astype(np.int64), np.array(scale, dtype=float),
        np.array([length, energy]),
    )  # fmt: skip


def _points(p: Program, points: Ints) -> tuple[Ints, Ints]:
    """Quadrature point at each frame inside a segment, and at the start of each segment."""
    point = np.full(p.rest.shape[0] + 1, -1, dtype=np.int64)
    start_point = np.full(p.segment.shape[0], -1, dtype=np.int64)
    segment_of = {}
    for s in range(p.segment.shape[0] - 1, -1, -1):  # of two halves, the first
        if p.segment[s, 4]:
            segment_of[int(p.segment[s, 3])] = s
    for g, f in enumerate(points):
        s = segment_of[int(p.block[p.point_block[g], 0])]
        if f == p.segment[s, 0]:
            start_point[s] = g
        else:
            point[f] = g
    return point, start_point


def _pairs(p: Program) -> Ints:
    """Halves of rods that hang by an inner section: consecutive segments on the same coordinates."""
    pair = np.zeros(p.segment.shape[0], dtype=np.int64)
    for s in range(1, p.segment.shape[0]):
        if p.segment[s, 4] and tuple(p.segment[s, 3:5]) == tuple(p.segment[s - 1, 3:5]):
            pair[s - 1], pair[s] = 2, 1
    return pair


def _extent(p: Program, s: int) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Nearest and farthest interval of a segment that each of its coordinates bends, and whether it bends any."""
    start, count, m = p.segment[s, 1], p.segment[s, 2], p.segment[s, 4]
    near, far = np.full(m, -1, dtype=np.int64), np.zeros(m, dtype=np.int64)
    for i in range(count):
        for j in range(0, 18, 3):
            own = slice(p.bend[start + i, j], p.bend[start + i, j + 1])
            near[own] = np.where(near[own] < 0, i, near[own])
            far[own] = i
    return np.maximum(near, 0), far, near >= 0


def _places(
    first: int, near: Ints, far: Ints, own: Ints, shared: set[int], waits: bool, place: Ints,
    enter: list[list[int]], leave: list[list[int]], alone: Ints,
) -> int:  # fmt: skip
    """Places of the coordinates of one segment, and where they join and leave; number of places."""
    top = 0
    for k in sorted(shared):
        place[k], top = top, top + 1
    vacant: list[int] = []
    joins: list[list[int]] = [[] for _ in enter]
    ends: list[list[int]] = [[] for _ in enter]
    for k in own:
        joins[far[k]].append(int(k))
        ends[near[k]].append(int(k))
    living = 0
    for i in range(len(enter) - 1, -1, -1):
        for k in joins[i]:
            if k not in shared:
                if vacant:
                    place[k] = vacant.pop()
                else:
                    place[k], top = top, top + 1
            enter[i].append(first + k)
            living += 1
        done = [k for k in ends[i] if not (waits and k in shared)]
        for k in done:
            leave[i].append(first + k)
            if k not in shared:
                vacant.append(int(place[k]))
        living -= len(done)
        alone[i] = int(living == 0)
    return top


def _starts(lists: list[list[int]]) -> Ints:
    return np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)


def front_for(program: Program, order: Order) -> Front:
    """Arrays of the right sizes."""
    intervals, n = program.rest.shape[0], program.component.size
    places = max(int(order.top.max(initial=0)), 1)
    local = max(int(np.max(program.active[:, 0] * program.poly_size[program.segment[:, 5], 0])), 1)
    most = max(int(np.diff(order.leave).max(initial=0)), 1)
    ties = 6 * order.tie_frame.size
    rows = program.row_kind.size + int(np.count_nonzero(program.tendon_row >= 0))
    groups = max(int(order.group.max(initial=-1)) + 1, 1)
    return Front(
        front=np.zeros((12 + places, 18 + places)),
        held=np.zeros((12 + places, 18 + places)),
        live=np.zeros(places, dtype=np.int64),
        ahead=np.zeros((12 + places, local)),
        across=np.zeros((local, 18 + places)),
        turned=np.zeros((local, 6)),
        column=np.zeros((intervals, local, 12)),
        start=np.zeros((intervals, local, 6)),
        spread=np.zeros((intervals, local, 18)),
        factor=np.zeros((groups, most, most)),
        pivot=np.zeros((groups, most), dtype=np.int64),
        answer=np.zeros((groups, most, 18 + places)),
        load=np.zeros((groups, 12 + places, most)),
        base=np.zeros((6, 6)),
        base_pivot=np.zeros(6, dtype=np.int64),
        base_columns=np.zeros((24, 6)),
        wrench=np.zeros((intervals + 2, 12)),
        extra=np.zeros(n),
        variation=np.zeros((intervals + 1, 18)),
        demand=np.zeros(places),
        part=np.zeros(most),
        spare=np.zeros((most, most)),
        nature=np.zeros(2),
        solution=np.zeros(n),
        right=np.zeros(n + 6 * int(program.free[0])),
        compliance=np.zeros((ties, ties)),
        stiffness=np.zeros((ties, ties)),
        lever=np.zeros((ties, rows)),
        lever_start=np.zeros((ties, rows)),
        cable=np.zeros((rows, ties + rows)),
        pulled=np.zeros((ties, rows)),
        rate=np.zeros((2 * (rows - program.row_kind.size), n)),
        border=np.zeros((ties + rows, ties + rows)),
        border_pivot=np.zeros(ties + rows, dtype=np.int64),
        border_step=np.zeros(ties + rows),
    )


@cache
def front_types() -> tuple[Record, ...]:
    """Kinds of Order and Front."""
    program = smallest_program()
    order = order_of(program, np.zeros(0, dtype=np.int64), np.ones(1), 1.0, 1.0)
    return record_of(order), record_of(front_for(program, order))


unpack_front = Unpacker(front_types)
