"""Small motions: natural frequencies, the linear model, and what a simulation shows of both."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.analytic import beam_frequencies

LENGTH, RADIUS, YOUNG, DENSITY = 1.0, 1e-3, 2e11, 7800.0
EI, MASS = np.pi / 4.0 * YOUNG * RADIUS**4, DENSITY * np.pi * RADIUS**2


def slender(modes: int = 14) -> ev.Rod:
    material = ev.Material(young=YOUNG, poisson=0.3, density=DENSITY)
    return ev.Rod(LENGTH, ev.Circle(RADIUS), material, ev.Legendre.planar(modes))


@pytest.mark.parametrize("ends", ["clamped-free", "free-free"])
def test_five_frequencies_of_a_slender_rod(ends: str) -> None:
    rod = slender()
    mechanism = ev.Mechanism.clamped(rod) if ends == "clamped-free" else ev.Mechanism.free(rod)
    system = ev.System(mechanism)
    modes = ev.modes(system, system.rest(), count=5)
    expected = beam_frequencies(ends, LENGTH, EI, MASS, count=5)
    # rotary inertia, absent from Euler-Bernoulli, counts (π 5.5 r / 2 L)² / 2 ~ 4e-5 at the fifth mode
    np.testing.assert_allclose(modes.frequencies, expected, rtol=1e-4)
    assert np.all(np.abs(modes.damping) < 1e-9)


@pytest.mark.parametrize("family", ["kirchhoff", "reissner"])
def test_a_round_rod_bends_alike_in_both_planes(family: str) -> None:
    material = ev.Material(young=YOUNG, poisson=0.3, density=DENSITY)
    rod = ev.Rod(LENGTH, ev.Circle(RADIUS), material, getattr(ev.Legendre, family)(10))
    system = ev.System(ev.Mechanism.free(rod))
    found = ev.modes(system, system.rest(), count=6).frequencies
    expected = np.repeat(beam_frequencies("free-free", LENGTH, EI, MASS, count=3), 2)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def hanging_arm(damping: float = 0.0) -> tuple[ev.System, ev.Tendon]:
    material = ev.Material(young=1e6, poisson=0.45, density=1070.0, damping=damping)
    rod = ev.Rod(0.4, ev.Circle(8e-3), material, ev.Legendre(bending=4, torsion=2))
    tendon = ev.Tendon(rod, path=ev.parallel(y=4e-3, z=3e-3))
    return ev.System(ev.Mechanism.clamped(rod), actuators=[tendon], loads=[ev.Gravity()]), tendon


def fitted_frequency(t: np.ndarray, x: np.ndarray, guess: float) -> float:
    """Frequency [Hz] of the strongest line near ``guess``: maximum of the windowed Fourier integral."""
    from scipy.optimize import minimize_scalar

    window = np.hanning(t.size) * (x - x.mean())

    def minus_line(f: float) -> float:
        return -float(np.abs(np.sum(window * np.exp(-2j * np.pi * f * t))))

    return float(minimize_scalar(minus_line, bounds=(0.9 * guess, 1.1 * guess), method="bounded").x)


def test_frequencies_about_a_bent_equilibrium_are_those_of_a_small_swing() -> None:
    system, tendon = hanging_arm()
    bent = ev.equilibrium(system, inputs={tendon: 2.0})
    assert np.linalg.norm(bent.tip[:3, 3] - (0.4, 0.0, 0.0)) > 0.1  # far from straight
    modes = ev.modes(system, bent.state, inputs={tendon: 2.0}, count=3)
    for k in range(3):
        f = float(modes.frequencies[k])
        start = bent.state.with_(q=bent.state.q + 1e-4 * modes.shapes[:, k])
        run = ev.simulate(system, start, 40.0 / f, 0.02 / f, ev.GaussLegendre4(), {tendon: 2.0})
        strongest = int(np.argmax(np.abs(modes.shapes[:, k])))
        seen = fitted_frequency(run["time"].values, run["q"].values[:, strongest], f)
        assert seen == pytest.approx(f, rel=1e-3)


@pytest.mark.parametrize("base", ["clamped", "free"])
def test_linear_model_against_differences_of_forward_dynamics(base: str) -> None:
    rng = np.random.default_rng(7)
    material = ev.Material(young=4e5, poisson=0.4, density=1000.0, damping=0.01)
    rod = ev.Rod(0.5, ev.Circle(0.02), material, ev.Legendre(bending=2, torsion=1, stretch=1))
    tendon = ev.Tendon(rod, path=ev.helical(radius=0.01, turns=0.5))
    push = ev.PointWrench(rod, force=(0.1, 0.2, -0.1), frame="section", name="push")
    mechanism = ev.Mechanism.clamped(rod) if base == "clamped" else ev.Mechanism.free(rod)
    system = ev.System(mechanism, actuators=[tendon], loads=[ev.Gravity(), push])
    inputs = {tendon: 1.5, push: 0.7}
    q = rng.normal(size=rod.n) * 0.3
    state = ev.forward_dynamics(system, system.rest().with_(q=q), inputs)
    model = ev.linearize(system, state, inputs)
    n = rod.n
    first = model.A.shape[0] // 2 - n  # six columns of a free base come first

    def acceleration(change: ev.State, u: dict) -> np.ndarray:
        moved = ev.forward_dynamics(system, change, u)
        return np.concatenate([moved.eta_dot, moved.q_ddot]) if base == "free" else moved.q_ddot

    h = 1e-5
    for j in range(n):
        for block, field in ((0, "q"), (1, "q_dot")):
            e = np.zeros(n)
            e[j] = h
            value = getattr(state, field)
            plus = acceleration(state.with_(**{field: value + e}), inputs)
            minus = acceleration(state.with_(**{field: value - e}), inputs)
            exact = model.A[model.A.shape[0] // 2 :, block * (n + first) + first + j]
            # central differences: truncation h² and rounding 1e-16 / h, of accelerations of 1e3
            scale = max(1.0, np.abs(exact).max())
            np.testing.assert_allclose((plus - minus) / (2.0 * h), exact, atol=1e-5 * scale)
    for k, (part, unit) in enumerate(((tendon, 1.5), ("gravity", 1.0), (push, 0.7))):
        plus = acceleration(state, {**inputs, part: unit + h})
        minus = acceleration(state, {**inputs, part: unit - h})
        exact = model.B[model.A.shape[0] // 2 :, k]
        np.testing.assert_allclose((plus - minus) / (2.0 * h), exact, atol=1e-5 * max(1.0, np.abs(exact).max()))


def test_growth_is_told_from_vibration() -> None:
    """A column pressed beyond its Euler load falls over: a real positive root, negative damping."""
    rod = slender(6)
    press = ev.PointWrench(rod, force=(-1.0, 0.0, 0.0), name="press")
    system = ev.System(ev.Mechanism.clamped(rod), loads=[press])
    euler = np.pi**2 * EI / (4.0 * LENGTH**2)
    below = ev.modes(system, system.rest(), inputs={press: 0.9 * euler}, count=1)
    above = ev.modes(system, system.rest(), inputs={press: 1.1 * euler}, count=1)
    assert below.frequencies[0] > 0.0
    assert above.eigenvalues[0].real > 0.0
    assert above.damping[0] == pytest.approx(-1.0)
    assert above.frequencies[0] == 0.0
