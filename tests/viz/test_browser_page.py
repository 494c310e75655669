"""The pages in a headless Chromium: a person moves sliders, drags the robot, opens and closes windows, plays runs.

On a machine without a browser these tests are skipped and say so; with CI=true they are never skipped. Nothing is
asked of the speed of the machine: where a processor draws, a picture takes a second.
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
import viser
import viser.transforms

import elver as ev
from elver.viz.browser import LiveView, Player, view

sys.path.insert(0, str(Path(__file__).parent))
from devtools import PATIENCE, Browser, Page
from robots import rfrfr, soft_arm

# Pictures per second that the browser draws, counted for a second.
RATE = """new Promise(done => { let n = 0; const t0 = performance.now();
  const next = () => { n++; const t = performance.now() - t0;
    if (t > 1000) done(1000 * n / t); else requestAnimationFrame(next); };
  requestAnimationFrame(next); })"""

# The number beside the slider whose label begins with some words.
FIELD = """(words => {
  for (const label of [...document.querySelectorAll('label')].filter(e => e.textContent.trim().startsWith(words))) {
    let box = label;
    for (let k = 0; k < 6 && box; k++, box = box.parentElement) {
      const input = box.querySelector('input.mantine-NumberInput-input, input[inputmode]');
      if (input) return input;
    }
  }
  return null; })"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Where a processor draws, sixty pictures a second pile up, and what a person does waits behind them."""
    with pytest.MonkeyPatch.context() as patch, Browser(size=(800, 500)) as opened:
        patch.setattr("elver.viz.browser.liveview._PICTURES", 5.0)
        patch.setattr("elver.viz.browser.player._PICTURES", 5.0)
        yield opened


def window(browser: Browser, shown: LiveView | Player) -> Page:
    """A window with the page, loaded; where the processor draws, that takes long, and much longer with a floor."""
    for stage in shown.stages if isinstance(shown, Player) else [shown.stage]:
        if "ground" in stage._handles:
            stage._handles["ground"].visible = False
    page = browser.open(shown.url)
    page.wait_for("document.querySelector('canvas') !== null && document.body?.innerText.includes('t =')")
    return page


@pytest.fixture(scope="module", params=["tendon arm", "RFRFR"])
def robot_and_page(request: Any, browser: Browser) -> Iterator[tuple[LiveView, Page]]:
    shown = view(rfrfr() if request.param == "RFRFR" else soft_arm(damping=0.05), port=18480, wait=False)
    assert isinstance(shown, LiveView)
    page = window(browser, shown)
    yield shown, page
    page.close()
    shown.stop()


def write(page: Page, label: str, value: float) -> None:
    """Write into the number beside the slider whose label begins with ``label``."""
    page.wait_for(f"(() => {{ const e = {FIELD}({label!r}); e?.focus(); e?.select(); return e !== null; }})()")
    page.send("Input.insertText", text=f"{value:g}")
    for kind in ("keyDown", "keyUp"):
        page.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)


def press(page: Page, label: str) -> None:
    """Press a button, or tick a box, by its word."""
    script = f"""(() => {{
        const button = [...document.querySelectorAll('button')].find(e => e.textContent.trim() === {label!r});
        const word = [...document.querySelectorAll('label')].find(e => e.textContent.trim() === {label!r});
        const found = button ?? word?.closest('div')?.parentElement?.querySelector('input[type=checkbox]');
        found?.click();
        return !!found; }})()"""
    assert page.run(script), f"no button or box {label!r} on the page"


def until(condition: Any, seconds: float = PATIENCE) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(condition())


def only_client(shown: LiveView) -> Any:
    """The one window there is, once its camera is known."""
    assert until(lambda: len(shown.server.get_clients()) == 1)
    (client,) = shown.server.get_clients().values()
    assert until(lambda: client.camera._state.update_timestamp != 0.0)
    return client


def pixel(camera: Any, point: np.ndarray) -> tuple[float, float]:
    """Where a point of the world is in the window."""
    x, y, z = viser.transforms.SO3(camera.wxyz).as_matrix().T @ (point - camera.position)
    focal = 0.5 * camera.image_height / np.tan(0.5 * camera.fov)
    return 0.5 * camera.image_width + focal * x / z, 0.5 * camera.image_height + focal * y / z


# Live -----------------------------------------------------------------------------------------------------------


def test_sliders_move_the_robot_and_reset_takes_it_back(
    robot_and_page: tuple[LiveView, Page], record_property: Any
) -> None:
    shown, page = robot_and_page
    robot = shown.robot
    shown.reset()
    first = robot.snapshot().point
    name = robot.names[0]
    value = 0.4 * robot.ranges[name][1]
    write(page, name, value)
    assert until(lambda: abs(robot.inputs_now()[name] - value) < 0.02 * value)
    assert until(lambda: np.linalg.norm(robot.snapshot().point - first) > 1e-2)

    # real time: reported, since a busy machine is no error
    start, at = time.monotonic(), robot.time
    rate = page.run(RATE)
    ratio = (robot.time - at) / (time.monotonic() - start)
    record_property("simulated/wall", ratio)
    record_property("pictures per second sent", shown.pictures)
    record_property("pictures per second drawn", rate)
    print(f"simulated/wall {ratio:.3f}, {shown.pictures:.0f} pictures/s sent, {rate:.1f} drawn")
    assert ratio > 0.0

    press(page, "pause")
    assert until(lambda: robot.paused)
    press(page, "reset")
    assert until(lambda: robot.time == 0.0)
    np.testing.assert_allclose(robot.snapshot().point, first, atol=1e-9)
    page.wait_for(f"parseFloat({FIELD}({name!r}).value) === 0")
    press(page, "pause")
    assert until(lambda: not robot.paused)
    press(page, "statics")
    assert until(lambda: robot.mode == "statics")
    page.wait_for("document.body.innerText.includes('equilibrium: stable')")
    press(page, "dynamics")
    assert until(lambda: robot.mode == "dynamics")
    assert len(page.picture()) > 10_000
    assert page.errors == []


def test_a_second_window_sees_the_same_and_closing_it_stops_nothing(
    robot_and_page: tuple[LiveView, Page], browser: Browser
) -> None:
    shown, page = robot_and_page
    name = shown.robot.names[0]
    value = 0.2 * shown.robot.ranges[name][1]
    second = window(browser, shown)
    # a window that a busy machine keeps from answering is given up and connects again: counts settle
    assert until(lambda: len(shown.server.get_clients()) == 2)
    write(second, name, value)
    page.to_front()  # as one looks at it: a window behind another gets what is left of a busy machine
    page.wait_for(f"Math.abs(parseFloat({FIELD}({name!r}).value) - {value}) < 1e-6")  # seen in the first
    # By Python, seen in both. A window may repeat what was written into it, and the last word holds: said again then.

    def seen_in(each: Page) -> bool:
        shown.robot.set_input(name, 2.0 * value)
        return bool(each.run(f"Math.abs(parseFloat({FIELD}({name!r}).value) - {2.0 * value}) < 1e-6"))

    for each in (page, second):
        each.to_front()
        assert until(lambda each=each: seen_in(each))
    assert second.errors == []
    second.close()
    page.to_front()
    assert until(lambda: len(shown.server.get_clients()) == 1)
    before = shown.robot.time
    assert until(lambda: shown.robot.time > before)


def test_what_cannot_be_solved_is_said_on_the_page(robot_and_page: tuple[LiveView, Page]) -> None:
    shown, page = robot_and_page
    with shown.robot.lock:
        shown.robot._failed, shown.robot.trouble = True, "no equilibrium <here>"
    page.wait_for("document.body.innerText.includes('no equilibrium <here>')")
    press(page, "reset")
    page.wait_for("!document.body.innerText.includes('no equilibrium <here>')")
    assert until(lambda: shown.robot.time > 0.0)
    assert page.errors == []


def test_the_mouse_drags_a_point_of_the_rod(browser: Browser) -> None:
    """With every window closed the robot goes on; in a new one the mouse takes hold of it and lets go."""
    shown = view(soft_arm(damping=0.05), port=18480, wait=False)
    assert isinstance(shown, LiveView)
    robot = shown.robot
    try:
        window(browser, shown).close()
        assert until(lambda: not shown.server.get_clients())
        before = robot.time
        assert until(lambda: robot.time > before)

        page = window(browser, shown)
        press(page, "pause")
        assert until(lambda: robot.paused)
        client = only_client(shown)
        place = shown.places(robot.snapshot())["arm"]
        middle = len(place.s) // 2
        end = time.monotonic() + PATIENCE
        while not robot.pull.any() and time.monotonic() < end:
            # a busy page may still show the rod elsewhere and turn the camera instead: let go, look, grasp again
            page.mouse_button("mouseReleased", 1.0, 1.0)
            x, y = pixel(client.camera, place.position[middle])
            page.mouse_to(x, y)
            page.mouse_button("mousePressed", x, y)
            for step in (10.0, 20.0, 30.0, 40.0):
                page.mouse_to(x + step, y, held=True)
            until(lambda: robot.pull.any(), 5.0)
        assert robot.pull.any()
        assert robot.point.startswith("arm at")
        assert robot.points[robot.point][1] == pytest.approx(place.s[middle], abs=0.02)
        shift = np.asarray(client.camera.look_at) - client.camera.position
        assert np.cross(shift, [0.0, 0.0, 1.0]) @ robot.pull > 0.0  # to the right of the camera
        page.mouse_button("mouseReleased", x + 40.0, y)
        assert until(lambda: not robot.pull.any())
        # Chromium says this of the listeners that viser puts on its canvas
        assert [text for text in page.errors if "passive event listener" not in text] == []
        page.close()
    finally:
        shown.stop()


def test_a_page_from_elsewhere_cannot_reach_the_robot(robot_and_page: tuple[LiveView, Page], browser: Browser) -> None:
    shown, page = robot_and_page
    script = f"""new Promise(done => {{
        const socket = new WebSocket('{shown.url.replace("http", "ws")}', ['viser-v{viser.__version__}']);
        socket.onopen = () => {{ socket.close(); done('open'); }};
        socket.onerror = () => done('refused'); }})"""
    stranger = browser.open("about:blank")
    assert stranger.run(script) == "refused"
    assert page.run(script) == "open"
    stranger.close()


# Playback -------------------------------------------------------------------------------------------------------


def test_two_runs_are_played_side_by_side(browser: Browser, tmp_path: Path) -> None:
    system, files = soft_arm(), []
    for tension in (1.0, 3.0):
        run = ev.simulate(system, ev.equilibrium(system, {"pull": tension}), 0.5, 1e-2, inputs={"pull": 0.0})
        files.append(ev.save(run, tmp_path / f"{tension:g}N.nc"))
    player = view(files, port=18480, wait=False)
    assert isinstance(player, Player)
    try:
        page = window(browser, player)
        page.wait_for("document.body.innerText.includes('1N.nc') && document.body.innerText.includes('3N.nc')")
        assert player.playing
        write(page, "speed", 0.5)
        assert until(lambda: player.rate == 0.5)
        press(page, "pause")  # while it plays, the number is its own
        page.wait_for("document.body.innerText.includes('paused')")
        write(page, "time", 0.3)
        assert until(lambda: player._drawn == [30, 30])
        page.wait_for("document.body.innerText.includes('t = 0.300')")
        press(page, "camera follows")
        assert until(lambda: player.follow.value)
        world, middle = np.array(player.stages[1].world.position), player.stages[0].middle
        write(page, "time", 0.4)
        assert until(lambda: np.linalg.norm(player.stages[1].world.position - world) > 1e-3)
        moved = player.stages[0].middle - middle
        np.testing.assert_allclose(player.stages[1].world.position, world - moved, atol=1e-12)
        press(page, "play")
        assert until(lambda: player.playing)
        # curves are drawn in the plots: some pixel of their canvas has the colour of one
        page.wait_for(
            """[...document.querySelectorAll('.uplot canvas')].every(canvas => {
              const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
              for (let k = 0; k < data.length; k += 4)
                if (Math.abs(data[k] - 228) + Math.abs(data[k + 1] - 87) + Math.abs(data[k + 2] - 46) < 30) return true;
              return false; })"""
        )
        assert len(page.picture()) > 10_000
        assert page.errors == []
        page.close()
    finally:
        player.stop()


# The end --------------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_cleanly(tmp_path: Path) -> None:
    code = (
        "import elver as ev\n"
        "rod = ev.Rod(0.4, ev.Circle(8e-3), ev.Material(young=1e6, poisson=0.45, density=1070.0),"
        " ev.Legendre(bending=2))\n"
        "shown = ev.view(ev.System(ev.Mechanism.clamped(rod)), port=18680, wait=False)\n"
        "print(shown.url, flush=True)\n"
        "shown.wait()\n"
        "print('ended')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )  # fmt: skip

    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with urllib.request.urlopen(address, timeout=PATIENCE) as page:
            assert page.status == 200
        time.sleep(0.5)  # it waits by now
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out == "ended\n"
    assert err == ""
