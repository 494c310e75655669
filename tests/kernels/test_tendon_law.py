"""The law of a tendon at a section: pull and stiffening are derivatives of its stretch."""

import numpy as np

from elver.kernels.twin.tendon import pull_of_tendon, stiffening_of_tendon, stretch_of_tendon


def sections(n=20):
    random = np.random.default_rng(5)
    strain = random.normal(size=(n, 6)) * 0.3 + [0, 0, 0, 1, 0, 0]
    return strain, random.normal(size=(n, 3)) * 0.2, random.normal(size=(n, 3)) * 0.1


def slope_of(law, strain, e, *path, h=1e-6):
    return (law(strain + h * e, *path) - law(strain - h * e, *path)) / (2.0 * h)


def test_pull_is_the_slope_of_the_stretch():
    strain, D, D_prime = sections()
    for k, e in enumerate(np.eye(6)):
        slope = slope_of(stretch_of_tendon, strain, e, D, D_prime)
        np.testing.assert_allclose(slope, pull_of_tendon(strain, D, D_prime)[:, k], atol=1e-9)  # truncation, rounding


def test_stiffening_is_the_slope_of_the_pull():
    strain, D, D_prime = sections()
    found = stiffening_of_tendon(strain, D, D_prime)
    for k, e in enumerate(np.eye(6)):
        slope = slope_of(pull_of_tendon, strain, e, D, D_prime)
        np.testing.assert_allclose(slope, found[..., k], atol=1e-9)
    np.testing.assert_allclose(found, np.swapaxes(found, -1, -2), atol=1e-15)
    assert np.linalg.eigvalsh(found).min() > -1e-14


def test_one_section_or_many():
    strain, D, D_prime = sections()
    for law in (stretch_of_tendon, pull_of_tendon, stiffening_of_tendon):
        many = law(strain, D, D_prime)
        for k in range(len(strain)):
            np.testing.assert_allclose(law(strain[k], D[k], D_prime[k]), many[k], rtol=1e-14, atol=1e-15)
