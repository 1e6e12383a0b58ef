"""A machine as a diagram, in three languages (build.md sections 1 and 3).

Each language has a module of its own that writes a chart; which texts may stand in it is decided there alone.
"""

from __future__ import annotations

from harel.definition import Definition

from .chart import chart_of
from .diagram_dot import dot_text
from .diagram_mermaid import mermaid_text
from .diagram_plantuml import plantuml_text


def mermaid(definition: Definition) -> str:
    """The machine as a Mermaid `stateDiagram-v2`."""
    return mermaid_text(chart_of(definition))


def plantuml(definition: Definition) -> str:
    """The machine as a PlantUML state diagram."""
    return plantuml_text(chart_of(definition))


def dot(definition: Definition) -> str:
    """The machine as a Graphviz graph."""
    return dot_text(chart_of(definition))
