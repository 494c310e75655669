"""One robot described in several ways: rods cut in pieces, begun at the other end or held in between; loops cut
elsewhere, joints in another order. Statics agree to 1e-9, motions to rounding where the coordinates span the same
shapes at every instant, else to the truncation of the step.
"""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from numpy.typing import NDArray

import elver as ev
from elver.dynamics.core import core
from elver.errors import ElverWarning
from elver.lie import se3, so3

Array = NDArray[np.float64]

L = 0.8
SOFT = ev.Material(young=1e6, poisson=0.4, density=1000.0, damping=2e-3)
REST = np.array([0.2, -0.5, 0.8])
PULL = (0.02, -0.05, 0.03)
# Sections of a rod that runs the other way: x and y turned about z, and with s also the sign of the strain.
BACK = np.diag([-1.0, -1.0, 1.0])
TURNED = se3.pose(BACK, np.zeros(3))


def rod(name: str = "rod", length: float = L, elements: int = 4, reverse: bool = False, basis: object = None) -> ev.Rod:
    """A curved soft rod whose strains are constant on pieces of L/4, or any other basis."""
    rest = -BACK @ REST if reverse else REST
    pieces = basis or ev.PiecewiseConstant.extensible(elements)
    return ev.Rod(length, ev.Circle(0.02), SOFT, pieces, rest=tuple(rest), name=name, nodes=5 * elements)


def system(joints: list, end: tuple, extra: tuple = ()) -> ev.System:
    """With weight and a dead force on the end of the chain."""
    part, at = end
    pull = ev.PointWrench(part, at, force=PULL, moment=(1e-3, 2e-3, -1e-3), name="pull")
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity((0.5, -1.0, -2.0)), pull, *extra])


def whole() -> tuple[ev.System, tuple]:
    one = rod()
    return system([ev.Fixed("world", (one, "base"))], (one, "tip")), (one, "tip")


def halves() -> tuple[ev.System, tuple]:
    near, far = rod("near", L / 2, 2), rod("far", L / 2, 2)
    joints = [ev.Fixed((near, "tip"), (far, "base")), ev.Fixed("world", (near, "base"))]
    return system(joints, (far, "tip")), (far, "tip")


def halves_face_to_face() -> tuple[ev.System, tuple]:
    """The far half runs backward: its tip is fixed to the tip of the near one."""
    near, far = rod("near", L / 2, 2), rod("far", L / 2, 2, reverse=True)
    joints = [ev.Fixed("world", (near, "base")), ev.Fixed((near, "tip"), ev.Frame(far, "tip", TURNED))]
    return system(joints, (far, "base")), (far, "base")


def from_the_tip() -> tuple[ev.System, tuple]:
    """The world holds the tip of a rod that runs the other way."""
    one = rod(reverse=True)
    return system([ev.Fixed("world", ev.Frame(one, "tip", TURNED))], (one, "base")), (one, "base")


def quarters_with_a_hub() -> tuple[ev.System, tuple]:
    """Four pieces and a massless body between the second and the third."""
    parts = [rod(f"quarter{k}", L / 4, 1) for k in range(4)]
    hub = ev.RigidBody.massless("hub")
    joints = [
        ev.Fixed((parts[2], "tip"), (parts[3], "base")),
        ev.Fixed(hub, (parts[2], "base")),
        ev.Fixed((parts[1], "tip"), hub),
        ev.Fixed((parts[0], "tip"), (parts[1], "base")),
        ev.Fixed("world", (parts[0], "base")),
    ]
    return system(joints, (parts[3], "tip")), (parts[3], "tip")


OTHERS = (halves, halves_face_to_face, from_the_tip, quarters_with_a_hub)


def place(run_or_state: object, described: ev.System, end: tuple) -> Array:
    """Position of the end of the chain."""
    part, at = end
    index = -1 if at == "tip" else 0
    return ev.poses(described, run_or_state, part)[index, :3, 3]


@pytest.mark.parametrize("build", OTHERS)
def test_statics_of_a_rod_cut_in_pieces(build):
    one, tip = whole()
    other, end = build()
    expected, found = ev.equilibrium(one), ev.equilibrium(other)
    assert np.linalg.norm(place(expected.state, one, tip) - [L, 0, 0]) > 0.1
    np.testing.assert_allclose(place(found.state, other, end), place(expected.state, one, tip), atol=1e-9)
    assert ev.energy(other, found.state).elastic == pytest.approx(ev.energy(one, expected.state).elastic, rel=1e-9)


@pytest.mark.parametrize("build", OTHERS)
def test_motion_of_a_rod_cut_in_pieces(build):
    """The strains are the same functions of time: even one step of a method is the same."""
    (one, tip), (other, end) = whole(), build()
    runs = [ev.simulate(s, s.rest(), 0.5, 5e-3) for s in (one, other)]
    first, second = (place(ev.state_at(s, run), s, e) for s, run, e in zip((one, other), runs, (tip, end)))
    np.testing.assert_allclose(first, second, atol=1e-9)
    for name in ("energy/total", "momentum"):
        np.testing.assert_allclose(runs[0][name], runs[1][name], atol=1e-8)


@pytest.mark.parametrize("at", [0.25 * L, 0.5 * L, "tip"])
def test_a_rod_held_in_between_is_two_rods(at):
    """Held at a section, the two sides do not know each other; held at the tip, one side is empty."""
    g = se3.exp([0.3, -0.2, 0.5, 0.1, 0.2, 0.3])
    one = rod()
    s = one.length if at == "tip" else at
    k = round(4 * s / L)
    joint = ev.Fixed(("world", g), (one, at))
    held = system([joint], (one, "base"))
    behind = rod("behind", s, k, reverse=True)
    joints = [ev.Fixed(("world", g), ev.Frame(behind, "base", TURNED))]
    if k < 4:
        ahead = rod("ahead", L - s, 4 - k)
        joints.append(ev.Fixed(("world", g), (ahead, "base")))
    apart = system(joints, (behind, "tip"))
    states = [ev.equilibrium(x).state for x in (held, apart)]
    ends = [place(states[0], held, (one, "base")), place(states[1], apart, (behind, "tip"))]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
    if k < 4:
        np.testing.assert_allclose(
            place(states[0], held, (one, "tip")), place(states[1], apart, (ahead, "tip")), atol=1e-9
        )
    runs = [ev.simulate(x, x.rest(), 0.3, 5e-3, ev.GeneralizedAlpha()) for x in (held, apart)]
    np.testing.assert_allclose(runs[0]["energy/kinetic"], runs[1]["energy/kinetic"], atol=1e-9)
    np.testing.assert_allclose(runs[0]["rod/position"][-1, 0], runs[1]["behind/tip/position"][-1], atol=1e-9)


def test_polynomials_on_halves_converge_to_the_same_shape():
    """Ten functions on the rod against one to seven on each half: the error falls with every function."""
    one = rod(elements=10, basis=ev.Legendre.kirchhoff(10))
    reference = system([ev.Fixed("world", (one, "base"))], (one, "tip"))
    expected = place(ev.equilibrium(reference).state, reference, (one, "tip"))
    errors = []
    for n in range(1, 8):
        near, far = (rod(name, L / 2, 6, basis=ev.Legendre.kirchhoff(n)) for name in ("near", "far"))
        joints = [ev.Fixed("world", (near, "base")), ev.Fixed((near, "tip"), (far, "base"))]
        cut = system(joints, (far, "tip"))
        errors.append(np.abs(place(ev.equilibrium(cut).state, cut, (far, "tip")) - expected).max())
    assert all(b < 0.2 * a for a, b in pairwise(errors[:5]))
    assert errors[-1] < 1e-9


def flying(at: object) -> tuple[ev.System, ev.State]:
    """A thrown rod whose floating base is the section ``at``; its first section starts at the identity with twist η."""
    one = rod(basis=ev.Legendre(bending=2, torsion=1))
    free = ev.System(ev.Mechanism([ev.Floating("world", (one, at))], root=(one, at)), loads=[ev.Gravity()])
    eta, q = np.array([1.0, 2.0, -3.0, 0.5, 1.0, -0.5]), np.array([0.3, 0.8, -0.3, 0.5, 0.4])
    state = free.rest().with_(q=q, q_dot=-2.0 * q, g=np.eye(4))

    def root(t: float) -> Array:
        # with the root at the identity, the first section shows the way back
        moved = state.with_(q=q + t * state.q_dot)
        return se3.exp(t * eta) @ se3.inverse(ev.poses(free, moved, one)[0])

    h = 1e-3
    back = se3.inverse(root(0.0))
    twist = sum(w * se3.log(back @ root(k * h)) for k, w in ((-2, 1), (-1, -8), (1, 8), (2, -1))) / (12 * h)
    return free, state.with_(g=root(0.0), eta=twist)


@pytest.mark.parametrize("at", ["tip", 0.5 * L])
@pytest.mark.parametrize("group", ["SO3xR3", "SE3"])
def test_a_flying_rod_does_not_know_its_root(at, group):
    """The same momentum and energy, and the same motion to the truncation of order two."""
    (one, first), (other, second) = flying("base"), flying(at)
    np.testing.assert_allclose(ev.momentum(other, second), ev.momentum(one, first), atol=1e-9)
    assert ev.energy(other, second).kinetic == pytest.approx(ev.energy(one, first).kinetic, abs=1e-9)
    errors = []
    for step in (8e-3, 4e-3, 2e-3):
        runs = [
            ev.simulate(x, y, 0.4, step, ev.GeneralizedAlpha(group=group)) for x, y in ((one, first), (other, second))
        ]
        ends = [run["rod/tip/position"][-1].values for run in runs]
        errors.append(np.abs(ends[0] - ends[1]).max())
    assert np.log2(errors[0] / errors[2]) == pytest.approx(4.0, abs=0.5)
    assert errors[-1] < 1e-3


# Loops -----------------------------------------------------------------------------------------------------------


def planar_robot(cut: str | None, order: tuple[int, ...] = (0, 1, 2, 3), springs: bool = False) -> ev.System:
    """Two rods on hinges, a platform between them: closed by one of four joints; ``springs`` hold the platform."""
    soft = ev.Material(young=1e7, poisson=0.4, density=1000.0, damping=1e-3)
    left, right = (ev.Rod(0.5, ev.Circle(0.01), soft, ev.Legendre.planar(3), name=name) for name in ("left", "right"))
    platform = ev.RigidBody(0.2, (1e-4, 1e-3, 1e-3), name="platform")
    # an isosceles arch: both rods lean inward, the platform lies level at their tips
    lean = np.pi / 2 - np.arcsin(0.1 / 0.5)
    joints = [
        ev.Revolute(("world", (-0.2, 0, 0)), (left, "base"), name="A", start=lean, cut=cut == "A"),
        ev.Revolute(("world", (0.2, 0, 0)), (right, "base"), name="B", start=np.pi - lean, cut=cut == "B"),
        ev.Revolute((left, "tip"), (platform, (-0.1, 0, 0)), name="C", start=-lean, cut=cut == "C"),
        ev.Revolute((right, "tip"), (platform, (0.1, 0, 0)), name="D", start=lean - np.pi, cut=cut == "D"),
    ]
    pull = ev.PointWrench(platform, force=(0.3, -0.2, 0.0), name="pull")
    loads: list = [ev.Gravity((0.0, -9.81, 0.0)), pull]
    if springs:
        loads.append(
            ev.Feedback(platform, lambda t, g, eta: [0, 0, 0, *(g[:3, :3].T @ (-60.0 * g[:3, 3] * [1, 0, 0]))])
        )
    robot = ev.System(ev.Mechanism([joints[k] for k in order]), loads=loads)
    with pytest.warns(ElverWarning, match="redundant"):
        core(robot)
    return robot


def test_planar_robot_cut_anywhere():
    """Gotelli 2024, acceptance 14: 1e-8.

    One-step methods close loops in position only, so the rates of the open tree depend on the cut by their truncation:
    1e-5 m at this step. The Gauss method of order four reaches the bound.
    """
    runs = []
    for cut in (None, "A", "B", "C", "D"):
        robot = planar_robot(cut)
        assert cut is None or [j.name for j in robot.mechanism.tree.cuts] == [cut]
        runs.append(ev.simulate(robot, robot.rest(), 0.4, 5e-3, ev.GaussLegendre4()))
    for run in runs[1:]:
        np.testing.assert_allclose(run["platform/position"], runs[0]["platform/position"], atol=1e-8)
        np.testing.assert_allclose(run["energy/total"], runs[0]["energy/total"], atol=1e-7)
    assert np.ptp(runs[0]["platform/position"].values[:, 0]) > 0.02


def test_planar_robot_cut_elsewhere_by_one_step_methods():
    errors = []
    for step in (1e-2, 5e-3, 2.5e-3):
        ends = []
        for cut in ("A", "D"):
            robot = planar_robot(cut)
            ends.append(ev.simulate(robot, robot.rest(), 0.4, step)["platform/position"][-1].values)
        errors.append(np.abs(ends[0] - ends[1]).max())
    assert np.log2(errors[0] / errors[2]) == pytest.approx(4.0, abs=0.2)
    assert errors[-1] < 1e-5


@pytest.mark.parametrize("cut", ["A", "B", "C"])
def test_statics_and_accelerations_do_not_know_the_cut(cut: str):
    robots = [planar_robot(where) for where in ("D", cut)]
    held = [ev.equilibrium(planar_robot(where, springs=True)) for where in ("D", cut)]
    poses = [ev.poses(found.system, found.state, found.system.mechanism.part("platform")) for found in held]
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-9)
    starts = [ev.forward_dynamics(robot, robot.rest()) for robot in robots]
    known = [dict(zip(robot.coordinate_names, state.q_ddot)) for robot, state in zip(robots, starts)]
    for name in known[0].keys() & known[1].keys():
        assert known[0][name] == pytest.approx(known[1][name], abs=1e-6)


def test_planar_robot_in_any_order():
    ends = []
    for order in list(permutations(range(4)))[::5]:
        robot = planar_robot(None, order)
        run = ev.simulate(robot, robot.rest(), 0.1, 5e-3, ev.GaussLegendre4())
        ends.append(run["platform/position"][-1].values)
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=1e-8)


def spatial_robot(cut: str) -> ev.System:
    """Two Kirchhoff rods and a platform: hinge, universal joint and balls, in space."""
    soft = ev.Material(young=2e7, poisson=0.4, density=1000.0, damping=1e-3)
    left, right = (
        ev.Rod(0.5, ev.Circle(0.01), soft, ev.Legendre.kirchhoff(2), name=name) for name in ("left", "right")
    )
    platform = ev.RigidBody(0.3, (1e-3, 2e-3, 2e-3), (0.0, 0.02, 0.0), name="platform")
    up = se3.pose(so3.exp([0.0, -np.pi / 2, 0.0]), np.zeros(3))  # rods stand upright
    at = [se3.pose(np.eye(3), np.array([x, 0.0, 0.0])) @ up for x in (-0.15, 0.15)]
    down = se3.inverse(up)
    joints = [
        ev.Universal(("world", at[0]), (left, "base"), name="U", axis="x", cut=cut == "U"),
        ev.Revolute(("world", at[1]), (right, "base"), name="R", axis="y", cut=cut == "R"),
        ev.Fixed(ev.Frame(left, "tip", down), (platform, (-0.15, 0, 0)), name="F", cut=cut == "F"),
        ev.Spherical(ev.Frame(right, "tip", down), (platform, (0.15, 0, 0)), name="S", cut=cut == "S"),
    ]
    springs = [
        ev.JointSpring(joints[1], 0.5),
        ev.PointWrench(platform, (0.0, 0.1, 0.0), force=(0.1, 0.3, 0.0), name="pull"),
    ]
    if cut == "R":
        springs = springs[1:]
        springs.append(ev.Feedback((right, "base"), lambda t, g, eta: -0.5 * hinge_angle(g) * np.eye(6)[1]))
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity(), *springs])


def hinge_angle(g: Array) -> float:
    """Turn about y of the section at the right foot since the start."""
    R = so3.exp([0.0, -np.pi / 2, 0.0]).T @ g[:3, :3]
    return float(np.arctan2(R[0, 2], R[0, 0]))


@pytest.mark.parametrize("cut", ["F", "U", "R"])
def test_spatial_robot_cut_elsewhere(cut: str):
    """Different coordinates, different charts: the motions agree to the truncation of order two."""
    errors = []
    for step in (8e-3, 4e-3, 2e-3):
        ends = []
        for where in ("S", cut):
            robot = spatial_robot(where)
            assert [j.name for j in robot.mechanism.tree.cuts] == [where]
            run = ev.simulate(robot, robot.rest(), 0.2, step)
            ends.append(run["platform/position"][-1].values)
        errors.append(np.abs(ends[0] - ends[1]).max())
    assert errors[-1] < 1e-4
    assert np.log2(errors[0] / errors[2]) > 3.0
