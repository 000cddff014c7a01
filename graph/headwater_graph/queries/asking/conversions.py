"""Answers as data frames, as graphs of networkx, and as HTML for notebooks; none of it needs its package before it is used."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headwater_avro.errors import ConfigError
from headwater_graph.queries.answers import Answer, Node
from headwater_graph.queries.presentation.pictures import svg_text
from headwater_graph.queries.values import answer_value, reference

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

SHOWN_ROWS = 60
"""The most rows of an HTML table."""
DRAWN_NODES = 400
"""The most nodes of a picture in a notebook: laying out more takes seconds, and can't be read."""


def optional(package: str, extra: str) -> Any:
    """Return a package that is installed with an extra; raises ConfigError, which names the extra, if it is not installed."""
    try:
        return import_module(package)
    except ModuleNotFoundError as missing:
        if missing.name != package:
            raise
        raise ConfigError(f"this needs {package}: pip install 'headwater[{extra}]'") from missing


def data_frame(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return records as a data frame; ``columns`` are its columns if there is no record."""
    return optional("pandas", "notebook").DataFrame(list(records), columns=None if records else list(columns))


def graph_of(answer: Answer) -> nx.MultiDiGraph[Any]:
    """Return an answer as a directed graph with its direction of data flow.

    A node is the tuple ``(kind, namespace, name, …)`` with the attributes ``depth``, ``status`` and its facts; an edge has its
    ``kind``, ``former`` and its facts.
    """
    made = optional("networkx", "notebook").MultiDiGraph()
    names = {node.key: tuple(reference(node)) for node in answer.nodes}
    for node in answer.nodes:
        made.add_node(names[node.key], depth=node.depth, status=list(node.status), facts=dict(node.facts))
    for edge in answer.edges:
        if edge.source in names and edge.target in names:
            ends = (names[edge.source], names[edge.target])
            made.add_edge(*ends, kind=edge.kind, former=edge.former, facts=dict(edge.facts))
    return made


def node_record(node: Node) -> dict[str, Any]:
    """Return a node as a flat record: kind, namespace, name, column or version, depth, status and its facts."""
    own = ("name",) if node.kind == "run" else ("namespace", "name", node.kind)
    names = dict.fromkeys(("namespace", "name")) | dict(zip(own, node.name, strict=False))
    facts = {name: ", ".join(fact) if _is_texts(fact) else fact for name, fact in node.facts.items()}
    return {"kind": node.kind, **names, "depth": node.depth, "status": ", ".join(node.status), **facts}


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def edge_records(answer: Answer) -> list[dict[str, Any]]:
    """Return the edges as flat records: kind and full name of both ends, their kind, and whether they are in the past."""
    nodes = answer.by_key()
    return [
        _end("from", nodes[edge.source]) | _end("to", nodes[edge.target]) | {"edge": edge.kind, "past": edge.former}
        for edge in answer.edges
        if edge.source in nodes and edge.target in nodes
    ]


def _end(side: str, node: Node) -> dict[str, str]:
    namespace, *name = node.name if len(node.name) > 1 else ("", *node.name)
    return {f"{side}_kind": node.kind, f"{side}_namespace": namespace, f"{side}_name": ".".join(name)}


def html_table(title: str, records: Sequence[Mapping[str, Any]], note: str = "") -> str:
    """Return records as an HTML table with at most ``SHOWN_ROWS`` rows, which says how many are left out."""
    columns = list(dict.fromkeys(name for record in records for name in record))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = "".join(f"<tr>{_cells(record, columns)}</tr>" for record in records[:SHOWN_ROWS])
    left_out = f"{len(records) - SHOWN_ROWS} more rows" if len(records) > SHOWN_ROWS else ""
    notes = "".join(f"<p>{escape(text)}</p>" for text in (note, left_out) if text)
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{notes}"
    )


def _cells(record: Mapping[str, Any], columns: Sequence[str]) -> str:
    texts = ("" if record.get(name) is None else str(record.get(name)) for name in columns)
    return "".join(f"<td>{escape(text)}</td>" for text in texts)


def html_picture(answer: Answer, title: str) -> str | None:
    """Return the picture of an answer as HTML that needs no network and no JavaScript.

    None if the extra ``picture`` is not installed, or if there are no nodes, or more than ``DRAWN_NODES``.
    """
    if not 0 < len(answer.nodes) <= DRAWN_NODES or find_spec("quickjs") is None:
        return None
    # As an image: the styles and ids of a picture apply to it alone, and viewers that remove inline SVG show it.
    data = b64encode(svg_text(answer_value(answer)).encode()).decode()
    image = f'<img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}" style="max-width:none">'
    return f'<div style="overflow-x:auto">{image}</div>'
