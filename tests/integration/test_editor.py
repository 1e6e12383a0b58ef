"""What an editor shows of a generated module: pyright's language server, asked as editors ask it (build.md section 3).

The way there is the README's: `harelc new`, `harelc build`, a short program.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harelc.cli import main

APP = """\
from harel import DictStore, DurableRunner

import shop

paid = shop.PaymentResult(status="authorized")
choice = shop.
"""

SERVER = Path(sys.executable).parent / "pyright-langserver"


class Editor:
    """A language server with one file open, spoken to in JSON-RPC over its standard streams."""

    def __init__(self, server: subprocess.Popen[bytes], file: Path) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._to, self._from = server.stdin, server.stdout
        self._file = {"uri": file.as_uri()}
        self._number = 0
        folder = file.parent.as_uri()
        self.ask("initialize", rootUri=folder, capabilities={}, workspaceFolders=[{"uri": folder, "name": "shop"}])
        self._send({"method": "initialized", "params": {}})
        opened = {**self._file, "languageId": "python", "version": 1, "text": file.read_text()}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": opened}})

    def hover(self, line: int, column: int) -> str:
        """The text an editor shows for the word there; lines and columns from 0."""
        found = self.ask("textDocument/hover", textDocument=self._file, position={"line": line, "character": column})
        return str(found["contents"]["value"])

    def completions(self, line: int, column: int) -> set[str]:
        """The words an editor offers there."""
        place = {"line": line, "character": column}
        found = self.ask("textDocument/completion", textDocument=self._file, position=place)
        return {item["label"] for item in found["items"]}

    def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": {"processId": None, **params}})
        while True:
            message = self._receive()
            if message.get("id") == self._number and "method" not in message:
                return message["result"]
            if "id" in message:  # the server asks back, for its settings above all
                asked = message.get("params", {}).get("items", [])
                settings = [{"pythonPath": sys.executable} if item["section"] == "python" else {} for item in asked]
                self._send({"id": message["id"], "result": settings})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._to.flush()

    def _receive(self) -> dict[str, Any]:
        length = 0
        while header := self._from.readline().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message: dict[str, Any] = json.loads(self._from.read(length))
        return message


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    folder = tmp_path_factory.mktemp("shop")
    source = folder / "shop.stm"
    assert main(["new", str(source)]) == 0
    assert main(["build", str(source), "-o", str(folder)]) == 0
    (folder / "app.py").write_text(APP)
    command = [SERVER, "--stdio"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            yield Editor(server, folder / "app.py")
        finally:
            server.kill()


def test_an_event_shows_its_typed_fields(editor: Editor) -> None:
    shown = editor.hover(4, len("paid = shop.Pay"))

    assert "class PaymentResult(" in shown
    assert "status: str" in shown
    assert "event_id: str | None" in shown


def test_a_value_shows_its_type(editor: Editor) -> None:
    assert "(variable) paid: PaymentResult" in editor.hover(4, 1)


def test_the_module_offers_what_the_machine_declares(editor: Editor) -> None:
    offered = editor.completions(5, len("choice = shop."))

    assert {"Submit", "PaymentResult", "State", "Outcome", "Context", "Actions", "bind", "DEFINITION"} <= offered
