"""Gravity and wrenches: what they say of themselves, and refusals."""

import dataclasses

import numpy as np
import pytest

from elver.bodies import RigidBody
from elver.environment import DistributedWrench, Gravity, PointWrench
from elver.errors import BadInput
from elver.rods import Circle, Legendre, Material, Rod

L = 0.4
ROD = Rod(L, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre.kirchhoff(3))
BODY = RigidBody.sphere(0.1, mass=2.0, name="hull")
S = np.linspace(0.0, L, 11)


def test_gravity_points_down_by_default():
    assert Gravity().acceleration == (0.0, 0.0, -9.81)
    assert Gravity(np.array([9.81, 0, 0])).acceleration == (9.81, 0.0, 0.0)


def test_point_wrench_is_angular_first():
    load = PointWrench(ROD, force=(1, 2, 3), moment=(4, 5, 6))
    assert load.wrench.tolist() == [4, 5, 6, 1, 2, 3]
    assert load.position == L
    assert PointWrench(ROD, at="base").position == 0.0
    assert PointWrench(ROD, at=0.1, frame="section").position == 0.1


def test_point_wrench_on_a_rod_says_where_it_acts():
    load = PointWrench(ROD, 0.1, force=(1, 0, 0), frame="section")
    assert load.part is load.rod is load.site.part is ROD
    assert load.site.s == 0.1
    assert np.array_equal(load.site.g, np.eye(4))
    assert load.follows
    assert PointWrench(ROD).at == "tip"
    assert not PointWrench(ROD).follows


def test_the_earlier_word_for_the_part_is_understood():
    other = dataclasses.replace(ROD, name="other")
    assert PointWrench(rod=ROD, force=(1, 0, 0)).part is ROD
    moved = dataclasses.replace(PointWrench(ROD, at=0.1, name="push"), rod=other)
    assert (moved.part, moved.at, moved.name) == (other, 0.1, "push")


def test_point_wrench_on_a_body_acts_at_a_point_of_it():
    load = PointWrench(BODY, force=(1, 2, 3), moment=(4, 5, 6))
    assert load.part is load.site.part is BODY
    assert load.wrench.tolist() == [4, 5, 6, 1, 2, 3]
    assert load.at == (0.0, 0.0, 0.0)
    assert np.array_equal(load.site.g, np.eye(4))
    shifted = PointWrench(BODY, np.array([0.1, 0, -0.2]), frame="body")
    assert shifted.site.g[:3, 3].tolist() == [0.1, 0.0, -0.2]
    assert shifted.follows
    assert getattr(load, "rod", None) is None


def test_distributed_wrench_names_its_part_and_whether_it_follows():
    assert DistributedWrench(ROD).part is ROD
    assert not DistributedWrench(ROD).follows
    assert DistributedWrench(ROD, frame="section").follows


def test_distributed_wrench_acts_on_its_stretch():
    load = DistributedWrench(
        ROD, force=(0, 0, -2), moment=lambda s: np.outer(s, [1, 0, 0]), start=0.1, end=0.3
    )
    density = load.density(S)
    on = (S >= 0.1) & (S <= 0.3)
    assert density[on] == pytest.approx(
        np.stack([S[on], *np.zeros((4, on.sum())), np.full(on.sum(), -2)], axis=1)
    )
    assert np.all(density[~on] == 0.0)
    assert load.breaks == (0.1, 0.3)
    assert DistributedWrench(ROD).breaks == ()
    grid = ROD.grid_with(breaks=load.breaks)
    assert grid.weights @ load.density(grid.s) == pytest.approx([0.04, 0, 0, 0, 0, -0.4], rel=1e-13)


@pytest.mark.parametrize("load", [Gravity(), PointWrench(ROD), PointWrench(BODY), DistributedWrench(ROD)])
def test_inputs_scale_loads_and_are_checked(load):
    assert (load.unit, load.default) == ("1", 1.0)
    assert load.check(-2) == -2.0
    assert {load: 1.0}[load] == 1.0
    with pytest.raises(BadInput, match=rf"input of '{load.name}' contains nan \(\(dimensionless scale\)\)"):
        load.check(np.nan)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Gravity((0, 9.81)), r"gravity acceleration has shape \(2,\): expected \(3,\) in m/s2"),
        (lambda: Gravity((0, 0, np.nan)), r"gravity acceleration contains nan \(m/s2\)"),
        (lambda: Gravity(name="g/h"), r"gravity name = 'g/h'"),
        (lambda: PointWrench(ROD, at=0.5), r"at = 0.5 m lies outside the rod; choose s within \[0, 0.4\] m"),
        (lambda: PointWrench(ROD, at=-0.1), r"load 'point wrench': at = -0.1 m lies outside the rod"),
        (lambda: PointWrench(ROD, at=np.nan), r"load 'point wrench': at contains nan \(m\)"),
        (lambda: PointWrench(ROD, at="end"), r"at = 'end'; say \"base\", \"tip\" or a number s in m"),
        (lambda: PointWrench(ROD, force=(1, np.inf, 0)), r"load 'point wrench': force contains inf \(N\)"),
        (lambda: PointWrench(ROD, moment=(1,)), r"moment has shape \(1,\): expected \(3,\) in N m"),
        (
            lambda: PointWrench(ROD, frame="body"),
            r"frame = 'body'; say \"world\" \(dead load\) or \"section\"",
        ),
        (lambda: PointWrench("arm"), r"part = 'arm'; give the Rod or the RigidBody it acts on"),
        (lambda: PointWrench(BODY, at="tip"), r"at = 'tip'; on a body give the point \(x, y, z\) in m, in body axes"),
        (lambda: PointWrench(BODY, at=(0, np.nan, 0)), r"load 'point wrench': at contains nan \(m\)"),
        (
            lambda: PointWrench(BODY, frame="section"),
            r"frame = 'section'; say \"world\" \(dead load\) or \"body\" \(follower\)",
        ),
        (lambda: PointWrench(BODY).position, r"'point wrench' acts on the body 'hull', which has no arc length"),
        (lambda: DistributedWrench(BODY), r"load '.*': rod = the RigidBody '.*'; give the Rod it acts on"),
        (lambda: DistributedWrench(ROD, end=0.5), r"end = 0.5 m lies beyond the rod; choose end <= 0.4 m"),
        (
            lambda: DistributedWrench(ROD, start=0.4),
            r"start = 0.4 m is not before end = 0.4 m; choose start < end",
        ),
        (lambda: DistributedWrench(ROD, force=(np.nan, 0, 0)), r"force contains nan \(N/m\)"),
        (
            lambda: DistributedWrench(ROD, force=lambda s: s),
            r"load 'distributed wrench': force: the callable returned shape \(20,\).*\(20, 3\) in N/m",
        ),
        (
            lambda: DistributedWrench(ROD, moment=lambda s: np.full((len(s), 3), np.nan)),
            r"moment: the callable returned \[nan nan nan\] N m/m at s = 0 m; make it finite",
        ),
        (lambda: DistributedWrench(ROD, frame="body"), r"frame = 'body'"),
    ],
)
def test_bad_loads_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
