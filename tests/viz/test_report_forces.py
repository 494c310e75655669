"""Reports tell what joints and rods carry."""

import re

import pytest

import elver as ev


@pytest.fixture
def system():
    arm = ev.Rod(
        0.3, ev.Circle(8e-3), ev.Material(2e7, poisson=0.45, density=1070.0), ev.Legendre(bending=2), name="arm"
    )
    hand = ev.RigidBody(0.05, (1e-5, 1e-5, 1e-5), name="hand")
    joints = [ev.Fixed("world", (arm, "base"), name="clamp"), ev.Fixed((arm, "tip"), hand, name="wrist")]
    return ev.System(ev.Mechanism(joints), loads=[ev.Gravity()])


def text_of(path):
    return re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8"))


def test_an_equilibrium_tells_its_reactions(system, tmp_path):
    """Weight on the clamp, weight of the hand on the wrist; the base carries most."""
    text = text_of(ev.report(ev.still(ev.equilibrium(system)), tmp_path / "rest.html"))
    weight = 9.81 * sum(part.mass for part in system.mechanism.parts)
    assert f"clamp world to arm at base 0, 0, {weight:.4g} {weight:.4g}" in re.sub(r"\s+", " ", text)
    assert f"wrist arm at tip to hand 0, 0, {9.81 * 0.05:.4g}" in re.sub(r"\s+", " ", text)
    assert f"{weight:.4g} at s = 0 m" in text


def test_a_run_tells_the_largest(system, tmp_path):
    run = ev.simulate(system, duration=0.1, step=5e-3)
    path = ev.report(run, tmp_path / "run.html")
    text = text_of(path)
    largest = float((ev.reactions(run)["force_on_b_world"].sel(joint="clamp") ** 2).sum("xyz").max() ** 0.5)
    assert f"{largest:.4g}" in text
    assert "Internal stress" in text
    assert "size of the reactions, N m" in path.read_text(encoding="utf-8")


def test_a_run_without_a_model_has_none(system, tmp_path):
    run = ev.simulate(system, duration=0.02, step=5e-3)
    run.attrs.pop("model")
    assert "Internal stress" not in text_of(ev.report(run, tmp_path / "run.html"))
