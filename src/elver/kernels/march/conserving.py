"""Steps that keep energy and momentum: frames as free bodies, tied by the robot's own columns.

Over a step each frame moves as a free body (:mod:`.nodal`) and takes the wrench w; with J the columns of all frames at
the start (n) and at the end (+) of the step, Δx = (Δθ₀, Δp₀, Δq) and all else that acts (weight, loads, elasticity,
tendons, closures: R at rest) as the mean of both ends,

    r = ½ (J_n + J_+)ᵀ w + ½ (R_n + R_+) + D Δq/h = 0 ,     Ψ(x_+) = 0 .

The base moves by R₀₊ = cay(Δθ₀) R₀, p₀₊ = p₀ + Δp₀, its rows in world axes about the base point: momentum then changes
by what acts from outside alone; so it does where parts float apart (:mod:`.groups`). The work of r along Δx misses the
change of energy by a gain of third order in the step, which is known exactly; velocities give it back at the end of the
step, beside the rigid motion that has the momentum (:mod:`.give_back`). Velocities of frames are what is carried on;
those of the coordinates are their projection on what the robot can do, M ẋ + Jᵀμ = Σ J_+ᵀ momentum, for the records and
to begin the next step.

The idea is that of Simo, Tarnow and Doblaré (1995) and Gonzalez (1996), with the columns as the null space of Betsch
and Leyendecker (2006) and velocities put back on closures as by Bauchau (2003).
Theory: docs/theory/time-integration.md, eq. (conserving).
"""

from __future__ import annotations

from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import unpack
from elver.kernels.march.along import front_of_step, mass_along, project_along, solve_mass
from elver.kernels.march.give_back import give_back, keep_momentum, owes_too_much
from elver.kernels.march.memory import (
    CONTRACTION,
    IN_FRONT,
    JETS,
    LONGEST,
    MATRIX_STEP,
    PATIENCE,
    ROW,
    STEP,
    UNIT,
    record,
    unpack_solver,
)
from elver.kernels.march.passage import project_wrenches, unpack_step
from elver.kernels.march.step_residual import base_rows_to_world, gain_of_step, residual_of_step
from elver.kernels.march.step_tangent import matrix_of_step
from elver.kernels.terms.closures import closure_accelerations
from elver.kernels.tree.base_motion import orthonormalise, unwind
from elver.kernels.tree.nodal import add_momentum, kinetic_of, rate_of_frame, turn, turn_back
from elver.kernels.tree.recursion import has_inertia

__all__ = ["march_conserving", "residual_of_motion", "tangent_of_motion"]

# Newton is given up where so many iterations have not halved its correction: most find their way in ten or twenty,
# those that wander are cheaper in shorter steps.
_PATIENCE = 10.0
# Of what it is compared with: a smaller pivot of the elimination along the tree leaves no digit of an increment.
_LEAST_PIVOT = 1e-13


@kernel
def march_conserving(robot, solver, out_carried, out_held, out_given):
    """Conserving steps over the times of a track; returns the number of steps done (all, or the failing one's index).

    ``scheme`` = (κ, χ, m): part of the velocities off what the robot can do that is kept, dissipation of unresolved
    vibration, and after how many steps energy is given back. Inputs and the motion of a driven base: at the start, the
    middle and the end of each step, 2 T - 1 rows. The unknowns are the increments over the step. Of each step,
    ``out_carried``: kinetic energy of frames beside that of the coordinates' rates; ``out_held``: multipliers over the
    step, where those recorded are in balance at its end; ``out_given``: work of what imposes coordinates, and of what
    drives the base.
    """
    m, s = unpack_step(solver)
    call, it, _, place, track = unpack_solver(solver)
    base, rates, q, multipliers, inputs = place.base, place.rates, place.q, place.multipliers, track.inputs
    given_twist, held = track.given_twist, it.x[0, m.total.size :]
    it.control[LONGEST], it.control[PATIENCE], it.control[UNIT] = 0.5, _PATIENCE, 1.0
    _arrive(call.evaluate_residual, robot, solver, base, rates, q, multipliers, inputs[0], given_twist[0])
    if it.front.size == 0:
        call.frame_columns(robot, s.start_columns)
    else:
        m.at[JETS] = 2
    for i in range(track.times.size - 1):
        h = track.times[i + 1] - track.times[i]
        first, end = 2 * i, 2 * i + 2
        it.control[STEP], m.at[ROW], s.refused[0] = h, end, 0.0
        call.start_step(
            call.evaluate_residual, robot, solver, h, base, q, inputs[first], inputs[first + 1], inputs[end]
        )
        count = -1
        for attempt in range(2):
            if count >= 0:
                break
            _predict(solver, h, attempt)
            count = call.iterate(robot, solver)
        if count < 0:
            return i
        call.residual(robot, solver)
        gain = gain_of_step(robot, solver, place.scheme[0, 1], h, base, q, held)
        if place.scheme[0, 2] == 1.0 and owes_too_much(robot, solver, h, q, gain):
            return i
        s.debt[0] += gain
        for k in range(multipliers.size):
            s.held[k] = held[k]
            out_held[i + 1, k] = held[k]
        _book_given(robot, solver, out_given[i + 1])
        _move(robot, solver, h, base, q)
        call.evaluate_residual(robot, base, m.twist, m.q, s.none, inputs[end], 1)
        if not _settle(robot, solver):
            return i
        keep_momentum(robot, solver, h)
        if (i + 1) % int(place.scheme[0, 2]) == 0:
            give_back(robot, solver, base, inputs[end], given_twist[end])
        _accept(
            call.evaluate_residual, robot, solver, place.scheme[0, 0], h, base, rates, q, multipliers,
            inputs[first], inputs[first + 1], inputs[end], given_twist[end],
        )
        record(solver, i + 1)
        track.out_iterations[i + 1] = count
        out_carried[i + 1] = s.carried[0]
    return track.times.size - 1


@inner
def _settle(robot, solver):
    """Factors of the matrix of inertia at the poses of the last residual; False where it is singular."""
    call, it, _, _, _ = unpack_solver(solver)
    _, s = unpack_step(solver)
    if it.front.size > 0:
        return mass_along(robot, solver) > 0.0
    call.settle(call.frame_columns, robot, solver)
    return not call.factor(s.mass, s.pivots) < 1e-300


@inner
def _predict(solver, h, attempt):
    """The first iterate: with the velocities at the start, then without."""
    m, s = unpack_step(solver)
    _, it, _, place, _ = unpack_solver(solver)
    coordinates, offset = m.total.size, m.total.size - place.q.shape[1]
    for k in range(s.held.size):
        it.x[0, coordinates + k] = s.held[k]
    for k in range(coordinates):
        m.total[k] = 0.0
        if attempt == 0:
            m.total[k] = h * (place.rates[0, k] if k < offset else place.q[1, k - offset])
    if attempt == 0 and offset > 0:
        m.total[0], m.total[1], m.total[2] = turn(place.base, m.total[0], m.total[1], m.total[2])
    if attempt == 1:
        it.memory[CONTRACTION], it.memory[MATRIX_STEP] = 1.0, -1.0


@kernel
def residual_of_motion(robot, solver):
    """What is out of balance over the step."""
    call, it, m, place, track = unpack_solver(solver)
    residual_of_step(
        call.evaluate_residual, robot, solver, place.scheme[0, 1], it.control[STEP], place.base, place.q,
        it.x[0, m.total.size :], track.given_base[m.at[ROW]],
    )
    return 0.0


@kernel
def tangent_of_motion(robot, solver):
    """Factors of its variation."""
    call, it, m, place, _ = unpack_solver(solver)
    if it.front.size > 0:
        it.memory[IN_FRONT] = 1.0
        pivot = front_of_step(robot, solver, place.scheme[0, 1], it.control[STEP])
        return pivot if pivot > _LEAST_PIVOT else 0.0
    matrix_of_step(
        call.evaluate_frames, call.evaluate_matrix, call.frame_columns, robot, solver, place.scheme[0, 1],
        it.control[STEP], place.q, it.x[0, m.total.size :],
    )
    return call.factor(it.matrix, it.pivots)


@inner
def _arrive(evaluate_residual, robot, step, base, rates, q, multipliers, inputs, given_twist):
    """Columns where a march begins; rates of frames, where no step has carried them here."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    n = q.shape[1]
    for k in range(n):
        m.q[0, k], m.q[1, k], m.q[2, k] = q[0, k], q[1, k], 0.0
    for k in range(6):
        m.twist[0, k], m.twist[1, k] = given_twist[0, k], 0.0
    if m.total.size > n:
        for k in range(3):
            m.twist[0, k] = rates[0, k]
        m.twist[0, 3], m.twist[0, 4], m.twist[0, 5] = turn_back(base, rates[0, 3], rates[0, 4], rates[0, 5])
    evaluate_residual(robot, base, m.twist, m.q, s.none, inputs, 3)
    if s.begun[0] == 0.0:
        for f in range(w.pose.shape[0]):
            if has_inertia(p.inertia[f]):
                rate_of_frame(p.inertia[f], w.pose[f], w.eta[f], s.rate[f])
        for k in range(n):
            s.spin[k] = q[1, k]
        for k in range(multipliers.size):
            s.held[k] = multipliers[k]
        s.last[n], s.begun[0] = 0.0, 1.0


@inner
def _book_given(robot, step, out):
    """Work of what imposes coordinates and, last, of what drives the base, over the step."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    offset = m.total.size - s.spin.size
    for j in range(p.imposed.shape[0]):
        out[j] = w.effort[j] * m.total[offset + p.imposed[j, 0]]
    if offset == 0:
        for k in range(6):
            out[out.size - 1] += s.root[2, k] * s.root[1, k]


@inner
def _move(robot, step, h, base, q):
    """To the end of the step, right behind its residual there."""
    p, _ = unpack(robot)
    m, s = unpack_step(step)
    n = q.shape[1]
    offset = m.total.size - n
    for k in range(n):
        q[0, k] = m.q[0, k]
        q[1, k], q[2, k], q[3, k] = 0.0, 0.0, 0.0
        mean = m.total[offset + k] / h
        s.spin[k] = 2.0 * mean - s.spin[k]
        if s.light[k] > 0.0:  # no mass carries its rate on: that of two steps, in a line
            before = s.last[n]
            s.spin[k] = mean
            if before != 0.0 and before + h != 0.0:
                s.spin[k] += (mean - s.last[k] / before) * h / (h + before)
        s.last[k] = m.total[offset + k]
    s.last[n] = h
    for i in range(4):
        for k in range(3):
            base[i, k] = m.base[i, k]
    orthonormalise(base)
    if unwind(p.wrap, q, m.small, m.stumpff):
        s.last[n] = 0.0
    for i in range(3):
        for k in range(n):
            m.q[i, k] = q[i, k]


@inner
def _accept(
    evaluate_residual, robot, step, kappa, h, base, rates, q, multipliers, first, middle, end, given_twist,
):
    """Rates of frames and of coordinates at the end of the step; accelerations and multipliers in balance there."""
    p, _ = unpack(robot)
    m, s = unpack_step(step)
    n, coordinates = q.shape[1], m.total.size
    offset, x = coordinates - n, m.step
    if offset > 0:
        for k in range(6):
            m.twist[0, k] = 0.0
    else:
        for k in range(6):
            m.twist[0, k] = given_twist[0, k]
    _momenta(robot, step, base, m.twist, x)
    for k in range(n):
        x[offset + k] += (p.rotor[k] + s.light[k]) * s.spin[k]
    _rates_of_ties(robot, step, first, middle, end, h, x)
    for j in range(p.imposed.shape[0]):
        x[offset + p.imposed[j, 0]] = end[p.imposed[j, 2]]
    solve_mass(robot, step, x)
    for k in range(n):
        q[1, k] = x[offset + k]
        m.q[1, k] = q[1, k]
    if offset > 0:
        m.twist[0, 0], m.twist[0, 1], m.twist[0, 2] = turn_back(base, x[0], x[1], x[2])
        m.twist[0, 3], m.twist[0, 4], m.twist[0, 5] = turn_back(base, x[3], x[4], x[5])
        for k in range(3):
            rates[0, k], rates[0, 3 + k] = m.twist[0, k], x[3 + k]
    _balance(evaluate_residual, robot, step, h, base, q, multipliers, first, middle, end, given_twist)
    s.carried[0] = _carry_on(robot, step, q, kappa)


@inner
def _momenta(robot, step, base, twist, x):
    """x = Σ Jᵀ momentum of all frames, less what they have from a base that moves by itself; its twist in s.root[2]."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    b, u = s.root[2], w.vector[0]
    b[0], b[1], b[2] = turn(base, twist[0, 0], twist[0, 1], twist[0, 2])
    b[3], b[4], b[5] = turn(base, twist[0, 3], twist[0, 4], twist[0, 5])
    for k in range(x.size):
        x[k] = 0.0
    for f in range(w.pose.shape[0]):
        for k in range(6):
            s.force[f, k] = 0.0
        if has_inertia(p.inertia[f]):
            rate_of_frame(p.inertia[f], w.pose[f], b, u)
            for k in range(6):
                u[k] = w.node_end[f, k] - u[k]
            add_momentum(p.inertia[f], w.pose[f], u, s.force[f])
    if s.mass_front.size > 0:
        project_along(robot, w.register, w.pose, s.force, x)
    else:
        project_wrenches(robot, s.start_columns, s.force, x)


@inner
def _rates_of_ties(robot, step, first, middle, end, h, x):
    """Rows of the projection of velocities: closures stay, cables are wound; both see a base that moves by itself."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    rows_at = x.size - s.none.size
    for j in range(p.closure_frame.shape[0]):
        if p.closure_frame[j, 0] < 0:
            for row in range(p.closure_rows[j, 0], p.closure_rows[j, 0] + p.closure_rows[j, 1]):
                for k in range(6):
                    x[rows_at + row] -= w.closure[row, k] * s.root[2, k]
    for t in range(p.tendon_row.size):
        if p.tendon_row[t] >= 0:
            k = p.tendon_input[t]
            x[rows_at + p.tendon_row[t]] = -(3.0 * end[k] - 4.0 * middle[k] + first[k]) / h
    for j in range(p.span_tendon.size):
        row = p.tendon_row[p.span_tendon[j]]
        if row >= 0:
            for side in range(2):
                if p.span_frame[j, side] < 0:
                    for k in range(6):
                        x[rows_at + row] += (1.0 if side == 1 else -1.0) * w.span[j, k] * s.root[2, k]


@inner
def _balance(evaluate_residual, robot, step, h, base, q, multipliers, first, middle, end, given_twist):
    """Accelerations and multipliers at the end of the step, in balance there; m.twist of the base."""
    p, w = unpack(robot)
    m, s = unpack_step(step)
    n, coordinates = q.shape[1], m.total.size
    offset, x = coordinates - n, m.step
    for k in range(6):
        m.twist[1, k] = given_twist[1, k] if offset == 0 else 0.0
    evaluate_residual(robot, base, m.twist, m.q, s.none, end, 3)
    if offset > 0:
        base_rows_to_world(base, w.residual)
    closure_accelerations(robot, base)
    for t in range(p.tendon_row.size):
        if p.tendon_row[t] >= 0:
            k = p.tendon_input[t]
            total = 4.0 * (end[k] - 2.0 * middle[k] + first[k]) / (h * h)
            for i in range(n):
                total += (w.tendon_rate[t, i] - s.tendon[t, i]) * q[1, i] / h
            w.residual[coordinates + p.tendon_row[t]] = total
    for k in range(x.size):
        x[k] = -w.residual[k]
    if multipliers.size == 0:
        for k in range(n):
            if s.light[k] > 0.0:
                x[offset + k] = 0.0
    solve_mass(robot, step, x)
    for k in range(n):
        q[2, k] = m.q[2, k] + x[offset + k]
        q[3, k] = q[2, k]
    if offset > 0:
        m.twist[1, 0], m.twist[1, 1], m.twist[1, 2] = turn_back(base, x[0], x[1], x[2])
        m.twist[1, 3], m.twist[1, 4], m.twist[1, 5] = turn_back(base, x[3], x[4], x[5])
    for k in range(multipliers.size):
        multipliers[k] = x[coordinates + k]


@inner
def _carry_on(robot, step, q, kappa):
    """Rates of frames for the next step, κ of what is off the robot's own; their kinetic energy beside its."""
    p, w = unpack(robot)
    _, s = unpack_step(step)
    own, energy = w.vector[0], 0.0
    for f in range(w.pose.shape[0]):
        if has_inertia(p.inertia[f]):
            rate_of_frame(p.inertia[f], w.pose[f], w.eta[f], own)
            for k in range(6):
                s.rate[f, k] = own[k] + kappa * (w.node_end[f, k] - own[k])
            energy += kinetic_of(p.inertia[f], w.pose[f], s.rate[f]) - kinetic_of(p.inertia[f], w.pose[f], own)
    for k in range(q.shape[1]):
        s.spin[k] = q[1, k] + kappa * (s.spin[k] - q[1, k])
        energy += 0.5 * p.rotor[k] * (s.spin[k] ** 2 - q[1, k] ** 2)
    return energy
