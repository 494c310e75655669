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
The readable twin of this module is :mod:`elver.kernels.twin.tree`.
"""

from __future__ import annotations

from elver.kernels.algebra import add_bracket, add_coad
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import OWN, couplings, more_frames, own_slopes, unpack
from elver.kernels.terms.strain_loads import point_slopes, strain_tangent
from elver.kernels.tree.interval import add_hat, columns, curvature, world_columns, world_map
from elver.kernels.tree.nodal import is_rigid, nodal_tangent
from elver.kernels.tree.recursion import dual_stumpff, first_moment, has_inertia, to_world, wrench_to_body

__all__ = ["base_columns_in_world", "evaluate_frames", "evaluate_matrix", "tangent_backward", "world_inertia"]


@inner("UniTuple(f8, 9)(f8[:,::1], i8, i8, f8[:,:,::1], i8)")
def _turned_block(M, i, k, pose, f):
    """R M[i : i+3, k : k+3] Rᵀ, row by row."""
    r00, r01, r02 = pose[f, 0, 0], pose[f, 0, 1], pose[f, 0, 2]
    r10, r11, r12 = pose[f, 1, 0], pose[f, 1, 1], pose[f, 1, 2]
    r20, r21, r22 = pose[f, 2, 0], pose[f, 2, 1], pose[f, 2, 2]
    m00, m01, m02 = M[i, k], M[i, k + 1], M[i, k + 2]
    m10, m11, m12 = M[i + 1, k], M[i + 1, k + 1], M[i + 1, k + 2]
    m20, m21, m22 = M[i + 2, k], M[i + 2, k + 1], M[i + 2, k + 2]
    t00 = r00 * m00 + r01 * m10 + r02 * m20
    t01 = r00 * m01 + r01 * m11 + r02 * m21
    t02 = r00 * m02 + r01 * m12 + r02 * m22
    t10 = r10 * m00 + r11 * m10 + r12 * m20
    t11 = r10 * m01 + r11 * m11 + r12 * m21
    t12 = r10 * m02 + r11 * m12 + r12 * m22
    t20 = r20 * m00 + r21 * m10 + r22 * m20
    t21 = r20 * m01 + r21 * m11 + r22 * m21
    t22 = r20 * m02 + r21 * m12 + r22 * m22
    return (
        t00 * r00 + t01 * r01 + t02 * r02, t00 * r10 + t01 * r11 + t02 * r12, t00 * r20 + t01 * r21 + t02 * r22,
        t10 * r00 + t11 * r01 + t12 * r02, t10 * r10 + t11 * r11 + t12 * r12, t10 * r20 + t11 * r21 + t12 * r22,
        t20 * r00 + t21 * r01 + t22 * r02, t20 * r10 + t21 * r11 + t22 * r12, t20 * r20 + t21 * r21 + t22 * r22,
    )  # fmt: skip


@inner("void(f8[:,::1], f8[:,:,::1], i8, f8[:,::1], i8)")
def world_inertia(M, pose, f, b, c):
    """b[:, c : c+6] = M in world axes about the base point: its blocks J, H, m rotated, then shifted by p."""
    x, y, z = pose[f, 3, 0], pose[f, 3, 1], pose[f, 3, 2]
    if is_rigid(M):
        mass, c0, c1, c2 = M[3, 3], M[2, 4], M[0, 5], M[1, 3]
        m00, m01, m02, m11, m12, m22 = mass, 0.0, 0.0, mass, 0.0, mass
        # G = hat of the turned first moment
        g21 = pose[f, 0, 0] * c0 + pose[f, 0, 1] * c1 + pose[f, 0, 2] * c2
        g02 = pose[f, 1, 0] * c0 + pose[f, 1, 1] * c1 + pose[f, 1, 2] * c2
        g10 = pose[f, 2, 0] * c0 + pose[f, 2, 1] * c1 + pose[f, 2, 2] * c2
        g00, g11, g22, g12, g20, g01 = 0.0, 0.0, 0.0, -g21, -g02, -g10
    else:
        m00, m01, m02, _, m11, m12, _, _, m22 = _turned_block(M, 3, 3, pose, f)
        g00, g01, g02, g10, g11, g12, g20, g21, g22 = _turned_block(M, 0, 3, pose, f)
    j00, j01, j02, _, j11, j12, _, _, j22 = _turned_block(M, 0, 0, pose, f)
    # H = G + p̂ m
    h00, h01, h02 = g00 + y * m02 - z * m01, g01 + y * m12 - z * m11, g02 + y * m22 - z * m12
    h10, h11, h12 = g10 + z * m00 - x * m02, g11 + z * m01 - x * m12, g12 + z * m02 - x * m22
    h20, h21, h22 = g20 + x * m01 - y * m00, g21 + x * m11 - y * m01, g22 + x * m12 - y * m02
    # J + p̂ Gᵀ - H p̂
    b[0, c] = j00 + (y * g02 - z * g01) + (y * h02 - z * h01)
    b[0, c + 1] = j01 + (y * g12 - z * g11) + (z * h00 - x * h02)
    b[0, c + 2] = j02 + (y * g22 - z * g21) + (x * h01 - y * h00)
    b[1, c + 1] = j11 + (z * g10 - x * g12) + (z * h10 - x * h12)
    b[1, c + 2] = j12 + (z * g20 - x * g22) + (x * h11 - y * h10)
    b[2, c + 2] = j22 + (x * g21 - y * g20) + (x * h21 - y * h20)
    b[1, c], b[2, c], b[2, c + 1] = b[0, c + 1], b[0, c + 2], b[1, c + 2]
    b[0, c + 3], b[0, c + 4], b[0, c + 5] = h00, h01, h02
    b[1, c + 3], b[1, c + 4], b[1, c + 5] = h10, h11, h12
    b[2, c + 3], b[2, c + 4], b[2, c + 5] = h20, h21, h22
    b[3, c], b[3, c + 1], b[3, c + 2] = h00, h10, h20
    b[4, c], b[4, c + 1], b[4, c + 2] = h01, h11, h21
    b[5, c], b[5, c + 1], b[5, c + 2] = h02, h12, h22
    b[3, c + 3], b[3, c + 4], b[3, c + 5] = m00, m01, m02
    b[4, c + 3], b[4, c + 4], b[4, c + 5] = m01, m11, m12
    b[5, c + 3], b[5, c + 4], b[5, c + 5] = m02, m12, m22


@inner
def tangent_backward(
    inertia, weight, gravity, gravity_input, load_frame, load_input, load_follows, load_wrench, inputs, jets,
    pose, eta, B, v,
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
        world_inertia(inertia[f], pose, f, b, 12)
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
def evaluate_frames(robot, base, multipliers, inputs, jets):
    """work.stiffness = [K D M] of each frame by itself, of all that acts on frames and between two of them.

    Taken at the state of the last :func:`elver.kernels.tree.evaluate.evaluate_residual`, whose poses and summed
    wrenches are in the work of ``robot``.
    """
    p, w = unpack(robot)
    pose, eta, B, v = w.pose, w.eta, w.stiffness, w.vector
    over_step = jets == 2
    if over_step:
        jets = 1
    tangent_backward(
        p.inertia, p.weight, p.gravity, p.gravity_input, p.load_frame, p.load_input, p.load_follows, p.load_wrench,
        inputs, jets, pose, eta, B, v,
    )
    if over_step:
        nodal_tangent(
            p.inertia, w.node_step, w.node_start, w.node_rate, pose, w.node_end, w.node_shift, w.node_wrench,
            w.node_slope, B,
        )
    if robot[1] != 0:
        more_frames(robot[1])(robot, base, multipliers, inputs, 2 if over_step else jets)


@kernel
def evaluate_matrix(robot, q, multipliers, inputs, base_columns, weights, jets):
    """work.matrix = weights[0] ∂R/∂q + weights[1] ∂R/∂q' + weights[2] ∂R/∂q'', with closure rows and columns.

    Behind :func:`evaluate_frames`, whose matrices are summed here. The arrays of the matrix must have been made
    (:func:`elver.kernels.tree.program.with_matrix`). ``base_columns`` (18, 6): body variations
    (δζ, δη, δη') of the base per unknown of it.
    """
    p, w = unpack(robot)
    matrix = w.matrix
    segment, active, poly_size, moment_phi = p.segment, p.active, p.poly_size, p.phi
    poly_pair, poly_beta, poly_linear, paths, frame_slot = p.poly_pair, p.poly_beta, p.poly_linear, p.path, p.frame_slot
    register, pose, eta, acc, force, B = w.register, w.pose, w.eta, w.acc, w.force, w.stiffness
    column, z, hessian, u, y, U, rows = w.column, w.local, w.hessian, w.combined, w.reaction, w.prefix, w.prefix_row
    row, bar, dbar, v, dual, cs, maps = (
        w.row, w.adjoint, w.column_adjoint, w.vector, w.scalar, w.stumpff, w.tangent_map
    )  # fmt: skip
    own_rows, own_columns = w.own_rows, w.own_columns
    offset = 6 * p.free[0]
    if w.saved.shape[0] == 0:
        return  # without its arrays, no matrix
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            matrix[i, k] = 0.0
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
        base_columns_in_world(pose, eta, base_columns, U, rows, v)
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
        start, strains = segment[s, 1], active[s, 0]
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
                r, phis, bend, b = register[i], moment_phi[i], p.bend[i], B[i + 1]
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
                    for k in range(bend[3 * slot], bend[3 * slot + 1]):
                        target, at = own_columns[k], k - bend[3 * slot + 2]
                        for c in range(6):
                            value = 0.0
                            for m in range(moments):
                                value += phis[m, at] * y[slot * moments + m, c]
                            source = rows[c]
                            for j in range(size):
                                target[j] += value * source[j]
                # now this interval joins the prefix
                for slot in range(strains):
                    low, high, shift = bend[3 * slot], bend[3 * slot + 1], bend[3 * slot + 2]
                    for m in range(moments):
                        phi, ua, za = phis[m], u[slot * moments + m], z[slot * moments + m]
                        for c in range(width):
                            target = U[c]
                            for k in range(low, high):
                                target[first + k] += ua[c] * phi[k - shift]
                        for c in range(6):
                            target = rows[c]
                            for k in range(low, high):
                                target[first + k] += za[0, c] * phi[k - shift]
                # rows of this interval: everything nearer, and itself
                for a in range(strains * moments):
                    m, slot = a % moments, a // moments
                    for k in range(size):
                        row[k] = 0.0
                    _row_product(z[a, 0], b, U, width, size, row)
                    for other in range(strains):
                        for k in range(bend[3 * other], bend[3 * other + 1]):
                            total, at = 0.0, k - bend[3 * other + 2]
                            for j in range(moments):
                                total += phis[j, at] * hessian[a, other * moments + j]
                            row[first + k] += w0 * total
                    for k in range(bend[3 * slot], bend[3 * slot + 1]):
                        value, out = phis[m, k - bend[3 * slot + 2]], own_rows[k]
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
    if robot[2] != 0:
        couplings(robot[2])(robot, multipliers, inputs)
    point_slopes(
        p.component, p.block, p.point_block, p.point_phi, p.point_bend, p.point_rest, p.tendon_input, p.tendon_factor,
        p.tendon_row, p.tendon_reach, p.tendon_path, p.tendon_weight, q, multipliers, inputs, v, w.hessian6, w.slope,
    )
    if p.own_input.size > 0:
        own_slopes(robot[OWN + 1])(robot, q, inputs)
    strain_tangent(
        offset, p.component, p.block, p.law, p.K_elastic, p.D_elastic, p.friction, p.stop, p.rotor, p.point_block,
        p.point_phi, p.point_bend, p.tendon_row, q, weights, jets, w.slope, w.tendon_rate, matrix,
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
def base_columns_in_world(pose, eta, base_columns, U, rows, v):
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
