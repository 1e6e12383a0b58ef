"""Programs that pip cannot install: where they are, and how they get there on a machine that lacks them.

As root on a Debian they are installed with its package manager. Where that does not work the tests that need them are
skipped; with `CI` in the environment they fail, so that nothing is skipped unseen.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

import pytest

NODE = Path(__file__).parent / "node"
MODULES = NODE / "node_modules"


def program(*names: str, package: str) -> str:
    """The path of the first program that there is of these names, its Debian package installed if there is none."""
    found = _first(names)
    if found is None:
        _install(package)
        found = _first(names)
    return found or _missing(f"there is no {names[0]}, and the package {package} cannot be installed")


def node_modules() -> Path:
    """The folder of the node packages that `node/package-lock.json` pins, installed if they are not."""
    wanted = sha256((NODE / "package-lock.json").read_bytes()).hexdigest()
    mark = MODULES / ".installed"
    with _alone(NODE / ".lock"):
        if not mark.exists() or mark.read_text() != wanted:
            npm = program("npm", package="npm")
            done = _quietly(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(NODE))
            if done.returncode != 0:
                _missing(f"npm cannot install {NODE / 'package.json'}: {done.stderr[-2000:]}")
            mark.write_text(wanted)
    return MODULES


def _first(names: tuple[str, ...]) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


def _install(package: str) -> None:
    apt = shutil.which("apt-get")
    if apt is not None and os.geteuid() == 0:
        with _alone(NODE / ".lock-apt"):
            _quietly(apt, "update")
            _quietly(apt, "install", "--yes", "--no-install-recommends", package)


def _quietly(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
    )


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One test run at a time: two that install into one folder would be in each other's way."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _missing(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
