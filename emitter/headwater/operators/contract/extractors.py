"""Extractors of lineage: one registered for the operator's class, else the operator itself.

The nearest class in the operator's method resolution order decides: at each class a registered extractor wins, then the
lineage methods that this class defines itself. So a subclass with its own methods is called, and a subclass without them is
read by the extractor of its parent.
"""

from __future__ import annotations

import importlib
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from headwater_avro.errors import ConfigError

from .signature import call_with_ti
from .task_lineage import TaskInstanceLineage

logger = logging.getLogger(__name__)

ON_START = "get_openlineage_facets_on_start"
ON_COMPLETE = "get_openlineage_facets_on_complete"
ON_FAILURE = "get_openlineage_facets_on_failure"
_METHODS = (ON_START, ON_COMPLETE, ON_FAILURE)


@runtime_checkable
class ExposesLineageOnStart(Protocol):
    """An operator that returns its lineage before it runs; ``ti`` may be missing in the signature."""

    def get_openlineage_facets_on_start(self, ti: Any) -> Any: ...


@runtime_checkable
class ExposesLineageOnComplete(Protocol):
    """An operator that returns its lineage after it has run; without this method, the one on start is called again."""

    def get_openlineage_facets_on_complete(self, ti: Any) -> Any: ...


@runtime_checkable
class ExposesLineageOnFailure(Protocol):
    """An operator that returns its lineage after a failure; without this method, the one on complete is called."""

    def get_openlineage_facets_on_failure(self, ti: Any) -> Any: ...


class Extractor(ABC):
    """An extractor of the lineage of operators of other libraries; one instance per operator and event.

    ``include_source_code`` is set after construction, so that ``__init__`` needs no parameter but the operator.
    """

    include_source_code: bool = True

    def __init__(self, operator: Any) -> None:
        self.operator = operator

    @classmethod
    @abstractmethod
    def get_operator_classnames(cls) -> Sequence[str]:
        """Return the operator classes of this extractor: class names, or full paths where a name is ambiguous."""

    @abstractmethod
    def extract(self) -> Any:
        """Return the lineage at the start of the task: any value that ``read_result`` accepts."""

    def extract_on_complete(self, ti: Any) -> Any:
        return self.extract()

    def extract_on_failure(self, ti: Any) -> Any:
        return self.extract_on_complete(ti)


class DefaultExtractor(Extractor):
    """An extractor that calls the operator: on start; on complete, else on start again; on failure, else on complete."""

    @classmethod
    def get_operator_classnames(cls) -> Sequence[str]:
        return ()

    def extract(self, ti: Any = None) -> Any:
        return self._call(ti, ON_START)

    def extract_on_complete(self, ti: Any) -> Any:
        return self._call(ti, ON_COMPLETE, ON_START)

    def extract_on_failure(self, ti: Any) -> Any:
        return self._call(ti, ON_FAILURE, ON_COMPLETE, ON_START)

    def _call(self, ti: Any, *methods: str) -> Any:
        candidates = (getattr(self.operator, name, None) for name in methods)
        method = next(filter(callable, candidates), None)
        return TaskInstanceLineage() if method is None else call_with_ti(method, ti)


def extract(extractor: Any, state: str | None, ti: Any) -> Any:
    """Return an extractor's lineage in a state: ``running``, ``failed``, and any other state as complete."""
    if state == "running":
        return call_with_ti(extractor.extract, ti)
    on_failure = getattr(extractor, "extract_on_failure", None)
    if state == "failed" and callable(on_failure):
        return call_with_ti(on_failure, ti)
    return call_with_ti(extractor.extract_on_complete, ti)


_ExtractorClass = TypeVar("_ExtractorClass", bound=type[Any])


class ExtractorRegistry:
    """Extractors by operator class; those given as paths are imported when they are first needed.

    A path that cannot be imported is skipped with a warning, so that a broken extractor does not affect the others. Of two
    extractors for one class the later wins, with a warning.
    """

    def __init__(self, extractors: Iterable[type[Any]] = (), paths: str = "") -> None:
        self._by_name: dict[str, type[Any]] = {}
        self._pending = [path.strip() for path in paths.split(";") if path.strip()]
        self._lock = threading.Lock()
        for extractor in extractors:
            self.register(extractor)

    def register(self, extractor: _ExtractorClass) -> _ExtractorClass:
        """Register an extractor for the classes that it names, and return it; usable as a decorator.

        Raise ``ConfigError`` for a class without ``get_operator_classnames`` and ``extract``.
        """
        names = getattr(extractor, "get_operator_classnames", None)
        if not callable(names) or not callable(getattr(extractor, "extract", None)):
            raise ConfigError(f"{extractor!r} is not an extractor: it needs get_operator_classnames and extract")
        for name in names():
            earlier = self._by_name.get(name)
            if earlier not in (None, extractor):
                logger.warning("two lineage extractors for %s: %s replaces %s", name, extractor, earlier)
            self._by_name[name] = extractor
        return extractor

    def for_operator(self, operator: object) -> Any:
        """Return a new extractor for this operator, or None without a registered one and without lineage methods."""
        self._import_pending()
        cls = self._class_for(operator)
        return None if cls is None else cls(operator)

    def _class_for(self, operator: object) -> type[Any] | None:
        # The task type of Airflow's decorated tasks is not the name of their class.
        named = self._by_name.get(str(getattr(operator, "task_type", "")))
        if named is not None:
            return named
        for cls in type(operator).__mro__:
            registered = self._by_name.get(f"{cls.__module__}.{cls.__qualname__}") or self._by_name.get(cls.__name__)
            if registered is not None:
                return registered
            if any(name in cls.__dict__ for name in _METHODS) and _has_lineage_methods(operator):
                return DefaultExtractor
        return DefaultExtractor if _has_lineage_methods(operator) else None

    def _import_pending(self) -> None:
        with self._lock:
            paths, self._pending = self._pending, []
        for path in paths:
            try:
                module, _, name = path.rpartition(".")
                self.register(getattr(importlib.import_module(module), name))
            except Exception as fault:  # noqa: BLE001  importing runs foreign code
                logger.warning("lineage extractor %s cannot be used and is left out: %s", path, fault)


def _has_lineage_methods(operator: object) -> bool:
    return any(callable(getattr(operator, name, None)) for name in _METHODS)


_registry = ExtractorRegistry()


def default_registry() -> ExtractorRegistry:
    """Return the registry of this process, which listeners use by default."""
    return _registry


def register_extractor(extractor: _ExtractorClass) -> _ExtractorClass:
    """Register an extractor in the registry of this process; usable as a decorator."""
    return _registry.register(extractor)
