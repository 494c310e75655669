"""A headless Chromium driven over its DevTools protocol: pages, clicks, screenshots, the console."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

sys.path.insert(0, str(Path(__file__).parents[1]))
from browser import PATIENCE, needed


class Browser:
    """A browser process with its own empty profile; use it in a ``with`` block."""

    def __init__(self, size: tuple[int, int] = (1400, 900)) -> None:
        command = needed()
        self.profile = tempfile.mkdtemp(prefix="elver-chromium-")
        self.process = subprocess.Popen(
            [
                command, "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--remote-debugging-port=0",
                "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run", "--mute-audio",
                "--force-device-scale-factor=0.5", "--disable-renderer-backgrounding",
                f"--window-size={size[0]},{size[1]}", f"--user-data-dir={self.profile}", "about:blank",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.port = self._port()

    def _port(self) -> int:
        file = Path(self.profile) / "DevToolsActivePort"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if file.exists() and (lines := file.read_text().split()):
                return int(lines[0])
            assert self.process.poll() is None, "the browser ended at once"
            time.sleep(0.1)
        raise AssertionError("the browser never opened its port")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, url: str) -> Page:
        """A new window."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            target = json.load(answer)
        page = Page(target["webSocketDebuggerUrl"])
        page.go(url)
        return page


class Page:
    """One window: what it logs is kept in ``errors``."""

    def __init__(self, address: str) -> None:
        self.socket = connect(address, max_size=None, open_timeout=PATIENCE)
        self.count = itertools.count(1)
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command and its answer; events that come meanwhile are heard."""
        number = next(self.count)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=PATIENCE))
            if message.get("id") == number:
                assert "error" not in message, message
                return dict(message["result"])
            self._hear(message)

    def _hear(self, message: dict[str, Any]) -> None:
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(about["exceptionDetails"].get("exception", about["exceptionDetails"])))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(about["entry"]["text"] + " " + about["entry"].get("url", ""))

    def go(self, url: str) -> None:
        self.send("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        """Value of a JavaScript expression; promises are awaited."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, script: str, seconds: float = PATIENCE) -> Any:
        """Until the expression is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.run(script):
                return value
            time.sleep(0.1)
        raise AssertionError(f"the page never came to: {script}")

    def to_front(self) -> None:
        """Before the other windows."""
        self.send("Page.bringToFront")

    def mouse_to(self, x: float, y: float, held: bool = False) -> None:
        """Move the mouse, with its left button held or not."""
        button = {"button": "left", "buttons": 1} if held else {}
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, **button)

    def mouse_button(self, kind: str, x: float, y: float) -> None:
        """Press the left button (``mousePressed``), or release it (``mouseReleased``)."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path | None = None) -> bytes:
        """What the window shows, as PNG."""
        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(data)
        return data

    def close(self) -> None:
        self.send("Page.close")
        self.socket.close()
