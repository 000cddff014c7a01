"""Typed answers of the reading API: a part of the graph, a list, or the details of one thing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from headwater_graph.queries.answers import Answer, Edge, Node
from headwater_graph.queries.presentation.formats import impact_text, listing, mermaid, tree, truncation_lines
from headwater_graph.queries.presentation.pictures import svg_text
from headwater_graph.queries.values import answer_value, impact_value

from .conversions import data_frame, edge_records, graph_of, html_picture, html_table, node_record

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

Item = TypeVar("Item")

SHOWN_LINES = 100
"""The most lines of the text that stands for an answer where a notebook or an interpreter shows it."""
_NODE = ("kind", "namespace", "name", "depth", "status")
_EDGE = ("from_kind", "from_namespace", "from_name", "to_kind", "to_namespace", "to_name", "edge", "past")


class GraphAnswer(ABC):
    """What all answers have: ``text()``, ``value()``, ``records()``, ``to_pandas()``, and how a notebook shows them."""

    __slots__ = ()

    @abstractmethod
    def text(self) -> str:
        """Return the answer as the command line prints it."""

    @abstractmethod
    def value(self) -> Any:
        """Return the answer as JSON values, as the command line's ``--json`` prints it."""

    @abstractmethod
    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return the answer as records, those of a table."""

    def columns(self) -> Sequence[str]:
        """Return the names of the columns of a table without records."""
        return ()

    def to_pandas(self) -> pd.DataFrame:
        """Return the records as a data frame; raises ConfigError if pandas is not installed (extra ``notebook``)."""
        return data_frame(self.records(), self.columns())

    def _repr_html_(self) -> str:
        return html_table("", self.records()) if self.records() else f"<pre>{_escaped(self.text())}</pre>"

    def __repr__(self) -> str:
        lines = self.text().splitlines()
        more = [f"… {len(lines) - SHOWN_LINES} more lines: print(answer.text())"] if len(lines) > SHOWN_LINES else []
        return "\n".join([*lines[:SHOWN_LINES], *more])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclass(frozen=True, slots=True, repr=False)
class Lineage(GraphAnswer):
    """A part of the graph: ``nodes``, the nearest first, and ``edges`` in the direction of data flow.

    ``answer`` has everything, with what limits have left out. ``is_list``: the start is not among the nodes, and they are
    shown as a table (impact).
    """

    answer: Answer
    is_list: bool = False

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes, the nearest first."""
        return self.answer.nodes

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Return the edges between the nodes."""
        keys = {node.key for node in self.answer.nodes}
        return tuple(edge for edge in self.answer.edges if edge.source in keys and edge.target in keys)

    @property
    def is_complete(self) -> bool:
        """Return whether no limit has left anything out."""
        return not self.answer.truncations

    def text(self) -> str:
        if self.is_list:
            return impact_text(self.answer, "table")
        return tree(self.answer) if self.answer.nodes else "\n".join(["nothing", *truncation_lines(self.answer)])

    def value(self) -> Any:
        return impact_value(self.answer) if self.is_list else answer_value(self.answer)

    def records(self) -> Sequence[Mapping[str, Any]]:
        return [node_record(node) for node in self.answer.nodes]

    def columns(self) -> Sequence[str]:
        return _NODE

    def to_pandas(self, of: Literal["nodes", "edges"] = "nodes") -> pd.DataFrame:
        """Return the nodes or the edges as a data frame; raises ConfigError if pandas is not installed (extra ``notebook``)."""
        return super(Lineage, self).to_pandas() if of == "nodes" else data_frame(edge_records(self.answer), _EDGE)

    def to_networkx(self) -> nx.MultiDiGraph[Any]:
        """Return it as a directed graph whose nodes are ``(kind, namespace, name)``.

        Raises ConfigError if networkx is not installed (extra ``notebook``).
        """
        return graph_of(self.answer)

    def mermaid(self) -> str:
        """Return it as a Mermaid flowchart."""
        return mermaid(Answer(self.answer.question, self.answer.start, self.nodes, self.edges, self.answer.truncations))

    def svg(self) -> str:
        """Return its picture as one SVG file; raises ConfigError if the extra ``picture`` is not installed."""
        return svg_text(answer_value(self.answer))

    def _repr_html_(self) -> str:
        question = self.answer.question
        title = f"{question.get('direction', 'lineage')} of {' '.join(question.get('start', ()))}"
        picture = None if self.is_list else html_picture(self.answer, title)
        return picture or html_table(title, self.records(), "; ".join(truncation_lines(self.answer)))


@dataclass(frozen=True, slots=True, repr=False)
class Listing(GraphAnswer, Generic[Item]):
    """A list: ``items``, and ``more``, whether a limit has left out others.

    ``whole`` is its JSON value, ``head`` and ``rows`` are its table, ``empty`` is the text of an empty one.
    """

    items: tuple[Item, ...]
    more: bool
    whole: Any
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    empty: str = "nothing"

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def text(self) -> str:
        cells = [["" if cell is None else str(cell) for cell in row] for row in self.rows]
        note = "there are more (limit=N)" if self.more else ""
        return listing("table", None, self.head, cells, empty=self.empty, more=note)

    def value(self) -> Any:
        return self.whole

    def records(self) -> Sequence[Mapping[str, Any]]:
        return [dict(zip(self.head, row, strict=True)) for row in self.rows]

    def columns(self) -> Sequence[str]:
        return self.head


@dataclass(frozen=True, slots=True, repr=False)
class Details(GraphAnswer, Generic[Item]):
    """One thing with all that is known of it, or a difference: ``details``.

    ``whole`` is its JSON value, ``lines`` are its text, ``table`` are its records.
    """

    details: Item
    whole: Any
    lines: tuple[str, ...]
    table: tuple[Mapping[str, Any], ...] = ()

    def text(self) -> str:
        return "\n".join(self.lines)

    def value(self) -> Any:
        return self.whole

    def records(self) -> Sequence[Mapping[str, Any]]:
        return self.table

    def _repr_html_(self) -> str:
        return f"<pre>{_escaped(self.text())}</pre>"
