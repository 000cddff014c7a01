"""The tools: one for each question, made from its description, and the size of what they answer."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import Field

from headwater_avro.errors import HeadwaterError
from headwater_graph.queries.asking import QUESTIONS, Graph, Parameter, Question
from headwater_graph.queries.lineage.scope import TraversalLimits

from .outline import outline

CHARACTERS = 12_000
"""The default limit of an answer in characters: about 4,000 tokens."""

LEAST_CHARACTERS = 500
LONGEST_LINE = 2_000
MOST_ITEMS = 1_000
"""The greatest length of a list, as over HTTP."""
SKIP = "skip"
_FIXED = ("neighbours", "nodes")
"""Parameters that tools do not have: what an agent reads is bounded in characters."""

_SKIP_HELP = "The number of lines to leave out: the last line of an answer says how many there were so far."


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools over a graph, with the greatest limits of a traversal and of an answer in characters."""

    graph: Graph
    most: TraversalLimits
    characters: int = CHARACTERS

    def all(self) -> list[Tool]:
        """Return a tool for each question."""
        return [self._tool(question) for question in QUESTIONS]

    def _tool(self, question: Question) -> Tool:
        tool = Tool.from_function(
            self._function(question),
            name=question.name,
            description=question.help,
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
            structured_output=False,
        )
        # A misspelt parameter would be ignored, and the answer would be that of another question.
        arguments = tool.fn_metadata.arg_model
        arguments.model_config["extra"] = "forbid"
        arguments.model_rebuild(force=True)
        tool.parameters["additionalProperties"] = False
        return tool

    def _function(self, question: Question) -> Callable[..., str]:
        """Return the function of a tool, with the signature from which its parameters are described."""

        def asked(**given: Any) -> str:
            return self.answer(question, given)

        shown = [each for each in question.parameters if each.name not in _FIXED]
        parameters = [self._parameter(each) for each in shown]
        skip = Annotated[int, Field(ge=0, description=_SKIP_HELP)]
        parameters.append(inspect.Parameter(SKIP, inspect.Parameter.KEYWORD_ONLY, default=0, annotation=skip))
        asked.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
        asked.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": str}
        return asked

    def _parameter(self, parameter: Parameter) -> inspect.Parameter:
        default = self._default(parameter)
        annotation: Any = Annotated[_type_of(parameter), Field(description=parameter.given.help)]
        return inspect.Parameter(parameter.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

    def _default(self, parameter: Parameter) -> Any:
        if parameter.given.type == "depth" and self.most.depth is not None:
            return min(parameter.default, self.most.depth)
        return [] if parameter.default == () else parameter.default

    def answer(self, question: Question, given: Mapping[str, Any]) -> str:
        """Return the answer to a question as text; raises ToolError with the message of an error that the caller can correct."""
        arguments = {name: value for name, value in given.items() if name != SKIP}
        limits = {"neighbours": self.most.neighbours, "nodes": self.most.nodes}
        fixed = {each.name: min(each.default, limits[each.name]) for each in question.parameters if each.name in _FIXED}
        try:
            lines = list(outline(self.graph.ask(question.name, **arguments, **fixed)))
        except HeadwaterError as fault:
            raise ToolError(str(fault)) from fault
        skip = given.get(SKIP, 0)
        return sized(lines, skip, self.characters, lambda next_skip: _call(question, arguments, next_skip))


def sized(lines: Iterable[str], skip: int, characters: int, call: Callable[[int], str]) -> str:
    """Return as many lines as have room after the first ``skip``, and if there are more, the call that shows them.

    >>> sized(["a", "b", "c"], 0, 40, lambda skip: f"x(skip={skip})")
    'a\\nb\\nc'
    >>> sized(["a" * 30, "b" * 30], 0, 50, lambda skip: f"x(skip={skip})")
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\n+1 more lines: x(skip=1)'
    """
    rest = [_shortened(line) for line in islice(lines, skip, None)]
    if len("\n".join(rest)) <= characters:
        return "\n".join(rest) or ("nothing" if not skip else "no more lines")
    room, shown = characters - len(_more(len(rest), call(skip + len(rest)))), 0
    for line in rest:
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown += 1
    return "\n".join([*rest[:shown], _more(len(rest) - shown, call(skip + shown))])


def _more(lines: int, call: str) -> str:
    return f"+{lines} more lines: {call}"


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}… (+{len(line) - LONGEST_LINE} characters)"


def _call(question: Question, arguments: Mapping[str, Any], skip: int) -> str:
    """Return the call of a tool with the arguments that are not their defaults."""
    defaults = {each.name: each.default for each in question.parameters}
    given = {name: value for name, value in arguments.items() if value != defaults[name] and value != []}
    texts = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in (given | {SKIP: skip}).items()]
    return f"{question.name}({', '.join(texts)})"


def _type_of(parameter: Parameter) -> Any:
    """Return the type of a parameter from which its JSON schema is made."""
    kind, choices = parameter.given.type, parameter.given.choices
    chosen: Any = Literal[choices] if choices else str
    types: dict[str, Any] = {
        "name": str,
        "text": str,
        "time": str,
        "choice": chosen,
        "texts": list[str],
        "choices": list[chosen],
        "count": Annotated[int, Field(ge=1, le=MOST_ITEMS)],
        "depth": Annotated[int, Field(ge=0)],
        "flag": bool,
        "values": dict[str, Any],
    }
    found = types[kind]
    return found | None if parameter.default is None and kind != "depth" else found
