"""Arrays as large as the square of a robot are made where the dense matrix is wanted, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import Core, core
from elver.dynamics.states import arrays

WIRE = ev.Material(young=1e9, poisson=0.3, density=1000.0, damping=0.01)
SIZES = 20, 40, 80, 160


def _rod(length: float, basis: ev.Legendre | ev.PiecewiseLinear, name: str = "rod") -> ev.Rod:
    return ev.Rod(length, ev.Circle(2e-3), WIRE, basis, name=name)


def hats(count: int) -> ev.System:
    return ev.System(ev.Mechanism.clamped(_rod(0.5, ev.PiecewiseLinear.kirchhoff(count))), loads=[ev.Gravity()])


def chain(count: int) -> ev.System:
    rods = [_rod(0.1, ev.Legendre.kirchhoff(2), f"rod{k}") for k in range(count)]
    joints = [ev.Fixed("world", (rods[0], "base"))]
    joints += [ev.Fixed((inner, "tip"), (outer, "base")) for inner, outer in pairwise(rods)]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])


def star(count: int) -> ev.System:
    hub = ev.RigidBody.cylinder(0.05, 0.05, mass=0.1, axis="z", name="hub")
    rods = [_rod(0.1, ev.Legendre.kirchhoff(2), f"rod{k}") for k in range(count)]
    return ev.System(ev.Mechanism([ev.Fixed("world", hub), *(ev.Fixed(hub, (rod, "base")) for rod in rods)]))


def pulled(count: int) -> ev.System:
    """A chain with a tendon in each rod."""
    one = chain(count)
    tendons = [ev.Tendon(rod, path=ev.parallel(y=1e-3), name=f"on {rod.name}") for rod in one.mechanism.rods]
    return ev.System(one.mechanism, tendons, one.loads)


def held(kernels: Core) -> int:
    """Bytes of all arrays of kernels and of the elimination along the tree."""
    return sum(array.nbytes for part in (kernels.program, kernels.work, kernels.order, kernels.front) for array in part)


@pytest.mark.parametrize("robot", [hats, chain, star])
def test_memory_is_in_proportion_to_the_robot(robot: Callable[[int], ev.System]) -> None:
    """Of runs and equilibria, too: what they need beside is there after they ran."""
    found = []
    for size in SIZES:
        system = robot(size)
        if size == SIZES[0]:
            ev.equilibrium(system)
            ev.simulate(system, None, 0.01, 5e-3, ev.Newmark(), start="given")
        found.append(held(core(system)))
    assert all(more <= 2.0 * less for less, more in pairwise(found))  # in proportion, with a part that is fixed


def test_a_tendon_is_kept_where_it_runs() -> None:
    found = [sum(array.nbytes for array in core(pulled(size)).program) for size in SIZES]
    assert all(more <= 2.0 * less for less, more in pairwise(found))


def test_the_matrix_is_made_for_who_asks() -> None:
    kernels = core(hats(20))
    assert kernels.along_tree
    assert not kernels.work.matrix.size
    a, u = arrays(kernels.system.rest()), np.zeros(kernels.system.input_size)
    assert kernels.tangent(a, u, (1.0, 0.0, 0.0)).shape == (kernels.n, kernels.n)
    assert kernels.work.matrix.shape == (kernels.n, kernels.n)
    assert core(kernels.system).with_own_work().work.matrix.size == 0


def critical() -> ev.System:
    """A lever on a sprung hinge at the tip of a rod, under a load at which the hinge alone has no stiffness."""
    rod = _rod(0.5, ev.Legendre.kirchhoff(12))
    lever = ev.RigidBody.cylinder(0.01, 0.2, mass=0.01, axis="x", name="lever")
    hinge = ev.Revolute((rod, "tip"), ev.Frame(lever, pose=(-0.1, 0.0, 0.0)), axis="y", name="hinge")
    push = ev.PointWrench(lever, at=(0.1, 0.0, 0.0), force=(-0.02, 0.0, 1e-4), name="push")
    return ev.System(
        ev.Mechanism([ev.Fixed("world", (rod, "base")), hinge]), loads=[push, ev.JointSpring(hinge, 0.02 * 0.2)]
    )


def test_a_solver_at_work_is_given_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a part has no pivot of its own the matrix is taken, in the midst of Newton's iterations."""
    found = []
    for along in (True, False):
        monkeypatch.setattr(Core, "along_tree", along)
        system = critical()
        kernels, a = core(system), arrays(system.rest())
        assert (kernels.work.matrix.size == 0) == along
        status, norms = kernels.solve_static(a, np.ones(system.input_size), (1e-10, 30, 1.0))
        assert status > 0
        assert kernels.work.matrix.size > 0
        found.append((a.q.copy(), norms[: status + 1].copy()))
    # the first increments are those of one matrix
    np.testing.assert_array_equal(found[0][1][:2], found[1][1][:2])
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-9)


def test_no_room_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    system = critical()
    kernels, a = core(system), arrays(system.rest())

    def full(self: Core) -> None:
        raise MemoryError("no room for the matrix")

    monkeypatch.setattr(Core, "make_room", full)
    with pytest.raises(MemoryError, match="no room"):
        kernels.solve_static(a, np.ones(system.input_size), (1e-10, 30, 1.0))
