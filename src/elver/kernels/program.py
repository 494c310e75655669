"""The program: one robot as flat arrays, and the work space of the recursions.

A robot is a list of *segments* that grow from a parent frame. A rod is a segment of many intervals, a rigid joint
will be a segment of one; each interval ends in a *frame* that carries inertia and loads. Frame 0 is the base and
interval i ends in frame i + 1. Along an interval the pose advances by g_next = g exp(Ψ), where Ψ is a Lie
polynomial of a few *moments* α_m of the strain, and each moment is linear in the coordinates:

    α_m = rest[i, m] + Σ_k e_component(k) phi[i, m, k] q_k ,      Ψ = last register of the polynomial,
    register o = beta_o [register a_o, register b_o] + Σ_j linear_oj register j .

So Magnus 4, Magnus 6 and Runge-Kutta-Munthe-Kaas are three small tables, and no array size is known to the
compiler: a second robot compiles nothing. Vectors are angular first; matrices are row major.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Program", "Work", "smallest_program", "work_for"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Program(NamedTuple):
    """Everything that stays fixed while a system is solved."""

    free: Ints  # (1,) 1 when the base pose is unknown
    segment: Ints  # (segments, 6): parent frame, first interval, intervals, first coordinate, coordinates, polynomial
    active: Ints  # (segments, 7): number of free strains, then their components
    component: Ints  # (n,) strain component of each coordinate
    slot_start: Ints  # (segments, 7) first own coordinate of each free strain, then the end
    rest: Floats  # (intervals, moments, 6)
    phi: Floats  # (intervals, moments, most coordinates of a segment)
    poly_size: Ints  # (polynomials, 2): moments, operations
    poly_pair: Ints  # (polynomials, operations, 2): registers of the bracket
    poly_beta: Floats  # (polynomials, operations)
    poly_linear: Floats  # (polynomials, operations, registers)
    inertia: Floats  # (frames, 6, 6) in the axes of the frame, at its origin
    gravity: Floats  # (3,) m/s², world
    gravity_input: Ints  # (1,) input that scales it, or -1
    load_frame: Ints  # (loads,)
    load_input: Ints  # (loads,) input that scales it
    load_follows: Ints  # (loads,) 1 when fixed to the section, 0 when fixed in the world
    load_wrench: Floats  # (loads, 6) couple and force at the frame's origin
    K_elastic: Floats  # (n, n)
    D_elastic: Floats  # (n, n)
    point_phi: Floats  # (points, n) functions at the quadrature points
    point_rest: Floats  # (points, 6)
    tendon_input: Ints  # (tendons,)
    tendon_factor: Floats  # (tendons,) tension per unit of input
    tendon_row: Ints  # (tendons,) multiplier that is its tension, or -1 when the input is
    tendon_length: Floats  # (tendons,) length at rest
    tendon_path: Floats  # (tendons, points, 6): D, D'
    tendon_weight: Floats  # (tendons, points) quadrature weights, zero where the tendon is not
    muscle_input: Ints  # (muscles,)
    muscle_force: Floats  # (muscles, n) ∫ ΦᵀBᵀ Λ_act ds for a unit input
    hold_frame: Ints  # (holds,)
    hold_pose: Floats  # (holds, 4, 3): rows of R, then p
    row_hold: Ints  # (rows,) hold of each closure row
    row_axes: Floats  # (rows, 6) row of Ā


class Work(NamedTuple):
    """Scratch arrays, written by every evaluation."""

    register: Floats  # (intervals, 3 registers, 6) jets of all registers
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
    prefix: Floats  # (18, coordinates) columns of every coordinate at the present frame
    prefix_row: Floats  # (6, coordinates) the same as projection rows
    row: Floats  # (coordinates,)
    vector: Floats  # (16, 6) a few six-vectors
    stumpff: Floats  # (12,)
    scalar: Floats  # (3, 3, 2) dual c_1, c_2, c_3 with rates
    tangent_map: Floats  # (12, 2, 3, 3) dual matrices
    closure: Floats  # (rows, 6) closure rows as world wrenches
    closure_map: Floats  # (2, 3, 3): T⁻¹ and R of the hold at hand
    hessian6: Floats  # (6, 6)
    tendon_rate: Floats  # (tendons, n) ∂length/∂q
    residual: Floats  # (coordinates + rows,)
    matrix: Floats  # (coordinates + rows, coordinates + rows)
    pivots: Ints


def work_for(program: Program) -> Work:
    """Work arrays of the right sizes."""
    intervals, _, _ = program.rest.shape
    frames = intervals + 1
    registers = int(np.max(program.poly_size.sum(axis=1)))
    columns = int(np.max(program.active[:, 0]) * np.max(program.poly_size[:, 0]))
    n = program.component.size
    coordinates = n + 6 * int(program.free[0])
    rows = program.row_hold.size + int(np.count_nonzero(program.tendon_row >= 0))
    return Work(
        register=np.zeros((intervals, 3 * registers, 6)),
        adjoint=np.zeros((registers, 6)),
        pose=np.zeros((frames, 4, 3)),
        eta=np.zeros((frames, 6)),
        acc=np.zeros((frames, 6)),
        force=np.zeros((frames, 6)),
        stiffness=np.zeros((frames, 6, 18)),
        column=np.zeros((columns, 3 * registers, 6)),
        column_adjoint=np.zeros((registers, 6)),
        local=np.zeros((columns, 3, 6)),
        hessian=np.zeros((columns, columns)),
        combined=np.zeros((columns, 18)),
        reaction=np.zeros((columns, 6)),
        prefix=np.zeros((18, coordinates)),
        prefix_row=np.zeros((6, coordinates)),
        row=np.zeros(coordinates),
        vector=np.zeros((16, 6)),
        stumpff=np.zeros(12),
        scalar=np.zeros((3, 3, 2)),
        tangent_map=np.zeros((12, 2, 3, 3)),
        closure=np.zeros((max(rows, 1), 6)),
        closure_map=np.zeros((2, 3, 3)),
        hessian6=np.zeros((6, 6)),
        tendon_rate=np.zeros((max(program.tendon_input.size, 1), n)),
        residual=np.zeros(coordinates + rows),
        matrix=np.zeros((coordinates + rows, coordinates + rows)),
        pivots=np.zeros(coordinates + rows, dtype=np.int64),
    )


def smallest_program() -> Program:
    """A straight rod of one interval that bends about z, clamped, without loads."""
    ints = lambda *shape: np.zeros(shape, dtype=np.int64)  # noqa: E731 (two constructors, used below only)
    floats = lambda *shape: np.zeros(shape)  # noqa: E731
    rest = floats(1, 1, 6)
    rest[0, 0, 3] = 1.0
    inertia = np.tile(np.eye(6), (2, 1, 1))
    linear = floats(1, 1, 2)
    linear[0, 0, 0] = 1.0
    return Program(
        free=ints(1),
        segment=np.array([[0, 0, 1, 0, 1, 0]]),
        active=np.array([[1, 2, 0, 0, 0, 0, 0]]),
        component=np.array([2]),
        slot_start=np.array([[0, 1, 1, 1, 1, 1, 1]]),
        rest=rest,
        phi=np.ones((1, 1, 1)),
        poly_size=np.array([[1, 1]]),
        poly_pair=ints(1, 1, 2),
        poly_beta=floats(1, 1),
        poly_linear=linear,
        inertia=inertia,
        gravity=floats(3),
        gravity_input=np.array([-1]),
        load_frame=ints(0),
        load_input=ints(0),
        load_follows=ints(0),
        load_wrench=floats(0, 6),
        K_elastic=np.eye(1),
        D_elastic=floats(1, 1),
        point_phi=np.ones((1, 1)),
        point_rest=rest[0],
        tendon_input=ints(0),
        tendon_factor=floats(0),
        tendon_row=ints(0),
        tendon_length=floats(0),
        tendon_path=floats(0, 1, 6),
        tendon_weight=floats(0, 1),
        muscle_input=ints(0),
        muscle_force=floats(0, 1),
        hold_frame=ints(0),
        hold_pose=floats(0, 4, 3),
        row_hold=ints(0),
        row_axes=floats(0, 6),
    )
