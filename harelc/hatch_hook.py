"""The hatchling build hook (build.md section 5).

    [build-system]
    requires = ["hatchling", "harelc"]

    [tool.hatch.build.hooks.harelc]

Every target is built after `harelc build`. The files made are artifacts: they are packed although git ignores them. The
sources go into the sdist, whatever its own settings select, so that a wheel can be built from it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from .cache import FOLDER
from .package_build import BuildFailed, build_package
from .project import relative

_MEANS_SOMETHING = re.compile(r"([*?\[\]!#\\ ])")
"""Characters that a pattern of files would not take for themselves."""


class HarelcBuildHook(BuildHookInterface[BuilderConfig]):
    """Builds the machines of the project; without settings of its own, for `[tool.harelc]` has them."""

    PLUGIN_NAME = "harelc"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and tell hatchling what was made. Ends the build with the findings where there are errors."""
        root = Path(self.root)
        try:
            built = build_package(root)
        except BuildFailed as failure:
            self.app.abort(f"harelc cannot build the machines:\n{failure}")
        made = [_MEANS_SOMETHING.sub(r"\\\1", relative(path, root)) for path in built.outputs]
        self.build_config.build_reserved_paths.add(FOLDER)  # git does not see the cache, hatchling would pack it
        build_data["artifacts"].extend(f"/{path}" for path in made)
        if self.target_name == "sdist":
            build_data["force_include"].update({str(path): relative(path, root) for path in built.sources})


@hookimpl
def hatch_register_build_hook() -> type[HarelcBuildHook]:
    """How hatchling finds the hook."""
    return HarelcBuildHook
