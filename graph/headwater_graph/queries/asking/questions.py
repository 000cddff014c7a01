"""The description of each question: its name, help, parameters and answer, and where the command line and HTTP have it.

The description is the method of ``Graph`` itself: its name, the first sentence of its docstring, its parameters with their
types and defaults, and the type that it returns. Python has the method, agents a tool that is made from the description, and
tests compare commands and HTTP paths with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

ParameterType: TypeAlias = Literal[
    "name", "text", "texts", "time", "count", "depth", "flag", "choice", "choices", "values"
]
"""What a caller gives: the name of a node, a text or several, a time, a number, a number or none, yes or no, one or several
of some texts, or JSON values by name."""

NOTHING: Any = inspect.Parameter.empty
"""The default of a parameter that must be given."""

Method = TypeVar("Method", bound=Callable[..., Any])
_PLACES = "_places"


@dataclass(frozen=True, slots=True)
class Given:
    """What a parameter is, as the annotation of its type; ``alias`` is its name where that can be a keyword of Python."""

    type: ParameterType
    help: str
    choices: tuple[str, ...] = ()
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a question; ``default`` is ``NOTHING`` if it must be given."""

    name: str
    given: Given
    default: Any

    @property
    def is_required(self) -> bool:
        """Return whether the parameter must be given."""
        return self.default is NOTHING

    @property
    def public_name(self) -> str:
        """Return the name of the parameter in commands and HTTP."""
        return self.given.alias or self.name


@dataclass(frozen=True, slots=True)
class Places:
    """Where the command line and HTTP have a question: commands with an option that selects it, and paths below the graph's."""

    commands: tuple[str, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its name, one sentence of help, its parameters, the type of its answer, its function, and its places."""

    name: str
    help: str
    parameters: tuple[Parameter, ...]
    answer: Any
    function: Callable[..., Any]
    places: Places


def question(*, commands: tuple[str, ...], paths: tuple[str, ...]) -> Callable[[Method], Method]:
    """Return a decorator that makes a method a question, which these commands and HTTP paths have as well."""

    def described(method: Method) -> Method:
        setattr(method, _PLACES, Places(commands, paths))
        return method

    return described


def questions_of(owner: type) -> tuple[Question, ...]:
    """Return the questions among the methods of a class, in their order."""
    return tuple(_question(method) for method in vars(owner).values() if hasattr(method, _PLACES))


def _question(method: Callable[..., Any]) -> Question:
    types = get_type_hints(method, include_extras=True)
    help_text = (inspect.getdoc(method) or "").partition("\n")[0]
    parameters = tuple(_parameters(method, types))
    return Question(method.__name__, help_text, parameters, types["return"], method, getattr(method, _PLACES))


def _parameters(method: Callable[..., Any], types: dict[str, Any]) -> Iterator[Parameter]:
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if get_origin(types[name]) is not Annotated:
            raise TypeError(f"{method.__qualname__}: the type of {name} has no description (Given)")
        given = next(each for each in get_args(types[name])[1:] if isinstance(each, Given))
        yield Parameter(name, given, parameter.default)
