"""Tendons, chambers and muscles at rest: closed forms, and check values of the rods of Gotelli 2024 and Boyer 2023."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import elver as ev
from elver import analytic

REFERENCE = tomllib.loads(Path(__file__).with_name("reference.toml").read_text(encoding="utf-8"))
GOTELLI = {key: value for key, value in REFERENCE["gotelli-2024-cantilever"].items() if key != "source"}
BOYER = REFERENCE["boyer-2023-test-1"]
PATHS = {"convergent": ev.convergent(0.02, 0.0), "spiral": ev.helical(0.02, 1.0)}


def boyer_arm(bending=10, torsion=10):
    """The rod of Boyer 2023, tests 1 and 2."""
    steel = ev.Material(young=207e9, poisson=0.3, density=8000.0)
    return ev.Rod(0.4, ev.Circle(1e-3), steel, ev.Legendre(bending=bending, torsion=torsion), name="arm")


def neglected(rod, path):
    """The tendon as if the rod stayed straight: T (D × t; t), t = (E1 + D′)/|E1 + D′|. Its force does no work here."""

    def torque(s):
        D, D_prime = path(s, rod.length)
        t = D_prime + np.array([1.0, 0.0, 0.0])
        return np.cross(D, t / np.linalg.norm(t, axis=1, keepdims=True))

    return ev.Muscle(rod, torque=torque)


def tendon_tip(law, path, tension, gravity=9.81):
    """Tip of the hanging arm under one tendon; law is "exact" or "neglected"."""
    rod = boyer_arm()
    pull = ev.Tendon(rod, path, reach=0.02) if law == "exact" else neglected(rod, path)
    system = ev.System(ev.Mechanism.clamped(rod), [pull], [ev.Gravity((gravity, 0.0, 0.0))])
    found = ev.equilibrium(system, {pull: tension})
    assert found.stable
    assert found.iterations <= 10
    return found.tip[:3, 3]


@pytest.mark.parametrize("name", GOTELLI)
def test_static_tips_of_the_cantilever_benches(name):
    case = GOTELLI[name]
    for modes, tolerance in (("three", 0.6 * case["digit"]), ("twelve", case["tolerance"])):
        rod = ev.Rod(
            case["length"],
            ev.Circle(0.5 * case["diameter"]),
            ev.Material(young=case["young"], poisson=0.3, density=case["density"]),
            ev.Legendre.planar({"three": 3, "twelve": 12}[modes]),
        )
        force = ev.PointWrench(rod, force=(0.0, case["force"], 0.0))
        system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity((9.81, 0.0, 0.0)), force])
        np.testing.assert_allclose(ev.equilibrium(system).tip[:2, 3], case[modes], atol=tolerance, rtol=0.0)


@pytest.mark.parametrize("family", [ev.Legendre, ev.Chebyshev, ev.PiecewiseConstant, ev.PiecewiseLinear])
def test_a_parallel_tendon_bends_an_arc(family):
    # the strip of Gotelli 2024, section 4.9.1: K = T d/EI = 0.1783 1/m per N
    steel = ev.Material(young=293e9, poisson=0.3, density=9538.0)
    rod = ev.Rod(0.394, ev.Rectangle(0.51e-3, 19.05e-3), steel, family.planar(2))
    tendon = ev.Tendon(rod, ev.parallel(0.011, 0.0), reach=0.011)
    found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [tendon]), {tendon: 1.0})
    EI = rod.stiffness([0.0])[0, 2]
    curvature = rod.strain(rod.grid.s, found.state.q)[:, 2]
    np.testing.assert_allclose(curvature, 0.011 / EI, rtol=1e-8)
    assert curvature[0] == pytest.approx(0.1783, abs=5e-5)  # rounding of the check value
    arc = analytic.parallel_tendon(1.0, 0.011, 0.394, EI).tip
    np.testing.assert_allclose(found.tip[:2, 3], arc[:2], atol=1e-10)


def test_the_rod_bends_toward_its_tendon():
    rod = boyer_arm(2, 1)
    for y, z, component, sign in ((0.001, 0.0, 2, 1.0), (0.0, 0.001, 1, -1.0)):
        tendon = ev.Tendon(rod, ev.parallel(y, z))
        found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [tendon]), {tendon: 10.0})
        curvature = rod.strain([0.1], found.state.q)[0, component]
        assert curvature == pytest.approx(sign * 10.0 * 0.001 / rod.stiffness([0.0])[0, component], rel=1e-10)


def test_convergent_tendon_is_a_clothoid():
    rod = boyer_arm(8, 1)
    pull = neglected(rod, PATHS["convergent"])
    found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [pull]), {pull: 67.5})
    exact = analytic.convergent_tendon(67.5, 0.02, 0.4, rod.stiffness([0.0])[0, 2])
    np.testing.assert_allclose(found.tip[:2, 3], exact.tip[:2], atol=1e-9)
    np.testing.assert_allclose(found.tip[:2, 3], [0.15402, 0.31786], atol=1e-5)  # rounding of the check value


def test_convergent_tendon_with_its_own_strain():
    rod = boyer_arm(12, 1)
    tendon = ev.Tendon(rod, PATHS["convergent"], reach=0.02)
    found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [tendon]), {tendon: 67.5})
    s = np.linspace(0.01, 0.39, 9)
    exact = analytic.convergent_tendon_curvature(67.5, 0.02, 0.4, rod.stiffness([0.0])[0, 2], s)
    np.testing.assert_allclose(rod.strain(s, found.state.q)[:, 2], exact, rtol=1e-8)


@pytest.mark.parametrize("law", ["exact", "neglected"])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("tension", ["15.0", "67.5"])
def test_boyer_test_1(law, path, tension):
    found = tendon_tip(law, PATHS[path], float(tension))
    np.testing.assert_allclose(found, BOYER[f"{law}-{path}"][tension], atol=BOYER["tolerance"], rtol=0.0)


def test_boyer_test_1_strain_dependence():
    straight = np.array([0.4, 0.0, 0.0])
    for path, low, high in (("spiral", 0.012, 0.016), ("convergent", 0.0, 0.001)):
        exact, simple = tendon_tip("exact", PATHS[path], 67.5), tendon_tip("neglected", PATHS[path], 67.5)
        part = np.linalg.norm(exact - simple) / np.linalg.norm(exact - straight)
        assert low <= part <= high


@pytest.mark.parametrize("path", PATHS)
def test_no_equilibrium_nearby_has_less_energy(path):
    rod = boyer_arm(6, 6)
    tendon = ev.Tendon(rod, PATHS[path], reach=0.02)
    system = ev.System(ev.Mechanism.clamped(rod), [tendon], [ev.Gravity((9.81, 0.0, 0.0))])
    found = ev.equilibrium(system, {tendon: 67.5})

    def potential(q):
        return ev.energy(system, found.state.with_(q=q)).total + 67.5 * _cable(rod, PATHS[path], q)

    least = potential(found.state.q)
    random = np.random.default_rng(4)
    for _ in range(20):
        change = random.normal(size=rod.n)
        size = 1e-2 * np.linalg.norm(found.state.q) / np.linalg.norm(change)
        assert potential(found.state.q + size * change) > least


def _cable(rod, path, q):
    """Length of a cable along ``path``, ∫ |Γ + K × D + D′| ds."""
    s, w = rod.grid.s, rod.grid.weights
    D, D_prime = path(s, rod.length)
    xi = rod.strain(s, q)
    return w @ np.linalg.norm(xi[:, 3:] + np.cross(xi[:, :3], D) + D_prime, axis=1)


def test_winding_in_a_length_asks_for_the_tension_that_gives_it():
    rod = ev.Rod(
        0.4,
        ev.Circle(0.004),
        ev.Material(young=1e7, poisson=0.45, density=1000.0),
        ev.Legendre(bending=5, torsion=3),
    )
    path = ev.helical(0.003, 1.0)
    spool, tendon = ev.SpooledTendon(rod, path, name="spool"), ev.Tendon(rod, path)
    wound = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [spool], [ev.Gravity()]), {spool: 0.002})
    tension = wound.multipliers["spool/tension"]
    assert tension > 0.0
    pulled = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [tendon], [ev.Gravity()]), {tendon: tension})
    np.testing.assert_allclose(pulled.tip, wound.tip, atol=1e-10)
    shortening = _cable(rod, path, 0.0 * pulled.state.q) - _cable(rod, path, pulled.state.q)
    assert shortening == pytest.approx(0.002, abs=1e-12)


def test_a_chamber_lengthens_the_rod_and_bends_it_away():
    rod = ev.Rod(
        0.2,
        ev.Tube(0.01, 0.005),
        ev.Material(young=1e6, poisson=0.45, density=1000.0),
        ev.Legendre.extensible(2),
    )
    chamber = ev.Pressure(rod, area=2e-5, path=ev.parallel(0.0, 0.006))
    found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [chamber]), {chamber: 2e4})
    H = rod.stiffness([0.0])[0]
    xi = rod.strain([0.1], found.state.q)[0]
    push = 2e4 * 2e-5
    np.testing.assert_allclose(xi[[1, 3]], [push * 0.006 / H[1], 1.0 + push / H[3]], rtol=1e-10)
    assert found.tip[2, 3] < 0.0  # the chamber lies on the side of +z


def test_a_muscle_holds_the_strain_it_aims_at():
    rod = boyer_arm(3, 3)
    target = np.array([1.0, -2.0, 3.0])
    muscle = ev.Muscle(rod, target=target)
    found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [muscle]))
    np.testing.assert_allclose(rod.strain(rod.grid.s, found.state.q)[:, :3] - target, 0.0, atol=1e-10)
    helix = analytic.helix([*target, 1.0, 0.0, 0.0]).points([rod.length])[0]
    np.testing.assert_allclose(found.tip[:3, 3], helix, atol=1e-10)


def test_a_tendon_that_ends_halfway_leaves_the_rest_straight():
    steel = ev.Material(young=207e9, poisson=0.3, density=8000.0)
    rod = ev.Rod(0.4, ev.Circle(1e-3), steel, ev.PiecewiseConstant.planar(4))
    tendon = ev.Tendon(rod, ev.parallel(0.001, 0.0), end=0.2)
    found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), [tendon]), {tendon: 50.0})
    K = rod.strain([0.05, 0.15, 0.25, 0.35], found.state.q)[:, 2]
    bent = 50.0 * 0.001 / rod.stiffness([0.0])[0, 2]
    np.testing.assert_allclose(K, [bent, bent, 0.0, 0.0], atol=1e-10)
