"""Motion without energy from nowhere: section 1 of the list of silent wrong answers."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import elver as ev
from elver.integrators.stepper import Stepper

FAMILY = [
    ev.Newmark(), ev.HHT(0.8), ev.GeneralizedAlpha(0.8), ev.GeneralizedAlpha(0.6), ev.GeneralizedAlpha(0.0)
]  # fmt: skip
TENSION, FORCE = 7.85, 0.0785
KINETIC = 0.0305  # J, largest of the case below: GaussLegendre4, 0.5 ms


def pulled_rod(basis: ev.Legendre | None = None, damping: float = 0.0) -> tuple[ev.System, ev.Tendon]:
    """A rod of 1 m that can stretch and shear, with a tendon that is pulled suddenly and a force at the tip."""
    material = ev.Material(young=1e7, poisson=0.5, density=1000.0, damping=damping)
    rod = ev.Rod(1.0, ev.Circle(0.01), material, basis or ev.Legendre.reissner(5), name="r")
    tendon = ev.Tendon(rod, ev.parallel(z=5e-3))
    loads = [ev.PointWrench(rod, force=(0.0, FORCE, 0.0))]
    return ev.System(ev.Mechanism.clamped(rod), [tendon], loads), tendon


def energy_with_loads(run: xr.Dataset, rod: ev.Rod) -> np.ndarray:
    """Energy [J] with that of constant tension and force, T ℓ - F·p: constant in an undamped motion."""
    x, w = np.polynomial.legendre.leggauss(20)
    s, w, q = 0.5 * (x + 1.0), 0.5 * w, run["q"].values
    length = np.zeros(len(q))
    for phi, weight in zip(rod.functions(s), w, strict=True):
        xi = np.zeros((len(q), 6))
        xi[:, 3] = 1.0
        for k, component in enumerate(rod.component):
            xi[:, component] += phi[k] * q[:, k]
        length += weight * np.linalg.norm(xi[:, 3:] + np.cross(xi[:, :3], (0.0, 0.0, 5e-3)), axis=1)
    return run["energy/total"].values + TENSION * length - FORCE * run["r/tip/position"].values[:, 1]


# Filtered start -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:simulate. energy fell")  # that of stretch, which no such step can follow
@pytest.mark.parametrize("step", [5e-3, 1e-2, 2e-2])
@pytest.mark.parametrize("method", FAMILY, ids=repr)
def test_a_sudden_tendon_brings_no_energy(method: ev.Method, step: float) -> None:
    """Newmark gained 171 and 278 times the kinetic energy at 10 and 20 ms, generalized-α(0) 34 times."""
    system, tendon = pulled_rod()
    run = ev.simulate(system, duration=0.5, step=step, method=method, inputs={tendon: TENSION})
    energy = energy_with_loads(run, system.rod)
    assert np.max(energy - energy[0]) < 1e-3 * KINETIC
    assert np.max(run["newton_iterations"].values) <= method.max_iterations  # no step was divided


def order(system: ev.System, method: ev.Method, steps: tuple[float, ...], duration: float, inputs: dict) -> float:
    """Observed order of coordinates and rates at the end."""

    def end(step: float, by: ev.Method) -> np.ndarray:
        run = ev.simulate(system, duration=duration, step=step, method=by, inputs=inputs, every=10**6)
        scale = np.maximum(np.abs(run["q_dot"].values[-1]).max(), 1.0)
        return np.concatenate([run["q"].values[-1], run["q_dot"].values[-1] / scale])

    exact = end(steps[-1] / 4.0, ev.GaussLegendre4())
    errors = [np.linalg.norm(end(step, method) - exact) for step in steps]
    return float(np.log2(errors[-2] / errors[-1]))


@pytest.mark.parametrize("method", [ev.Newmark(), ev.HHT(0.8), ev.GeneralizedAlpha(0.6)], ids=repr)
@pytest.mark.parametrize("damping", [0.0, 2e-3])
def test_order_two_under_a_sudden_load(method: ev.Method, damping: float) -> None:
    """Zero start accelerations would cost an order; a filtered start keeps it, with and without damping."""
    system, tendon = pulled_rod(ev.Legendre(bending=2), damping)
    found = order(system, method, (8e-3, 4e-3, 2e-3), 0.24, {tendon: TENSION})
    assert found == pytest.approx(2.0, abs=0.3)


@pytest.mark.filterwarnings("ignore:redundant")
@pytest.mark.parametrize("method", [ev.Newmark(), ev.GeneralizedAlpha(0.6)], ids=repr)
def test_order_two_of_a_loop_under_a_sudden_load(method: ev.Method) -> None:
    """Two rods on hinges, closed at their tips, and a force that is there at once: multipliers are filtered too."""
    material = ev.Material(young=1e7, poisson=0.4, density=1000.0)
    left, right = (ev.Rod(0.5, ev.Circle(0.01), material, ev.Legendre.planar(2), name=n) for n in ("left", "right"))
    joints = [
        ev.Revolute(("world", (-0.1, 0.0, 0.0)), (left, "base"), start=np.pi / 2, name="a"),
        ev.Revolute(("world", (0.1, 0.0, 0.0)), (right, "base"), start=np.pi / 2, name="b"),
        ev.Revolute((left, "tip"), (right, "tip"), name="c"),
    ]
    push = ev.PointWrench(left, at=0.25, force=(3.0, 0.0, 0.0), name="push")
    system = ev.System(ev.Mechanism(joints), [], [push])
    home = ev.equilibrium(system, {push: 0.0}).state

    def end(step: float, by: ev.Method) -> np.ndarray:
        return ev.simulate(system, home, 0.1, step, by, {push: 1.0})["q"].values[-1]

    exact = end(2.5e-4, ev.GaussLegendre4())
    errors = [np.linalg.norm(end(step, method) - exact) for step in (2e-3, 1e-3)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize("group", ["SO3xR3", "SE3"])
def test_order_two_of_a_free_rod_under_a_sudden_pull(group: str) -> None:
    """A free base is filtered with its rod."""
    material = ev.Material(young=1e7, poisson=0.4, density=1000.0)
    rod = ev.Rod(0.5, ev.Circle(0.01), material, ev.Legendre(bending=2), name="r")
    pull = ev.PointWrench(rod, force=(0.0, 0.2, 0.1))
    system = ev.System(ev.Mechanism.free(rod), loads=[pull])

    def end(step: float, by: ev.Method) -> np.ndarray:
        run = ev.simulate(system, duration=0.1, step=step, method=by)
        return np.concatenate([run["q"].values[-1], run["r/position"].values[-1].ravel()])

    exact = end(5e-4, ev.GaussLegendre4())
    errors = [np.linalg.norm(end(step, ev.Newmark(group=group)) - exact) for step in (4e-3, 2e-3)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)


@pytest.mark.filterwarnings("ignore:simulate. energy fell")
def test_the_first_row_reports_consistent_accelerations() -> None:
    system, tendon = pulled_rod()
    run = ev.simulate(system, duration=0.1, step=1e-2, method=ev.Newmark(), inputs={tendon: TENSION})
    exact = ev.forward_dynamics(system, system.rest(), {tendon: TENSION}).q_ddot
    np.testing.assert_array_equal(run["q_ddot"].values[0], exact)


@pytest.mark.filterwarnings("ignore:simulate. energy fell")
def test_a_stepper_starts_filtered_too() -> None:
    system, tendon = pulled_rod()
    stepper = Stepper(system, system.rest(), 1e-2, ev.Newmark(), {tendon: TENSION})
    run = ev.simulate(system, duration=0.1, step=1e-2, method=ev.Newmark(), inputs={tendon: TENSION})
    stepper.advance(10)
    np.testing.assert_allclose(stepper.state.q, run["q"].values[-1], rtol=0.0, atol=1e-9)


# Steps and records ----------------------------------------------------------------------------------------------


def falling() -> ev.System:
    rod = ev.Rod(0.4, ev.Circle(8e-3), ev.Material(1e6, poisson=0.45, density=1070.0), ev.Legendre(bending=2))
    return ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])


@pytest.mark.parametrize(("duration", "step", "count"), [(0.01, 0.007, 2), (0.1, 0.03, 4), (0.02, 0.005, 4)])
def test_a_step_is_never_lengthened(duration: float, step: float, count: int) -> None:
    """duration 1 and step 0.7 took one step of 1.0 s and recorded 0.7."""
    run = ev.simulate(falling(), duration=duration, step=step)
    lengths = np.diff(run["time"].values)
    np.testing.assert_allclose(lengths[:-1], step, rtol=1e-9)
    assert lengths[-1] <= step * (1.0 + 1e-9)
    assert run["time"].values[-1] == pytest.approx(duration, rel=1e-12)
    assert (run.attrs["steps"], run.attrs["step"]) == (count, step)
    assert run.attrs["last_step"] == pytest.approx(lengths[-1], rel=1e-9)


def test_the_last_state_is_kept(tmp_path) -> None:
    """With every, also in the file, and where a run is stopped."""
    full = ev.simulate(falling(), duration=0.1, step=1e-2)
    some = ev.simulate(falling(), duration=0.1, step=1e-2, every=4, file=tmp_path / "run.nc")
    np.testing.assert_allclose(some["time"].values, [0.0, 0.04, 0.08, 0.1])
    np.testing.assert_array_equal(some["q"].values[-1], full["q"].values[-1])
    np.testing.assert_array_equal(ev.load(tmp_path / "run.nc")["q"].values, some["q"].values)

    def fails(t: float) -> float:
        if t > 0.065:
            raise RuntimeError("no more")
        return 1.0

    with pytest.raises(RuntimeError) as caught:
        ev.simulate(falling(), duration=0.1, step=1e-2, every=4, inputs={"gravity": fails}, method=ev.Newmark())
    np.testing.assert_allclose(caught.value.result["time"].values, [0.0, 0.04, 0.06])


@pytest.mark.parametrize("time", [-0.1, 0.11, 99.0])
def test_no_state_outside_of_a_run(time: float) -> None:
    system = falling()
    run = ev.simulate(system, system.rest(), 0.1, 1e-2)
    with pytest.raises(ev.BadInput, match=rf"time = {time:g} s is outside of the run, .* from 0 s to 0\.1 s"):
        ev.state_at(system, run, time)
    assert ev.state_at(system, run, 0.1).time == pytest.approx(0.1)
