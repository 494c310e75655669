"""Pages of rods at rest: boyer-2023-statics, blumentals-2017-direct-methods, -curl, -ring-in-ring; their measures."""

import numpy as np
import pytest

from elver.cli.folders import folder, load_module
from elver.one_rod.shooting.statics import solve_rod
from elver.one_rod.transcription.direct import direct_equilibrium

statics = load_module(folder("gallery") / "boyer-2023-statics", "run")
direct = load_module(folder("gallery") / "blumentals-2017-direct-methods", "run")
curl = load_module(folder("gallery") / "blumentals-2017-curl", "run")
packing = load_module(folder("gallery") / "blumentals-2017-ring-in-ring", "run")


def test_energy_around_an_equilibrium_is_stationary_there():
    """Slope zero to the accuracy of the shape; the second difference is that of a minimum."""
    found = solve_rod(statics.problem("spiral", 30.0))
    energy, largest = statics.energy_around(found)
    change = largest * np.array([[0.3, 1.0, -0.5], [0.2, -0.4, 0.6]])
    ahead, behind, here = energy(1e-3 * change), energy(-1e-3 * change), energy(0.0 * change)
    assert abs(ahead - behind) < 1e-3 * (ahead + behind - 2.0 * here)
    assert here == pytest.approx(found.energy, abs=1e-8)


def test_a_ring_of_a_quarter_couple_turns_by_a_right_angle():
    assert statics.turn(statics.ring(0.25)) == pytest.approx(90.0, abs=1e-6)


def test_elastica_meets_its_ends_and_its_length():
    s = np.linspace(0.0, 1.0, 20001)
    shape, energy, force = direct.elastica(s, 0.9)
    np.testing.assert_allclose(shape[[0, -1]], [[0.0, 0.0], [0.9, 0.0]], atol=1e-12)
    slope = np.gradient(shape, s, axis=0, edge_order=2)
    np.testing.assert_allclose(np.linalg.norm(slope[1:-1], axis=1), 1.0, atol=1e-7)
    angle = np.arctan2(slope[:, 1], slope[:, 0])
    assert 0.5 * np.trapezoid(np.gradient(angle, s, edge_order=2) ** 2, s) == pytest.approx(energy, rel=1e-5)
    # the energy falls by the force times the way of the ends
    apart = (direct.elastica(s, 0.9 + 1e-4)[1] - direct.elastica(s, 0.9 - 1e-4)[1]) / 2e-4
    assert -apart == pytest.approx(force, rel=1e-6)


def test_invariants_of_elements_and_of_nodes_are_those_of_one_shape():
    """They meet as meshes get finer: second order."""
    near = direct.wave(5.8)
    gaps = []
    for n in (20, 40):
        near = direct.turned(0.0, n, near)
        _, H, _ = direct.along_elements(near)
        gaps.append(abs(np.mean(H) - np.mean(direct.at_nodes(near)["H"])))
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(2.0, abs=0.2)


def test_a_flat_minimum_is_found_in_space_too():
    """Below the critical curvature the shape within the plane is the minimum; its twist is none."""
    flat = curl.flat(20.0, elements=20)
    free = direct_equilibrium(curl.rod(20.0), elements=20, strain="constant")
    assert flat.stable
    assert curl.twist(flat) == pytest.approx(0.0, abs=1e-9)
    assert free.energy == pytest.approx(flat.energy, rel=1e-9)


def test_twist_of_the_mirror_image_is_opposite():
    """Noise decides the side; energy and size do not know it."""
    up = curl.shape(50.0, curl.noisy(curl.shape(40.0, elements=20)), elements=20)
    mirror = np.array([-1.0, 1.0, -1.0, 1.0, 1.0, 1.0])
    down = curl.shape(50.0, lambda s: up.strain(s) * mirror, elements=20)
    assert curl.twist(down) == pytest.approx(-curl.twist(up), abs=1e-6)
    assert abs(curl.twist(up)) > 0.5
    assert down.energy == pytest.approx(up.energy, rel=1e-9)


def test_pushes_of_the_wall_do_the_work_of_a_shrinking_wall():
    """dU/dc = -Σ push, the force of all nodes together against a smaller wall."""
    middle = packing.pack(1.0, 0, packing.waves(np.random.default_rng(1), 3.0, 0.0))
    h = 1e-4
    wider, closer = (packing.pack(1.0 + sign * h, 0, middle.found) for sign in (1.0, -1.0))
    rate = (wider.found.energy - closer.found.energy) / (2.0 * h * packing.FREE)
    assert -rate == pytest.approx(middle.push.sum(), rel=1e-4)
    assert middle.index == pytest.approx(0.0, abs=1e-7)
    assert len(middle.push) == len(middle.place) == packing.ELEMENTS
