# SPDX-License-Identifier: MIT
"""A headless Chromium over its debugging pipe: pages at any width, in either theme, with or
without scripts.

    with Browser() as browser:
        page = browser.open("http://127.0.0.1:9464/", width=390, dark=True)
        page.screenshot("phone-dark.png")
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


class Browser:
    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="ks-chromium-")
        # Chromium reads orders on descriptor 3 and writes answers on 4.
        there_read, self.orders = os.pipe()
        self.answers, there_write = os.pipe()
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--no-proxy-server", "--remote-debugging-pipe",
                   f"--user-data-dir={self.folder}"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{there_read} 4>&{there_write}', "sh", *command],
            pass_fds=(there_read, there_write), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(there_read)
        os.close(there_write)
        self.buffer = b""
        self.last = 0
        self.events = []
        return self

    def __exit__(self, *_):
        os.close(self.orders)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, session=None, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.orders, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def read(self):
        while b"\0" not in self.buffer:
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("Chromium is gone")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, url, width=1280, height=900, dark=False, scripts=True):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        page.call("Page.navigate", url=url)
        time.sleep(1)
        return page


class Page:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return result["result"].get("value")

    def html(self):
        root = self.call("DOM.getDocument", depth=0)["root"]["nodeId"]
        return self.call("DOM.getOuterHTML", nodeId=root)["outerHTML"]

    def complaints(self):
        """What the page logged as an error so far: exceptions, refused or failed loads."""
        self.evaluate("0")
        bad = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            entry = event["params"].get("entry", {})
            if event["method"] == "Log.entryAdded" and entry.get("level") in ("error", "warning"):
                bad.append(entry["text"])
            if event["method"] in ("Runtime.exceptionThrown", "Network.loadingFailed"):
                bad.append(json.dumps(event["params"]))
        return bad

    def requested(self):
        """Every address the page asked for."""
        self.evaluate("0")
        return {e["params"]["request"]["url"] for e in self.browser.events
                if e.get("sessionId") == self.session
                and e["method"] == "Network.requestWillBeSent"}

    def screenshot(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
