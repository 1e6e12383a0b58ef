"""A machine as a diagram, in three languages (build.md sections 1 and 3).

Each language has a module of its own that writes a chart; which texts may stand in it is decided there alone.
"""

from __future__ import annotations

from harel.definition import Definition

from . import diagram_dot, diagram_mermaid, diagram_plantuml
from .chart import chart_of


def mermaid(definition: Definition) -> str:
    """The machine as a Mermaid `stateDiagram-v2`."""
    return diagram_mermaid.text(chart_of(definition))


def plantuml(definition: Definition) -> str:
    """The machine as a PlantUML state diagram."""
    return diagram_plantuml.text(chart_of(definition))


def dot(definition: Definition) -> str:
    """The machine as a Graphviz graph."""
    return diagram_dot.text(chart_of(definition))
