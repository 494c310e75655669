"""A browser without a window, for tests of pages: load one, ask it, hear its complaints, take its picture.

On a machine without a browser such tests are skipped and say so; with CI=true they run or fail. Two ways:

    dom, messages = dump_dom(path, scratch)             the document after some time of its own
    with Page(path, scratch) as page: page.value("1+1") a page that lives, spoken to over the DevTools protocol
"""

from __future__ import annotations

import base64
import json
import os
import re
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Software rendering, so that WebGL works without a graphics card; no first-run pages, no network of its own.
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)
# Longest wait [s] for anything: a limit for what never comes, far beyond what a busy machine takes.
PATIENCE = 600.0
# What chromium prints of a page's console: [...:INFO:CONSOLE:12] "text", source: file:///... (12)
MESSAGE = re.compile(r":CONSOLE[:(]\d+\)?\] (.*)")


def find() -> str | None:
    """The browser's command: $ELVER_BROWSER, or the first that is installed."""
    return os.environ.get("ELVER_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def needed() -> str:
    """The browser's command; skips the test where there is none, and fails it with CI=true."""
    command = find()
    if command is None:
        reason = "no browser found (chromium or google-chrome): install chromium to test pages"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return command


def _address(page: Path | str) -> str:
    return page.resolve().as_uri() if isinstance(page, Path) else page


def dump_dom(page: Path | str, scratch: Path, *, milliseconds: int = 2000) -> tuple[str, list[str]]:
    """The document after ``milliseconds`` of its own time, and what it wrote to the console."""
    options = (f"--user-data-dir={scratch / 'profile'}", f"--virtual-time-budget={milliseconds}", "--dump-dom")
    command = [needed(), *OPTIONS, *options, _address(page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout, MESSAGE.findall(done.stderr)


class Page:
    """A page in a browser of its own, spoken to through two pipes (JSON texts that end in a zero byte)."""

    def __init__(self, page: Path | str, scratch: Path, *, size: tuple[int, int] = (1280, 900)) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._count, self._rest = 0, b""
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()

        def place_pipes() -> None:  # the browser reads descriptor 3 and writes 4
            copies = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        window = f"--window-size={size[0]},{size[1]}"
        options = ("--remote-debugging-pipe", f"--user-data-dir={scratch / 'profile'}", window)
        self._process = subprocess.Popen(
            [needed(), *OPTIONS, *options, "about:blank"],
            close_fds=False,
            preexec_fn=place_pipes,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        targets = self._ask("Target.getTargets")["targetInfos"]
        target = next(info["targetId"] for info in targets if info["type"] == "page")
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=_address(page))
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def ask(self, method: str, **parameters: Any) -> Any:
        """The answer of the page to one DevTools command."""
        return self._ask(method, self._session, **parameters)

    def value(self, script: str) -> Any:
        """What an expression of JavaScript is in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, script: str, seconds: float = PATIENCE) -> None:
        """Until an expression is true in the page."""
        end = time.monotonic() + seconds
        while not self.value(script):
            assert time.monotonic() < end, f"not true within {seconds} s: {script}"
            time.sleep(0.05)

    def screenshot(self, path: Path) -> Path:
        """What the window shows, as PNG."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))
        return path

    def _ask(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self._hear(answer)

    def _hear(self, event: dict[str, Any]) -> None:
        kind, told = event.get("method", ""), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif kind == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(told["args"]))
        elif kind == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(told["entry"]["text"]))
        elif kind == "Network.requestWillBeSent" and not told["request"]["url"].startswith("data:"):
            self.requests.append(str(told["request"]["url"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            more = os.read(self._from, 1 << 16)
            assert more, "the browser has gone"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(text))

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._to)
        os.close(self._from)
        self._process.terminate()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
