"""The compiler of `.stm` files: text in, tables, Python modules and diagrams out.

Importing the package imports nothing else; each stage is a module of its own (design.md lists them in order).
"""

from .version import VERSION as __version__

__all__ = ["__version__"]
