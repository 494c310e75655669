"""The live view without a browser: the robot obeys, keeps time, fails and recovers; the page shows what it does."""

from __future__ import annotations

import math
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import elver as ev
from elver.cli import app
from elver.integrators.ranges import range_of
from elver.viz.browser import LiveRobot, LiveView, Player, view
from elver.viz.browser.player import Recording
from elver.viz.browser.plots import LinkedPlot
from elver.viz.browser.server import check_host, open_server, refusal
from elver.viz.browser.shapes import RodSkin, ball, disk, interpolation, open_tube

sys.path.insert(0, str(Path(__file__).parent))
from robots import rfrfr, soft_arm


def run_for(robot: LiveRobot, seconds: float) -> None:
    for _ in range(round(60 * seconds)):
        robot.advance(1.0 / 60.0)


# The robot ------------------------------------------------------------------------------------------------------


def test_statics_follows_its_inputs() -> None:
    system = soft_arm()
    robot = LiveRobot(system, mode="statics")
    robot.set_input("pull", 2.0)
    robot.advance(0.1)
    wanted = ev.equilibrium(system, {"pull": 2.0})
    np.testing.assert_allclose(robot.state.q, wanted.state.q, atol=1e-7)
    assert robot.check_balance() is not None
    assert robot.check_balance().stable  # type: ignore[union-attr]


def test_dynamics_is_that_of_simulate() -> None:
    """The chunks of the view and one call of simulate are one motion."""
    system = soft_arm()
    method = ev.GeneralizedAlpha(rho_inf=0.6)
    robot = LiveRobot(system, {"pull": ev.smooth_step(0.0, 0.2, 0.0, 3.0)}, method=method, step=1e-2)
    for _ in range(50):
        robot.advance(0.01 + 1e-9)
    start = ev.equilibrium(system, {"pull": 0.0})
    run = ev.simulate(system, start, 0.5, 1e-2, method, {"pull": ev.smooth_step(0.0, 0.2, 0.0, 3.0)})
    assert robot.time == pytest.approx(0.5)
    np.testing.assert_allclose(robot.state.q, run["q"].values[-1], rtol=1e-6, atol=1e-7)


def test_dynamics_settles_where_statics_is() -> None:
    robot = LiveRobot(soft_arm(damping=0.2))
    robot.set_input("pull", 2.0)
    run_for(robot, 5.0)
    wanted = ev.equilibrium(robot.system, {"pull": 2.0})
    assert robot.time == pytest.approx(5.0, abs=0.01)
    assert np.linalg.norm(robot.snapshot().point - wanted.tip[:3, 3]) < 2e-3


def test_a_tension_goes_back_to_nothing_and_never_below() -> None:
    """The polynomial of a smooth step passes its end by rounding; a tendon that pushes would stop the motion."""
    robot = LiveRobot(soft_arm(), {"pull": 5.0})
    robot.set_input("pull", 0.0)
    way = robot.signals["pull"]
    assert callable(way)
    assert min(way(0.05 * (1.0 - gap)) for gap in np.logspace(-7, -4, 4000)) == 0.0
    run_for(robot, 0.1)
    assert robot.inputs_now()["pull"] == 0.0
    assert robot.trouble == ""


def test_calm_takes_energy_in_proportion_to_the_mass() -> None:
    """A free body loses speed as exp(-calm t)."""
    body = ev.RigidBody(mass=1.0, inertia=(0.1, 0.1, 0.1), name="stone")
    system = ev.System(ev.Mechanism.free(body))
    state = system.rest().with_(eta=np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]))
    robot = LiveRobot(system, state=state)
    robot.calm = 2.0
    run_for(robot, 1.0)
    assert robot.state.eta[3] == pytest.approx(math.exp(-2.0 * robot.time), rel=1e-6)


def test_reset_goes_back_to_the_first_state() -> None:
    robot = LiveRobot(soft_arm())
    first = robot.snapshot()
    robot.set_input("pull", 3.0)
    robot.set_pull([0.01, 0.02, 0.0])
    run_for(robot, 0.5)
    assert np.linalg.norm(robot.snapshot().point - first.point) > 1e-3
    robot.reset()
    again = robot.snapshot()
    np.testing.assert_allclose(again.position, first.position, atol=1e-9)
    assert again.inputs == first.inputs
    assert again.time == 0.0
    assert not again.pull.any()


def test_the_balance_is_sought_while_the_robot_moves() -> None:
    """It belongs to where the inputs go, and an input that changes meanwhile makes it unknown again."""
    robot = LiveRobot(soft_arm())
    robot.set_input("pull", 2.0)
    assert robot.searching
    assert robot.balance is None
    found = robot.check_balance()
    assert found is not None
    assert not robot.searching
    np.testing.assert_allclose(found.state.q, ev.equilibrium(robot.system, {"pull": 2.0}).state.q, atol=1e-7)
    assert robot.inputs_now()["pull"] == 0.0  # on its way
    robot.set_pull([0.0, 0.1, 0.0])
    assert robot.searching


def test_pause_stops_the_clock_and_nothing_else() -> None:
    robot = LiveRobot(soft_arm())
    robot.paused = True
    run_for(robot, 1.0)
    assert robot.time == 0.0
    robot.paused = False
    run_for(robot, 0.5)
    assert robot.time == pytest.approx(0.5, abs=0.01)


def test_a_pull_moves_the_point_along_it() -> None:
    robot = LiveRobot(soft_arm(), mode="statics")
    robot.advance(0.1)
    before = robot.snapshot().point
    for name in ("arm tip", "arm middle"):
        robot.set_point(name)
        robot.set_pull([0.0, 0.0, 0.0])
        robot.advance(0.1)
        before = robot.snapshot().point
        robot.set_pull([0.0, 0.02, 0.0])
        robot.advance(0.1)
        assert robot.snapshot().point[1] > before[1] + 1e-4


def test_any_point_can_be_grabbed() -> None:
    """A pull at s moves that section along it; the point keeps its name among those to choose from."""
    robot = LiveRobot(soft_arm(), mode="statics")
    robot.advance(0.1)
    robot.grab("arm", 0.3)
    assert robot.point == "arm at 0.3 m"
    assert {"arm tip", "arm middle", "arm at 0.3 m"} == set(robot.points)
    before = robot.snapshot().point
    along = interpolation(ev.nodes(robot.system), np.array([0.3])) @ ev.poses(robot.system, robot.state)[:, :3, 3]
    np.testing.assert_allclose(before, along[0], atol=1e-4)  # the spline between nodes
    robot.set_pull([0.0, 0.1, 0.0])
    robot.advance(0.1)
    assert robot.snapshot().point[1] > before[1] + 1e-2
    robot.grab("arm", 0.4)
    assert robot.point == "arm tip"


def test_a_loop_stays_closed_while_motors_move_it() -> None:
    robot = LiveRobot(rfrfr())
    start = robot.snapshot().point
    robot.set_input("tau_1", -0.2)
    robot.set_input("tau_2", 0.2)
    run_for(robot, 1.0)
    seen = robot.snapshot()
    rods, _ = robot.frames()
    tips = [seen.position[at.frames[-1]] for at in rods.values()]
    assert np.linalg.norm(tips[0] - tips[1]) < 1e-7
    assert np.linalg.norm(seen.point - start) > 1e-2


def test_what_cannot_be_solved_is_said_and_survived() -> None:
    """A slide that pulls a loop apart beyond its reach of 2 m: the state before stays, and a reset goes on."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    left, right = (ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(3), name=n) for n in ("left", "right"))
    upright = np.array([[0.0, -1.0, 0.0, -0.2], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    slide = ev.Prismatic(ev.Frame("world", pose=upright), (left, "base"), axis="y", name="slide")
    J4 = ev.Revolute(("world", (0.2, 0.0, 0.0)), (right, "base"), name="J4", start=np.pi / 2)
    hinge = ev.Revolute((left, "tip"), (right, "tip"), name="P")
    system = ev.System(ev.Mechanism([slide, J4, hinge]), [ev.Imposed(slide, name="drive")])
    with pytest.warns(ev.ElverWarning, match="redundant"):
        robot = LiveRobot(system, mode="statics")
    for mode in ("statics", "dynamics"):
        robot.set_mode(mode)  # type: ignore[arg-type]
        robot.set_input("drive", 3.0)
        run_for(robot, 0.5)
        assert robot.trouble
        assert np.all(np.isfinite(robot.state.q))
        robot.reset()
        run_for(robot, 0.2)
        assert robot.trouble == ""


def test_what_makes_no_sense_is_refused() -> None:
    robot = LiveRobot(soft_arm())
    with pytest.raises(ev.BadInput, match="can only pull"):
        robot.set_input("pull", -1.0)
    with pytest.raises(ev.BadInput, match="not part of this system"):
        robot.set_input("push", 1.0)
    with pytest.raises(ev.BadInput, match="no point"):
        robot.set_point("nose")
    with pytest.raises(ev.BadInput, match="ranges"):
        LiveRobot(soft_arm(), ranges={"push": (0.0, 1.0)})
    with pytest.raises(ev.BadInput, match="empty"):
        LiveRobot(soft_arm(), ranges={"pull": (1.0, 0.0)})
    with pytest.raises(ev.BadInput, match="no System"):
        LiveRobot("arm")  # type: ignore[arg-type]


def test_ranges_bend_a_rod_well() -> None:
    """At the end of its range a tendon turns the tip by one to five radians, whatever the rod is made of."""
    for young in (1e5, 1e6, 1e9):
        rod = ev.Rod(0.4, ev.Circle(8e-3), ev.Material(young=young, poisson=0.45, density=1e3), ev.Legendre(bending=2))
        tendon = ev.Tendon(rod, path=ev.parallel(y=6e-3, z=0.0))
        system = ev.System(ev.Mechanism.clamped(rod), [tendon])
        low, high = range_of(system, tendon)
        assert low == 0.0
        turn = high * 6e-3 * rod.length / rod.stiffness([0.0])[0, 2]
        assert 1.0 < turn < 6.0


# The shapes -----------------------------------------------------------------------------------------------------


def test_pieces_lie_on_the_rod_and_touch() -> None:
    system = soft_arm()
    bent = ev.equilibrium(system, {"pull": 3.0})
    g, s = ev.poses(system, bent.state), ev.nodes(system)
    skin = RodSkin(s, np.full((s.size, 2), 8e-3), 64, 0.0, system.rod)
    centre, quaternion, size = skin.pieces(g[:, :3, 3], g[:, :3, :3])
    between = np.linalg.norm(np.diff(centre, axis=0), axis=1)
    assert np.all(size[1:, 0] >= between)
    np.testing.assert_allclose(np.linalg.norm(quaternion, axis=1), 1.0, atol=1e-12)
    assert size[:, 0].sum() == pytest.approx(0.4, rel=0.2)


def test_tendons_within_a_rod_are_drawn_on_its_skin() -> None:
    s = np.linspace(0.0, 0.4, 9)
    skin = RodSkin(s, np.tile([8e-3, 4e-3], (s.size, 1)), 64, 0.0)
    D = np.array([[0.0, 2e-3, 0.0], [0.0, 0.0, 3e-3], [0.0, 20e-3, 0.0], [0.0, 0.0, 0.0]])
    seen = skin.on_skin(np.full(4, 0.2), D)
    np.testing.assert_allclose(seen[:2], [[0.0, 8.24e-3, 0.0], [0.0, 0.0, 4.12e-3]], atol=1e-12)
    np.testing.assert_array_equal(seen[2:], D[2:])  # outside, and in the middle


def test_measures_of_a_bent_rod() -> None:
    """A rod bent to a circle: curvature 1/R, strain r/R, stress E r/R."""
    steel = ev.Material(young=200e9, poisson=0.3, density=7800.0)
    rod = ev.Rod(1.0, ev.Circle(2e-3), steel, ev.Legendre(bending=1), name="rod")
    s = rod.grid.s
    skin = RodSkin(s, np.full((s.size, 2), 2e-3), 16, 0.0, rod)
    q = np.array([0.0, 0.5])  # K_z = 0.5 / m
    R = np.tile(np.eye(3), (s.size, 1, 1))
    np.testing.assert_allclose(skin.measure("curvature", q, R), 0.5)
    np.testing.assert_allclose(skin.measure("strain", q, R), 100.0 * 0.5 * 2e-3)
    np.testing.assert_allclose(skin.measure("stress", q, R), 200e3 * 0.5 * 2e-3)


@pytest.mark.parametrize("mesh", [open_tube, disk, ball])
def test_faces_of_meshes_look_outward(mesh: Any) -> None:
    vertices, faces = mesh()
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    outward = np.sum(np.cross(b - a, c - a) * (a + b + c), axis=1)
    assert np.all(outward > -1e-12)


# The page, without a browser ------------------------------------------------------------------------------------


@pytest.fixture
def shown() -> Iterator[LiveView]:
    page = view(soft_arm(), port=18080, wait=False)
    assert isinstance(page, LiveView)
    yield page
    page.stop()


@pytest.fixture
def still() -> Iterator[LiveView]:
    """A page without its loop: the test is the clock."""
    page = LiveView(LiveRobot(soft_arm()), open_server("127.0.0.1", 18080, "arm"), "arm")
    yield page
    page.stop()


def by_hand(page: LiveView, name: str, value: float) -> None:
    """What viser does when a person moves a slider."""
    page.sliders[name].value = value
    page._by_hand(SimpleNamespace(client="someone"), page.robot.set_input, name, value)


def until(condition: Callable[[], Any], seconds: float = 600.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


def test_the_page_answers_on_this_machine_only(shown: LiveView) -> None:
    assert shown.url.startswith("http://127.0.0.1:")
    with socket.create_connection(("127.0.0.1", shown.server.get_port()), timeout=60):
        pass
    assert shown.server.request_share_url() is None


def test_sliders_move_the_robot_and_reset_moves_them_back(shown: LiveView) -> None:
    robot = shown.robot
    first = robot.snapshot().point
    by_hand(shown, "pull", 3.0)
    assert until(lambda: np.linalg.norm(robot.snapshot().point - first) > 1e-2)
    shown._press("pause")
    shown.reset()
    assert shown.sliders["pull"].value == 0.0
    np.testing.assert_allclose(robot.snapshot().point, first, atol=1e-9)
    assert "paused" in shown.words(robot.snapshot())


def test_sliders_follow_what_python_sets(still: LiveView) -> None:
    robot = still.robot
    robot.set_input("pull", 1.5)
    robot.grab("arm", 0.3)
    robot.set_pull([0.0, 0.1, -0.2])
    still._follow()
    assert still.sliders["pull"].value == 1.5
    assert still.point.value == "arm at 0.3 m"
    assert [slider.value for slider in still.pulls] == pytest.approx([0.0, 0.1, -0.2])
    assert "arm at 0.3 m" in still.point_plot.title.content
    # a slider that a person holds is left alone
    by_hand(still, "pull", 2.0)
    still.sliders["pull"].value = 2.2  # the next event is on its way
    still._follow()
    assert still.sliders["pull"].value == 2.2


def test_sliders_follow_functions_of_time_until_they_are_moved(still: LiveView) -> None:
    robot = still.robot
    robot.signals["pull"] = ev.smooth_step(0.0, 1.0, 0.0, 2.0)
    run_for(robot, 0.5)
    still._follow()
    assert still.sliders["pull"].value == pytest.approx(1.0, abs=0.1)
    by_hand(still, "pull", 0.3)
    run_for(robot, 0.5)
    still._follow()
    assert still.sliders["pull"].value == 0.3


def test_a_drag_pulls_where_the_mouse_took_hold(still: LiveView) -> None:
    """The force points from where the mouse took hold to where it is, up to its range; at the end nothing pulls."""
    hold = np.array([0.3, 0.0, 0.0])

    def drag(phase: str, way: tuple[float, float, float]) -> None:
        still._drags.append(("arm", 0.3, SimpleNamespace(phase=phase, end_position=tuple(hold + way))))

    drag("start", (0.0, 0.0, 0.0))
    drag("update", (0.0, 0.01, 0.02))
    still.tick(0.0)
    force, reach = still.robot.pull, still.robot.pull_range
    assert still.robot.point == "arm at 0.3 m"
    np.testing.assert_allclose(force / np.linalg.norm(force), np.array([0.0, 1.0, 2.0]) / np.sqrt(5.0))
    drag("update", (0.0, -9.0, 0.0))
    still.tick(0.0)
    np.testing.assert_allclose(still.robot.pull, [0.0, -reach, 0.0])
    still.draw(still.robot.snapshot())
    assert still.arrow.visible
    drag("end", (0.0, -9.0, 0.0))
    still.tick(0.0)
    assert not still.robot.pull.any()
    still.draw(still.robot.snapshot())
    assert not still.arrow.visible


def test_troubles_are_on_the_page(shown: LiveView) -> None:
    shown._say(shown.robot.set_input, "pull", -1.0)
    assert "can only pull" in shown.words(shown.robot.snapshot())


def test_names_of_a_model_are_text_on_the_page(still: LiveView) -> None:
    """A model may come from anywhere: what it calls its parts is no HTML."""
    still.point_plot.begin("<script>alert(1)</script>")
    still.robot.trouble = "<script>alert(1)</script>"
    shown = still.point_plot.title.content + still.words(still.robot.snapshot())
    assert "<script" not in shown
    assert shown.count("&lt;script") == 2


def test_real_time(shown: LiveView, record_property: Any) -> None:
    """Reported, not judged: a busy machine is no error."""
    by_hand(shown, "pull", 2.0)
    start, at = time.monotonic(), shown.robot.time
    assert until(lambda: shown.robot.time > at + 1.0)
    ratio = (shown.robot.time - at) / (time.monotonic() - start)
    record_property("simulated/wall", ratio)
    print(f"simulated/wall = {ratio:.3f}")


def test_stop_ends_the_threads() -> None:
    page = view(soft_arm(), port=18180, wait=False)
    assert any(t.name == "elver-view" for t in threading.enumerate())
    waiting = threading.Thread(target=page.wait)
    waiting.start()
    page.stop()
    waiting.join(timeout=600.0)
    assert not waiting.is_alive()
    assert not any(t.name == "elver-view" for t in threading.enumerate())


@pytest.mark.parametrize(
    ("headers", "welcome"),
    [
        ({"Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:8080"}, True),
        ({"Host": "localhost:9000", "Origin": "http://localhost:9000"}, True),  # the other end of an SSH tunnel
        ({"Host": "[::1]:8080", "Origin": "http://[::1]:8080"}, True),
        ({"Host": "127.0.0.1:8080"}, True),  # no browser
        ({"Host": "127.0.0.1:8080", "Origin": "https://evil.example"}, False),  # another page in the same browser
        ({"Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:8888"}, False),  # another server of this machine
        ({"Host": "127.0.0.1:8080", "Origin": "null"}, False),  # a file, or a frame in a sandbox
        ({"Host": "evil.example:8080", "Origin": "http://evil.example:8080"}, False),  # a name that points here
        ({"Host": "127.0.0.1.evil.example"}, False),
        ({"Host": "localhost.evil.example"}, False),
        ({}, False),
    ],
)
def test_who_is_welcome(headers: dict[str, str], welcome: bool) -> None:
    assert (refusal(headers, remote=False) == "") is welcome


def test_with_remote_other_names_are_welcome_and_other_pages_are_not() -> None:
    assert refusal({"Host": "lab:8080", "Origin": "http://lab:8080"}, remote=True) == ""
    assert "evil" in refusal({"Host": "lab:8080", "Origin": "http://evil.example"}, remote=True)


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        (None, "http://{here}", 101),
        (None, None, 101),
        (None, "http://evil.example", 403),
        ("evil.example", "http://evil.example", 403),
        ("evil.example", None, 403),
    ],
)
def test_handshakes_of_other_pages_are_refused(
    shown: LiveView, host: str | None, origin: str | None, status: int
) -> None:
    """What a page of evil.example would send to move the robot, on the wire."""
    here = f"127.0.0.1:{shown.server.get_port()}"
    lines = [
        "GET / HTTP/1.1", f"Host: {host or here}", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
    ]  # fmt: skip
    if origin is not None:
        lines.append(f"Origin: {origin.format(here=here)}")
    with socket.create_connection(("127.0.0.1", shown.server.get_port()), timeout=300) as wire:
        wire.sendall("\r\n".join([*lines, "", ""]).encode())
        assert wire.recv(64).split()[1] == str(status).encode()


def test_the_page_itself_is_refused_under_other_names(shown: LiveView) -> None:
    request = urllib.request.Request(shown.url, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=300)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])
def test_other_hosts_are_refused(host: str) -> None:
    with pytest.raises(ev.BadInput, match="other machines"):
        view(soft_arm(), host=host)


def test_other_hosts_need_a_word() -> None:
    assert check_host("0.0.0.0", remote=True) == "0.0.0.0"
    assert check_host("localhost", remote=False) == "localhost"


def test_a_port_in_use_gives_the_next_and_none_at_all_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        page = view(soft_arm(), port=port, wait=False)
        assert page.url != f"http://127.0.0.1:{port}"
        page.stop()
    with pytest.raises(ev.BadInput, match="no port 70000"):
        view(soft_arm(), port=70000)
    with pytest.raises(ev.BadInput, match="no address of this machine"):
        view(soft_arm(), host="192.0.2.1", remote=True)  # reserved for documents


# Playback -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def released() -> Any:
    system = soft_arm()
    return ev.simulate(system, ev.equilibrium(system, {"pull": 3.0}), 0.5, 1e-2, inputs={"pull": 0.0})


def test_a_recording_knows_its_model(released: Any) -> None:
    recording = Recording(released)
    assert recording.system is not None
    assert [line.name for line in recording.actors.tendons] == ["pull"]
    k = recording.step_at(0.253)
    assert recording.time[k] == pytest.approx(0.25)
    np.testing.assert_array_equal(recording.places(k)["arm"].position, released["arm/position"].values[k])
    np.testing.assert_array_equal(recording.coordinates(k)["arm"], released["q"].values[k])


def test_a_recording_without_model_shows_its_shape(released: Any) -> None:
    bare = released.copy()
    bare.attrs = {}
    recording = Recording(bare)
    assert recording.system is None
    skin = RodSkin(recording.places(3)["arm"].s, np.full((released.sizes["arm_node"], 2), 8e-3), 32, 0.0)
    at = recording.places(3)["arm"]
    known = RodSkin(at.s, np.full((at.s.size, 2), 8e-3), 32, 0.0, soft_arm().rod)
    q = released["q"].values[3]
    # from neighbouring sections, second order in their distance
    np.testing.assert_allclose(
        skin.measure("curvature", None, at.rotation), known.measure("curvature", q, at.rotation), rtol=0.1, atol=0.2
    )


def test_what_a_run_lost_is_left_out(released: Any) -> None:
    """Instants without places are not shown, and coordinates and inputs stay with theirs."""
    torn = released.copy(deep=True)
    torn["arm/position"].values[10:20] = np.nan
    recording = Recording(torn)
    k = recording.step_at(0.3)
    assert recording.time[k] == pytest.approx(0.3)
    np.testing.assert_array_equal(recording.coordinates(k)["arm"], released["q"].values[30])
    np.testing.assert_array_equal(recording.places(k)["arm"].position, released["arm/position"].values[30])


def test_playback_runs_stops_and_seeks(released: Any, tmp_path: Path) -> None:
    file = ev.save(released, tmp_path / "run.nc")
    player = view([file, released], port=18280, wait=False)
    assert isinstance(player, Player)
    try:
        player.press("pause")
        player.seek(0.3)
        assert until(lambda: player._drawn == [30, 30])
        assert player.slider.value == pytest.approx(0.3)
        assert player.t == pytest.approx(0.3)
        player.repeat.value = False
        player.press("play")
        player.tick(10.0)
        assert player.t == pytest.approx(0.5)
        assert not player.playing
        assert "paused" in player.words()
    finally:
        player.stop()


@pytest.fixture
def open_player() -> Iterator[Callable[..., Player]]:
    """Players without their loop."""
    made: list[Player] = []

    def make(*runs: Any) -> Player:
        made.append(Player(runs, open_server("127.0.0.1", 18280, "runs"), "runs"))
        return made[-1]

    yield make
    for player in made:
        player.stop()


def test_the_camera_follows_the_robot(released: Any, open_player: Callable[..., Player]) -> None:
    """The world moves back by what the robot moves on, so that the camera stays with the person."""
    player = open_player(released)
    stage = player.stages[0]
    world, middle = np.array(stage.world.position), stage.middle
    player.follow.value = True
    player.seek(0.4)
    player.draw()
    moved = stage.middle - middle
    assert np.linalg.norm(moved) > 1e-2
    np.testing.assert_allclose(stage.world.position, world - moved, atol=1e-12)


def test_two_runs_stand_side_by_side_with_one_scale_of_colours(
    released: Any, open_player: Callable[..., Player]
) -> None:
    gentle = ev.simulate(soft_arm(), ev.equilibrium(soft_arm(), {"pull": 1.0}), 0.2, 1e-2, inputs={"pull": 0.0})
    first, second = open_player(released, gentle).stages
    right_end = released["arm/position"].values[..., 0].max()
    left_end = gentle["arm/position"].values[..., 0].min() + second.world.position[0]
    assert left_end > right_end
    assert first.colours is second.colours


def test_the_line_of_a_linked_plot_is_at_the_present_time() -> None:
    given: dict[str, Any] = {}
    gui = SimpleNamespace(add_uplot=lambda data, **options: given.update(options) or SimpleNamespace(data=data))
    t = np.linspace(0.0, 1.0, 11)
    plot = LinkedPlot(gui, "x", t, {"x": t**2, "y": -t}, "m")
    plot.show(0.42)
    time_, x, y, line = plot.handle.data
    (at,) = np.nonzero(np.isfinite(line))
    np.testing.assert_array_equal(time_[at], [0.4, 0.4])
    np.testing.assert_allclose(x, time_**2)
    low, high = given["scales"]["y"]["range"]
    assert low < y.min() < x.max() < high
    np.testing.assert_array_equal(line[at], [low, high])


def test_the_ground_goes_with_a_swimmer_and_its_lines_stay(released: Any, open_player: Callable[..., Player]) -> None:
    away = released.copy(deep=True)
    away["arm/position"].values[:] += np.linspace(0.0, 1.0, 51)[:, None, None] * [20.0, -7.0, -3.0]
    player = open_player(away)
    stage = player.stages[0]
    first = np.array(stage._handles["ground"].position)
    player.seek(0.5)
    player.draw()
    way = stage._handles["ground"].position - first
    np.testing.assert_allclose(way[:2] / stage.cell, np.round(way[:2] / stage.cell), atol=1e-6)
    at = away["arm/position"].values[50]
    assert np.abs(first + way - at.mean(axis=0))[:2].max() <= 4.0 * stage.cell
    assert first[2] + way[2] < at[:, 2].min()


def test_what_cannot_be_shown_is_said(tmp_path: Path, released: Any) -> None:
    with pytest.raises(ev.BadInput, match="give a run, an Equilibrium or a System"):
        view([3.0])  # type: ignore[list-item]
    with pytest.raises(ev.BadInput, match="side by side"):
        view([released, released, released])
    answer = CliRunner().invoke(app, ["view", str(tmp_path / "none.nc")])
    assert answer.exit_code == 2
    answer = CliRunner().invoke(app, ["view", str(tmp_path / "a.toml"), str(tmp_path / "b.nc")])
    assert answer.exit_code == 2


def test_without_viser_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "viser", None)
    with pytest.raises(ev.BadInput, match=r"elver\[view\]"):
        open_server("127.0.0.1", 18380, "x")
