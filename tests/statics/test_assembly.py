"""Robots with loops: they assemble from rough guesses, and say what is wrong where they cannot."""

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import core
from elver.dynamics.states import arrays
from elver.statics.closing import check_closed
from elver.statics.gaps import gap

TENS_OF_DEGREES = [(0.3, 2.5), (2.5, 0.3), (0.0, 0.0), (-1.0, 1.0), (np.pi, 0.0), (np.pi / 2, np.pi / 2)]


def gap_of(system, state, inputs=None):
    u = system.input_vector(system.signals(inputs), state.time)
    return gap(core(system), arrays(state), u)


# Equilibria ---------------------------------------------------------------------------------------------------------


def test_two_rods_assemble_as_published(robots):
    found = ev.equilibrium(robots.rfrfr())
    assert found.stable
    assert found.iterations <= 6
    # Gotelli 2024, section 5.4, recomputed: printed digits
    assert found.state.q[[0, 4]] == pytest.approx([1.369438, 1.772154], abs=1e-6)
    np.testing.assert_allclose(found.pose("rod1")[:3, 3], [0.0, 0.979796, 0.0], atol=1e-6)


def test_two_rods_under_the_held_torque(robots):
    found = ev.equilibrium(robots.rfrfr(), {"drive1": -0.5, "drive4": 0.5})
    assert found.stable
    assert found.state.q[0] == pytest.approx(0.221224, abs=1e-6)
    assert found.pose("rod2")[1, 3] == pytest.approx(0.854820, abs=1e-6)


@pytest.mark.parametrize("drive", [ev.Motor, ev.Imposed])
@pytest.mark.parametrize("start", TENS_OF_DEGREES)
def test_two_rods_assemble_from_any_angles(robots, start, drive):
    system = robots.rfrfr(start, drive)
    found = ev.equilibrium(system)
    assert found.stable
    assert gap_of(system, found.state) < 1e-9
    if drive is ev.Motor:  # without torques the rods stay straight, on one side or the other
        assert abs(found.pose("rod1")[1, 3]) == pytest.approx(np.sqrt(0.96), abs=1e-9)


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_six_limbs_assemble(robots, spread):
    angles = spread * np.random.default_rng(0).normal(size=6)
    system = robots.six_limbs(angles)
    found = ev.equilibrium(system)
    assert found.stable
    assert gap_of(system, found.state) < 1e-9
    platform, top = system.mechanism.part("platform"), found.pose("platform")
    np.testing.assert_array_equal(top, found.pose(platform))
    for k in (0, 5):  # the ball is where the rod ends
        ball = system.mechanism.joint(f"ball{k}")
        np.testing.assert_allclose(found.pose(f"limb{k}")[:3, 3], (top @ ball.b.g)[:3, 3], atol=1e-9)


def test_six_limbs_at_home_stand_upright(robots):
    top = ev.equilibrium(robots.six_limbs()).pose("platform")
    # six-fold about the vertical, up to the pairing of limbs: the platform turns about z only
    np.testing.assert_allclose(top[:2, 3], 0.0, atol=1e-9)
    np.testing.assert_allclose(top[2, :3], [0.0, 0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("start", [0.0, 1.0, 1.5, 2.5])
def test_pendulums_hang(robots, start):
    found = ev.equilibrium(robots.pendulums(3, start=start))
    assert found.stable
    np.testing.assert_allclose(found.pose("bar2")[:3, 3], [0.0, -0.75, 0.0], atol=1e-9)


def test_a_linkage_hangs_by_its_weight(robots):
    system = robots.four_bar(gravity=True)
    found = ev.equilibrium(system)
    assert found.stable

    def height(state):
        return sum(body.mass * ev.poses(system, state, body)[1, 3] for body in system.mechanism.bodies)

    # the neighbours to either side are higher
    for sign in (1.0, -1.0):
        rates = ev.assemble(system, guess=found.state.with_(q_dot=sign * np.ones(3))).q_dot
        beside = ev.assemble(system, guess=found.state.with_(q=found.state.q + 0.05 * rates))
        assert height(beside) > height(found.state)


def test_a_section_between_nodes_has_a_pose(robots):
    system = robots.rfrfr()
    found = ev.equilibrium(system, {"drive1": -0.5, "drive4": 0.5})
    rod = system.mechanism.part("rod1")
    s = ev.nodes(system, rod)
    np.testing.assert_array_equal(found.pose(rod, float(s[3])), ev.poses(system, found.state, rod)[3])
    middle = found.pose(rod, 0.5 * (s[3] + s[4]))
    step = 1e-4
    ahead, behind = (found.pose(rod, 0.5 * (s[3] + s[4]) + d)[:3, 3] for d in (step, -step))
    np.testing.assert_allclose((ahead - behind) / (2 * step), middle[:3, 0], atol=1e-6)
    with pytest.raises(ev.BadInput, match="no part is named 'rod3'"):
        found.pose("rod3")


# Positions and velocities alone --------------------------------------------------------------------------------------


def test_a_linkage_without_weight_assembles(robots):
    system = robots.four_bar()
    state = ev.assemble(system)
    assert gap_of(system, state) < 1e-12
    again = ev.assemble(system, guess=state)
    np.testing.assert_allclose(again.q, state.q, atol=1e-12)


def test_an_imposed_crank_assembles_as_trigonometry_says(robots):
    system = robots.slider_crank()
    angle = 0.7
    state = ev.assemble(system, {"angle": angle})
    reach = np.sqrt(0.5**2 - (0.2 * np.sin(angle)) ** 2)
    piston = ev.poses(system, state, system.mechanism.part("piston"))[0, 3]
    assert piston == pytest.approx(0.2 * np.cos(angle) + reach, abs=1e-12)
    # and moves so: d/dt of the same formula
    moving = ev.assemble(system, {"angle": lambda t: angle + 3.0 * t}, guess=state)
    speed = 3.0 * (-0.2 * np.sin(angle) - 0.2**2 * np.sin(angle) * np.cos(angle) / reach)
    guide = system.coordinates(system.mechanism.joint("guide"))
    assert moving.q_dot[guide][0] == pytest.approx(speed, rel=1e-8)
    check_closed(system, moving, {"angle": lambda t: angle + 3.0 * t})


def test_velocities_change_by_an_impulse_of_the_closures(robots):
    system = robots.four_bar()
    state = ev.assemble(system).with_(q_dot=np.array([1.0, 0.3, 0.2]))
    moving = ev.assemble(system, guess=state)
    J = ev.tangent_inverse_dynamics(system, moving).J_closure
    np.testing.assert_allclose(J @ moving.q_dot, 0.0, atol=1e-10)
    # M Δq' is a combination of the rows of J, so no allowed motion feels it
    impulse = ev.mass_matrix(system, state) @ (moving.q_dot - state.q_dot)
    allowed = np.linalg.svd(J)[2][-1]
    assert abs(allowed @ impulse) < 1e-9


def test_a_free_platform_takes_part(robots):
    limbs = robots.six_limbs()
    joints = limbs.mechanism.joints
    system = ev.System(ev.Mechanism(joints, root=limbs.mechanism.part("platform")), loads=[ev.Gravity()])
    state = ev.assemble(system)
    assert gap_of(system, state) < 1e-12
    found = ev.equilibrium(system)
    assert gap_of(system, found.state) < 1e-9


# What is refused -----------------------------------------------------------------------------------------------------


def test_a_loop_that_cannot_close_names_itself_and_its_gap(robots):
    too_far = robots.four_bar(lengths=(0.2, 0.5, 0.4, 1.5))
    message = r"loop closed by revolute 'B' \(coupler to rocker\) is open by 0\.4 m and \S+ rad"
    with pytest.raises(ev.NotConverged, match="assemble: .*" + message) as caught:
        ev.assemble(too_far)
    assert gap_of(too_far, caught.value.result) == pytest.approx(0.4 / core(too_far).assembly.length, rel=1e-3)
    with pytest.raises(ev.NotConverged, match="equilibrium: .*" + message):
        ev.equilibrium(robots.four_bar(lengths=(0.2, 0.5, 0.4, 1.5), gravity=True))
    with pytest.raises(ev.NotConverged, match=r"loop closed by revolute 'P' .* open by 0\.1\d* m"):
        ev.equilibrium(robots.rfrfr(distance=2.1))


def test_a_loop_out_of_its_plane_contradicts_itself():
    bars = [ev.RigidBody.box((0.3, 0.02, 0.02), mass=1.0, name=name) for name in ("left", "right")]
    joints = [
        ev.Revolute("world", (bars[0], (-0.15, 0, 0)), name="A"),
        ev.Revolute(("world", (0.3, 0, 0.05)), (bars[1], (-0.15, 0, 0)), name="B"),
        ev.Revolute((bars[0], (0.15, 0, 0)), (bars[1], (0.15, 0, 0)), name="C"),
    ]
    with pytest.raises(ev.BadInput, match=r"loop closed by revolute 'C' \(left to right\).*z differs by 0\.05 m"):
        ev.assemble(ev.System(ev.Mechanism(joints)))


def test_redundant_rows_of_a_loop_are_named():
    bars = [ev.RigidBody.box((0.3, 0.02, 0.02), mass=1.0, name=name) for name in ("left", "right")]
    joints = [
        ev.Revolute("world", (bars[0], (-0.15, 0, 0)), name="A", start=1.0),
        ev.Revolute(("world", (0.3, 0, 0)), (bars[1], (-0.15, 0, 0)), name="B", start=2.0),
        ev.Revolute((bars[0], (0.15, 0, 0)), (bars[1], (0.15, 0, 0)), name="C"),
    ]
    with pytest.warns(ev.ElverWarning, match="redundant: C/moment_y, C/moment_x, C/force_z .*loop stays in its plane"):
        ev.assemble(ev.System(ev.Mechanism(joints)))


def test_free_motions_are_named(robots):
    with pytest.raises(ev.BadInput, match=r"nothing resists 2 motions of hinge\d/angle, hinge\d/angle.*assemble"):
        ev.equilibrium(robots.pendulums(2, gravity=False))
    with pytest.raises(ev.BadInput, match=r"nothing resists a motion of (A|drive)/angle"):
        ev.equilibrium(robots.four_bar())
    # a guess says which of the many is meant
    system = robots.four_bar()
    state = ev.assemble(system)
    np.testing.assert_allclose(ev.equilibrium(system, guess=state).state.q, state.q, atol=1e-12)


def test_a_linkage_driven_twice_says_so(robots):
    """Two imposed angles of a four-bar: they contradict each other, by much or by little."""

    def driven_twice(crank, rocker):
        single = robots.four_bar(start=(crank, -2.285, rocker), gravity=True)
        drives = [ev.Imposed(single.mechanism.joint(name), name=name) for name in ("drive", "D")]
        return robots.planar(single.mechanism.joints, drives, single.loads)

    with pytest.raises(ev.NotConverged, match=r"loop closed by revolute 'B' .*open by 0\.\d+ m.*impose other motions"):
        ev.equilibrium(driven_twice(1.0, -0.5))
    state = ev.assemble(robots.four_bar(imposed=True))
    with pytest.raises(ev.NotConverged, match=r"B/force_\w hold what other closures and imposed motions hold already"):
        ev.equilibrium(driven_twice(1.0, float(state.q[2]) + 1e-5))


def test_a_stewart_platform_of_rigid_legs():
    """Six legs that lengthen, on universal joints and balls: forward, back, and with legs free to spin."""
    top = ev.RigidBody.cylinder(radius=0.2, length=0.02, mass=1.0, axis="z", name="top")

    def platform(foot_joint):
        joints, drives = [], []
        for k in range(6):
            side = 0.2 if k % 2 else -0.2
            at, head = 2 * np.pi / 3 * (k // 2) + side, 2 * np.pi / 3 * ((k + 1) // 2) - side - np.pi / 3
            tube, piston = (
                ev.RigidBody.cylinder(radius=0.01, length=0.2, mass=0.1, axis="z", name=f"{name}{k}")
                for name in ("tube", "piston")
            )
            leg = ev.Prismatic((tube, (0, 0, 0.1)), (piston, (0, 0, -0.1)), axis="z", name=f"leg{k}", start=0.05)
            foot = (0.3 * np.cos(at), 0.3 * np.sin(at), 0.0)
            ball = (top, (0.2 * np.cos(head), 0.2 * np.sin(head), 0.0))
            joints += [
                foot_joint(("world", foot), (tube, (0, 0, -0.1)), name=f"foot{k}"),
                leg,
                ev.Spherical((piston, (0, 0, 0.1)), ball, name=f"ball{k}"),
            ]
            drives.append(ev.Imposed(leg, name=f"length{k}"))
        return ev.System(ev.Mechanism(joints), drives, [ev.Gravity()])

    system = platform(ev.Universal)
    home = ev.equilibrium(system)
    assert home.stable
    g = home.pose(top)
    # legs of 0.45 m from feet on a circle to balls above
    foot, ball = system.mechanism.joint("foot0").a.g[:3, 3], (g @ system.mechanism.joint("ball0").b.g)[:3, 3]
    assert np.linalg.norm(ball - foot) == pytest.approx(0.45, abs=1e-9)
    assert ev.singularity(system, home, top).kinds == ()
    answer = ev.inverse_statics(system, g[:3, 3] + [0.02, 0.01, 0.05], g[:3, :3], part=top)
    moved = (answer.equilibrium.pose(top) @ system.mechanism.joint("ball3").b.g)[:3, 3]
    length = np.linalg.norm(moved - system.mechanism.joint("foot3").a.g[:3, 3]) - 0.4
    assert answer.inputs["length3"] == pytest.approx(length, abs=1e-8)
    with pytest.raises(ev.BadInput, match=r"nothing resists 6 motions of foot\d/theta_z"):
        ev.equilibrium(platform(ev.Spherical))


def test_a_rod_on_a_ball_may_spin(robots):
    rod = ev.Rod(0.3, ev.Circle(2e-3), ev.Material(1e9, 1000.0, poisson=0.4), ev.Legendre.kirchhoff(3), name="bob")
    ball = ev.Spherical("world", (rod, "base"), name="ball", start=(0.0, 0.3, 0.2))
    system = ev.System(ev.Mechanism([ball]), loads=[ev.Gravity()])
    with pytest.raises(ev.BadInput, match="nothing resists a motion of ball/theta"):
        ev.equilibrium(system)
    found = ev.equilibrium(system, guess=system.rest())
    np.testing.assert_allclose(found.tip[:3, 3], [0.0, 0.0, -0.3], atol=1e-9)


def test_a_run_starts_closed(robots):
    system = robots.four_bar()
    with pytest.raises(ev.BadInput, match=r"loop closed by revolute 'B' .* open by 0\.\d+ m and .*assemble"):
        ev.simulate(system, duration=0.01, step=1e-3)
    state = ev.assemble(system)
    kicked = state.with_(q_dot=np.ones(3))
    with pytest.raises(ev.BadInput, match=r"velocities .* opens at \S+ m/s and \S+ rad/s.*assemble"):
        ev.simulate(system, kicked, duration=0.01, step=1e-3)
    run = ev.simulate(system, ev.assemble(system, guess=kicked), duration=0.05, step=1e-3)
    energy = run["energy/total"].values
    assert np.ptp(energy) < 1e-3 * energy[0]
