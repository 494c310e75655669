"""Loads of one's own: a point wrench, a spring and a dashpot, against what is built in and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev

LENGTH = 0.4
SILICONE = ev.Material(young=1.0e6, poisson=0.45, density=1070.0, damping=0.02)


def dead_force(g, eta, input, parameters, wrench, slope):
    """u f in world axes: F = Rᵀ f in the frame; δF = (Rᵀf) × ω."""
    for i in range(3):
        for k in range(3):
            wrench[3 + i] += input * g[k, i] * parameters[k]
    f0, f1, f2 = wrench[3], wrench[4], wrench[5]
    slope[3, 1], slope[3, 2] = -f2, f1
    slope[4, 0], slope[4, 2] = f2, -f0
    slope[5, 0], slope[5, 1] = -f1, f0


def spring(g, eta, input, parameters, wrench, slope):
    """-k (p - a) - c v: a spring to the point a, and a dashpot; δp = R v, so that -k Rᵀ(p - a) varies by -k v + F×ω."""
    k, c = parameters[0], parameters[1]
    for i in range(3):
        for j in range(3):
            wrench[3 + i] -= k * g[j, i] * (g[j, 3] - parameters[2 + j])
        slope[3 + i, 3 + i] = -k
        slope[3 + i, 9 + i] = -c
    f0, f1, f2 = wrench[3], wrench[4], wrench[5]
    slope[3, 1], slope[3, 2] = -f2, f1
    slope[4, 0], slope[4, 2] = f2, -f0
    slope[5, 0], slope[5, 1] = -f1, f0
    for i in range(3):
        wrench[3 + i] -= c * eta[3 + i]


@pytest.fixture(params=["python", "compiled"])
def lane(request):
    return (lambda function: function) if request.param == "python" else ev.compiled


def arm(basis=None):
    return ev.Rod(length=LENGTH, section=ev.Circle(radius=8e-3), material=SILICONE, name="arm",
                  basis=basis or ev.Legendre.kirchhoff(3))  # fmt: skip


def test_a_dead_force_of_ones_own_is_a_point_wrench(lane):
    rod, force = arm(), (0.02, 0.05, -0.1)
    known = ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, "tip", force=force, name="push")])
    load = ev.FrameLoad((rod, "tip"), lane(dead_force), force, name="push")
    own = ev.System(ev.Mechanism.clamped(rod), loads=[load])
    a, b = (ev.equilibrium(system, {"push": 1.5}) for system in (own, known))
    np.testing.assert_allclose(a.state.q, b.state.q, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(ev.modes(a).frequencies, ev.modes(b).frequencies, rtol=1e-9)
    for state in (a.state, system_state(own)):
        K, K_known = (ev.tangent_inverse_dynamics(s, state, {"push": 1.5}) for s in (own, known))
        np.testing.assert_allclose(K.dQ_dq, K_known.dQ_dq, rtol=1e-9, atol=1e-12 * np.max(np.abs(K.dQ_dq)))
    signal = {"push": lambda t: np.sin(40.0 * t)}
    runs = [ev.simulate(s, inputs=signal, duration=0.05, step=1e-3, method=ev.ImplicitMidpoint()) for s in (own, known)]
    np.testing.assert_allclose(runs[0].q.values, runs[1].q.values, rtol=1e-8, atol=1e-9)
    works = [run["energy/work/push"].values for run in runs]
    np.testing.assert_allclose(works[0], works[1], atol=1e-3 * np.max(np.abs(works[1])))  # two rules of order two
    assert abs(runs[0].attrs["energy_error"]) < 1e-2
    np.testing.assert_allclose(
        ev.sample(a, at="base").moment.values, ev.sample(b, at="base").moment.values, rtol=1e-7, atol=1e-9
    )


def system_state(system):
    rng = np.random.default_rng(2)
    return system.rest().with_(q=rng.normal(size=system.n), q_dot=rng.normal(size=system.n))


def test_a_spring_and_a_dashpot_on_a_body_swing_as_the_closed_form_says(lane):
    m, k, c = 0.5, 40.0, 1.2
    ball = ev.RigidBody(mass=m, inertia=(1e-4, 1e-4, 1e-4), name="ball")
    rail = ev.Prismatic("world", ball, axis="x", name="rail")
    load = ev.FrameLoad(ball, lane(spring), (k, c, 0.3, 0.0, 0.0), name="spring")
    system = ev.System(ev.Mechanism([rail]), loads=[load])
    found = ev.equilibrium(system)
    np.testing.assert_allclose(found.state.q, [0.3], atol=1e-10)
    run = ev.simulate(system, duration=0.5, step=1e-3, method=ev.GaussLegendre4())
    t, decay = run.time.values, c / (2.0 * m)
    omega = np.sqrt(k / m - decay**2)
    exact = 0.3 - 0.3 * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
    np.testing.assert_allclose(run.q.values[:, 0], exact, atol=1e-9)  # truncation of order four
    # what the load gave is the kinetic energy: -½ k Δ² less what the dashpot took
    np.testing.assert_allclose(run["energy/work/spring"].values[-1], run["energy/kinetic"].values[-1], rtol=1e-6)


def test_the_tangent_is_that_of_the_residual(lane):
    rod = arm(ev.Legendre.reissner(2))
    load = ev.FrameLoad((rod, 0.3), lane(spring), (30.0, 0.4, 0.1, 0.2, -0.1), name="spring")
    system = ev.System(ev.Mechanism.clamped(rod), loads=[load])
    state = system_state(system)
    found = ev.tangent_inverse_dynamics(system, state)
    for field, name in (("q", "dQ_dq"), ("q_dot", "dQ_dq_dot")):
        exact, step = getattr(found, name), 1e-6
        numeric = np.empty_like(exact)
        for k in range(system.n):
            ends = [
                ev.inverse_dynamics(
                    system, state.with_(**{field: getattr(state, field) + sign * step * np.eye(system.n)[k]})
                )
                for sign in (1.0, -1.0)
            ]
            numeric[:, k] = (ends[0] - ends[1]) / (2.0 * step)
        np.testing.assert_allclose(exact, numeric, atol=1e-7 * np.max(np.abs(exact)))


def test_slopes_may_be_left_out_in_python():
    def short(g, eta, input, parameters, wrench):
        spring(g, eta, input, parameters, wrench, np.zeros((6, 12)))

    found = []
    for function in (short, spring):
        rod = arm()
        load = ev.FrameLoad((rod, "tip"), function, (3.0, 0.4, 0.3, 0.2, -0.1))
        found.append(ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[load])).state.q)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8, atol=1e-12)


def test_feedback_beside_it(lane):
    rod, force = arm(), (0.0, 0.05, 0.0)
    load = ev.FrameLoad((rod, "tip"), lane(dead_force), force, name="push")
    damper = ev.Feedback((rod, "tip"), lambda t, g, eta: np.array([0.0, 0.0, 0.0, *(-0.2 * eta[3:])]), name="damper")
    own = ev.System(ev.Mechanism.clamped(rod), loads=[damper, load])
    known = ev.System(ev.Mechanism.clamped(rod), loads=[damper, ev.PointWrench(rod, "tip", force=force, name="push")])
    runs = [ev.simulate(s, duration=0.01, step=2e-3, method=ev.ImplicitMidpoint()) for s in (own, known)]
    np.testing.assert_allclose(runs[0].q.values, runs[1].q.values, rtol=1e-8, atol=1e-10)


def test_what_is_refused(lane):
    rod = arm()

    def lop(g, eta, input, parameters, wrench, slope):
        wrench[3] = -g[0, 3]

    with pytest.raises(ev.BadInput, match=r"load 'lop': slope\[3, .\] = 0, but wrench\[3\] changes by"):
        ev.FrameLoad((rod, "tip"), lane(lop), name="lop")
    with pytest.raises(ev.BadInput, match="acts on the world"):
        ev.FrameLoad("world", lane(spring), (1.0, 0.0, 0.0, 0.0, 0.0))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.FrameLoad((rod, "tip"), lane(dead_force), (0.0, 0.1, 0.0))])
    with pytest.raises(ev.BadInput, match=r"Conserving\(\) does not know FrameLoad"):
        ev.simulate(system, duration=0.01, step=1e-3, method=ev.Conserving())
