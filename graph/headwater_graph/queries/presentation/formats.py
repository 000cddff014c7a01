"""Answers as text: tree, JSON, Mermaid, Graphviz dot, CSV, pictures; all plain functions from an answer to a string."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from headwater_graph.queries.answers import Answer, Edge, Kind, Node, Truncation
from headwater_graph.queries.values import answer_value, impact_value

from .pictures import html_text, svg_text

Paint: TypeAlias = Callable[[str, str], str]
"""(text, colour name) -> the text, coloured where there is a terminal."""

FORMATS = ("tree", "json", "mermaid", "dot", "csv", "svg", "html")
COLOURS: dict[Kind, str] = {
    "dataset": "cyan",
    "job": "yellow",
    "column": "green",
    "run": "magenta",
    "version": "blue",
    "versionColumn": "green",
}
BAD_STATUS = ("dropped", "silent", "lineage unknown", "placeholder", "removed", "no writer now")
STATE_COLOURS = {"COMPLETE": "green", "RUNNING": "blue", "FAIL": "red", "ABORT": "red"}


def plain(text: str, colour: str) -> str:  # noqa: ARG001 - it has the shape of Paint
    """Return the text without colours, for pipes and files."""
    return text


def render(answer: Answer, form: str, paint: Paint = plain) -> str:
    """Return the answer in one of ``FORMATS``, without a newline at its end."""
    match form:
        case "json":
            return json_text(answer_value(answer))
        case "mermaid":
            return mermaid(answer)
        case "dot":
            return dot(answer)
        case "csv":
            return edges_csv(answer)
        case "svg":
            return svg_text(answer_value(answer))
        case "html":
            return html_text(answer_value(answer), datetime.now(UTC))
        case _:
            return tree(answer, paint)


def json_text(value: object) -> str:
    """Return a value as JSON, indented by two spaces; characters other than ASCII are not escaped."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def tree(answer: Answer, paint: Paint = plain) -> str:
    """Return the answer as a tree from its start; each node is expanded once, at its least distance."""
    nodes = answer.by_key()
    below = _below(answer)
    parents = _spanning_tree(answer.start, below)
    lines: list[str] = []
    for key in answer.start:
        # A stack instead of recursion: a chain may be longer than Python's own stack.
        stack = [(key, "", "", "", False)]
        while stack:
            at, first, rest, note, repeated = stack.pop()
            lines.append(
                first + label(nodes[at], paint) + note + (paint("  (see above)", "bright_black") if repeated else "")
            )
            children = [] if repeated else [child for child in below.get(at, ()) if child[0] != parents.get(at)]
            for index, (child, text) in reversed(list(enumerate(children))):
                last = index == len(children) - 1
                branch, space = ("└─ ", "   ") if last else ("├─ ", "│  ")
                note = paint(f"  ({text})", "bright_black") if text else ""
                stack.append((child, rest + branch, rest + space, note, parents.get(child) != at))
    return "\n".join([*lines, *truncation_lines(answer), *answer.notes])


def _below(answer: Answer) -> dict[str, list[tuple[str, str]]]:
    """Return the children of each node with a note on the edges to them, in order of names."""
    direction = answer.question.get("direction")
    nodes = answer.by_key()
    below: dict[str, list[tuple[str, str]]] = {}
    for edge in answer.edges:
        notes = _edge_notes(edge)
        if direction != "upstream" or edge.kind == "alias":
            below.setdefault(edge.source, []).append((edge.target, ", ".join(notes)))
        if direction != "downstream" or edge.kind == "alias":
            notes += ["upstream"] if direction == "both" and edge.kind != "alias" else []
            below.setdefault(edge.target, []).append((edge.source, ", ".join(notes)))
    return {parent: _merged(children, nodes) for parent, children in below.items()}


def _merged(children: list[tuple[str, str]], nodes: Mapping[str, Node]) -> list[tuple[str, str]]:
    """Return each child once, in order of names, with the notes of all its edges; none if one edge has no note."""
    notes: dict[str, list[str]] = {}
    for child, note in children:
        notes.setdefault(child, []).append(note)
    merged = {child: "" if "" in texts else "; ".join(sorted(set(texts))) for child, texts in notes.items()}
    return sorted(merged.items(), key=lambda child: (nodes[child[0]].kind, nodes[child[0]].name))


def _edge_notes(edge: Edge) -> list[str]:
    notes = ["other name"] if edge.kind == "alias" else []
    notes += ["in the past"] if edge.former else []
    types = [str(edge.facts[name]) for name in ("type", "subtype") if edge.facts.get(name)]
    notes += ["/".join(types)] if types else []
    return notes + [name for name in ("masking", "undeclared", "guess") if edge.facts.get(name)]


def _spanning_tree(start: Iterable[str], below: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """Return the parent under which each node is expanded: the nearest one to the start."""
    parents = dict.fromkeys(start, "")
    level = list(parents)
    while level:
        following = []
        for parent in level:
            for child, _ in below.get(parent, ()):
                if child not in parents:
                    parents[child] = parent
                    following.append(child)
        level = following
    return parents


def label(node: Node, paint: Paint = plain) -> str:
    """Return a node in one line: kind, name, status, and the most important facts."""
    parts = [paint(node.kind, "bright_black"), paint(" ".join(node.name), COLOURS[node.kind])]
    parts += [paint(f"[{name}]", "red" if name in BAD_STATUS else "blue") for name in node.status]
    return " ".join(parts) + _summary(node, paint)


def _summary(node: Node, paint: Paint) -> str:
    facts = node.facts
    parts = []
    if node.kind == "run" and (job := facts.get("job")):
        parts.append(f"job {' '.join(job)}")
    if at := facts.get("lastRunAt"):
        state = facts.get("lastRunState")
        ended = f"{paint(state, STATE_COLOURS.get(state, 'white'))} " if state else ""
        parts.append(f"last run {ended}{short_time(at)}")
    if state := facts.get("state"):
        parts.append(f"{paint(state, STATE_COLOURS.get(state, 'white'))} {short_time(facts.get('at'))}")
    if node.kind == "dataset" and (writer := facts.get("lastWriter")):
        job = f"job {' '.join(writer['job'])}" if "job" in writer else "a job that retention removed"
        parts.append(f"last written by {job}, run {writer['run']} {short_time(writer.get('at'))}")
        parts += [f"job version {writer['version']}"] if writer.get("version") else []
    return paint("  · " + " · ".join(parts), "reset") if parts else ""


def short_time(text: str | None) -> str:
    """Return a time of specification 9 without its fraction of a second; "" for none."""
    return "" if text is None else text[:19] + "Z"


def truncation_lines(answer: Answer) -> list[str]:
    """Return one sentence for each truncation, and one for all those by depth."""
    nodes = answer.by_key()
    deep = [truncation for truncation in answer.truncations if truncation.why == "depth"]
    lines = [_truncation_line(truncation, nodes) for truncation in answer.truncations if truncation.why != "depth"]
    if deep:
        depth = answer.question.get("depth")
        names = sorted(_truncated_name(truncation, nodes) for truncation in deep)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(f"cut at depth {depth}: the graph goes on from {', '.join(names[:3])}{more} (--depth N or all)")
    return lines


def _truncation_line(truncation: Truncation, nodes: Mapping[str, Node]) -> str:
    if truncation.at is None:
        return f"cut at {truncation.shown} nodes: there are more (--nodes N)"
    name = _truncated_name(truncation, nodes)
    return f"cut at {name}: {truncation.shown} of {truncation.total} neighbours shown (--neighbours N)"


def _truncated_name(truncation: Truncation, nodes: Mapping[str, Node]) -> str:
    """Return the name of the node at which an answer is truncated; the start of an impact is not one of its nodes."""
    return " ".join(nodes[truncation.at].name) if truncation.at and truncation.at in nodes else "the start"


def mermaid(answer: Answer) -> str:
    """Return the answer as a Mermaid flowchart from left to right; edges that are no longer current are dotted."""
    ids = {node.key: f"n{number}" for number, node in enumerate(answer.nodes)}
    lines = ["flowchart LR"]
    lines += [f"  {ids[node.key]}{_mermaid_shape(node)}" for node in answer.nodes]
    arrows = {"alias": "-.-", "past": "-.->"}
    for edge in answer.edges:
        arrow = arrows.get("past" if edge.former else edge.kind, "-->")
        lines.append(f"  {ids[edge.source]} {arrow} {ids[edge.target]}")
    return "\n".join([*lines, *(f"  %% {line}" for line in truncation_lines(answer))])


def _mermaid_shape(node: Node) -> str:
    # Mermaid interprets some characters even between quotes; their numeric codes are safe.
    text = "".join(c if c.isalnum() or c in " ._-/:*" else f"#{ord(c)};" for c in _plain_label(node))
    column = ("([", "])")
    shapes = {"job": ("[", "]"), "run": ("[", "]"), "column": column, "versionColumn": column}
    left, right = shapes.get(node.kind, ("[(", ")]"))
    return f'{left}"{text}"{right}'


def dot(answer: Answer) -> str:
    """Return the answer as a Graphviz digraph from left to right."""
    ids = {node.key: f"n{number}" for number, node in enumerate(answer.nodes)}
    shapes = {"job": "box", "run": "box", "column": "oval", "versionColumn": "oval"}
    lines = ["digraph lineage {", "  rankdir=LR;"]
    for node in answer.nodes:
        text, shape = _dot_text(_plain_label(node)), shapes.get(node.kind, "cylinder")
        lines += [f"  {ids[node.key]} [label={text}, shape={shape}];"]
    for edge in answer.edges:
        style = ' [dir=none, style="dotted"]' if edge.kind == "alias" else ' [style="dashed"]' if edge.former else ""
        lines.append(f"  {ids[edge.source]} -> {ids[edge.target]}{style};")
    return "\n".join([*lines, *(f"  // {line}" for line in truncation_lines(answer)), "}"])


def _dot_text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain_label(node: Node) -> str:
    return " ".join([*node.name, *(f"[{name}]" for name in node.status)])


def edges_csv(answer: Answer) -> str:
    """Return the edges as CSV: kind, namespace, name of both ends, the edge's kind, and the distance of the farther end."""
    nodes = answer.by_key()
    rows = []
    for edge in answer.edges:
        ends = [nodes[edge.source], nodes[edge.target]]
        depth = max(node.depth for node in ends)
        rows.append([*_cells(ends[0]), edge.kind, *_cells(ends[1]), depth, "past" if edge.former else ""])
    rows.sort(key=lambda row: (row[-2], row))
    head = ["from_kind", "from_namespace", "from_name", "edge", "to_kind", "to_namespace", "to_name", "depth", "past"]
    return csv_text(head, rows)


def impact_text(answer: Answer, form: str, paint: Paint = plain) -> str:
    """Return the nodes of an answer as a table, CSV or JSON: distance, name, status, owners, last run."""
    if form == "json":
        return json_text(impact_value(answer))
    head = ("distance", "kind", "namespace", "name", "owners", "last run", "at", "marks")
    rows = [_impact_row(node) for node in answer.nodes]
    if form == "csv":
        return csv_text(head, rows)
    text = table(head, rows, paint) if rows else "nothing depends on it"
    return "\n".join([text, *truncation_lines(answer)])


def _impact_row(node: Node) -> tuple[str, ...]:
    facts = node.facts
    state, at = facts.get("lastRunState", ""), facts.get("lastRunAt") or facts.get("writtenAt")
    name = ".".join(node.name[1:])
    owners = ", ".join(facts.get("owners", []))
    return (str(node.depth), node.kind, node.name[0], name, owners, state, short_time(at), ", ".join(node.status))


def _cells(node: Node) -> list[str]:
    return [node.kind, node.name[0], ".".join(node.name[1:])]


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV with a header line; lines are separated by a newline."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def listing(
    form: str,
    value: object,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    empty: str,
    more: str = "",
    paint: Paint = plain,
) -> str:
    """Return a list as JSON (``value``), CSV or a table; ``empty`` stands for a table without rows, ``more`` follows it."""
    if form == "json":
        return json_text(value)
    if form == "csv":
        return csv_text(head, rows)
    return "\n".join(filter(None, [table(head, rows, paint), more])) if rows else empty


def table(head: Sequence[str], rows: Sequence[Sequence[str]], paint: Paint = plain) -> str:
    """Return rows as columns of the least width, two spaces apart, without spaces at the ends of lines."""
    widths = [max(len(str(row[column])) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        paint("  ".join(name.ljust(width) for name, width in zip(head, widths, strict=True)).rstrip(), "bright_black")
    ]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        painted = [
            paint(cell, STATE_COLOURS[cell.strip()]) if cell.strip() in STATE_COLOURS else cell for cell in cells
        ]
        lines.append("  ".join(painted).rstrip())
    return "\n".join(lines)
