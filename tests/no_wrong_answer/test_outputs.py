"""Outputs that people need: reactions, internal stress and tensions, any place and any instant.

The laws behind them are tested in tests/results; here stand the wishes themselves, one test each.
"""

import numpy as np
import pytest

import elver as ev
from elver.lie import so3


@pytest.fixture(scope="module")
def arm_at_work():
    """A tendon arm with a hand, at rest and in a run."""
    arm = ev.Rod(
        0.3, ev.Circle(8e-3), ev.Material(2e6, poisson=0.45, density=1070.0), ev.Legendre(bending=4), name="arm"
    )
    hand = ev.RigidBody(0.05, (1e-5, 1e-5, 1e-5), name="hand")
    tendon = ev.Tendon(arm, ev.parallel(z=6e-3))
    joints = [ev.Fixed("world", (arm, "base"), name="clamp"), ev.Fixed((arm, "tip"), hand, name="wrist")]
    system = ev.System(ev.Mechanism(joints), [tendon], [ev.Gravity()])
    run = ev.simulate(system, {tendon: 1.0}, duration=0.1, step=5e-3, inputs={tendon: 0.5})
    return system, ev.equilibrium(system, {tendon: 1.0}), run


def test_clamps_and_joints_have_reactions(arm_at_work):
    """Reactions of clamps and of every joint, on each side, from equilibria and runs alike."""
    system, rest, run = arm_at_work
    weight = 9.81 * sum(part.mass for part in system.mechanism.parts)
    found = rest.reactions
    np.testing.assert_allclose(found["force_on_b_world"].sel(joint="clamp"), [0.0, 0.0, weight], atol=1e-9)
    np.testing.assert_allclose(found["force_on_a_world"].sel(joint="wrist"), [0.0, 0.0, -0.05 * 9.81], atol=1e-9)
    moving = ev.reactions(run)
    hand = ev.sample(run, "hand")
    expected = 0.05 * (hand["acceleration"].values + np.array([0.0, 0.0, 9.81]))
    np.testing.assert_allclose(moving["force_on_b_world"].sel(joint="wrist"), expected, atol=1e-9)
    assert moving["force_on_b"].attrs["units"] == "N"


def test_internal_stress_and_tension_along_a_rod(arm_at_work):
    """Λ(s) in all six components, though this rod has only two free strains, and the tension of its tendon."""
    system, rest, run = arm_at_work
    rod = system.rod
    d = rest.sample("arm", np.linspace(0.0, 0.3, 7))
    R = so3.from_quaternion(d["orientation"].values)
    beyond = 0.05 * 9.81 + rod.mass * 9.81 * (1.0 - d["s"].values / 0.3)
    np.testing.assert_allclose(np.einsum("sij,sj->si", R, d["force"])[:, 2], -beyond, atol=1e-9)
    np.testing.assert_allclose(d["tension"], 1.0)
    np.testing.assert_allclose(
        rest.stress("arm", 0.1), [*rest.sample("arm", 0.1)["moment"], *rest.sample("arm", 0.1)["force"]]
    )
    assert float(ev.sample(run, "arm", 0.1, 0.0333)["tension"][0]) == pytest.approx(0.5)


def test_any_place_and_instant(arm_at_work):
    """Poses, twists and strains between nodes and instants, from the strain functions."""
    system, _, run = arm_at_work
    d = ev.sample(run, "arm", at=[0.0123, 0.2345], times=[0.0123, 0.0777])
    assert d["position"].shape == (2, 2, 3)
    # one step of a run that begins at that very state: what was interpolated is a state of the model
    fine = ev.simulate(system, {system.actuators[0]: 1.0}, 0.1, 1e-4, inputs={system.actuators[0]: 0.5})
    truth = ev.sample(fine, "arm", at=[0.0123, 0.2345], times=[0.0123, 0.0777])
    np.testing.assert_allclose(d["position"], truth["position"], atol=2e-4)  # the step of 5 ms
    np.testing.assert_allclose(d["curvature"], truth["curvature"], atol=5e-2)


def test_instants_beyond_the_run_are_refused(arm_at_work):
    _, _, run = arm_at_work
    with pytest.raises(ev.BadInput, match="outside the run"):
        ev.sample(run, "arm", times=99.0)
    with pytest.raises(ev.BadInput, match="outside the run"):
        ev.reactions(run, times=-1.0)


def test_a_measured_shape_is_a_state_to_begin_from(arm_at_work):
    """state_from(centre line | strains | poses): the equilibrium comes back from what a camera would see of it."""
    system, rest, _ = arm_at_work
    d = rest.sample("arm", np.linspace(0.0, 0.3, 11))
    s = d["s"].values
    g = np.tile(np.eye(4), (s.size, 1, 1))
    g[:, :3, :3], g[:, :3, 3] = so3.from_quaternion(d["orientation"].values), d["position"].values
    for given in ({"centre_line": (s, d["position"])}, {"poses": (s, g)}, {"strains": (s, d["curvature"])}):
        np.testing.assert_allclose(ev.state_from(system, **given).q, rest.state.q, atol=1e-5)


def test_tables_for_other_programs(arm_at_work, tmp_path):
    """CSV with names and units of what was sampled, of reactions and of energies."""
    _, rest, run = arm_at_work
    for name, data, header in (
        ("stress", rest.sample("arm", [0.0, 0.1]), "force_x [N]"),
        ("joints", rest.reactions, "moment_on_b_world_y [N m]"),
        ("run", run, "energy/kinetic [J]"),
    ):
        lines = ev.save_csv(data, tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        assert header in lines[0].split(",")
