"""A headless Chromium by the W3C WebDriver protocol, as much of it as the tests and the screenshots need."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
KEYS = {"left": "\ue012", "up": "\ue013", "right": "\ue014", "down": "\ue015", "tab": "\ue004", "escape": "\ue00c"}
KEYS |= {"enter": "\ue007", "home": "\ue011", "end": "\ue010"}


class Browser:
    """One session. `log()` has what the page said on its console."""

    def __init__(self, url: str, width: int, height: int, profile: str) -> None:
        self.url = url
        options = {
            "binary": shutil.which("chromium"),
            "args": [*ARGUMENTS, f"--user-data-dir={profile}", f"--window-size={width},{height}"],
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.url = f"{url}/session/{made['sessionId']}"
        self._devtools("Emulation.setFocusEmulationEnabled", enabled=True)  # keys go to a page that has the focus

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(error.read().decode()) from None

    def _devtools(self, command: str, **parameters: Any) -> None:
        self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, page: Path) -> None:
        """Open a page and wait until it is drawn and has the focus."""
        self._call("POST", "/url", {"url": page.resolve().as_uri()})
        self.settle()
        assert self.run("return document.hasFocus()")

    def run(self, script: str, *arguments: Any) -> Any:
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        actions = []
        for key in keys:
            actions += [{"type": kind, "value": KEYS.get(key, key)} for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def _point(self, selector: str, *then: dict[str, Any]) -> None:
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        move = {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": found}
        pointer = {"type": "pointer", "id": "mouse", "actions": [move, *then]}
        self._call("POST", "/actions", {"actions": [pointer]})

    def hover(self, selector: str) -> None:
        self._point(selector)

    def click(self, selector: str) -> None:
        self._point(selector, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def enter_frame(self, number: int | None) -> None:
        """Go into a frame of the page; None is back to the page."""
        self._call("POST", "/frame", {"id": number})

    def prefer(self, scheme: str) -> None:
        """Make the browser prefer a light or a dark scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._devtools("Emulation.setEmulatedMedia", features=features)
        self.settle()

    def narrow(self, width: int | None) -> None:
        """Give the page a window of so many pixels; None is the browser's own."""
        if width is None:
            self._devtools("Emulation.clearDeviceMetricsOverride")
        else:
            self._devtools(
                "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=True
            )
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn, fading included."""
        drawn = "const done = arguments[0]; setTimeout(() => requestAnimationFrame(() => done()), 120)"
        self._call("POST", "/execute/async", {"script": drawn, "args": []})

    def log(self) -> list[str]:
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def picture(self) -> bytes:
        return base64.b64decode(self._call("GET", "/screenshot"))

    def quit(self) -> None:
        self._call("DELETE", "")


@contextmanager
def browser(width: int = 1400, height: int = 1000) -> Iterator[Browser]:
    """Start a driver and a browser with a profile of its own; both end with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, _driver() as url:
        session = Browser(url, width, height, profile)
        try:
            yield session
        finally:
            session.quit()


class _driver:
    """A chromedriver process; gives its address."""

    def __enter__(self) -> str:
        self.process = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                return f"http://127.0.0.1:{found[1]}"
        raise AssertionError("chromedriver did not start")

    def __exit__(self, *_: object) -> None:
        assert self.process.stdout is not None
        self.process.terminate()
        self.process.wait(timeout=20)
        self.process.stdout.close()
