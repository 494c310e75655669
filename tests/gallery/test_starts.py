"""The starts of the page blumentals-2017-elastica: whatever they are, the automatic choice finds an equilibrium."""

import numpy as np
import pytest

from elver.cli.folders import folder, load_module

page = load_module(folder("gallery") / "blumentals-2017-elastica", "starts")


@pytest.mark.parametrize("problem", page.PROBLEMS)
def test_automatic_choice_solves_random_starts(problem):
    """Two starts of a seed of its own for each problem; the page counts a hundred of one."""
    seed = 20 + list(page.PROBLEMS).index(problem)
    system = page.PROBLEMS[problem]()
    starts = page.random_starts(system, np.random.default_rng(seed), 2, 10.0)
    found = page.count(system, starts, "automatic")
    assert found.solved == len(starts), found.ways


def test_what_counts_as_solved_is_in_balance():
    """A start itself, which meets neither balance nor ends, does not count."""
    system = page.PROBLEMS["ends at 0.8 L"]()
    (start,) = page.random_starts(system, np.random.default_rng(3), 1, 5.0)
    problem = page.RodProblem.of(system)
    check = page.balance(problem, start.strain, problem.base.pose, np.linspace(0.0, 1.0, 65))
    # along s it is in balance with some wrench at its tip, as every costate is; its end is elsewhere
    assert check.imbalance < 1e-4 * check.largest
    assert check.gap > 0.1
    assert not page._fits(check, page.TRUNCATED)


def test_mirror_images_are_one_equilibrium():
    assert len(page._levels(np.array([8.32, 8.3201, np.nan, 19.1, 33.3, 8.32]))) == 3
