"""Mermaid's own parser and renderer in a real browser without a window: one run for any number of diagrams."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread

from .tools import NODE, node_modules, program

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
_PATIENCE = 120
"""Seconds that a browser has for all diagrams."""


@dataclass(frozen=True)
class Drawing:
    """What Mermaid made of a diagram: the picture, the text in it, or why there is none."""

    svg: str
    text: str
    error: str | None


def draw(diagrams: Mapping[str, str], profile: Path) -> dict[str, Drawing]:
    """Draw the diagrams, texts by name, in a browser with a profile folder of its own."""
    answers: Queue[str] = Queue()
    served = {
        "/": (NODE / "page.html").read_bytes(),
        "/mermaid.js": (node_modules() / "mermaid" / "dist" / "mermaid.min.js").read_bytes(),
        "/diagrams.json": json.dumps([{"name": name, "text": text} for name, text in diagrams.items()]).encode(),
    }
    chromium = program("chromium", "chromium-browser", "google-chrome", package="chromium")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, served, answers)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{server.server_port}/"
        browser = subprocess.Popen(
            [chromium, *_FLAGS, f"--user-data-dir={profile}", page],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            results = json.loads(answers.get(timeout=_PATIENCE))
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()
    return {each["name"]: Drawing(each["svg"], each["text"], each["error"]) for each in results}


class _Handler(BaseHTTPRequestHandler):
    """Serves what the page needs, and takes its answer."""

    def __init__(self, served: Mapping[str, bytes], answers: Queue[str], *connection: object) -> None:
        self._served = served
        self._answers = answers
        super().__init__(*connection)

    def do_GET(self) -> None:
        content = self._served.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "text/javascript")
        self.end_headers()
        self.wfile.write(content or b"")

    def do_POST(self) -> None:
        self._answers.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test tells what went wrong."""
