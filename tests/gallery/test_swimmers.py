"""The pages boyer-2023-swimmer and gotelli-2024-tendon-swimmer: stress of the efforts, tail, balances."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss, legvander
from scipy.interpolate import CubicSpline

import elver as ev
from elver.cli.folders import folder, load_module

eel = load_module(folder("gallery") / "boyer-2023-swimmer", "run")
fish = load_module(folder("gallery") / "gotelli-2024-tendon-swimmer", "run")


def test_stress_does_the_work_of_its_efforts():
    """effort_k = -∫ P_k Λ_act ds."""
    efforts = np.random.default_rng(2).normal(size=(3, 6))
    x, weights = leggauss(8)
    stress = eel.stress(efforts, 0.5 * eel.LENGTH * (x + 1.0))
    back = -0.5 * eel.LENGTH * (stress * weights) @ legvander(x, 5)
    np.testing.assert_allclose(back, efforts, atol=1e-13)  # rounding


def test_efforts_fed_back_give_the_imposed_shape_to_second_order():
    rod = eel.eel()

    def miss(step):
        imposed = eel.inverse(rod, 1.0, step)
        again = eel.fed_back(rod, imposed, step)
        return np.max(np.abs(eel.curvature(rod, again) - eel.curvature(rod, imposed)))

    assert np.log2(miss(0.02) / miss(0.01)) == pytest.approx(2.0, abs=0.3)


def test_inverse_run_does_not_feel_the_stiffness():
    """An imposed shape needs other efforts in a stiffer body, and swims alike."""
    soft, stiff = (eel.inverse(eel.eel(k), 1.0) for k in (50.0, 500.0))
    np.testing.assert_allclose(soft["eel/position"].values, stiff["eel/position"].values, atol=1e-12)  # rounding
    more = eel.stress((stiff["efforts"] - soft["efforts"]).values, eel.STATIONS)
    shape = eel.curvature(eel.eel(), soft)
    np.testing.assert_allclose(more, -450.0 * shape, atol=1e-9)  # rounding, of 1500 N m


@pytest.mark.parametrize("page", ["eel", "fish"])
def test_tail_moves_as_its_positions_do(page):
    if page == "eel":
        rod = eel.eel()
        run = eel.inverse(rod, 1.0, 5e-3)
        (V, _), name = eel.tail(rod, run), "eel"
    else:
        run = fish.swim(5e-3, duration=1.0)
        (V, _), name = fish.tail(fish.swimmer(), run), "passive"
    way = CubicSpline(run["time"].values, run[f"{name}/tip/position"].values)
    speed = np.linalg.norm(way(run["time"].values, 1), axis=1)
    inner = slice(5, -5)  # splines are less exact at their ends
    np.testing.assert_allclose(np.linalg.norm(V, axis=1)[inner], speed[inner], atol=2e-5)  # the spline's truncation


def test_balances_of_the_fish_close_with_the_square_of_the_step():
    coarse, fine = (fish.misses(fish.swim(step, ev.Newmark(), 1.5)) for step in (0.01, 0.005))
    for name in fish.BALANCES:
        assert np.log2(coarse[name] / fine[name]) == pytest.approx(2.0, abs=0.4), name


def test_frequency_is_that_of_a_sine():
    time = np.linspace(0.0, 3.0, 601)
    assert fish.frequency(time, np.sin(2.0 * np.pi * 2.5 * time - 0.3)) == pytest.approx(2.5, rel=1e-4)
