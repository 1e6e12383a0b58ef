"""A machine as a diagram, in three languages (build.md sections 1 and 3).

Each language has a module of its own that writes a chart; which texts may stand in it is decided there alone.
"""

from __future__ import annotations

from harel.definition import Definition

from .chart import charts_of
from .diagram_dot import dot_text
from .diagram_mermaid import mermaid_text
from .diagram_plantuml import plantuml_text

MERMAID_LIMIT = 50_000
"""How many characters Mermaid reads as it is delivered; more are an error box in place of a diagram."""


def mermaid(definition: Definition) -> str:
    """The machine as a Mermaid `stateDiagram-v2`, with as many details as Mermaid's own limit of the text allows."""
    for chart in charts_of(definition):
        text = mermaid_text(chart)
        if len(text) <= MERMAID_LIMIT:
            break
    return text


def plantuml(definition: Definition) -> str:
    """The machine as a PlantUML state diagram."""
    return plantuml_text(next(charts_of(definition)))


def dot(definition: Definition) -> str:
    """The machine as a Graphviz graph."""
    return dot_text(next(charts_of(definition)))
