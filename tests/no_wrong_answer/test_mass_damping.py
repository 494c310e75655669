"""Issue 11, section 5: damping in proportion to the mass, against what is known of it in closed form."""

import numpy as np
import pytest

import elver as ev
from elver import io
from elver.dynamics.core import core
from elver.dynamics.states import arrays
from elver.errors import BadInput
from elver.one_rod.sweeps.inverse import stress_in_system

ALPHA = 1.5  # 1/s


def rod(name="arm", **damping):
    material = ev.Material(young=1e7, poisson=0.4, density=1100.0, **damping)
    return ev.Rod(0.5, ev.Circle(0.01), material, ev.Legendre.reissner(3), name=name)


def test_every_mode_loses_what_rayleigh_says():
    """ζ = α / (2 ω) + τ ω / 2 of each mode, ω that of the undamped rod."""
    bare, damped = (
        ev.System(ev.Mechanism.clamped(rod(**d))) for d in ({}, {"mass_damping": ALPHA, "damping": 1e-5})
    )
    omega = 2.0 * np.pi * ev.modes(bare, bare.rest(), count=6).frequencies
    found = ev.modes(damped, damped.rest(), count=6).damping
    assert found == pytest.approx(ALPHA / (2.0 * omega) + 0.5e-5 * omega, rel=1e-7)


@pytest.mark.parametrize("kind", [ev.GaussLegendre4, ev.ImplicitMidpoint, ev.RungeKutta4])
def test_a_free_rod_loses_its_momentum(kind):
    """p(t) = p(0) exp(-αt), and the angular momentum alike, however the rod moves and bends: α is one for all."""
    system = ev.System(ev.Mechanism.free(rod(mass_damping=ALPHA)))
    state = system.rest().with_(eta=[0.5, 1.0, 2.0, 0.3, -0.2, 0.4])
    run = ev.simulate(system, state, 0.4, 5e-5 if kind is ev.RungeKutta4 else 2e-3, kind())
    first, last = (ev.momentum(system, ev.state_at(system, run, t)) for t in (0.0, 0.4))
    # of order two, 2 ms: (αh)² and (ωh)² with ω of the spin, 2 rad/s
    assert last == pytest.approx(np.exp(-ALPHA * 0.4) * first, abs=2e-5 * np.linalg.norm(first))


def test_the_ledger_books_it_under_the_rod():
    """Two rods on a ball, one damped: closed at order two, and of the damped rod alone."""
    off = []
    for step in (4e-3, 2e-3, 1e-3):
        one, two = rod("one"), rod("two", mass_damping=ALPHA)
        ball = ev.Spherical((one, "tip"), (two, "base"), name="ball")
        system = ev.System(ev.Mechanism([ev.Fixed("world", (one, "base")), ball]), loads=[ev.Gravity()])
        run = ev.simulate(system, duration=0.2, step=step, method=ev.ImplicitMidpoint())
        assert [name for name in run if name.startswith("energy/dissipated/")] == ["energy/dissipated/two"]
        assert run["energy/dissipated/two"].values[-1] > 0.1 * run["energy/kinetic"].values.max()
        off.append(abs(run["energy/numerical"].values[-1]))
    assert np.log2(off[0] / off[2]) / 2.0 == pytest.approx(2.0, abs=0.3)


def test_reactions_and_stress_carry_it():
    """F = dp/dt + α p - m g at the clamp, p by differences of order four; internal stress at the base is the same."""
    arm = ev.Rod(0.5, ev.Circle(0.01), rod(mass_damping=ALPHA).material, ev.Legendre.kirchhoff(3), name="arm")
    system, h = ev.System(ev.Mechanism.clamped(arm), loads=[ev.Gravity()]), 5e-4
    run = ev.simulate(system, duration=0.1, step=h, method=ev.GaussLegendre4())
    p, k = run["momentum"].values[:, 3:], 150
    rate = (8.0 * (p[k + 1] - p[k - 1]) - (p[k + 2] - p[k - 2])) / (12.0 * h)
    wanted = rate + ALPHA * p[k] + arm.mass * np.array([0.0, 0.0, 9.81])
    assert ev.reactions(run)["force_on_b_world"].values[k].ravel() == pytest.approx(wanted, abs=1e-5)
    assert -ev.sample(run, arm, at=0.0, times=k * h)["force"].values.ravel() == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("free", [False, True])
def test_inverse_models_carry_it(free):
    """Projected on the strain functions, the stress of the three passes is the generalized force of the recursion."""
    found = []
    for alpha in (0.0, ALPHA):
        arm = rod(mass_damping=alpha)
        system = ev.System(ev.Mechanism.free(arm) if free else ev.Mechanism.clamped(arm))
        rng = np.random.default_rng(4)
        state = system.rest().with_(
            q=0.3 * rng.normal(size=arm.n), q_dot=rng.normal(size=arm.n), q_ddot=rng.normal(size=arm.n),
            eta=rng.normal(size=6) if free else np.zeros(6),
        )  # fmt: skip
        stress = stress_in_system(system, state)
        functions = arm.functions(stress.s)
        carried = np.einsum("s,sk,sk->k", stress.weights, functions, stress.stress[:, arm.component])
        state = state.with_(eta_dot=stress.eta_dot[0])
        needed = core(system).residual(arrays(state), np.zeros(0))[-arm.n :]
        elastic = core(system).elastic @ state.q
        # truncation of the recursion on its nodes; set with the value (3e-9) in view
        np.testing.assert_allclose(carried, elastic - needed, rtol=0.0, atol=1e-7 * np.abs(carried).max())
        found.append(carried)
    assert np.abs(found[1] - found[0]).max() > 1e-4 * np.abs(found[0]).max()


def test_a_spun_rod_is_held_back_by_it():
    """A run that begins in the relative equilibrium stays in it: α 𝓜 η acts at steady rotation, too."""
    material = ev.Material(young=1e7, poisson=0.4, density=1000.0, damping=2e-2, mass_damping=2.0)
    arm = ev.Rod(0.5, ev.Circle(0.01), material, ev.Legendre.planar(3), name="arm")
    system = ev.System(ev.Mechanism.driven(arm, ev.Motion.steady([0.0, 0.0, 20.0, 0.0, 0.0, 0.0])))
    found = ev.equilibrium(system)
    assert found.state.q[0] < -0.5  # it lags
    run = ev.simulate(system, found, duration=0.5, step=5e-3, method=ev.GaussLegendre4())
    np.testing.assert_allclose(run["q"].values, np.tile(found.state.q, (101, 1)), rtol=0.0, atol=1e-8)


def test_files_keep_it(tmp_path):
    system = ev.System(ev.Mechanism.clamped(rod(mass_damping=ALPHA)))
    for again in (ev.load_model(ev.save_model(tmp_path / "arm.toml", system)).system, io.loads(io.dumps(system))):
        assert again.rod.material.mass_damping == ALPHA


def test_methods_without_it_say_so():
    system = ev.System(ev.Mechanism.clamped(rod(mass_damping=ALPHA)))
    whole = ev.Rod(0.5, ev.Circle(0.01), system.rod.material, ev.Legendre.reissner(3), integration=ev.Spectral())
    with pytest.raises(BadInput, match="mass_damping"):
        ev.simulate(ev.System(ev.Mechanism.clamped(whole)), duration=0.01, step=1e-3)
    with pytest.raises(BadInput, match=r"mass_damping = 1\.5 1/s is not part of this problem"):
        ev.shooting_dynamics(system, duration=0.01, step=1e-3)
    with pytest.raises(BadInput, match="mass_damping = -1 1/s"):
        ev.Material(young=1e6, poisson=0.4, density=1e3, mass_damping=-1.0)
