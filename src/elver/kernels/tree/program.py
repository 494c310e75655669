"""The program: one robot as flat arrays, and the work space of the recursions.

A robot is a tree of *segments* that grow from a parent frame. A rod is a segment of many intervals, a rigid joint a
segment of one or two, a constant offset one interval without coordinates; each interval ends in a *frame* that carries
inertia and loads. Frame 0 is the base and interval i ends in frame i + 1; parents come before children. A rod that
hangs by its tip, or by a section in between, has a segment that runs backward (last operation negated) on the same
coordinates. Along an interval the pose advances by g_next = g exp(Ψ), where Ψ is a Lie
polynomial of a few *moments* α_m of the strain, and each moment is linear in the coordinates:

    α_m = rest[i, m] + Σ_k e_component(k) phi[i, m, k] q_k ,      Ψ = last register of the polynomial,
    register o = beta_o [register a_o, register b_o] + Σ_j linear_oj register j .

So Magnus 4, Magnus 6 and Runge-Kutta-Munthe-Kaas are three small tables, and no array size is known to the
compiler: a second robot compiles nothing.

The *path* of a segment lists the unknowns that move it, its own last; the path of its parent is a part of it from the
front. Columns of the tangent are kept over paths only, and are saved in a *slot* at each frame from which another
segment grows or to which a closure is tied. Vectors are angular first; matrices are row major.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "COORDINATES", "FIRST", "INTERVALS", "KIND", "OFFSET", "PARENT", "PATH", "PATH_START", "POLYNOMIAL", "SLOT",
    "START", "TURNING", "Program", "Work", "laws_of", "smallest_program",
    "with_matrix", "work_for",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# Columns of Program.segment: parent frame, first interval, intervals, first coordinate, coordinates, polynomial,
# slot of the parent, first entry and length of the path, kind (constant offset, joint that only turns, anything else)
PARENT, START, INTERVALS, FIRST, COORDINATES, POLYNOMIAL, SLOT, PATH_START, PATH, KIND = range(10)
OFFSET, TURNING = 0, 1


class Program(NamedTuple):
    """Everything that stays fixed while a system is solved."""

    free: Ints  # (1,) 1 when the base pose is unknown
    segment: Ints  # (segments, 10): parent frame, first interval, intervals, first coordinate, coordinates, polynomial,
    #                 slot of the parent, first entry and length of the path, kind (0 offset, 1 turning joint, 2 else)
    path: Ints  # unknowns of all paths, one after the other; those of slot 0 (a free base) first; of the dense matrix
    frame_slot: Ints  # (frames,) slot in which the columns at this frame are kept, or -1
    slot_path: Ints  # (slots, 2) first entry and length of the path of each slot
    active: Ints  # (segments, 7): number of free strains, then their components
    component: Ints  # (n,) strain component of each coordinate
    fixed: Floats  # (intervals, 4, 3) rows of R, then p, of the step of an offset
    rest: Floats  # (intervals, moments, 6)
    phi: Floats  # (intervals, moments, most that bend one) of the coordinates that bend an interval alone, see bend
    bend: Ints  # (intervals, 18) for each free strain, first and end of the own coordinates that bend an interval, and
    #             what their number is ahead of their column in phi
    poly_size: Ints  # (polynomials, 2): moments, operations
    poly_pair: Ints  # (polynomials, operations, 2): registers of the bracket
    poly_beta: Floats  # (polynomials, operations)
    poly_linear: Floats  # (polynomials, operations, registers)
    inertia: Floats  # (frames, 6, 6) in the axes of the frame, at its origin, with the water carried along
    weight: Floats  # (frames, 4) mass and first moment of mass, in axes of the frame, that gravity acts on
    gravity: Floats  # (3,) m/s², world
    gravity_input: Ints  # (1,) input that scales it, or -1
    load_frame: Ints  # (loads,)
    load_input: Ints  # (loads,) input that scales it
    load_follows: Ints  # (loads,) 1 when fixed to the section, 0 when fixed in the world
    load_wrench: Floats  # (loads, 6) couple and force at the frame's origin
    block: Ints  # (blocks, 3) first coordinate and number of coordinates of each rod and joint, 1 if a law acts on them
    law: Ints  # (n, 2) first and end, in its block, of the coordinates that a law ties to this one
    K_elastic: Floats  # (n, most of them) rows of coordinates, columns from the first of those on
    D_elastic: Floats  # (n, most of them)
    spring_rest: Floats  # (n,) coordinate at which its spring is slack
    friction: Floats  # (n, 2) dry friction [N m or N] and the speed [rad/s or m/s] over which it is smoothed
    stop: Floats  # (n, 3) lower and upper end of the travel, stiffness beyond
    rotor: Floats  # (n,) inertia of what drives a coordinate [kg m² or kg]
    imposed: Ints  # (imposed, 4) coordinate, and its three inputs: value, rate, second rate
    wrap: Ints  # (rotation vectors,) first of the three coordinates
    slide_frame: Ints  # (slides,)
    slide: Floats  # (slides, 3) viscous [N s/m] and dry [N] friction of the frame's origin, smoothing speed [m/s]
    drag_frame: Ints  # (drags,)
    drag: Floats  # (drags, 6, 6) wrench against the twist of the frame, per twist, in its axes
    strip_frame: Ints  # (strips, 2) frame, and law: 0 Morison, 1 Lighthill, 2 his tail
    strip_pose: Floats  # (strips, 4, 3) rows of R, then p, of the strip in its frame
    strip: Floats  # (strips, 10) drag along x, y, z and in roll; added mass along y, z and in roll; flow, world
    user_frame: Ints  # (users,) frames with a wrench from outside, given in Work.user_wrench
    point_block: Ints  # (points,)
    point_phi: Floats  # (points, most) functions at the quadrature points, of the coordinates of point_bend alone
    point_bend: Ints  # (points, 18) as bend
    point_rest: Floats  # (points, 6)
    tendon_input: Ints  # (tendons,)
    tendon_factor: Floats  # (tendons,) tension per unit of input
    tendon_row: Ints  # (tendons,) multiplier that is its tension, or -1 when the input is
    tendon_reach: Ints  # (tendons, 4) first and end of its points and of the coordinates of their rods
    tendon_length: Floats  # (tendons,) length at rest
    tendon_path: Floats  # (tendons, most points of one, 6): D, D' at its points, the first of them on
    tendon_weight: Floats  # (tendons, most points of one) quadrature weights, zero where the tendon is not
    span_tendon: Ints  # (spans,) tendon of each free span
    span_frame: Ints  # (spans, 2) frames of its guides (-1: the world)
    span_point: Floats  # (spans, 2, 3) the guides in those frames
    span_slot: Ints  # (spans, 2)
    muscle_input: Ints  # (muscles,)
    muscle_reach: Ints  # (muscles, 2) first and end of the coordinates that it drives
    muscle_force: Floats  # (muscles, n) ∫ ΦᵀBᵀ Λ_act ds for a unit input
    own_input: Ints  # (stresses,) input that a stress of one's own is given, or -1 of a section law
    own_reach: Ints  # (stresses, 2) first and end of its rows
    own_first: Ints  # (stresses,) first of its parameters
    own_point: Ints  # (rows,) quadrature point
    own_weight: Floats  # (rows,) its weight
    own_s: Floats  # (rows,) arc length there
    own_origin: Floats  # (rows, 6) strain from which the function counts
    own_linear: Floats  # (rows, 6, 6) what of its slope is in K_elastic
    own_parameters: Floats  # (parameters + 1,) of all stresses
    own_address: Ints  # (stresses,) of the functions, in this process
    pushed_input: Ints  # (pushed,) input of a load of one's own; its frame is among the last of user_frame
    pushed_first: Ints  # (pushed,) first of its parameters
    pushed_parameters: Floats  # (parameters + 1,) of all these loads
    pushed_address: Ints  # (pushed,) of the functions, in this process
    closure_frame: Ints  # (closures, 2) leader (-1: the world) and follower
    closure_pose: Floats  # (closures, 2, 4, 3) rows of R, then p, of the joint's frames in those frames
    closure_slot: Ints  # (closures, 2)
    closure_rows: Ints  # (closures, 2) first row, number of rows
    row_kind: Ints  # (rows,) 0: Ā (log R; p), 1: u·R w
    row_axes: Floats  # (rows, 6) row of Ā, or (u; w)
    row_soft: Floats  # (rows,) compliance, in the Newton matrix alone, of rows that depend on others in closed loops


class Work(NamedTuple):
    """Scratch arrays, written by every evaluation."""

    register: Floats  # (intervals, 3 registers + 1, 6) jets of all registers; last, c_1, c_2, c_3 of turning joints
    adjoint: Floats  # (registers, 6)
    pose: Floats  # (frames, 4, 3): rows of R, then p relative to the base
    eta: Floats  # (frames, 6) spatial twist, world axes, about the base point
    acc: Floats  # (frames, 6) its rate
    force: Floats  # (frames, 6) wrench demanded by the frame and all beyond, world
    stiffness: Floats  # (frames, 6, 18) its variation with (ζ, ζ', ζ'')
    column: Floats  # (local columns, 3 registers, 6) jets of the variation of the registers
    column_adjoint: Floats  # (registers, 6)
    local: Floats  # (local columns, 3, 6) world columns z and their rates
    hessian: Floats  # (local columns, local columns)
    combined: Floats  # (local columns, 18)
    reaction: Floats  # (local columns, 6)
    prefix: Floats  # (18, longest path) columns of the unknowns of the path at the present frame
    prefix_row: Floats  # (6, longest path) the same as projection rows
    row: Floats  # (longest path,)
    vector: Floats  # (16, 6) a few six-vectors
    stumpff: Floats  # (12,)
    scalar: Floats  # (3, 3, 2) dual c_1, c_2, c_3 with rates
    tangent_map: Floats  # (12, 2, 3, 3) dual matrices
    closure: Floats  # (rows, 6) closure rows as world wrenches on the follower
    closure_map: Floats  # (2, 3, 3): T⁻¹ and R of the closure at hand
    closure_end: Floats  # (2, 4, 3): leader and follower of the closure at hand
    closure_force: Floats  # (closures, 6) wrench on the follower
    closure_stiffness: Floats  # (closures, 6, 3) its variation, in axes of the follower, with the relative rotation
    span: Floats  # (spans, 6) world wrench per unit tension on the second frame
    span_stiffness: Floats  # (spans, 6, 6)
    tendon_span: Floats  # (tendons,) length of its spans
    strip_pose: Floats  # (1, 4, 3) pose of the strip at hand
    strip_slope: Floats  # (6, 9) its wrench with its spin, its velocity and the flow
    user_wrench: Floats  # (users, 6) in axes of their frames
    user_tangent: Floats  # (users, 6, 12) variation with pose and twist, in axes of the frame
    node_step: Floats  # (4,) of a conserving step: its length, and the base point at its start
    node_start: Floats  # (frames, 4, 3) poses there, about that point
    node_rate: Floats  # (frames, 6) spin and velocity of its centre (:mod:`.nodal`) there, world axes
    node_end: Floats  # (frames, 6) the same at the end of the step
    node_shift: Floats  # (frames, 6) Cayley vector of the turn and displacement of the centre over it, world axes
    node_wrench: Floats  # (frames, 6) what that takes: couple, and force at the centre
    node_slope: Floats  # (frames, 6, 6) its variation with turn and displacement
    tendon_now: Floats  # (tendons,) length
    effort: Floats  # (imposed,) what imposes the motion of a coordinate
    own_energy: Floats  # (stresses,) of stresses of one's own, beside what is linear
    own_start: Floats  # (stresses,) the same at the start of a conserving step
    own_now: Floats  # (rows, 13) strain, stress and energy per length, of stresses of one's own beside what is linear
    own_before: Floats  # (rows, 13) the same at the start of a conserving step
    own_over: Floats  # (1,) 1 behind a residual at the end of one
    own_pose: Floats  # (4, 4) pose of the load of one's own at hand
    own_fault: Floats  # (8,) stress (from 1) or load (from -1) that gave no finite number, s, and strain or place
    hessian6: Floats  # (6, 6)
    tendon_rate: Floats  # (tendons, n) ∂length/∂q
    slope: Floats  # (points, 6, 6) of the stress of all tendons with the strain, weighted
    residual: Floats  # (coordinates + rows,)
    pivots: Ints  # (coordinates + rows,)
    # of the dense matrix alone: empty until somebody asks for it
    matrix: Floats  # (coordinates + rows, coordinates + rows)
    saved: Floats  # (slots, 24, longest path) columns and projection rows, at the frames with a slot
    own_rows: Floats  # (most of a segment, longest path) rows of the segment at hand
    own_columns: Floats  # (most of a segment, longest path) its columns in the rows of everything nearer


# Shapes of the arrays of Work, by the sizes that :func:`work_for` counts.
_SHAPES: dict[str, tuple[int | str, ...]] = {
    "register": ("intervals", "kept_rows", 6), "adjoint": ("registers", 6), "pose": ("frames", 4, 3),
    "eta": ("frames", 6), "acc": ("frames", 6), "force": ("frames", 6), "stiffness": ("frames", 6, 18),
    "column": ("columns", "register_rows", 6), "column_adjoint": ("registers", 6), "local": ("columns", 3, 6),
    "hessian": ("columns", "columns"), "combined": ("columns", 18), "reaction": ("columns", 6),
    "prefix": (18, "longest"), "prefix_row": (6, "longest"), "row": ("longest",), "vector": (16, 6), "stumpff": (12,),
    "scalar": (3, 3, 2), "tangent_map": (12, 2, 3, 3), "closure": ("held", 6), "closure_map": (2, 3, 3),
    "closure_end": (2, 4, 3), "closure_force": ("closures", 6), "closure_stiffness": ("closures", 6, 3),
    "span": ("spans", 6), "span_stiffness": ("spans", 6, 6), "tendon_span": ("tendons",), "strip_pose": (1, 4, 3),
    "strip_slope": (6, 9), "user_wrench": ("users", 6), "user_tangent": ("users", 6, 12), "node_step": (4,),
    "node_start": ("frames", 4, 3), "node_rate": ("frames", 6), "node_end": ("frames", 6),
    "node_shift": ("frames", 6), "node_wrench": ("frames", 6), "node_slope": ("frames", 6, 6),
    "tendon_now": ("tendons",), "effort": ("imposed",), "own_energy": ("stresses",), "own_start": ("stresses",),
    "own_now": ("stress_points", 13), "own_before": ("stress_points", 13), "own_over": (1,), "own_pose": (4, 4),
    "own_fault": (8,), "hessian6": (6, 6), "tendon_rate": ("tendons_or_one", "n"), "slope": ("points", 6, 6),
    "residual": ("unknowns",), "matrix": (0, 0), "saved": (0, 24, "longest"), "own_rows": (0, "longest"),
    "own_columns": (0, "longest"),
}  # fmt: skip


def work_for(program: Program) -> Work:
    """Work arrays of the right sizes, those of the dense matrix empty (:func:`with_matrix`)."""
    intervals, registers = program.rest.shape[0], int(np.max(program.poly_size.sum(axis=1)))
    rows = program.row_kind.size + int(np.count_nonzero(program.tendon_row >= 0))
    unknowns, tendons = program.component.size + 6 * int(program.free[0]) + rows, program.tendon_input.size
    moments = program.active[:, 0] * program.poly_size[program.segment[:, 5], 0]
    sizes = {
        "intervals": intervals, "frames": intervals + 1, "registers": registers, "register_rows": 3 * registers,
        "kept_rows": 3 * registers + 1, "columns": max(int(np.max(moments)), 1), "longest": _longest(program),
        "n": program.component.size, "unknowns": unknowns, "held": max(rows, 1),
        "closures": program.closure_frame.shape[0], "spans": program.span_tendon.size, "tendons": tendons,
        "tendons_or_one": max(tendons, 1), "users": program.user_frame.size, "imposed": program.imposed.shape[0],
        "points": program.point_rest.shape[0], "stresses": program.own_input.size,
        "stress_points": program.own_point.size,
    }  # fmt: skip
    shapes = {name: [one if isinstance(one, int) else sizes[one] for one in shape] for name, shape in _SHAPES.items()}
    arrays: dict[str, Any] = {name: np.zeros(shape) for name, shape in shapes.items()}
    return Work(pivots=np.zeros(unknowns, dtype=np.int64), **arrays)


def with_matrix(program: Program, work: Work) -> tuple[Program, Work]:
    """The same with the arrays of the dense matrix, whose size is the square of the robot's."""
    unknowns, longest = work.residual.size, _longest(program)
    most = max(int(np.max(program.segment[:, 4])), 1)
    return program._replace(path=_paths(program)), work._replace(
        matrix=np.zeros((unknowns, unknowns)),
        saved=np.zeros((program.slot_path.shape[0], 24, longest)),
        own_rows=np.zeros((most, longest)),
        own_columns=np.zeros((most, longest)),
    )


def _longest(program: Program) -> int:
    """Length of the longest path."""
    return max(int(np.max(program.segment[:, 8])), 6)


def _paths(program: Program) -> Ints:
    """Unknowns of all paths: those of its parent, then its own, of each segment."""
    offset = 6 * int(program.free[0])
    path = np.arange(offset + int(np.sum(program.segment[:, 8])))
    owner = np.full(program.frame_slot.size, -1)
    for s, (parent, start, intervals, first, count, _, _, begins, size, _) in enumerate(program.segment.tolist()):
        owner[start + 1 : start + intervals + 1] = s
        known = 0 if owner[parent] < 0 else int(program.segment[owner[parent], 7])
        path[begins : begins + size - count] = path[known : known + size - count]
        path[begins + size - count : begins + size] = offset + first + np.arange(count)
    path.flags.writeable = False
    return path


def laws_of(program: Program) -> tuple[Floats, Floats]:
    """Stiffness and damping of all coordinates as full matrices, (n, n) each."""
    n = program.component.size
    K, D = np.zeros((n, n)), np.zeros((n, n))
    for first, count, _ in program.block:
        for i in range(first, first + count):
            low, high = program.law[i]
            own, there = slice(0, high - low), slice(first + low, first + high)
            K[i, there], D[i, there] = program.K_elastic[i, own], program.D_elastic[i, own]
    return K, D


# Shapes of the arrays of the smallest program that hold zeros, if anything.
_INTS: dict[str, tuple[int, ...]] = {
    "free": (1,), "path": (1,), "slot_path": (1, 2), "poly_pair": (1, 1, 2), "load_frame": (0,), "load_input": (0,),
    "load_follows": (0,), "imposed": (0, 4), "wrap": (0,), "slide_frame": (0,), "drag_frame": (0,),
    "strip_frame": (0, 2), "user_frame": (0,), "point_block": (1,), "tendon_input": (0,), "tendon_row": (0,),
    "tendon_reach": (0, 4), "span_tendon": (0,), "span_frame": (0, 2), "span_slot": (0, 2), "muscle_input": (0,),
    "muscle_reach": (0, 2), "own_input": (0,), "own_reach": (0, 2), "own_first": (0,), "own_point": (0,),
    "own_address": (0,), "pushed_input": (0,), "pushed_first": (0,), "pushed_address": (0,), "closure_frame": (0, 2),
    "closure_slot": (0, 2), "closure_rows": (0, 2), "row_kind": (0,),
}  # fmt: skip
_FLOATS: dict[str, tuple[int, ...]] = {
    "fixed": (1, 4, 3), "poly_beta": (1, 1), "weight": (2, 4), "gravity": (3,), "load_wrench": (0, 6),
    "D_elastic": (1, 1), "spring_rest": (1,), "friction": (1, 2), "stop": (1, 3), "rotor": (1,), "slide": (0, 3),
    "drag": (0, 6, 6), "strip_pose": (0, 4, 3), "strip": (0, 10), "tendon_factor": (0,), "tendon_length": (0,),
    "tendon_path": (0, 1, 6), "tendon_weight": (0, 1), "span_point": (0, 2, 3), "muscle_force": (0, 1),
    "own_weight": (0,), "own_s": (0,), "own_origin": (0, 6), "own_linear": (0, 6, 6), "own_parameters": (1,),
    "pushed_parameters": (1,), "closure_pose": (0, 2, 4, 3), "row_axes": (0, 6), "row_soft": (0,),
}  # fmt: skip


def smallest_program() -> Program:
    """A straight rod of one interval that bends about z, clamped, without loads."""
    straight = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]])
    arrays: dict[str, Any] = {name: np.zeros(shape, dtype=np.int64) for name, shape in _INTS.items()}
    arrays |= {name: np.zeros(shape) for name, shape in _FLOATS.items()}
    return Program(
        segment=np.array([[0, 0, 1, 0, 1, 0, 0, 0, 1, 2]]),
        frame_slot=np.array([0, -1]),
        active=np.array([[1, 2, 0, 0, 0, 0, 0]]),
        component=np.array([2]),
        rest=straight[None],
        phi=np.ones((1, 1, 1)),
        bend=np.array([[0, 1, *[0] * 16]]),
        poly_size=np.array([[1, 1]]),
        poly_linear=np.array([[[1.0, 0.0]]]),
        inertia=np.tile(np.eye(6), (2, 1, 1)),
        gravity_input=np.array([-1]),
        block=np.array([[0, 1, 1]]),
        law=np.array([[0, 1]]),
        K_elastic=np.eye(1),
        point_phi=np.ones((1, 1)),
        point_bend=np.array([[0, 1, *[0] * 16]]),
        point_rest=straight,
        **arrays,
    )
