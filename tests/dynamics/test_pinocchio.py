"""Rigid trees against Pinocchio: two libraries that share nothing, one motion, the same forces and derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev

from .pinocchio_models import Twin, eel, random_state, random_urdf, tree

TREES = [(seed, floating) for seed in (1, 2, 3) for floating in (False, True)]
NAMES = [f"tree-{seed}-{'floating' if floating else 'fixed'}" for seed, floating in TREES]
# Rounding of two different recursions, and of rotations written as roll, pitch and yaw or as quaternions.
ROUNDING = 1e-10


@pytest.fixture(scope="module", params=[*TREES, 2, 12], ids=[*NAMES, "eel-2", "eel-12"])
def twin(request) -> Twin:
    if isinstance(request.param, int):
        return eel(request.param)
    seed, floating = request.param
    return tree(random_urdf(np.random.default_rng(seed)), floating)


@pytest.fixture(scope="module")
def state(twin) -> ev.State:
    return random_state(twin.system, np.random.default_rng(17))


def same(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=ROUNDING * np.abs(theirs).max())


def test_all_mass_is_taken_over(twin):
    ours = sum(body.mass for body in twin.system.mechanism.bodies)
    assert ours == pytest.approx(sum(inertia.mass for inertia in list(twin.model.inertias)), rel=1e-14)


def test_inverse_dynamics_and_its_derivatives(twin, state):
    Q, dQ_dq, dQ_du, M = twin.inverse_dynamics(state)
    tangent = ev.tangent_inverse_dynamics(twin.system, state)
    same(ev.inverse_dynamics(twin.system, state), Q)
    same(tangent.Q, Q)
    same(tangent.dQ_dq, dQ_dq)
    same(tangent.dQ_dq_dot, dQ_du)
    same(tangent.dQ_dq_ddot, M)
    same(ev.mass_matrix(twin.system, state), M)


def test_forward_dynamics_and_its_derivatives(twin, state):
    """u̇ under weight and random efforts of all motors by articulated bodies, and its slopes.

    Ours are -M⁻¹ ∂R; theirs the same of their inverse dynamics, and those of the articulated bodies. The latter lose
    digits from one spherical joint to the next (Pinocchio 4.1: its inverse mass matrix of the eel is right to 5e-15
    with 2 joints, 8e-12 with 6 and 2e-7 with 12, beside a solve with its own mass matrix; chains of revolutes do not
    suffer), so that they judge trees and short eels only.
    """
    system = twin.system
    efforts = np.random.default_rng(5).uniform(-1.0, 1.0, system.n)
    inputs = dict(zip(system.actuators, efforts, strict=True))
    free = 6 * system.free
    u_dot, by_q, by_u = twin.forward_dynamics(state, np.concatenate([np.zeros(free), efforts]))
    moving = ev.forward_dynamics(system, state, inputs)
    same(np.concatenate([moving.eta_dot[:free], moving.q_ddot]), u_dot)
    tangent = ev.tangent_forward_dynamics(system, state, inputs)
    same(tangent.q_ddot, u_dot)
    ours = tangent.dq_ddot_dq, tangent.dq_ddot_dq_dot
    _, dQ_dq, dQ_du, M = twin.inverse_dynamics(moving)
    same(ours[0], -np.linalg.solve(M, dQ_dq))
    same(ours[1], -np.linalg.solve(M, dQ_du))
    if len(system.mechanism.bodies) < 13:
        same(ours[0], by_q)
        same(ours[1], by_u)


def test_the_trees_are_what_they_are_said_to_be():
    kinds, branching = set(), 0
    for seed in (1, 2, 3):
        mechanism = tree(random_urdf(np.random.default_rng(seed)), floating=False).system.mechanism
        assert 8 <= len(mechanism.bodies) <= 12
        kinds |= {joint.kind for joint in mechanism.joints}
        parents = [branch.parent.part for branch in mechanism.tree.branches]
        branching += sum(parents.count(parent) > 1 for parent in set(parents))
    assert kinds == {"fixed", "revolute", "prismatic"}
    assert branching >= 3
