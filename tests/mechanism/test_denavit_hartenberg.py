"""Chains from modified Denavit-Hartenberg tables: the eel of Khalil, Gallot and Boyer (2007), and its laws."""

import numpy as np
import pytest

import elver as ev
from elver.errors import BadInput
from elver.lie import so3
from elver.mechanism import MDHRow, mdh_chain

RNG = np.random.default_rng(5)
HALF = np.pi / 2.0
A, B, LENGTH, HEAD = 0.065, 0.09, 0.14, 0.4
Z = np.array([0.0, 0.0, 1.0])


def eel_rows(joints=12, printed=False):
    """Table I of the source; two signs of it are misprinted, and fold the body back."""
    second, first = (HALF, -HALF) if printed else (-HALF, HALF)
    rows = []
    for i in range(joints):
        rows += [
            MDHRow(HALF, 0.0, first, 0.0) if i else MDHRow(0.0, HEAD, 0.0, 0.0),
            MDHRow(-HALF, 0.0, second, 0.0),
            MDHRow(-HALF, 0.0, HALF, LENGTH),
        ]
    return rows


def along(rows, q):
    """Poses of all frames of the chain in that of its first body: the product of the rows."""
    g = [np.eye(4)]
    for row, coordinate in zip(rows, q, strict=True):
        g.append(g[-1] @ row.pose(coordinate))
    return g


def eel_bodies(joints=12):
    """Head (nose at its origin) and links (origin at the far end, z along the link); massless ones between."""
    head = ev.RigidBody.elliptic_cylinder((A, B), HEAD, density=1000.0, name="head", centre=(HEAD / 2, 0.0, 0.0))
    bodies = [head]
    for i in range(1, joints + 1):
        bodies += [ev.RigidBody.massless(f"pivot-{3 * i - 2}"), ev.RigidBody.massless(f"pivot-{3 * i - 1}")]
        link = ev.RigidBody.elliptic_cylinder(
            (A, B), LENGTH, axis="z", density=1000.0, name=f"link-{3 * i}", centre=(0.0, 0.0, -LENGTH / 2)
        )
        bodies.append(link)
    return bodies


# Rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prismatic", [False, True])
def test_pose_is_the_matrix_of_the_source(prismatic):
    alpha, d, theta, r, q = RNG.uniform(-1.0, 1.0, 5)
    row = MDHRow(alpha, d, theta, r, prismatic)
    theta, r = (theta, r + q) if prismatic else (theta + q, r)
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    wanted = [[ct, -st, 0, d], [ca * st, ca * ct, -sa, -r * sa], [sa * st, sa * ct, ca, r * ca], [0, 0, 0, 1]]
    assert row.pose(q) == pytest.approx(np.array(wanted), abs=1e-15)


@pytest.mark.parametrize(("printed", "tail"), [(False, (2.08, 0.0, 0.0)), (True, (-1.28, 0.0, 0.0))])
def test_eel_at_zero_is_straight_only_with_the_corrected_table(printed, tail):
    """Acceptance 1: all z_{3i} = +x0 and O_36 = (2.08, 0, 0); as printed the body lies back along the head."""
    rows = eel_rows(printed=printed)
    if printed:
        # The source prints rows 2 and 4, repeated here along the body; its row 35 has the sign that is right.
        assert (rows[1].theta, rows[3].theta) == (HALF, -HALF)
    g = along(rows, np.zeros(36))
    np.testing.assert_allclose(g[36][:3, 3], tail, atol=1e-12)
    if not printed:
        np.testing.assert_allclose([g[3 * i][:3, 2] for i in range(1, 13)], np.tile([1.0, 0, 0], (12, 1)), atol=1e-12)


# Chains -----------------------------------------------------------------------------------------------------


def test_bodies_of_the_eel_stand_in_the_frames_of_its_table():
    bodies, rows = eel_bodies(), eel_rows()
    joints = mdh_chain(bodies, rows)
    assert [joint.name for joint in joints] == [f"joint-{j}" for j in range(1, 37)]
    system = ev.System(ev.Mechanism([ev.Floating("world", bodies[0]), *joints]))
    q = RNG.uniform(-1.0, 1.0, 36)
    state = system.rest().with_(q=q)
    for body, g in zip(bodies, along(rows, q), strict=True):
        np.testing.assert_allclose(ev.poses(system, state, body), state.g @ g, atol=1e-12)


def test_a_chain_from_the_world_with_slides():
    bodies = ["world", *(ev.RigidBody.point(1.0, name=f"body-{j}") for j in range(4))]
    rows = [MDHRow(*RNG.uniform(-1.0, 1.0, 4), prismatic=j % 2 == 1) for j in range(4)]
    joints = mdh_chain(bodies, rows, name="axis")
    assert [joint.kind for joint in joints] == ["revolute", "prismatic"] * 2
    assert [joint.name for joint in joints] == ["axis-1", "axis-2", "axis-3", "axis-4"]
    system = ev.System(ev.Mechanism(joints))
    q = RNG.uniform(-1.0, 1.0, 4)
    for body, g in zip(bodies[1:], along(rows, q)[1:], strict=True):
        np.testing.assert_allclose(ev.poses(system, system.rest().with_(q=q), body), g, atol=1e-12)


def turn_of_three(rows, q, q_dot, q_ddot):
    """R, ω, ω̇ and the map J (ω = J q̇) of three intersecting revolutes, in the axes of the last frame."""
    R, omega, omega_dot, J = np.eye(3), np.zeros(3), np.zeros(3), np.zeros((3, 3))
    for k, row in enumerate(rows):
        step = row.pose(q[k])[:3, :3]
        R, J, carried = R @ step, step.T @ J, step.T @ omega
        J[:, k] = Z
        omega_dot = step.T @ omega_dot + np.cross(carried, Z * q_dot[k]) + Z * q_ddot[k]
        omega = carried + Z * q_dot[k]
    return R, omega, omega_dot, J


def test_three_revolutes_with_massless_links_are_a_spherical_joint():
    """Same motion, same wrench on the head, same joint moments: J⁻ᵀ Q of the revolutes = dexp⁻ᵀ Q of the ball."""
    n = 4
    bodies, rows = eel_bodies(n), eel_rows(n)
    revolutes = ev.System(
        ev.Mechanism([ev.Floating("world", bodies[0]), *mdh_chain(bodies, rows)]), loads=[ev.Gravity()]
    )
    links, balls = bodies[::3], []
    for i in range(n):
        g = np.linalg.multi_dot([row.pose() for row in rows[3 * i : 3 * i + 3]])
        ends = (links[i], g @ _shift(-LENGTH)), (links[i + 1], (0.0, 0.0, -LENGTH))
        balls.append(ev.Spherical(*ends, name=f"ball-{i + 1}"))
    spherical = ev.System(ev.Mechanism([ev.Floating("world", links[0]), *balls]), loads=[ev.Gravity()])

    q, q_dot, q_ddot = RNG.uniform(-0.6, 0.6, (3, n, 3))
    theta, theta_dot, theta_ddot, maps = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3)), []
    for i in range(n):
        own = rows[3 * i : 3 * i + 3]
        R_start = turn_of_three(own, np.zeros(3), np.zeros(3), np.zeros(3))[0]
        R, omega, omega_dot, J = turn_of_three(own, q[i], q_dot[i], q_ddot[i])
        theta[i] = so3.log(R_start.T @ R)
        T_inv = so3.dexp_inv(theta[i])
        theta_dot[i] = T_inv @ omega
        theta_ddot[i] = T_inv @ (omega_dot - so3.d_dexp(theta[i], theta_dot[i]) @ theta_dot[i])
        maps.append((np.linalg.inv(J).T, T_inv.T))
    moving = {"eta": RNG.standard_normal(6), "eta_dot": RNG.standard_normal(6)}
    of_three = ev.inverse_dynamics(
        revolutes, revolutes.rest().with_(q=q.ravel(), q_dot=q_dot.ravel(), q_ddot=q_ddot.ravel(), **moving)
    )
    of_ball = ev.inverse_dynamics(
        spherical,
        spherical.rest().with_(q=theta.ravel(), q_dot=theta_dot.ravel(), q_ddot=theta_ddot.ravel(), **moving),
    )
    scale = np.abs(of_ball).max()
    np.testing.assert_allclose(of_three[:6], of_ball[:6], atol=1e-12 * scale)
    moments = [
        (three @ of_three[6 + 3 * i : 9 + 3 * i], ball @ of_ball[6 + 3 * i : 9 + 3 * i])
        for i, (three, ball) in enumerate(maps)
    ]
    for three, ball in moments:
        # Rounding, times the condition of three nearly aligned axes.
        np.testing.assert_allclose(three, ball, atol=1e-11 * scale)


def _shift(z):
    g = np.eye(4)
    g[2, 3] = z
    return g


# Refusals ---------------------------------------------------------------------------------------------------

ARM, HAND = ev.RigidBody.point(1.0, name="arm"), ev.RigidBody.point(1.0, name="hand")
ROW = MDHRow(0.0, 0.1, 0.0, 0.0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MDHRow(90.0, 0, 0, 0), r"alpha of a row = 90 rad is more than two turns: angles are in radians"),
        (lambda: MDHRow(0, 0, -90.0, 0), r"theta of a row = -90 rad is more than two turns"),
        (lambda: MDHRow(0, np.nan, 0, 0), r"d of a row contains nan \(m\)"),
        (lambda: MDHRow(0, 0, 0, "long"), r"r of a row = 'long': expected numbers in m"),
        (lambda: MDHRow(0, 0, 0, 0, prismatic=0.3), r"prismatic of a row = 0.3: give True where r moves"),
        (lambda: ROW.pose(np.inf), r"q of a row contains inf \(rad\)"),
        (lambda: mdh_chain(["world", ARM], [ROW, ROW]), r"a chain of 2 bodies and 2 rows: give one row for each body"),
        (lambda: mdh_chain([ARM], []), r"a chain of 1 bodies and 0 rows"),
        (lambda: mdh_chain([ARM, "world"], [ROW]), r"bodies\[1\] of the chain = 'world': give a RigidBody"),
        (lambda: mdh_chain(["floor", ARM], [ROW]), r"bodies\[0\] of the chain = 'floor': give \"world\" or a Rigid"),
        (lambda: mdh_chain([ARM, HAND], [(0, 0, 0, 0)]), r"rows\[0\] of the chain = \(0, 0, 0, 0\): give MDHRow"),
        (lambda: mdh_chain(ARM, [ROW]), r"bodies of the chain = .*: give a list"),
    ],
)
def test_bad_tables_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
