"""Actuators of one's own: those that repeat a tendon and a muscle give what the built-in ones give."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import elver as ev

LENGTH, OFFSET = 0.4, 6e-3
SILICONE = ev.Material(young=1.0e6, poisson=0.45, density=1070.0, damping=0.02)


def tendon(xi, s, input, parameters, stress, slope):
    """W = T |c|, c = Γ + K×D with D = (0, 0, d)."""
    d = parameters[0]
    c0, c1, c2 = xi[3] + xi[1] * d, xi[4] - xi[0] * d, xi[5]
    norm = np.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
    u = (c0 / norm, c1 / norm, c2 / norm)
    # rows of ∂c/∂ξ
    rows = ((0.0, d, 0.0, 1.0, 0.0, 0.0), (-d, 0.0, 0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    for a in range(6):
        for i in range(3):
            stress[a] += input * u[i] * rows[i][a]
        for b in range(6):
            for i in range(3):
                for k in range(3):
                    same = 1.0 if i == k else 0.0
                    slope[a, b] += input / norm * (same - u[i] * u[k]) * rows[i][a] * rows[k][b]
    return input * norm


def muscle(xi, s, input, parameters, stress, slope):
    """Λ_act = u (0, 0, c sin(πs/L)), of which it tells no energy."""
    stress[2] = input * parameters[0] * np.sin(np.pi * s / parameters[1])


@pytest.fixture(params=["python", "compiled"])
def lane(request):
    return (lambda function: function) if request.param == "python" else ev.compiled


def arm():
    return ev.Rod(length=LENGTH, section=ev.Circle(radius=8e-3), material=SILICONE, basis=ev.Legendre.reissner(3),
                  name="arm")  # fmt: skip


def pulled(lane=None):
    rod = arm()
    if lane is None:
        cable = ev.Tendon(rod, path=ev.parallel(y=0.0, z=OFFSET), name="cable")
    else:
        cable = ev.ActiveStress(rod, lane(tendon), (OFFSET,), unit="N", name="cable")
    return ev.System(ev.Mechanism.clamped(rod), actuators=[cable], loads=[ev.Gravity()])


def test_a_tendon_of_ones_own_is_a_tendon(lane):
    own, known = pulled(lane), pulled()
    inputs = {"cable": 4.0}
    a, b = (ev.equilibrium(system, inputs) for system in (own, known))
    np.testing.assert_allclose(a.state.q, b.state.q, rtol=1e-9, atol=1e-10)  # Newton's tolerance
    assert a.stable
    np.testing.assert_allclose(ev.modes(a).frequencies, ev.modes(b).frequencies, rtol=1e-9)
    for name in ("moment", "moment_material", "force_material"):
        found, expected = (ev.sample(one)[name].values for one in (a, b))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8 * np.max(np.abs(expected)))


@pytest.mark.parametrize("method", [None, ev.ImplicitMidpoint(), ev.GaussLegendre4()])
def test_a_tendon_of_ones_own_does_the_same_work(lane, method):
    runs = []
    for system in (pulled(lane), pulled()):
        start = ev.equilibrium(system, {"cable": 1.0}).state
        signal = {"cable": lambda t: 1.0 + 30.0 * t}
        runs.append(ev.simulate(system, start, inputs=signal, duration=0.05, step=2.5e-3, method=method))
    own, known = runs
    assert own.attrs["method"] == known.attrs["method"]
    np.testing.assert_allclose(own.q.values, known.q.values, rtol=1e-8, atol=1e-9)
    works = [run["energy/work/cable"].values for run in runs]
    np.testing.assert_allclose(works[0], works[1], atol=1e-6 * np.max(np.abs(works[1])))
    assert abs(own.attrs["energy_error"]) < (1e-9 if method is None else 1e-3)


def test_a_muscle_of_ones_own_without_an_energy(lane):
    rod = arm()
    torque = lambda s: np.stack([0.0 * s, 0.0 * s, 0.004 * np.sin(np.pi * s / LENGTH)], axis=1)  # noqa: E731
    known = ev.System(ev.Mechanism.clamped(rod), actuators=[ev.Muscle(rod, torque=torque, name="muscle")])
    part = ev.ActiveStress(rod, lane(muscle), (0.004, LENGTH), default=1.0, name="muscle")
    own = ev.System(ev.Mechanism.clamped(rod), actuators=[part])
    a, b = (ev.equilibrium(system, {"muscle": 1.5}) for system in (own, known))
    np.testing.assert_allclose(a.state.q, b.state.q, rtol=1e-9, atol=1e-10)
    assert not part.has_energy
    with pytest.raises(ev.BadInput, match=r"Conserving\(\) needs the energy of 'muscle'"):
        ev.simulate(own, duration=0.01, step=1e-3, method=ev.Conserving())
    runs = [ev.simulate(system, duration=0.03, step=1e-3, method=ev.ImplicitMidpoint()) for system in (own, known)]
    np.testing.assert_allclose(runs[0].q.values, runs[1].q.values, rtol=1e-8, atol=1e-9)
    works = [run["energy/work/muscle"].values for run in runs]
    np.testing.assert_allclose(works[0], works[1], rtol=1e-8, atol=1e-10 * np.max(np.abs(works[1])))
    assert ev.simulate(own, duration=2e-3, step=1e-3).attrs["method"].startswith("ImplicitMidpoint")


def pressed(xi, s, input, parameters, stress, slope):
    """Not affine in its input: a couple u² about z."""
    stress[2] = parameters[0] * input**2
    return parameters[0] * input**2 * xi[2]


def test_inputs_need_not_be_affine(lane):
    rod = arm()
    part = ev.ActiveStress(rod, lane(pressed), (-0.003,), name="cell")
    system = ev.System(ev.Mechanism.clamped(rod), actuators=[part])
    EI = rod.stiffness([0.0])[0, 2]
    found = ev.equilibrium(system, {part: 1.2})
    np.testing.assert_allclose(rod.strain(rod.grid.s, found.state.q)[:, 2], 0.003 * 1.44 / EI, rtol=1e-9)
    # B of the linear model is the slope at this input: twice u times that of a unit couple
    M = ev.mass_matrix(system, found)
    functions = rod.functions(rod.grid.s) * (rod.component == 2)
    force = 2.0 * 1.2 * 0.003 * (rod.grid.weights @ functions)
    expected = np.linalg.solve(M, force)
    np.testing.assert_allclose(ev.linearize(found).B[system.n :, 0], expected, atol=1e-8 * np.max(np.abs(expected)))
    branch = ev.continuation(system, part, start=0.5, stop=1.2)
    assert len(branch.values) > 2
    for value, one in zip(branch.values, branch.equilibria, strict=True):
        np.testing.assert_allclose(rod.strain(rod.grid.s, one.state.q)[:, 2], 0.003 * value**2 / EI, rtol=1e-8)


def test_what_is_refused(lane):
    rod = arm()

    def lop(xi, s, input, parameters, stress, slope):
        stress[2] = input * xi[2]

    with pytest.raises(ev.BadInput, match=r"active stress 'lop': slope\[2, 2\] = 0, but stress\[2\] changes by 1 per"):
        ev.ActiveStress(rod, lane(lop), name="lop")
    with pytest.raises(ev.BadInput, match="give the Rod it acts on"):
        ev.ActiveStress("rod", lane(tendon), (OFFSET,))
    with pytest.raises(ev.BadInput, match="takes 2 arguments; let it take 6"):
        ev.ActiveStress(rod, lane(_two), (OFFSET,))


def _two(xi, s):
    return 0.0


def test_they_travel(lane):
    system = pulled(lane)
    q = ev.equilibrium(system, {"cable": 3.0}).state.q
    np.testing.assert_array_equal(ev.equilibrium(copy.deepcopy(system), {"cable": 3.0}).state.q, q)
    python = pulled(lambda function: function)
    again = pickle.loads(pickle.dumps(python))
    np.testing.assert_allclose(ev.equilibrium(again, {"cable": 3.0}).state.q, q, rtol=1e-12, atol=1e-13)
