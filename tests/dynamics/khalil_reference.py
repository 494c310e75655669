"""Recursive dynamics of a serial swimmer with free head, as an oracle for tests: short, slow, written from the source.

Computed here: kinematics, inverse and direct dynamics of a chain of rigid links with revolute joints whose head
floats freely, the forces of still water on its links (Morison's strips), the swimming gait of an eel and the motion
of the head under that gait.

Source: W. Khalil, G. Gallot, F. Boyer, "Dynamic modeling and simulation of a 3-D serial eel-like robot", IEEE Trans.
Systems, Man and Cybernetics C, 2007. Equation numbers in the docstrings are those of the paper. Gravity, buoyancy
and a wet part that lies anywhere on its link are extensions of ours.

Conventions are the paper's own and not those of the library:

* six-vectors are **linear first**: twist V = (v; ω), wrench f = (force; moment), both at the origin O_j of the link
  frame and in its axes;
* frames follow the modified Denavit–Hartenberg rules of Khalil and Kleinfinger, joint j turns about z_j;
* V̇_j holds the **classical acceleration** of O_j seen in frame j, which is not the rate of the components of v_j;
* f_j is the wrench on link j by link j−1, and f_ej the wrench by link j **on** its surroundings, so that drag points
  along the velocity;
* link arrays have n + 1 rows (0 is the head), joint arrays have n (row j − 1 belongs to joint j).

Only NumPy is used, and nothing of the library.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

Array = np.ndarray


# --- the chain ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Eel:
    """A chain of n + 1 rigid links: geometry, inertia, joint losses, water and weight.

    θ_j = q_j + q0_j. First moment MS_j and inertia 𝐉_j are at O_j in frame j. The wet part of a link is a straight
    segment: P(x) = S + x e1 for |x| ≤ L/2, with S its middle and e1, e2, e3 (columns of `fluid_axes`) along the link,
    the small and the great half-axis of the section. Coefficients are per unit length and in these axes.
    """

    # Table of frames, one row per joint: α_j, d_j, q0_j, r_j
    alpha: Array
    d: Array
    q0: Array
    r: Array
    # Rigid links: M_j, MS_j, 𝐉_j
    mass: Array
    first_moment: Array
    inertia: Array
    # Joints: dry and viscous friction, inertia of the rotor
    Fs: Array
    Fv: Array
    Ia: Array
    # Water on the links
    wet: Array  # bool: does the link feel drag and added mass
    length: Array
    middle: Array
    fluid_axes: Array
    C_ld: Array  # (n + 1, 3) drag along e1, e2, e3
    C_ad: Array  # (n + 1,) drag of rolling about e1
    C_lm: Array  # (n + 1, 3) added mass, first column zero
    C_am: Array  # (n + 1,) added inertia of rolling about e1
    # Weight and buoyancy, absent for the neutrally buoyant robot of the paper
    gravity: Array  # (3,) in the world frame
    displaced_mass: Array  # ρ_f U_j
    centre_of_buoyancy: Array  # P_B in frame j
    gauss: int = 4

    @property
    def joints(self) -> int:
        return len(self.alpha)

    @cached_property
    def rigid_inertia(self) -> Array:
        """J_j = [M I, −M̂S; M̂S, 𝐉], eq. 16, shape (n + 1, 6, 6)."""
        MS = hat(self.first_moment)
        return blocks(self.mass[:, None, None] * np.eye(3), -MS, MS, self.inertia)

    @cached_property
    def added_mass(self) -> Array:
        """m_a of each link in its own frame, zero where the link is dry, shape (n + 1, 3, 3)."""
        E = self.fluid_axes
        m_a = self.C_lm * (self.length * self.wet)[:, None]
        return E @ (m_a[:, :, None] * E.transpose(0, 2, 1))

    @cached_property
    def added_inertia(self) -> Array:
        """J^a_j = [m_a, −m_a Ŝ; Ŝ m_a, I_a − Ŝ m_a Ŝ], eq. 56 and 58, shape (n + 1, 6, 6)."""
        E, L, m_a, S = self.fluid_axes, self.length * self.wet, self.added_mass, hat(self.middle)
        I_a = np.stack([self.C_am * L, self.C_lm[:, 2] * L**3 / 12, self.C_lm[:, 1] * L**3 / 12], axis=1)
        I_a = E @ (I_a[:, :, None] * E.transpose(0, 2, 1))
        return blocks(m_a, -m_a @ S, S @ m_a, I_a - S @ m_a @ S)

    @cached_property
    def link_inertia(self) -> Array:
        """J_j + J^a_j: what the recursions carry, since added mass is the part of the water that feels V̇."""
        return self.rigid_inertia + self.added_inertia


class Section(NamedTuple):
    """Coefficients of water per unit length of a link, in the axes e1, e2, e3."""

    C_ld: Array
    C_ad: float
    C_lm: Array
    C_am: float


def morison_section(a: float, b: float, density: float = 1000.0, C: tuple[float, ...] = (0.01, 1, 1, 1, 1, 1, 1)):
    """Coefficients of an elliptic section with half-axes a ≤ b, from the seven numbers C1 … C7.

    C_ld1 = ½ρC1π(a+b)/2, C_ld2 = ½ρC2·2b, C_ld3 = ½ρC3·2a, C_ad1 = ½ρC4(b²−a²)²,
    C_lm2 = ρπb²C5, C_lm3 = ρπa²C6, C_am1 = ρπC7(b²−a²)²/8
    """
    C1, C2, C3, C4, C5, C6, C7 = C
    rho, pi = density, np.pi
    return Section(
        C_ld=0.5 * rho * np.array([C1 * pi * (a + b) / 2, C2 * 2 * b, C3 * 2 * a]),
        C_ad=0.5 * rho * C4 * (b**2 - a**2) ** 2,
        C_lm=rho * pi * np.array([0.0, b**2 * C5, a**2 * C6]),
        C_am=rho * pi * C7 * (b**2 - a**2) ** 2 / 8,
    )


def khalil_eel(
    spherical_joints: int = 12,
    head: float = 0.4,
    link: float = 0.14,
    a: float = 0.065,
    b: float = 0.09,
    density: float = 1000.0,
    wet: bool = True,
    printed_offsets: bool = False,
    C: tuple[float, ...] = (0.01, 1, 1, 1, 1, 1, 1),
) -> Eel:
    """The robot of the paper: a head and 12 links joined by spherical joints, each made of three revolutes.

    Frame 0 is at the nose with x0 towards the tail; O_{3i} is at the far end of its link. Every body is a uniform
    elliptic cylinder as dense as the water. Table I prints q0_2 = π/2 and q0_4 = −π/2, which makes all links point
    back from the first joint through the head; the signs that agree with its row 35 are used throughout, unless
    `printed_offsets` asks for those of rows 2 and 4.
    """
    n = 3 * spherical_joints
    half = np.pi / 2
    alpha, d, q0, r = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    alpha[3::3] = half  # rows 3i + 1
    q0[3::3] = half
    alpha[1::3] = -half  # rows 3i − 1
    q0[1::3] = -half
    alpha[2::3] = -half  # rows 3i
    q0[2::3] = half
    r[2::3] = link
    d[0] = head
    if printed_offsets:
        q0[1::3] = half
        q0[3::3] = -half

    # Bodies: the head, and every third link after it; what stands between them has neither mass nor length.
    body = np.zeros(n + 1, dtype=bool)
    body[0::3] = True
    length = np.where(body, link, 0.0)
    length[0] = head
    fluid_axes = np.tile(np.eye(3)[:, [2, 0, 1]], (n + 1, 1, 1))  # e1 = z, e2 = x, e3 = y
    fluid_axes[0] = np.eye(3)
    middle = -0.5 * length[:, None] * fluid_axes[:, :, 0]
    middle[0] *= -1
    mass = density * np.pi * a * b * length
    I_G = mass[:, None] * np.stack(
        [np.full(n + 1, (a**2 + b**2) / 4), b**2 / 4 + length**2 / 12, a**2 / 4 + length**2 / 12], axis=1
    )
    inertia = fluid_axes @ (I_G[:, :, None] * fluid_axes.transpose(0, 2, 1))
    inertia = inertia - mass[:, None, None] * hat(middle) @ hat(middle)

    section = morison_section(a, b, density, C)
    return Eel(
        alpha=alpha, d=d, q0=q0, r=r,
        mass=mass, first_moment=mass[:, None] * middle, inertia=inertia,
        Fs=np.zeros(n), Fv=np.zeros(n), Ia=np.zeros(n),
        wet=body & wet, length=length, middle=middle, fluid_axes=fluid_axes,
        C_ld=np.tile(section.C_ld, (n + 1, 1)), C_ad=np.full(n + 1, section.C_ad),
        C_lm=np.tile(section.C_lm, (n + 1, 1)), C_am=np.full(n + 1, section.C_am),
        gravity=np.zeros(3), displaced_mass=mass.copy(), centre_of_buoyancy=middle.copy(),
    )  # fmt: skip


def random_eel(rng: np.random.Generator, n: int, wet: float = 0.6, massless: float = 0.2, losses: bool = True) -> Eel:
    """Some other chain: any frames, inertias, wet parts and weights.

    A link is wet with probability `wet`, and without mass (hence dry) with probability `massless`; the head and the
    last link always have mass, so that every joint has inertia behind it.
    """
    heavy = rng.random(n + 1) >= massless
    heavy[[0, n]] = True
    mass = heavy * rng.uniform(0.5, 2.0, n + 1)
    centre = rng.normal(size=(n + 1, 3)) * 0.1
    axes = np.linalg.qr(rng.normal(size=(n + 1, 3, 3)))[0]
    axes[:, :, 2] *= np.linalg.det(axes)[:, None]
    second = rng.uniform(0.01, 0.05, (n + 1, 3))  # ∫x², ∫y², ∫z² per mass about G: any positive triple is a body
    I_G = mass[:, None] * (second.sum(axis=1, keepdims=True) - second)
    I_G = axes @ (I_G[:, :, None] * axes.transpose(0, 2, 1))
    fluid_axes = np.linalg.qr(rng.normal(size=(n + 1, 3, 3)))[0]
    fluid_axes[:, :, 2] *= np.linalg.det(fluid_axes)[:, None]
    C_lm = rng.uniform(1.0, 5.0, (n + 1, 3))
    C_lm[:, 0] = 0.0
    return Eel(
        alpha=rng.uniform(-np.pi, np.pi, n), d=rng.normal(size=n) * 0.3,
        q0=rng.uniform(-np.pi, np.pi, n), r=rng.normal(size=n) * 0.3,
        mass=mass, first_moment=mass[:, None] * centre,
        inertia=I_G - mass[:, None, None] * hat(centre) @ hat(centre),
        Fs=losses * rng.uniform(0.0, 0.1, n), Fv=losses * rng.uniform(0.0, 0.1, n), Ia=losses * rng.uniform(0, 0.01, n),
        wet=heavy & (rng.random(n + 1) < wet), length=rng.uniform(0.1, 0.4, n + 1),
        middle=rng.normal(size=(n + 1, 3)) * 0.1, fluid_axes=fluid_axes,
        C_ld=rng.uniform(1.0, 10.0, (n + 1, 3)), C_ad=rng.uniform(0.01, 0.05, n + 1),
        C_lm=C_lm, C_am=rng.uniform(0.001, 0.01, n + 1),
        gravity=rng.normal(size=3) * 5.0, displaced_mass=mass * rng.uniform(0.5, 1.5, n + 1),
        centre_of_buoyancy=centre + rng.normal(size=(n + 1, 3)) * 0.02,
    )  # fmt: skip


# --- kinematics -----------------------------------------------------------------------------------------------------


def hat(x: Array) -> Array:
    """Skew matrix x̂ with x̂ y = x × y; any leading axes."""
    x = np.asarray(x, dtype=float)
    out = np.zeros((*x.shape, 3))
    out[..., 0, 1], out[..., 0, 2] = -x[..., 2], x[..., 1]
    out[..., 1, 0], out[..., 1, 2] = x[..., 2], -x[..., 0]
    out[..., 2, 0], out[..., 2, 1] = -x[..., 1], x[..., 0]
    return out


def blocks(upper_left: Array, upper_right: Array, lower_left: Array, lower_right: Array) -> Array:
    """6×6 matrices from 3×3 blocks, any leading axes."""
    upper = np.concatenate([upper_left, upper_right], axis=-1)
    lower = np.concatenate([lower_left, lower_right], axis=-1)
    return np.concatenate([upper, lower], axis=-2)


def joint_frames(eel: Eel, q: Array) -> tuple[Array, Array]:
    """Rotation ʲ⁻¹R_j and position ʲ⁻¹P_j of each frame in the one before, eq. 1; (n, 3, 3) and (n, 3)."""
    c, s = np.cos(q + eel.q0), np.sin(q + eel.q0)
    ca, sa = np.cos(eel.alpha), np.sin(eel.alpha)
    zero = np.zeros_like(c)
    R = np.array([[c, -s, zero], [ca * s, ca * c, -sa], [sa * s, sa * c, ca]]).transpose(2, 0, 1)
    P = np.array([eel.d, -eel.r * sa, eel.r * ca]).T
    return R, P


def screw_transforms(eel: Eel, q: Array) -> Array:
    """ʲT_{j−1} = [R, −R P̂; 0, R] with R = ʲR_{j−1} and P = ʲ⁻¹P_j, eq. 4, shape (n, 6, 6)."""
    R, P = joint_frames(eel, q)
    R = R.transpose(0, 2, 1)
    return blocks(R, -R @ hat(P), np.zeros_like(R), R)


def link_poses(eel: Eel, q: Array, R0: Array | None = None, p0: Array | None = None) -> tuple[Array, Array]:
    """World rotations ʷR_j and positions of O_j, from the pose of the head; (n + 1, 3, 3) and (n + 1, 3)."""
    R_joint, P_joint = joint_frames(eel, q)
    R, p = np.empty((eel.joints + 1, 3, 3)), np.empty((eel.joints + 1, 3))
    R[0] = np.eye(3) if R0 is None else R0
    p[0] = 0.0 if p0 is None else p0
    for j in range(eel.joints):
        p[j + 1] = p[j] + R[j] @ P_joint[j]
        R[j + 1] = R[j] @ R_joint[j]
    return R, p


def link_twists(eel: Eel, q: Array, qd: Array, V0: Array) -> Array:
    """V_j = ʲT_{j−1} V_{j−1} + q̇_j a_j, eq. 2, shape (n + 1, 6)."""
    T = screw_transforms(eel, q)
    V = np.empty((eel.joints + 1, 6))
    V[0] = V0
    for j in range(eel.joints):
        V[j + 1] = T[j] @ V[j]
        V[j + 1, 5] += qd[j]
    return V


def velocity_accelerations(eel: Eel, q: Array, qd: Array, V: Array) -> Array:
    """ζ_j = (ʲR_{j−1}[ω_{j−1} × (ω_{j−1} × ʲ⁻¹P_j)]; ʲω_{j−1} × q̇_j h_j), eq. 32, shape (n, 6)."""
    R, P = joint_frames(eel, q)
    omega = V[:-1, 3:]
    centripetal = np.cross(omega, np.cross(omega, P))
    omega_j = np.einsum("jba,jb->ja", R, omega)
    spin = np.stack([omega_j[:, 1] * qd, -omega_j[:, 0] * qd, np.zeros_like(qd)], axis=1)
    return np.concatenate([np.einsum("jba,jb->ja", R, centripetal), spin], axis=1)


def link_accelerations(eel: Eel, q: Array, qd: Array, qdd: Array, V0: Array, V0_dot: Array) -> Array:
    """V̇_j = ʲT_{j−1} V̇_{j−1} + ζ_j + q̈_j a_j, eq. 5–7, shape (n + 1, 6)."""
    T = screw_transforms(eel, q)
    gamma = velocity_accelerations(eel, q, qd, link_twists(eel, q, qd, V0))
    gamma[:, 5] += qdd
    V_dot = np.empty((eel.joints + 1, 6))
    V_dot[0] = V0_dot
    for j in range(eel.joints):
        V_dot[j + 1] = T[j] @ V_dot[j] + gamma[j]
    return V_dot


# --- water, weight and inertia at given velocity ---------------------------------------------------------------------


def drag_wrench(eel: Eel, V: Array) -> Array:
    """Drag by each link on the water, at O_j, eq. 46–48 and 53, by Gauss's rule along the wet part; (n + 1, 6).

    f = C_ld1|V_t|V_t e1 + C_ld2‖V_n‖V_n2 e2 + C_ld3‖V_n‖V_n3 e3,  m = C_ad1|ω_t|ω_t e1  per unit length
    """
    f = np.zeros((eel.joints + 1, 6))
    w = eel.wet
    x, weight = np.polynomial.legendre.leggauss(eel.gauss)
    E, L = eel.fluid_axes[w], eel.length[w]
    v, omega = V[w, None, :3], V[w, None, 3:]
    P = eel.middle[w, None, :] + 0.5 * L[:, None, None] * x[:, None] * E[:, None, :, 0]
    velocity = (v + np.cross(omega, P)) @ E  # components along e1, e2, e3
    speed = np.repeat(np.abs(velocity[..., :1]), 3, axis=-1)
    speed[..., 1:] = np.hypot(velocity[..., 1], velocity[..., 2])[..., None]
    density = (eel.C_ld[w, None, :] * speed * velocity) @ E.transpose(0, 2, 1)
    ds = 0.5 * L[:, None] * weight
    f[w, :3] = np.einsum("jg,jga->ja", ds, density)
    f[w, 3:] = np.einsum("jg,jga->ja", ds, np.cross(P, density))
    roll = np.einsum("ja,ja->j", V[w, 3:], E[:, :, 0])
    f[w, 3:] += (L * eel.C_ad[w] * np.abs(roll) * roll)[:, None] * E[:, :, 0]
    return f


def added_mass_centrifugal(eel: Eel, V: Array) -> Array:
    """What the added mass exerts at zero V̇, eq. 57–62, shape (n + 1, 6).

    ( m_a (ω×(ω×S)) ; Ŝ m_a (ω×(ω×S)) + (L²/12) ê1 m_a (ω×(ω×e1)) )

    For S = ±(L/2) e1 the second moment is a third of the first, and the two add up to the factor 4/3 of the paper.
    """
    omega, S, e1, m_a = V[:, 3:], eel.middle, eel.fluid_axes[:, :, 0], eel.added_mass
    force = np.einsum("jab,jb->ja", m_a, np.cross(omega, np.cross(omega, S)))
    spread = np.einsum("jab,jb->ja", m_a, np.cross(omega, np.cross(omega, e1)))
    moment = np.cross(S, force) + (eel.length**2 / 12)[:, None] * np.cross(e1, spread)
    return np.concatenate([force, moment], axis=1)


def fluid_wrench(eel: Eel, V: Array) -> Array:
    """f_ej of the water at given twists V (n + 1, 6), without the part J^a_j V̇_j that belongs to the inertia."""
    return drag_wrench(eel, V) + added_mass_centrifugal(eel, V)


def weight_wrench(eel: Eel, q: Array, R0: Array | None = None) -> Array:
    """Gravity and buoyancy as part of f_ej, shape (n + 1, 6).

    f_ej = −( (M_j − ρ_f U_j) ʲg ; MS_j × ʲg − ρ_f U_j P_B × ʲg )
    """
    R, _ = link_poses(eel, q, R0)
    g = np.einsum("jba,b->ja", R, eel.gravity)
    U = eel.displaced_mass[:, None]
    force = (eel.mass[:, None] - U) * g
    moment = np.cross(eel.first_moment - U * eel.centre_of_buoyancy, g)
    return -np.concatenate([force, moment], axis=1)


def velocity_wrenches(eel: Eel, q: Array, V: Array, R0: Array | None = None, applied: Array | None = None) -> Array:
    """β_j = f_ej + (ω×(ω×MS); ω×(𝐉ω)), eq. 19, shape (n + 1, 6).

    `applied` (n + 1, 6) are further wrenches on the links from outside, at O_j in frame j.
    """
    omega = V[:, 3:]
    force = np.cross(omega, np.cross(omega, eel.first_moment))
    moment = np.cross(omega, np.einsum("jab,jb->ja", eel.inertia, omega))
    beta = np.concatenate([force, moment], axis=1) + fluid_wrench(eel, V)
    if np.any(eel.gravity):
        beta = beta + weight_wrench(eel, q, R0)
    return beta if applied is None else beta - applied


def joint_losses(eel: Eel, qd: Array) -> Array:
    """F_s sign(q̇) + F_v q̇."""
    return eel.Fs * np.sign(qd) + eel.Fv * qd


# --- dynamics -------------------------------------------------------------------------------------------------------


class Inverse(NamedTuple):
    """Classical acceleration of the head, motor torques (n,), wrench on each link by the one before (n + 1, 6)."""

    V0_dot: Array
    torques: Array
    f: Array


class Direct(NamedTuple):
    """Classical acceleration of the head and joint accelerations (n,)."""

    V0_dot: Array
    qdd: Array


def inverse(
    eel: Eel, q: Array, qd: Array, qdd: Array, V0: Array, R0: Array | None = None, applied: Array | None = None
) -> Inverse:
    """Inverse dynamics with free head by composite bodies, eq. 14–28.

    Jᶜ_j = J_j + Tᵀ Jᶜ_{j+1} T,  βᶜ_j = β_j + Tᵀ(βᶜ_{j+1} + Jᶜ_{j+1} γ_{j+1}),  V̇_0 = −(Jᶜ_0)⁻¹ βᶜ_0,
    f_j = Jᶜ_j V̇_j + βᶜ_j,  Γ_j = a_jᵀ f_j + F_s sign(q̇_j) + F_v q̇_j + I_a q̈_j
    """
    # forward: twists and what they cause
    T = screw_transforms(eel, q)
    V = link_twists(eel, q, qd, V0)
    gamma = velocity_accelerations(eel, q, qd, V)
    gamma[:, 5] += qdd

    # backward: composite bodies
    J, beta = eel.link_inertia.copy(), velocity_wrenches(eel, q, V, R0, applied)
    for j in reversed(range(eel.joints)):
        J[j] += T[j].T @ J[j + 1] @ T[j]
        beta[j] += T[j].T @ (beta[j + 1] + J[j + 1] @ gamma[j])

    # forward: accelerations and wrenches
    V_dot = np.empty_like(V)
    V_dot[0] = -np.linalg.solve(J[0], beta[0])
    for j in range(eel.joints):
        V_dot[j + 1] = T[j] @ V_dot[j] + gamma[j]
    f = np.einsum("jab,jb->ja", J, V_dot) + beta
    torques = f[1:, 5] + joint_losses(eel, qd) + eel.Ia * qdd
    return Inverse(V_dot[0], torques, f)


def direct(
    eel: Eel, q: Array, qd: Array, torques: Array, V0: Array, R0: Array | None = None, applied: Array | None = None
) -> Direct:
    """Direct dynamics with free head by articulated bodies, eq. 32–43 and A1–A27.

    H = aᵀJ*a + I_a,  K = J* − J*a H⁻¹ aᵀJ*,  α = Kζ + J*a H⁻¹(τ − aᵀβ*) + β*,
    J*_{j−1} = J_{j−1} + TᵀKT,  β*_{j−1} = β_{j−1} + Tᵀα
    """
    # forward: twists and what they cause
    T = screw_transforms(eel, q)
    V = link_twists(eel, q, qd, V0)
    zeta = velocity_accelerations(eel, q, qd, V)
    tau = torques - joint_losses(eel, qd)

    # backward: articulated bodies
    J, beta = eel.link_inertia.copy(), velocity_wrenches(eel, q, V, R0, applied)
    H = np.empty(eel.joints)
    for j in reversed(range(eel.joints)):
        Ja = J[j + 1, :, 5]
        H[j] = Ja[5] + eel.Ia[j]
        K = J[j + 1] - np.outer(Ja, Ja) / H[j]
        alpha = K @ zeta[j] + Ja * ((tau[j] - beta[j + 1, 5]) / H[j]) + beta[j + 1]
        J[j] += T[j].T @ K @ T[j]
        beta[j] += T[j].T @ alpha

    # forward: accelerations
    V_dot = np.empty_like(V)
    V_dot[0] = -np.linalg.solve(J[0], beta[0])
    qdd = np.empty(eel.joints)
    for j in range(eel.joints):
        V_dot[j + 1] = T[j] @ V_dot[j] + zeta[j]
        qdd[j] = (tau[j] - beta[j + 1, 5] - J[j + 1, 5] @ V_dot[j + 1]) / H[j]
        V_dot[j + 1, 5] += qdd[j]
    return Direct(V_dot[0], qdd)


def newton_euler(
    eel: Eel,
    q: Array,
    qd: Array,
    qdd: Array,
    V0: Array,
    V0_dot: Array,
    R0: Array | None = None,
    applied: Array | None = None,
) -> tuple[Array, Array]:
    """Wrench f_0 that the head would need from outside, and torques, for any head acceleration: eq. 14–18 link by link.

    Linear in (V̇_0, q̈): its columns are the dense matrix A of eq. 8, and f_0 = 0 is the free head.
    """
    T = screw_transforms(eel, q)
    V = link_twists(eel, q, qd, V0)
    V_dot = link_accelerations(eel, q, qd, qdd, V0, V0_dot)
    f = np.einsum("jab,jb->ja", eel.link_inertia, V_dot) + velocity_wrenches(eel, q, V, R0, applied)
    for j in reversed(range(eel.joints)):
        f[j] += T[j].T @ f[j + 1]
    return f[0], f[1:, 5] + joint_losses(eel, qd) + eel.Ia * qdd


def dense_model(eel: Eel, q: Array, qd: Array, V0: Array, R0: Array | None = None) -> tuple[Array, Array]:
    """A (6+n, 6+n) and C (6+n,) of the Lagrange form A (V̇_0; q̈) + C = (0; Γ), eq. 8–10, column by column."""
    n = eel.joints

    def evaluate(acceleration: Array) -> Array:
        return np.concatenate(newton_euler(eel, q, qd, acceleration[6:], V0, acceleration[:6], R0))

    C = evaluate(np.zeros(6 + n))
    A = np.stack([evaluate(unit) - C for unit in np.eye(6 + n)], axis=1)
    return A, C


def momentum(eel: Eel, q: Array, qd: Array, V0: Array) -> Array:
    """Linear and angular momentum (6,) of the links without water, at O_0 in frame 0."""
    T = screw_transforms(eel, q)
    p = np.einsum("jab,jb->ja", eel.rigid_inertia, link_twists(eel, q, qd, V0))
    for j in reversed(range(eel.joints)):
        p[j] += T[j].T @ p[j + 1]
    return p[0]


def kinetic_energy(eel: Eel, q: Array, qd: Array, V0: Array) -> float:
    """Kinetic energy of the links and rotors without water."""
    V = link_twists(eel, q, qd, V0)
    return 0.5 * np.einsum("ja,jab,jb->", V, eel.rigid_inertia, V) + 0.5 * eel.Ia @ qd**2


# --- gait -----------------------------------------------------------------------------------------------------------


class JointMotion(NamedTuple):
    """q, q̇, q̈, each (n,)."""

    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True)
class Gait:
    """A wave of heading that runs down the body, eq. 63–66; called with a time it gives the joint motion.

    Q(s,t) = f(t) A e^{αs} sin[2π(s/λ − t/T)],  q_{3i−2} = Q(X_{i+1},t) − Q(X_i,t) + O_ff1,
    q_{3i−1} = f(t) O_ff2,  q_{3i} = 0,  with X_i measured from the first joint.
    """

    amplitude: float = 0.06
    growth: float = 1.2
    wavelength: float = 1.8
    period: float = 2.0
    ramp: float = 2.0
    offset1: float = 0.0
    offset2: float = 0.0
    spherical_joints: int = 12
    spacing: float = 0.14

    def start(self, t: float) -> tuple[float, float, float]:
        """f = 10x³ − 15x⁴ + 6x⁵ at x = t/t_f, held at its ends, and its two derivatives in time."""
        x = min(max(t / self.ramp, 0.0), 1.0)
        f = x**3 * (10 - 15 * x + 6 * x**2)
        f_dot = 30 * x**2 * (1 - x) ** 2 / self.ramp
        f_ddot = 60 * x * (1 - x) * (1 - 2 * x) / self.ramp**2
        return f, f_dot, f_ddot

    def heading(self, s: Array, t: float) -> JointMotion:
        """Q(s, t) and its first two derivatives in time."""
        f, f_dot, f_ddot = self.start(t)
        w = 2 * np.pi / self.period
        phase = 2 * np.pi * s / self.wavelength - w * t
        envelope, sin, cos = self.amplitude * np.exp(self.growth * s), np.sin(phase), np.cos(phase)
        return JointMotion(
            envelope * f * sin,
            envelope * (f_dot * sin - w * f * cos),
            envelope * (f_ddot * sin - 2 * w * f_dot * cos - w**2 * f * sin),
        )

    def __call__(self, t: float) -> JointMotion:
        X = self.spacing * np.arange(self.spherical_joints + 1)
        motion = []
        constant = (self.offset1, 0.0, 0.0)
        for Q, f, offset in zip(self.heading(X, t), self.start(t), constant, strict=True):
            q = np.zeros(3 * self.spherical_joints)
            q[0::3] = np.diff(Q) + offset
            q[1::3] = f * self.offset2
            motion.append(q)
        return JointMotion(*motion)


planar_gait = Gait()
looping_gait = Gait(offset2=np.pi / 40)


def gait(t: float) -> JointMotion:
    """Joint motion of straight swimming, the first example of the paper."""
    return planar_gait(t)


# --- motion in time -------------------------------------------------------------------------------------------------


def rotation(Q: Array) -> Array:
    """ʷR0 of the quaternion Q = (cos α/2, u sin α/2), eq. 31; Q is normalised first."""
    q0, q1, q2, q3 = Q / np.sqrt(Q @ Q)
    return np.array(
        [
            [2 * (q0**2 + q1**2) - 1, 2 * (q1 * q2 - q0 * q3), 2 * (q1 * q3 + q0 * q2)],
            [2 * (q1 * q2 + q0 * q3), 2 * (q0**2 + q2**2) - 1, 2 * (q2 * q3 - q0 * q1)],
            [2 * (q1 * q3 - q0 * q2), 2 * (q2 * q3 + q0 * q1), 2 * (q0**2 + q3**2) - 1],
        ]
    )


def quaternion_rate(Q: Array, omega: Array) -> Array:
    """Q̇ = ½ [0, −ωᵀ; ω, −ω̂] Q for ω in the axes of the head; eq. 30 is the same with +ω̂ for ω in the world."""
    return 0.5 * np.concatenate([[-omega @ Q[1:]], omega * Q[0] + np.cross(Q[1:], omega)])


def head_rate(head: Array, V0_dot: Array) -> Array:
    """Rate of the head state (p, Q, v, ω): position in the world, quaternion, twist in the axes of the head.

    ṗ = ʷR0 v,  d(v)/dt = upper(V̇0) − ω × v,  d(ω)/dt = lower(V̇0)
    """
    Q, v, omega = head[3:7], head[7:10], head[10:13]
    return np.concatenate([rotation(Q) @ v, quaternion_rate(Q, omega), V0_dot[:3] - np.cross(omega, v), V0_dot[3:]])


def resting_head(R0_quaternion: Array | None = None, V0: Array | None = None) -> Array:
    """Head state (p, Q, v, ω) at the origin of the world: 13 numbers."""
    Q = np.array([1.0, 0.0, 0.0, 0.0]) if R0_quaternion is None else np.asarray(R0_quaternion, dtype=float)
    return np.concatenate([np.zeros(3), Q, np.zeros(6) if V0 is None else V0])


def runge_kutta(rate: Callable[[float, Array], Array], state: Array, steps: int, step: float) -> tuple[Array, float]:
    """States (steps + 1, …) of the classical method of order 4, whose entries 3 … 6 are a quaternion.

    The quaternion is normalised after each step; the second result is the largest |‖Q‖ − 1| met before that.
    """
    states, drift = [state], 0.0
    for i in range(steps):
        t = i * step
        k1 = rate(t, state)
        k2 = rate(t + step / 2, state + step / 2 * k1)
        k3 = rate(t + step / 2, state + step / 2 * k2)
        k4 = rate(t + step, state + step * k3)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        norm = np.linalg.norm(state[3:7])
        drift = max(drift, abs(norm - 1.0))
        state[3:7] /= norm
        states.append(state)
    return np.array(states), drift


@dataclass(frozen=True, eq=False)
class Swim:
    """Motion at the times t: head position (N, 3) in the world, quaternion, twist in the axes of the head, torques."""

    t: Array
    position: Array
    quaternion: Array
    V0: Array
    torques: Array
    quaternion_drift: float


def swim(
    eel: Eel, gait: Callable[[float], JointMotion], duration: float, step: float, head: Array | None = None
) -> Swim:
    """Motion of the head under prescribed joints, from rest at the origin: inverse dynamics and Runge–Kutta."""

    def rate(t: float, head: Array) -> Array:
        return head_rate(head, inverse(eel, *gait(t), head[7:13], rotation(head[3:7])).V0_dot)

    steps = int(round(duration / step))
    heads, drift = runge_kutta(rate, resting_head() if head is None else head, steps, step)
    t = step * np.arange(steps + 1)
    torques = np.array(
        [inverse(eel, *gait(time), h[7:13], rotation(h[3:7])).torques for time, h in zip(t, heads, strict=True)]
    )
    return Swim(t, heads[:, :3], heads[:, 3:7], heads[:, 7:13], torques, drift)


def drive(
    eel: Eel,
    torques: Callable[[float, Array, Array], Array],
    q: Array,
    qd: Array,
    duration: float,
    step: float,
    head: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Motion of head and joints under torques Γ(t, q, q̇): direct dynamics and Runge–Kutta.

    Returns the head states (N, 13), q (N, n) and q̇ (N, n).
    """
    n = eel.joints

    def rate(t: float, state: Array) -> Array:
        head, q, qd = state[:13], state[13 : 13 + n], state[13 + n :]
        V0_dot, qdd = direct(eel, q, qd, torques(t, q, qd), head[7:13], rotation(head[3:7]))
        return np.concatenate([head_rate(head, V0_dot), qd, qdd])

    start = np.concatenate([resting_head() if head is None else head, q, qd])
    states, _ = runge_kutta(rate, start, int(round(duration / step)), step)
    return states[:, :13], states[:, 13 : 13 + n], states[:, 13 + n :]
