"""Answers as lines for a language model: one thing per line, with names that can be given to the next question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headwater_graph.queries.answers import Answer, Edge, Node, Truncation
from headwater_graph.queries.asking import GraphAnswer, Lineage

KINDS = ("dataset", "job", "column", "run", "version")
_PAIRS = ("job", "dataset", "inputs", "outputs", "conflicts", "start", "edge")
"""Members that hold names, as lists of their parts."""

_FACTS = ("owners", "job", "lastRunState", "lastRunAt", "state", "startedAt", "at", "writtenAt", "error")
_EDGE_FACTS = ("type", "subtype", "masking", "guess")


def outline(answer: GraphAnswer) -> Iterator[str]:
    """Yield the lines of an answer."""
    if isinstance(answer, Lineage):
        yield from _lineage_lines(answer)
    else:
        yield from _value_lines(answer.value(), "")


def one_line(text: str) -> str:
    """Return a text without line breaks and other control characters."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def name_of(parts: Sequence[str]) -> str:
    """Return a name as one text, as questions take it: ``namespace#name``, or ``namespace#dataset#column``."""
    return one_line("#".join(parts))


def _lineage_lines(found: Lineage) -> Iterator[str]:
    answer = found.answer
    state = "complete" if found.is_complete else "not complete"
    start = name_of(answer.question.get("start", ()))
    yield f"{answer.question.get('direction', 'lineage')} of {start}: {len(answer.nodes)} nodes, {state}"
    yield from (_truncation_line(truncation, answer) for truncation in answer.truncations)
    yield from map(one_line, answer.notes)
    yield from (_node_line(node) for node in answer.nodes)
    yield from _flow_lines(found)


def _truncation_line(truncation: Truncation, answer: Answer) -> str:
    at = answer.by_key().get(truncation.at or "")
    where = f" at {name_of(at.name)}" if at is not None else ""
    total = "" if truncation.total is None else f" of {truncation.total}"
    return f"cut{where} by the limit {truncation.why}: {truncation.shown}{total} shown"


def _node_line(node: Node) -> str:
    status = "".join(f" [{term}]" for term in node.status)
    facts = {name: node.facts[name] for name in _FACTS if node.facts.get(name)}
    writer = node.facts.get("lastWriter")
    facts |= {"lastWriter": name_of(writer["job"])} if writer and "job" in writer else {}
    shown = "".join(f" {name}={_inline(name, value)}" for name, value in facts.items())
    return f"{node.depth} {node.kind} {name_of(node.name)}{status}{shown}"


def _flow_lines(found: Lineage) -> Iterator[str]:
    """Yield what flows where: for each job its datasets in one line, and every other edge."""
    nodes = found.answer.by_key()
    reads: dict[str, list[str]] = {}
    writes: dict[str, list[str]] = {}
    others: list[Edge] = []
    for edge in found.edges:
        if edge.kind == "feeds" and not edge.former:
            reads.setdefault(edge.target, []).append(name_of(nodes[edge.source].name))
        elif edge.kind == "produces" and not edge.former:
            writes.setdefault(edge.source, []).append(name_of(nodes[edge.target].name))
        else:
            others.append(edge)
    for job in dict.fromkeys((*reads, *writes)):
        ends = [", ".join(side.get(job, ("?",))) for side in (reads, writes)]
        yield f"job {name_of(nodes[job].name)}: {ends[0]} -> {ends[1]}"
    for edge in others:
        facts = [str(edge.facts[name]) for name in _EDGE_FACTS if edge.facts.get(name)]
        facts += [f"by job {name_of(edge.facts['job'])}"] if "job" in edge.facts else []
        kind = " ".join([edge.kind, *(["past"] if edge.former else []), *facts])
        yield f"{name_of(nodes[edge.source].name)} -> {name_of(nodes[edge.target].name)} ({kind})"


def _value_lines(value: Any, indent: str) -> Iterator[str]:
    """Yield JSON values as lines, each item of a list in one line."""
    for name, member in value.items() if isinstance(value, Mapping) else ():
        if member is None or member == [] or member == {}:
            continue
        if name == "facets":
            yield f"{indent}facets: {', '.join(_facet_names(member))}"
        elif _is_list_of_things(member):
            yield f"{indent}{name}:"
            yield from (f"{indent}- {_inline(name, item)}" for item in member)
        elif isinstance(member, Mapping) and name != "question":
            yield f"{indent}{name}:"
            yield from _value_lines(member, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_inline(name, member)}"


def _is_list_of_things(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value)


def _facet_names(facets: Mapping[str, Any]) -> Iterable[str]:
    for name, inner in facets.items():
        yield from (
            (f"{name}.{each}" for each in inner) if name in ("run", "job") and isinstance(inner, dict) else (name,)
        )


def _inline(name: str, value: Any) -> str:
    """Return a JSON value in one line; ``name`` is that of the member that has it."""
    match value:
        case str():
            return one_line(value)
        case bool() | int() | float() | None:
            return str(value).lower() if isinstance(value, bool) else str(value)
        case [str() as kind, *rest] if kind in KINDS and rest and name not in _PAIRS and _are_texts(rest):
            return f"{kind} {name_of(rest)}"
        case [_, _, *_] if name in _PAIRS and _are_texts(value):
            return name_of(value)
        case list():
            return ", ".join(_inline(name, item) for item in value)
        case _:
            return " ".join(
                f"{each}={_inline(each, member)}" for each, member in _joined(value) if member not in (None, [])
            )


def _are_texts(value: Any) -> bool:
    return all(isinstance(item, str) for item in value)


def _joined(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of a row; a namespace and the name of its job or dataset are one name."""
    named = next((each for each in ("job", "dataset", "name") if isinstance(value.get(each), str)), None)
    has_name = named is not None and isinstance(value.get("namespace"), str)
    for name, member in value.items():
        if has_name and name == "namespace":
            continue
        yield name, name_of((value["namespace"], member)) if has_name and name == named else member
