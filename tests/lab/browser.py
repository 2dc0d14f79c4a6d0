"""A headless Chromium for tests, spoken to over a pipe in the words of its DevTools: no package, no port, no network."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
SECONDS_MAX = 120   # for one answer, on a host that is busy with other things


def program():
    """Ends the test with a word where there is none: a page that nobody looked at is not checked."""
    for name in NAMES:
        if shutil.which(name):
            return name
    raise SystemExit(f"FAILED: no Chromium here (looked for {', '.join(NAMES)} on PATH); install it: scripts/setup lab-test")


class Browser:
    """One page. Events that came meanwhile are in `events`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="homing-browser-")
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def descriptors():   # Chromium reads 3 and writes 4
            ends = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
             f"--user-data-dir={self.folder}", "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=descriptors,
            close_fds=False, env=os.environ | {"HOME": self.folder})
        os.close(theirs_in)
        os.close(theirs_out)
        self._number, self._rest, self.events, self._session = 0, b"", [], None
        pages = [t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        target = pages[0]["targetId"] if pages else self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._out)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _receive(self):
        until = time.monotonic() + SECONDS_MAX
        while b"\0" not in self._rest:
            ready = select.select([self._in], [], [], max(0, until - time.monotonic()))[0]
            content = os.read(self._in, 1 << 16) if ready else b""
            if not content:
                raise SystemExit(f"FAILED: Chromium {'ended' if ready else f'gave no answer in {SECONDS_MAX} s'}")
            self._rest += content
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def send(self, method, **words):
        """Returns the answer; notes the events before it."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": words}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            seen = self._receive()
            if seen.get("id") == self._number:
                if "error" in seen:
                    raise RuntimeError(f"{method}: {seen['error']}")
                return seen["result"]
            self.events.append(seen)

    def wait_for(self, event):
        while not any(seen.get("method") == event for seen in self.events):
            self.events.append(self._receive())

    def open(self, path, width, **screen):
        """Shows a file."""
        self.open_url(path.resolve().as_uri(), width, **screen)

    def open_url(self, url, width, height=900, dark=False, media="screen"):
        """Shows a page as a screen of that width would; events are of this page only."""
        self.events.clear()
        phone = width < 600
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1,
                  mobile=phone)
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.send("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def value(self, expression, wait=False):
        """What JavaScript says, run from outside; `wait`: for what it promises."""
        seen = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=wait)
        if "exceptionDetails" in seen:
            raise RuntimeError(f"{expression}: {seen['exceptionDetails']}")
        return seen["result"].get("value")

    def screenshot(self, whole=True):
        return base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def pdf(self):
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
