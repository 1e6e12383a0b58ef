"""The setuptools build hook (build.md section 5).

    [build-system]
    requires = ["setuptools>=77", "harelc"]

    [tool.setuptools.cmdclass]
    build_py = "harelc.setuptools_hook.BuildPy"

`build_py` collects a distribution's modules for the wheel and names its sources for the sdist; this one runs
`harelc build` first, so that both find what was made.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import cast

from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

from .package_build import BuildFailed, Built, build_package
from .project import relative, shown


class BuildPy(build_py):
    """`build_py` after `harelc build`: modules and diagrams go into the wheel, the sources into the sdist."""

    def run(self) -> None:
        """Build, then collect. Raises `SetupError` with the findings where there are errors."""
        self._take_in(self._built)
        super().run()

    def get_source_files(self) -> list[str]:
        """What the sdist needs: the modules, and the machines that they are made from. Raises as `run` does."""
        self._take_in(self._built)
        modules = cast(Callable[[], list[str]], super().get_source_files)
        return [*modules(), *(relative(source, Path.cwd()) for source in self._built.sources)]

    @cached_property
    def _built(self) -> Built:
        try:
            return build_package(Path.cwd())
        except BuildFailed as failure:
            raise SetupError(f"harelc cannot build the machines:\n{failure}") from None

    def _take_in(self, built: Built) -> None:
        """Name the packages of what was made: setuptools looked for packages before that was there."""
        self.packages = self.packages or []
        for output in built.outputs:
            package = self._package_of(output.parent)
            if package not in self.packages:
                self.packages.append(package)
            if output.suffix != ".py":
                self.package_data.setdefault(package, []).append(glob.escape(output.name))

    def _package_of(self, folder: Path) -> str:
        for package in self.packages:
            if Path(os.path.abspath(self.get_package_dir(package))) == folder:
                return str(package)
        base = Path(os.path.abspath((self.package_dir or {}).get("", ".")))
        if folder == base or not folder.is_relative_to(base):
            raise SetupError(f"harelc: {shown(folder)} is no package below {shown(base)}: choose another output")
        return ".".join(folder.relative_to(base).parts)
