"""The live view in a headless Chromium: it loads, sliders move the robot, it keeps time, reset works, windows agree.

On a machine without a browser these tests are skipped and say so; with CI=true they are never skipped.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elver as ev
from elver.viz.browser import LiveView, view

sys.path.insert(0, str(Path(__file__).parent))
from devtools import Browser, Page

# Pictures per second that the browser draws, counted for two seconds.
RATE = """new Promise(done => { let n = 0; const t0 = performance.now();
  const next = () => { n++; const t = performance.now() - t0;
    if (t > 2000) done(1000 * n / t); else requestAnimationFrame(next); };
  requestAnimationFrame(next); })"""


def tendon_arm() -> ev.System:
    silicone = ev.Material(young=1e6, poisson=0.45, density=1070.0, damping=0.05)
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone, ev.Legendre(bending=4, torsion=2), name="arm")
    tendon = ev.Tendon(rod, path=ev.parallel(y=6e-3, z=0.0), name="pull")
    return ev.System(ev.Mechanism.clamped(rod), [tendon], [ev.Gravity()])


def rfrfr() -> ev.System:
    """Two rods on motors, hinged at their tips."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    left, right = (ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(3), name=n) for n in ("left", "right"))
    joints = [
        ev.Revolute(("world", (-0.2, 0.0, 0.0)), (left, "base"), name="J1", start=np.pi / 2),
        ev.Revolute(("world", (0.2, 0.0, 0.0)), (right, "base"), name="J4", start=np.pi / 2),
        ev.Revolute((left, "tip"), (right, "tip"), name="P"),
    ]
    return ev.System(ev.Mechanism(joints), [ev.Motor(joints[0], name="tau_1"), ev.Motor(joints[1], name="tau_2")])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(size=(900, 600)) as opened:
        yield opened


@pytest.fixture(params=["tendon arm", "RFRFR"])
def page_of(request: Any, browser: Browser) -> Iterator[tuple[LiveView, Page]]:
    if request.param == "RFRFR":
        with pytest.warns(ev.ElverWarning, match="redundant"):
            shown = view(rfrfr(), port=18480, wait=False)
    else:
        shown = view(tendon_arm(), port=18480, wait=False)
    assert isinstance(shown, LiveView)
    shown.stage._handles["ground"].visible = False  # its shadow takes seconds a picture where the processor draws
    page = browser.open(shown.url)
    # the first picture takes long there, too
    page.wait_for("document.querySelector('canvas') !== null && document.body?.innerText.includes('real time')", 240.0)
    yield shown, page
    page.close()
    shown.stop()


def text_field(page: Page, label: str, value: float) -> None:
    """Write into the number beside the slider whose label begins with ``label``."""
    found = page.wait_for(
        f"""(() => {{
          const words = [...document.querySelectorAll('label')].filter(
            e => e.textContent.trim().startsWith({label!r}));
          for (const word of words) {{
            let box = word;
            for (let k = 0; k < 6 && box; k++, box = box.parentElement) {{
              const input = box.querySelector('input.mantine-NumberInput-input, input[inputmode]');
              if (input) {{ input.focus(); input.select(); return true; }}
            }}
          }}
          return false; }})()"""
    )
    assert found
    page.send("Input.insertText", text=f"{value:g}")
    for kind in ("keyDown", "keyUp"):
        page.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)


def press(page: Page, label: str) -> None:
    """Press a button by its word."""
    script = f"""(() => {{ const b = [...document.querySelectorAll('button')].find(
        e => e.textContent.trim() === {label!r}); if (b) b.click(); return !!b; }})()"""
    assert page.run(script), f"no button {label!r} on the page"


def until(condition: Any, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


def test_the_page_moves_the_robot(page_of: tuple[LiveView, Page], browser: Browser, record_property: Any) -> None:
    shown, page = page_of
    robot = shown.robot
    first = robot.snapshot().point
    name = robot.names[0]
    value = 0.4 * robot.ranges[name][1]

    # a number typed beside the slider moves the robot
    text_field(page, name, value)
    assert until(lambda: abs(robot.inputs_now()[name] - value) < 0.02 * value)
    assert until(lambda: np.linalg.norm(robot.snapshot().point - first) > 1e-2)

    # a second window sees the same, and closing it stops nothing
    second = browser.open(shown.url)
    second.wait_for("document.body?.innerText.includes('real time')", 240.0)
    assert len(shown.server.get_clients()) == 2
    second.close()
    assert until(lambda: len(shown.server.get_clients()) == 1)
    before = robot.time
    assert until(lambda: robot.time > before)

    # real time: reported, since a busy machine is no error
    start, at = time.monotonic(), robot.time
    rate = page.run(RATE)
    time.sleep(3.0)
    ratio = (robot.time - at) / (time.monotonic() - start)
    record_property("simulated/wall", ratio)
    record_property("pictures per second sent", shown.pictures)
    record_property("pictures per second drawn", rate)
    print(f"simulated/wall {ratio:.3f}, {shown.pictures:.0f} pictures/s sent, {rate:.1f} drawn")
    assert ratio > 0.0

    # pause, reset
    press(page, "pause")
    assert until(lambda: robot.paused)
    press(page, "reset")
    assert until(lambda: robot.time == 0.0)
    np.testing.assert_allclose(robot.snapshot().point, first, atol=1e-9)
    press(page, "pause")
    press(page, "statics")
    assert until(lambda: robot.mode == "statics")
    assert len(page.picture()) > 10_000
    assert page.errors == []


def test_ctrl_c_ends_cleanly(tmp_path: Path) -> None:
    code = (
        "import elver as ev\n"
        "rod = ev.Rod(0.4, ev.Circle(8e-3), ev.Material(young=1e6, poisson=0.45, density=1070.0),"
        " ev.Legendre(bending=2))\n"
        "ev.view(ev.System(ev.Mechanism.clamped(rod)), port=18680)\n"
        "print('ended')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )  # fmt: skip

    def answers() -> bool:
        try:
            with urllib.request.urlopen("http://127.0.0.1:18680", timeout=5) as page:
                return bool(page.status == 200)
        except OSError:
            return False

    try:
        assert until(answers, 120.0)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert "ended" in out
    assert "Traceback" not in err
