"""The page gotelli-2024-modulus: the estimate of Young's modulus from the points of an arc."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from elver.cli.folders import folder, load_module

page = load_module(folder("gallery") / "gotelli-2024-modulus", "run")


def arc(curvature, length=0.48, count=40):
    s = np.linspace(0.0, length, count)
    return np.column_stack([np.sin(curvature * s), 1.0 - np.cos(curvature * s), 0.0 * s]) / curvature


@pytest.mark.parametrize("curvature", [0.01, 0.5, 3.0, 10.0])
def test_an_exact_arc_gives_its_curvature_in_any_position(curvature):
    random = np.random.default_rng(1)
    turned = arc(curvature) @ Rotation.random(random_state=random).as_matrix().T + random.normal(size=3)
    found, deviation = page.arc(turned)
    assert found == pytest.approx(curvature, abs=1e-9)  # rounding, over the square of the length
    assert deviation < 1e-9


def test_the_rod_gives_back_its_modulus():
    for tension, points in zip((2.0, 20.0), page.shapes((2.0, 20.0)), strict=True):
        found = page.estimate(points, tension)
        assert found.young == pytest.approx(293e9, rel=1e-8)
        assert not found.flagged


def test_a_low_load_is_flagged_and_a_high_one_is_right():
    random = np.random.default_rng(3)
    low, high = page.shapes((0.5, 20.0))
    estimates = [page.estimate(page.measured(low, random), 0.5) for _ in range(20)]
    assert all(found.flagged for found in estimates)
    estimates = [page.estimate(page.measured(high, random), 20.0) for _ in range(20)]
    assert not any(found.flagged for found in estimates)
    assert all(found.young == pytest.approx(293e9, rel=1e-2) for found in estimates)


def test_no_load_is_flagged_too():
    straight = np.column_stack([np.linspace(0.0, 0.48, 80), np.zeros(80), np.zeros(80)])
    found = page.estimate(page.measured(straight, np.random.default_rng(4)), 0.1)
    assert found.flagged
