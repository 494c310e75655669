"""Exact tangent of the inverse dynamics, in inertial axes about the base point.

With the column z_a of a
coordinate (its spatial twist per unit rate, constant beyond its own interval) and its rates,

    pose variation ζ = z δq,     ζ' = d/dt(z δq),     ζ'' = d²/dt²(z δq),
    wrench variation of a frame in its own axes     DF = K_f ζ + D_f ζ' + M_f ζ'',

so that each frame carries one wrench F and one 6x18 matrix [K D M], summed over all that lies beyond it, and

    δR_a / δq_b = z_aᵀ [K D M] (ζ, ζ', ζ'')_b                   b nearer to the base than a, or beside it
    δR_a / δq_b = z_aᵀ ( [K D M] (ζ, ζ', ζ'')_b + coad(z_b) F )   b beyond a,

and nothing where b is on another branch, unless a closure ties the two.

Inside one interval the curvature of the map q -> exp(Ψ(q)) adds the Hessian F·∂z_b/∂q_a, found by reverse
accumulation.
The readable twin of this module is :mod:`elver.kernels.twin`.
"""

from __future__ import annotations

from elver.kernels.algebra import add_bracket, add_coad
from elver.kernels.cache import inner, kernel
from elver.kernels.closures import closure_couplings, closure_diagonal, closure_tangent
from elver.kernels.fluid import strip_tangent
from elver.kernels.frame_loads import frame_load_tangent
from elver.kernels.interval import add_hat, columns, curvature, world_columns, world_map
from elver.kernels.recursion import dual_stumpff, first_moment, has_inertia, to_world, wrench_to_body
from elver.kernels.spans import span_couplings, span_tangent
from elver.kernels.strain_loads import strain_tangent

__all__ = ["evaluate_tangent", "tangent_backward", "world_inertia"]


@inner("void(f8[:,::1], f8[:,:,::1], i8, f8[:,::1], i8, f8[:,::1], f8[:,::1])")
def world_inertia(M, pose, f, b, first, block, rotated):
    """b[:, first : first+6] = M in world axes about the base point: blocks J, H, m rotated, then shifted by p."""
    R, p = pose[f], pose[f, 3]
    px, py, pz = p[0], p[1], p[2]
    for which in range(3):
        ro = 0 if which < 2 else 3
        co = 0 if which == 0 else 3
        for i in range(3):
            for k in range(3):
                block[i, k] = M[ro + i, co] * R[k, 0] + M[ro + i, co + 1] * R[k, 1] + M[ro + i, co + 2] * R[k, 2]
        for i in range(3):
            for k in range(3):
                b[ro + i, first + co + k] = R[i, 0] * block[0, k] + R[i, 1] * block[1, k] + R[i, 2] * block[2, k]
    linear = first + 3
    for i in range(3):
        for k in range(3):
            rotated[i, k] = b[i, linear + k]
    for k in range(3):  # H += p̂ m
        m0, m1, m2 = b[3, linear + k], b[4, linear + k], b[5, linear + k]
        b[0, linear + k] += py * m2 - pz * m1
        b[1, linear + k] += pz * m0 - px * m2
        b[2, linear + k] += px * m1 - py * m0
    for i in range(3):  # J += p̂ Hᵀ (unshifted) - H (shifted) p̂
        h0, h1, h2 = b[i, linear], b[i, linear + 1], b[i, linear + 2]
        b[i, first] -= h1 * pz - h2 * py
        b[i, first + 1] -= h2 * px - h0 * pz
        b[i, first + 2] -= h0 * py - h1 * px
        t0, t1, t2 = rotated[i, 0], rotated[i, 1], rotated[i, 2]
        b[0, first + i] += py * t2 - pz * t1
        b[1, first + i] += pz * t0 - px * t2
        b[2, first + i] += px * t1 - py * t0
    for i in range(3):
        for k in range(3):
            b[3 + k, first + i] = b[i, linear + k]


@inner
def tangent_backward(
    inertia, weight, gravity, gravity_input, load_frame, load_input, load_follows, load_wrench, inputs, jets,
    pose, eta, B, v, maps,
):
    """Matrices [K D M] of each frame: variation of its demanded wrench with (ζ, ζ', ζ''), not yet summed."""
    scale = 1.0
    if gravity_input[0] >= 0:
        scale = inputs[gravity_input[0]]
    gx, gy, gz = scale * gravity[0], scale * gravity[1], scale * gravity[2]
    for f in range(B.shape[0]):
        b = B[f]
        for i in range(6):
            for k in range(18):
                b[i, k] = 0.0
        if weight[f, 0] != 0.0 or weight[f, 1] != 0.0 or weight[f, 2] != 0.0 or weight[f, 3] != 0.0:
            # Weight: K = -[x̂ γ̂, 0; m γ̂, 0] with the first moment x, and x̂ γ̂ = γ xᵀ - (x·γ) 1
            x, y, z = first_moment(pose, f, weight[f])
            dot = x * gx + y * gy + z * gz
            b[0, 0] -= gx * x - dot
            b[0, 1] -= gx * y
            b[0, 2] -= gx * z
            b[1, 0] -= gy * x
            b[1, 1] -= gy * y - dot
            b[1, 2] -= gy * z
            b[2, 0] -= gz * x
            b[2, 1] -= gz * y
            b[2, 2] -= gz * z - dot
            add_hat(b, 3, 0, -weight[f, 0], gx, gy, gz)
        if not has_inertia(inertia[f]):
            continue
        world_inertia(inertia[f], pose, f, b, 12, maps[0, 0], maps[1, 0])
        if jets == 3:
            # D = -( M ad(η) + ad(η)ᵀ M + adT(M η) )
            e = eta[f]
            wx, wy, wz, vx, vy, vz = e[0], e[1], e[2], e[3], e[4], e[5]
            for i in range(6):
                a0, a1, a2 = b[i, 12], b[i, 13], b[i, 14]
                h0, h1, h2 = b[i, 15], b[i, 16], b[i, 17]
                v[0, i] = a0 * wx + a1 * wy + a2 * wz + h0 * vx + h1 * vy + h2 * vz
                d0 = a1 * wz - a2 * wy + h1 * vz - h2 * vy
                d1 = a2 * wx - a0 * wz + h2 * vx - h0 * vz
                d2 = a0 * wy - a1 * wx + h0 * vy - h1 * vx
                d3, d4, d5 = h1 * wz - h2 * wy, h2 * wx - h0 * wz, h0 * wy - h1 * wx
                # row i of M ad(η), and by symmetry column i of ad(η)ᵀ M
                b[i, 6] -= d0
                b[i, 7] -= d1
                b[i, 8] -= d2
                b[i, 9] -= d3
                b[i, 10] -= d4
                b[i, 11] -= d5
                b[0, 6 + i] -= d0
                b[1, 6 + i] -= d1
                b[2, 6 + i] -= d2
                b[3, 6 + i] -= d3
                b[4, 6 + i] -= d4
                b[5, 6 + i] -= d5
            cx, cy, cz, nx, ny, nz = v[0, 0], v[0, 1], v[0, 2], v[0, 3], v[0, 4], v[0, 5]
            add_hat(b, 0, 6, -1.0, cx, cy, cz)
            add_hat(b, 0, 9, -1.0, nx, ny, nz)
            add_hat(b, 3, 6, -1.0, nx, ny, nz)
    for j in range(load_frame.size):
        if load_follows[j] == 0:
            # dead load: K = -(ĉ + p̂ f̂ ; f̂) on the rotation
            f = load_frame[j]
            amount = inputs[load_input[j]]
            w = load_wrench[j]
            b, p = B[f], pose[f, 3]
            add_hat(b, 0, 0, -amount, w[0], w[1], w[2])
            add_hat(b, 3, 0, -amount, w[3], w[4], w[5])
            along = p[0] * w[3] + p[1] * w[4] + p[2] * w[5]
            for i in range(3):
                b[i, i] += amount * along
                for k in range(3):
                    b[i, k] -= amount * w[3 + i] * p[k]


@kernel
def evaluate_tangent(program, work, base, q, multipliers, inputs, base_columns, weights, jets):
    """work.matrix = weights[0] ∂R/∂q + weights[1] ∂R/∂q' + weights[2] ∂R/∂q'', with closure rows and columns.

    Taken at the state of the last :func:`elver.kernels.evaluate.evaluate_residual`, whose poses and summed wrenches are
    in ``work``. ``base_columns`` (18, 6): body variations (δζ, δη, δη') of the base per unknown of the base.
    """
    p, w, matrix = program, work, work.matrix
    segment, active, slot_start, poly_size, moment_phi = p.segment, p.active, p.slot_start, p.poly_size, p.phi
    poly_pair, poly_beta, poly_linear, paths, frame_slot = p.poly_pair, p.poly_beta, p.poly_linear, p.path, p.frame_slot
    register, pose, eta, acc, force, B = w.register, w.pose, w.eta, w.acc, w.force, w.stiffness
    column, z, hessian, u, y, U, rows = w.column, w.local, w.hessian, w.combined, w.reaction, w.prefix, w.prefix_row
    row, bar, dbar, v, dual, cs, maps = (
        w.row, w.adjoint, w.column_adjoint, w.vector, w.scalar, w.stumpff, w.tangent_map
    )  # fmt: skip
    own_rows, own_columns = w.own_rows, w.own_columns
    offset = 6 * p.free[0]
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            matrix[i, k] = 0.0
    # Matrices of single frames
    tangent_backward(
        p.inertia, p.weight, p.gravity, p.gravity_input, p.load_frame, p.load_input, p.load_follows, p.load_wrench,
        inputs, jets, pose, eta, B, v, maps,
    )
    frame_load_tangent(p.slide_frame, p.slide, p.user_frame, w.user_tangent, jets, pose, eta, B, v)
    strip_tangent(p.strip_frame, p.strip_pose, p.strip, jets, pose, eta, B, v, w.strip_pose, w.strip_slope)
    closure_tangent(
        p.closure_frame, p.closure_pose, p.closure_rows, p.row_kind, p.row_axes, base, multipliers, pose, v,
        w.closure_map, w.closure_end, w.closure_force, w.closure_stiffness, B,
    )
    span_tangent(
        p.span_tendon, p.span_frame, p.span_point, p.tendon_input, p.tendon_factor, p.tendon_row, base, multipliers,
        inputs, pose, w.closure_end, w.span, v, w.span_stiffness, B,
    )
    width = 6 * jets
    w0, w1, w2 = weights[0], weights[1], weights[2]
    # Suffix sums
    for s in range(segment.shape[0] - 1, -1, -1):
        start = segment[s, 1]
        for i in range(start + segment[s, 2] - 1, start - 1, -1):
            before = i
            if i == start:
                before = segment[s, 0]
            for a in range(6):
                for k in range(width):
                    B[before, a, k] += B[i + 1, a, k]
    if offset > 0:
        _base_columns(pose, eta, base_columns, U, rows, v)
        for a in range(6):
            for k in range(6):
                v[0, k] = rows[k, a]
            _row_product(v[0], B[0], U, width, 6, matrix[a])
    _save(U, rows, offset, w.saved[0])
    for s in range(segment.shape[0]):
        poly, count, path_start, size = segment[s, 5], segment[s, 4], segment[s, 7], segment[s, 8]
        first = size - count
        moments, operations = poly_size[poly, 0], poly_size[poly, 1]
        pair, beta, linear = poly_pair[poly], poly_beta[poly], poly_linear[poly]
        start, strains, slots = segment[s, 1], active[s, 0], slot_start[s]
        _load(w.saved[segment[s, 6]], first, size, U, rows)
        for k in range(count):
            for c in range(size):
                own_rows[k, c] = 0.0
                own_columns[k, c] = 0.0
        for i in range(start, start + segment[s, 2]):
            before = i
            if i == start:
                before = segment[s, 0]
            if strains > 0:
                r, phis, b = register[i], moment_phi[i], B[i + 1]
                last = 3 * (moments + operations - 1)
                columns(moments, operations, pair, beta, linear, active[s], r, jets, column)
                dual_stumpff(r, last, jets, cs, dual)
                world_map(pose, eta, acc, before, r, last, dual, jets, maps)
                world_columns(maps, column, last, strains * moments, jets, z)
                wrench_to_body(pose, before, force, i + 1, v, 0)
                curvature(
                    moments, operations, pair, beta, linear, active[s], r, column, dual, cs, bar, dbar, v, hessian
                )
                for a in range(strains * moments):
                    za, ua, ya = z[a], u[a], y[a]
                    for k in range(6):
                        ua[k] = w0 * za[0, k]
                    if jets == 3:
                        for k in range(6):
                            ua[6 + k] = w0 * za[1, k] + w1 * za[0, k]
                            ua[12 + k] = w0 * za[2, k] + 2.0 * w1 * za[1, k] + w2 * za[0, k]
                    for k in range(6):
                        total = 0.0
                        for c in range(width):
                            total += b[k, c] * ua[c]
                        ya[k] = total
                    add_coad(y, a, w0, za, 0, force, i + 1)
                # columns of this interval in the rows of everything nearer to the base
                for slot in range(strains):
                    for k in range(slots[slot], slots[slot + 1]):
                        target = own_columns[k]
                        for c in range(6):
                            value = 0.0
                            for m in range(moments):
                                value += phis[m, k] * y[slot * moments + m, c]
                            source = rows[c]
                            for j in range(size):
                                target[j] += value * source[j]
                # now this interval joins the prefix
                for slot in range(strains):
                    low, high = slots[slot], slots[slot + 1]
                    for m in range(moments):
                        phi, ua, za = phis[m], u[slot * moments + m], z[slot * moments + m]
                        for c in range(width):
                            target = U[c]
                            for k in range(low, high):
                                target[first + k] += ua[c] * phi[k]
                        for c in range(6):
                            target = rows[c]
                            for k in range(low, high):
                                target[first + k] += za[0, c] * phi[k]
                # rows of this interval: everything nearer, and itself
                for a in range(strains * moments):
                    m, slot = a % moments, a // moments
                    for k in range(size):
                        row[k] = 0.0
                    _row_product(z[a, 0], b, U, width, size, row)
                    for other in range(strains):
                        for k in range(slots[other], slots[other + 1]):
                            total = 0.0
                            for j in range(moments):
                                total += phis[j, k] * hessian[a, other * moments + j]
                            row[first + k] += w0 * total
                    for k in range(slots[slot], slots[slot + 1]):
                        value, out = phis[m, k], own_rows[k]
                        for c in range(size):
                            out[c] += value * row[c]
            if frame_slot[i + 1] >= 0:
                _save(U, rows, size, w.saved[frame_slot[i + 1]])
        for k in range(count):
            me = paths[path_start + first + k]
            for c in range(size):
                other = paths[path_start + c]
                matrix[me, other] += own_rows[k, c]
                matrix[other, me] += own_columns[k, c]
    rows_at = offset + p.component.size
    closure_couplings(
        rows_at, p.closure_frame, p.closure_slot, p.closure_rows, p.slot_path, paths, w.closure, w.closure_force,
        w.closure_stiffness, w.saved, row, matrix,
    )
    span_couplings(
        rows_at, p.span_tendon, p.span_slot, p.tendon_input, p.tendon_factor, p.tendon_row, multipliers, inputs,
        p.slot_path, paths, w.span, w.span_stiffness, w.saved, v, row, matrix,
    )
    closure_diagonal(rows_at, p.row_axes, p.row_soft, matrix)
    strain_tangent(
        offset, p.component, p.block, p.K_elastic, p.D_elastic, p.friction, p.stop, p.rotor, p.point_block,
        p.point_phi, p.point_rest, p.tendon_input, p.tendon_factor, p.tendon_row, p.tendon_path, p.tendon_weight,
        q, multipliers, inputs, weights, jets, v, w.tendon_rate, w.hessian6, matrix,
    )
    for j in range(p.imposed.shape[0]):
        me = offset + p.imposed[j, 0]
        for k in range(matrix.shape[1]):
            matrix[me, k] = 0.0
        # one on the diagonal; in the blocks between two stages of a method, which have no mass, zero
        matrix[me, me] = 1.0 if jets == 1 else w2


@inner
def _save(U, rows, size, kept):
    """Keep the columns and rows of a path."""
    for k in range(size):
        for c in range(18):
            kept[c, k] = U[c, k]
        for c in range(6):
            kept[18 + c, k] = rows[c, k]


@inner
def _load(kept, known, size, U, rows):
    """Columns and rows of the parent's path, and zero for those of the segment that begins here."""
    for k in range(size):
        for c in range(18):
            U[c, k] = kept[c, k] if k < known else 0.0
        for c in range(6):
            rows[c, k] = kept[18 + c, k] if k < known else 0.0


@inner("void(f8[::1], f8[:,::1], f8[:,::1], i8, i8, f8[::1])")
def _row_product(z, b, U, width, size, out):
    """out[k] += (zᵀ b) U[:, k] over the first ``width`` columns of b."""
    for c in range(width):
        value = z[0] * b[0, c] + z[1] * b[1, c] + z[2] * b[2, c] + z[3] * b[3, c] + z[4] * b[4, c] + z[5] * b[5, c]
        column = U[c]
        for k in range(size):
            out[k] += value * column[k]


@inner
def _base_columns(pose, eta, base_columns, U, rows, v):
    """Columns and rows of a free base: ζ = Ad δζ, ζ' = Ad δη, ζ'' = Ad δη' + [η, ζ'] in world axes."""
    for k in range(6):
        for a in range(6):
            v[0, a] = base_columns[a, k]
            v[1, a] = base_columns[6 + a, k]
            v[2, a] = base_columns[12 + a, k]
            v[6, a] = 0.0
        v[6, k] = 1.0
        to_world(pose, 0, v, 0, v, 3)
        to_world(pose, 0, v, 1, v, 4)
        to_world(pose, 0, v, 2, v, 5)
        add_bracket(v, 5, 1.0, eta, 0, v, 4)
        to_world(pose, 0, v, 6, v, 7)
        for a in range(6):
            U[a, k] = v[3, a]
            U[6 + a, k] = v[4, a]
            U[12 + a, k] = v[5, a]
            rows[a, k] = v[7, a]
