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

from elver.kernels.algebra import act, add, add_column, bracket, coad, plus, scaled, six, unit
from elver.kernels.build.cache import inner, kernel
from elver.kernels.build.tables import OWN, couplings, more_frames, own_slopes, unpack
from elver.kernels.terms.strain_loads import point_slopes, strain_tangent
from elver.kernels.tree.interval import add_hat, curvature, interval_columns
from elver.kernels.tree.nodal import is_rigid, nodal_tangent
from elver.kernels.tree.program import COORDINATES, INTERVALS, PARENT, PATH, PATH_START, POLYNOMIAL, SLOT, START
from elver.kernels.tree.recursion import STILL, first_moment, has_inertia

__all__ = ["base_columns_in_world", "evaluate_frames", "evaluate_matrix", "spread", "world_inertia"]


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
def _own_slopes(robot, inputs, jets):
    """Matrices [K D M] of each frame: variation of its demanded wrench with (ζ, ζ', ζ''), not yet summed."""
    p, w = unpack(robot)
    scale = 1.0
    if p.gravity_input[0] >= 0:
        scale = inputs[p.gravity_input[0]]
    gx, gy, gz = scale * p.gravity[0], scale * p.gravity[1], scale * p.gravity[2]
    for f in range(w.stiffness.shape[0]):
        b, weight = w.stiffness[f], p.weight[f]
        for i in range(6):
            for k in range(18):
                b[i, k] = 0.0
        if weight[0] != 0.0 or weight[1] != 0.0 or weight[2] != 0.0 or weight[3] != 0.0:
            # K = -[x̂ γ̂, 0; m γ̂, 0] with the first moment x
            x, y, z = first_moment(w.pose, f, weight)
            _add_hats(b, -1.0, x, y, z, gx, gy, gz)
            add_hat(b, 3, 0, -weight[0], gx, gy, gz)
        if has_inertia(p.inertia[f]):
            world_inertia(p.inertia[f], w.pose, f, b, 12)
            if jets == 3:
                _add_inertia_rates(six(w.eta[f]), b)
    for j in range(p.load_frame.size):
        if p.load_follows[j] == 0:
            # dead load: K = -(ĉ + p̂ f̂ ; f̂) on the rotation
            f, load = p.load_frame[j], scaled(-inputs[p.load_input[j]], six(p.load_wrench[j]))
            b, x = w.stiffness[f], w.pose[f, 3]
            add_hat(b, 0, 0, 1.0, load[0], load[1], load[2])
            add_hat(b, 3, 0, 1.0, load[3], load[4], load[5])
            _add_hats(b, 1.0, x[0], x[1], x[2], load[3], load[4], load[5])


@inner
def _add_hats(b, scale, x, y, z, u, v, w):
    """b[:3, :3] += scale x̂ û = scale (u xᵀ - (x·u) 1)."""
    dot = x * u + y * v + z * w
    b[0, 0] += scale * (u * x - dot)
    b[0, 1] += scale * u * y
    b[0, 2] += scale * u * z
    b[1, 0] += scale * v * x
    b[1, 1] += scale * (v * y - dot)
    b[1, 2] += scale * v * z
    b[2, 0] += scale * w * x
    b[2, 1] += scale * w * y
    b[2, 2] += scale * (w * z - dot)


@inner
def _add_inertia_rates(eta, b):
    """D = -( M ad(η) + ad(η)ᵀ M + adT(M η) ) with the M that [K D M] holds."""
    wx, wy, wz, vx, vy, vz = eta
    momentum = STILL
    for i in range(6):
        a0, a1, a2 = b[i, 12], b[i, 13], b[i, 14]
        h0, h1, h2 = b[i, 15], b[i, 16], b[i, 17]
        momentum = plus(momentum, scaled(eta[i], (a0, a1, a2, h0, h1, h2)))
        # row i of M ad(η), and by symmetry column i of ad(η)ᵀ M
        d = (
            a2 * wy - a1 * wz + h2 * vy - h1 * vz, a0 * wz - a2 * wx + h0 * vz - h2 * vx,
            a1 * wx - a0 * wy + h1 * vx - h0 * vy, h2 * wy - h1 * wz, h0 * wz - h2 * wx, h1 * wx - h0 * wy,
        )  # fmt: skip
        for k in range(6):
            b[i, 6 + k] += d[k]
        add_column(b, 6 + i, d)
    cx, cy, cz, nx, ny, nz = momentum
    add_hat(b, 0, 6, -1.0, cx, cy, cz)
    add_hat(b, 0, 9, -1.0, nx, ny, nz)
    add_hat(b, 3, 6, -1.0, nx, ny, nz)


@kernel
def evaluate_frames(robot, base, multipliers, inputs, jets):
    """work.stiffness = [K D M] of each frame by itself, of all that acts on frames and between two of them.

    Taken at the state of the last :func:`elver.kernels.tree.evaluate.evaluate_residual`, whose poses and summed
    wrenches are in the work of ``robot``.
    """
    over_step = jets == 2
    if over_step:
        jets = 1
    _own_slopes(robot, inputs, jets)
    if over_step:
        nodal_tangent(robot)
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
    matrix, offset, width = w.matrix, 6 * p.free[0], 6 * jets
    if w.saved.shape[0] == 0:
        return  # without its arrays, no matrix
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            matrix[i, k] = 0.0
    _sum_home(robot, width)
    if offset > 0:
        base_columns_in_world(w.pose[0], six(w.eta[0]), base_columns, w.prefix, w.prefix_row)
        for a in range(6):
            for k in range(6):
                w.row[k] = w.prefix_row[k, a]
            _row_product(w.row, w.stiffness[0], w.prefix, width, 6, matrix[a])
    _save(w.prefix, w.prefix_row, offset, w.saved[0])
    for s in range(p.segment.shape[0]):
        _segment_block(robot, s, weights, jets)
    if robot[2] != 0:
        couplings(robot[2])(robot, multipliers, inputs)
    point_slopes(robot, q, multipliers, inputs)
    if p.own_input.size > 0:
        own_slopes(robot[OWN + 1])(robot, q, inputs)
    strain_tangent(robot, q, weights, jets, matrix)
    for j in range(p.imposed.shape[0]):
        me = offset + p.imposed[j, 0]
        for k in range(matrix.shape[1]):
            matrix[me, k] = 0.0
        # one on the diagonal; in the blocks between two stages of a method, which have no mass, zero
        matrix[me, me] = 1.0 if jets == 1 else weights[2]


@inner
def _sum_home(robot, width):
    """work.stiffness of each frame becomes that of all beyond it, too."""
    p, w = unpack(robot)
    for s in range(p.segment.shape[0] - 1, -1, -1):
        start = p.segment[s, START]
        for i in range(start + p.segment[s, INTERVALS] - 1, start - 1, -1):
            nearer, farther = w.stiffness[i if i > start else p.segment[s, PARENT]], w.stiffness[i + 1]
            for a in range(6):
                for k in range(width):
                    nearer[a, k] += farther[a, k]


@inner
def _segment_block(robot, s, weights, jets):
    """Rows and columns of the coordinates of a segment, over its path."""
    p, w = unpack(robot)
    start, count, size = p.segment[s, START], p.segment[s, COORDINATES], p.segment[s, PATH]
    first, path = size - count, p.segment[s, PATH_START]
    _load(w.saved[p.segment[s, SLOT]], first, size, w.prefix, w.prefix_row)
    for k in range(count):
        for c in range(size):
            w.own_rows[k, c] = 0.0
            w.own_columns[k, c] = 0.0
    for i in range(start, start + p.segment[s, INTERVALS]):
        if p.active[s, 0] > 0:
            before = i if i > start else p.segment[s, PARENT]
            interval_columns(robot, s, i, before, jets)
            curvature(robot, s, i, before)
            _react(robot, s, i, weights, jets)
            _meet_nearer(robot, s, i)
            _join(robot, s, i, jets)
            _add_rows(robot, s, i, weights[0], jets)
        if p.frame_slot[i + 1] >= 0:
            _save(w.prefix, w.prefix_row, size, w.saved[p.frame_slot[i + 1]])
    for k in range(count):
        me = p.path[path + first + k]
        for c in range(size):
            other = p.path[path + c]
            w.matrix[me, other] += w.own_rows[k, c]
            w.matrix[other, me] += w.own_columns[k, c]


@inner
def _react(robot, s, i, weights, jets):
    """Columns of an interval with weighted rates, and the wrench with which all beyond answers each."""
    p, w = unpack(robot)
    b, f = w.stiffness[i + 1], six(w.force[i + 1])
    for a in range(p.active[s, 0] * p.poly_size[p.segment[s, POLYNOMIAL], 0]):
        z, u, y = w.local[a], w.combined[a], w.reaction[a]
        spread(z, weights, jets, u)
        for k in range(6):
            total = 0.0
            for c in range(6 * jets):
                total += b[k, c] * u[c]
            y[k] = total
        add(y, scaled(weights[0], coad(six(z[0]), f)))


@inner
def spread(z, weights, jets, u):
    """u = weighted (ζ, ζ', ζ'') of a column z with its rates."""
    w0, w1, w2 = weights[0], weights[1], weights[2]
    for k in range(6):
        u[k] = w0 * z[0, k]
    if jets == 3:
        for k in range(6):
            u[6 + k] = w0 * z[1, k] + w1 * z[0, k]
            u[12 + k] = w0 * z[2, k] + 2.0 * w1 * z[1, k] + w2 * z[0, k]


@inner
def _meet_nearer(robot, s, i):
    """Columns of an interval in the rows of everything nearer to the base."""
    p, w = unpack(robot)
    moments, size, bend, phi = p.poly_size[p.segment[s, POLYNOMIAL], 0], p.segment[s, PATH], p.bend[i], p.phi[i]
    for slot in range(p.active[s, 0]):
        for k in range(bend[3 * slot], bend[3 * slot + 1]):
            target, at = w.own_columns[k], k - bend[3 * slot + 2]
            for c in range(6):
                value, source = 0.0, w.prefix_row[c]
                for m in range(moments):
                    value += phi[m, at] * w.reaction[slot * moments + m, c]
                for j in range(size):
                    target[j] += value * source[j]


@inner
def _join(robot, s, i, jets):
    """An interval joins the prefix."""
    p, w = unpack(robot)
    moments, bend = p.poly_size[p.segment[s, POLYNOMIAL], 0], p.bend[i]
    first = p.segment[s, PATH] - p.segment[s, COORDINATES]
    for slot in range(p.active[s, 0]):
        low, high, shift = bend[3 * slot], bend[3 * slot + 1], bend[3 * slot + 2]
        for m in range(moments):
            phi, u, z = p.phi[i, m], w.combined[slot * moments + m], w.local[slot * moments + m, 0]
            for c in range(6 * jets):
                target = w.prefix[c]
                for k in range(low, high):
                    target[first + k] += u[c] * phi[k - shift]
            for c in range(6):
                target = w.prefix_row[c]
                for k in range(low, high):
                    target[first + k] += z[c] * phi[k - shift]


@inner
def _add_rows(robot, s, i, w0, jets):
    """Rows of an interval: everything nearer, and itself."""
    p, w = unpack(robot)
    moments, size, bend, phi = p.poly_size[p.segment[s, POLYNOMIAL], 0], p.segment[s, PATH], p.bend[i], p.phi[i]
    strains, first, row = p.active[s, 0], size - p.segment[s, COORDINATES], w.row
    for a in range(strains * moments):
        m, slot = a % moments, a // moments
        for k in range(size):
            row[k] = 0.0
        _row_product(w.local[a, 0], w.stiffness[i + 1], w.prefix, 6 * jets, size, row)
        for other in range(strains):
            for k in range(bend[3 * other], bend[3 * other + 1]):
                total, at = 0.0, k - bend[3 * other + 2]
                for j in range(moments):
                    total += phi[j, at] * w.hessian[a, other * moments + j]
                row[first + k] += w0 * total
        for k in range(bend[3 * slot], bend[3 * slot + 1]):
            value, out = phi[m, k - bend[3 * slot + 2]], w.own_rows[k]
            for c in range(size):
                out[c] += value * row[c]


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
def base_columns_in_world(g, eta, base_columns, U, rows):
    """Columns and rows of a free base: ζ = Ad δζ, ζ' = Ad δη, ζ'' = Ad δη' + [η, ζ'] in world axes."""
    for k in range(6):
        rate = act(g, _column(base_columns, 6, k))
        _set_column(U, 0, k, act(g, _column(base_columns, 0, k)))
        _set_column(U, 6, k, rate)
        _set_column(U, 12, k, plus(act(g, _column(base_columns, 12, k)), bracket(eta, rate)))
        _set_column(rows, 0, k, act(g, unit(k)))


@inner
def _column(M, i, k):
    """M[i : i+6, k]."""
    return M[i, k], M[i + 1, k], M[i + 2, k], M[i + 3, k], M[i + 4, k], M[i + 5, k]


@inner
def _set_column(M, i, k, a):
    """M[i : i+6, k] = a."""
    M[i, k], M[i + 1, k], M[i + 2, k], M[i + 3, k], M[i + 4, k], M[i + 5, k] = a
