# SPDX-License-Identifier: MIT
"""What the long observation checks share: a daemon, a Prometheus, questions to both.

Every process is ended by the pid it was started with; ports are free ones on the loopback.
BUILD names the build folder (default build/release).

    with Lab() as lab:
        daemon = lab.daemon("--backend", "cpu")
        daemon.scan(b"some text")
        print(daemon.metrics()["keysieve_blobs_total"])
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build/release")).resolve()
# A proxy for the outside world is none for the loopback.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(0)


def need(program):
    if shutil.which(program) is None:
        skip(program + " is not installed")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url, timeout=20):
    with OPENER.open(url, timeout=timeout) as reply:
        return reply.read().decode()


def parse_metrics(text):
    """Series as printed -> value."""
    series = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            series[name] = float(value)
    return series


def total(series, name, **labels):
    """The sum over the series of that name with those labels; None if there is none."""
    found = [value for key, value in series.items()
             if key.split("{")[0] == name
             and all(f'{k}="{v}"' in key for k, v in labels.items())]
    return sum(found) if found else None


class Daemon:
    def __init__(self, lab, program, args):
        self.lab = lab
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=lab.folder))
        self.server = f"unix:{self.folder}/socket"
        self.admin = f"127.0.0.1:{free_port()}"
        self.log = self.folder / "log"
        env = dict(os.environ, XDG_CACHE_HOME=str(lab.folder / "cache"))
        self.process = subprocess.Popen(
            [str(program), "--listen", self.server, "--admin-listen", self.admin, *args],
            stderr=open(self.log, "wb"), stdout=subprocess.DEVNULL, env=env,
            cwd=ROOT)
        lab.processes.append(self.process)
        deadline = time.monotonic() + 60
        while '"event":"start"' not in self.log.read_text(errors="replace"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the daemon did not start:\n" + self.log.read_text())
            time.sleep(0.05)

    def metrics(self):
        return parse_metrics(get(f"http://{self.admin}/metrics"))

    def client(self, *args, stdin=b"", env=None):
        return subprocess.run(
            [str(BUILD / "bin/keysieve"), *args, "--server", self.server], input=stdin,
            capture_output=True, env=dict(os.environ, **(env or {})), timeout=300)

    def start_scan(self, path, *args):
        """A scan in the background; the lab ends it."""
        process = subprocess.Popen(
            [str(BUILD / "bin/keysieve"), "scan", "--server", self.server, "--no-progress", *args,
             str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.lab.processes.append(process)
        return process

    def scan(self, text):
        done = self.client("scan", "--format", "jsonl", "-", stdin=text)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr.decode())
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def stop(self):
        end(self.process)


def end(process, timeout=20):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Prometheus:
    def __init__(self, lab, targets, rules=(), interval="1s"):
        self.address = f"127.0.0.1:{free_port()}"
        folder = pathlib.Path(tempfile.mkdtemp(dir=lab.folder))
        config = {"global": {"scrape_interval": interval, "evaluation_interval": interval},
                  "rule_files": [str(r) for r in rules],
                  "scrape_configs": [{"job_name": "keysieve",
                                      "static_configs": [{"targets": list(targets)}]}]}
        (folder / "prometheus.yml").write_text(json.dumps(config))
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml",
             f"--storage.tsdb.path={folder}/data", f"--web.listen-address={self.address}"],
            stdout=subprocess.DEVNULL, stderr=open(folder / "log", "wb"))
        lab.processes.append(self.process)
        for _ in range(300):
            try:
                get(f"http://{self.address}/-/ready")
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("Prometheus did not start:\n" + (folder / "log").read_text())

    def query(self, expression):
        """The result vector; an error of the expression raises."""
        url = f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        reply = json.loads(get(url))
        if reply["status"] != "success":
            raise RuntimeError(reply)
        return reply["data"]["result"]

    def firing(self):
        """Names of the alerts that fire now."""
        alerts = json.loads(get(f"http://{self.address}/api/v1/alerts"))["data"]["alerts"]
        return {a["labels"]["alertname"] for a in alerts if a["state"] == "firing"}


class Lab:
    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ks-observe-"))
        self.processes = []
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def daemon(self, *args, program="bin/keysieved"):
        return Daemon(self, BUILD / program, args)

    def prometheus(self, targets, **options):
        return Prometheus(self, targets, **options)


def scaled_rules(text):
    """The rules on a clock of seconds: a minute is one, 15 at most; an hour is three, and two."""

    def shorter(match):
        number = int(match[1])
        seconds = {"s": 1, "m": min(number, 15), "h": 3 * number + 2}[match[2]]
        return f"{max(seconds, 2)}s" if match[2] != "s" else f"{seconds}s"

    # Durations stand after `for: `, `offset `, `[` and `:` in a range.
    return re.sub(r"(?<=[\[ :])(\d+)([smh])(?=[\]:\s)]|$)", shorter, text, flags=re.M)
