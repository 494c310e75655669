"""The rows of ``elver bench``: all are there, and each measures what it says. Short runs, no stopwatch."""

import math
from dataclasses import replace

import numpy as np
import pytest

from elver.cli.bench import Row, benchmarks
from elver.cli.folders import folder, load_module

NAMES = {
    "static-cantilever-1e-6",
    "released-rod-1pct",
    "released-rod-0.1pct",
    "bench-stiff-cantilever",
    "bench-soft-cantilever",
    "bench-stiff-flying",
    "bench-soft-flying",
    "rod-inverse-dynamics-11",
    "rod-cost-exponent",
    "cold-compile",
    "warm-import",
}


def once(call, **_):
    """Instead of the stopwatch: one call, one second."""
    call()
    return 1.0


def module(name, monkeypatch=None):
    loaded = load_module(folder("benchmarks"), name)
    if monkeypatch is not None:
        monkeypatch.setattr(loaded, "cpu_time", once)
    return loaded


def test_rows_have_their_names_and_goals():
    rows = benchmarks()
    assert set(rows) >= NAMES
    for name in NAMES:
        assert rows[name].goal > 0.0
        assert rows[name].unit


def test_static_cantilever_is_exact_to_its_name(monkeypatch):
    result = module("common_rod", monkeypatch).static_cantilever_1e_6(False)
    assert result.ours is not None
    assert result.error <= 1e-6
    assert not result.peers


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3])
def test_released_rod_follows_the_stored_solution(accuracy, monkeypatch):
    _, error = module("common_rod", monkeypatch).release(accuracy, duration=0.5)
    assert 0.0 < error <= accuracy


def test_stored_solution_starts_as_free_fall_and_ends_where_other_tools_end():
    tips = module("common_rod").reference()
    assert tips.shape == (201, 3)
    assert tips[0] == pytest.approx([1.0, 0.0, 0.0])
    assert tips[2, 2] == pytest.approx(-0.5 * 9.81 * 0.02**2, abs=2e-5)  # bending has not arrived at the tip yet
    assert tips[-1, 2] == pytest.approx(-0.85, abs=5e-3)
    assert np.linalg.norm(tips, axis=1).max() < 1.002


def test_a_run_that_blows_up_is_not_accurate():
    assert module("common_rod").distance(np.full((3, 3), np.nan)) == math.inf


@pytest.mark.parametrize("bench", ["stiff-cantilever", "soft-cantilever", "stiff-flying", "soft-flying"])
def test_short_benches_are_near_their_converged_run(bench, monkeypatch):
    benches = module("gotelli_benches", monkeypatch)
    _, error = benches.measure(replace(benches.SETTINGS[bench], duration=0.1))
    assert 0.0 < error <= benches.ACCURACY


def test_missed_accuracy_is_missing_not_a_time(monkeypatch):
    benches = module("gotelli_benches", monkeypatch)
    monkeypatch.setattr(benches, "measure", lambda setting: (1e-3, 0.06))
    assert benches.bench_soft_flying(False) == Row(None, 0.06)


def test_inverse_dynamics_equals_its_twin(monkeypatch):
    recursion = module("recursion", monkeypatch)
    result = recursion.rod_inverse_dynamics_11(False)
    assert result.ours is not None
    assert result.error <= 1e-12


def test_exponent_of_linear_cost_is_one(monkeypatch):
    recursion = module("recursion", monkeypatch)
    counts = []

    class Linear:
        def __init__(self, nodes):
            self.nodes = nodes

        def inverse_dynamics(self, calls):
            counts.append(self.nodes * calls)

        tangent = inverse_dynamics

    def cost(call, **_):
        call()
        return float(counts[-1])

    monkeypatch.setattr(recursion, "Problem", Linear)
    monkeypatch.setattr(recursion, "cpu_time", cost)
    assert recursion.rod_cost_exponent(False).ours == pytest.approx(1.0, abs=1e-12)


def test_startup_counts_a_new_process():
    wall, cpu = module("startup").run_python("sum(range(1000))")
    assert wall > 0.0
    assert cpu > 0.0


def test_peers_that_fail_or_stay_inaccurate_are_missing():
    peers = module("peers")

    def attempt(n):
        if n < 3:
            raise RuntimeError("solver failed")
        return 0.1 * n, 1.0 / n

    assert peers.first_that_reaches(0.25, attempt, [(1,), (3,), (4,), (8,)]) == pytest.approx(0.4)
    assert peers.first_that_reaches(0.01, attempt, [(1,), (4,)]) is None
    assert not peers.installed("no_such_tool")


def test_peers_and_we_model_the_same_rod():
    peers, ours = module("peers"), module("common_rod")
    rod = ours.common_rod(ours.ev.Legendre.kirchhoff(2), 6, ours.ev.Magnus(4))
    _, _, EI, EA, kGA = peers.stiffnesses()
    assert rod.stiffness([0.0])[0, [1, 2, 3, 4, 5]] == pytest.approx([EI, EI, EA, kGA, kGA], rel=1e-12)
    assert rod.mass == pytest.approx(peers.DENSITY * peers.stiffnesses()[0], rel=1e-12)
