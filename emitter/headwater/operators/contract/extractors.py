"""Who tells a task's lineage: an extractor registered for the operator's class, else the operator itself (seed 003).

The choice, nearest class first along the operator's method resolution order: at each class a registered extractor
wins, then lineage methods that this very class defines. So a subclass with methods of its own is heard, and one
without is read by the extractor of its parent.
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
    """An operator that tells its lineage before it runs; ``ti`` may be left out of the signature."""

    def get_openlineage_facets_on_start(self, ti: Any) -> Any: ...


@runtime_checkable
class ExposesLineageOnComplete(Protocol):
    """An operator that tells its lineage once it has run; without it, the one on start is asked again."""

    def get_openlineage_facets_on_complete(self, ti: Any) -> Any: ...


@runtime_checkable
class ExposesLineageOnFailure(Protocol):
    """An operator that tells what it did before it failed; without it, the one on complete is asked."""

    def get_openlineage_facets_on_failure(self, ti: Any) -> Any: ...


class Extractor(ABC):
    """Tells the lineage of operators that don't tell it themselves; one instance per operator and event.

    ``include_source_code`` is set after construction, so that an ``__init__(self, operator)`` is all that is asked for.
    """

    include_source_code: bool = True

    def __init__(self, operator: Any) -> None:
        self.operator = operator

    @classmethod
    @abstractmethod
    def get_operator_classnames(cls) -> Sequence[str]:
        """The classes that this extractor reads: bare names, or full paths where a bare one is ambiguous."""

    @abstractmethod
    def extract(self) -> Any:
        """The lineage known when the task starts: anything that `read_result` accepts."""

    def extract_on_complete(self, ti: Any) -> Any:
        return self.extract()

    def extract_on_failure(self, ti: Any) -> Any:
        return self.extract_on_complete(ti)


class DefaultExtractor(Extractor):
    """Asks the operator: on start; on complete, else on start again; on failure, else on complete."""

    @classmethod
    def get_operator_classnames(cls) -> Sequence[str]:
        return ()

    def extract(self, ti: Any = None) -> Any:
        return self._ask(ti, ON_START)

    def extract_on_complete(self, ti: Any) -> Any:
        return self._ask(ti, ON_COMPLETE, ON_START)

    def extract_on_failure(self, ti: Any) -> Any:
        return self._ask(ti, ON_FAILURE, ON_COMPLETE, ON_START)

    def _ask(self, ti: Any, *methods: str) -> Any:
        method = next(
            (each for each in (getattr(self.operator, name, None) for name in methods) if callable(each)), None
        )
        return TaskInstanceLineage() if method is None else call_with_ti(method, ti)


def extract(extractor: Any, state: str | None, ti: Any) -> Any:
    """Ask an extractor by the task's state: ``running``, ``failed``, and everything else as complete."""
    if state == "running":
        return call_with_ti(extractor.extract, ti)
    on_failure = getattr(extractor, "extract_on_failure", None)
    if state == "failed" and callable(on_failure):
        return call_with_ti(on_failure, ti)
    return call_with_ti(extractor.extract_on_complete, ti)


_ExtractorClass = TypeVar("_ExtractorClass", bound=type[Any])


class ExtractorRegistry:
    """Extractors by the operator class that they read; those given as paths are imported when first needed.

    A path that can't be imported is skipped with a warning that names it: at that moment hosts are half imported
    themselves, and one broken extractor must not silence the others. Of two extractors for one class the later one
    wins, with a warning.
    """

    def __init__(self, extractors: Iterable[type[Any]] = (), paths: str = "") -> None:
        self._by_name: dict[str, type[Any]] = {}
        self._pending = [path.strip() for path in paths.split(";") if path.strip()]
        self._lock = threading.Lock()
        for each in extractors:
            self.register(each)

    def register(self, extractor: _ExtractorClass) -> _ExtractorClass:
        """Register an extractor for the classes that it names; usable as a decorator. Raises `ConfigError` if it is
        none."""
        names = getattr(extractor, "get_operator_classnames", None)
        if not callable(names) or not callable(getattr(extractor, "extract", None)):
            raise ConfigError(f"{extractor!r} is no extractor: it needs get_operator_classnames and extract")
        for name in names():
            earlier = self._by_name.get(name)
            if earlier not in (None, extractor):
                logger.warning("two lineage extractors for %s: %s takes the place of %s", name, extractor, earlier)
            self._by_name[name] = extractor
        return extractor

    def for_operator(self, operator: object) -> Any:
        """A fresh extractor for this operator, or None if neither a registered one nor the operator tells anything."""
        self._import_pending()
        cls = self._class_for(operator)
        return None if cls is None else cls(operator)

    def _class_for(self, operator: object) -> type[Any] | None:
        # Airflow's decorated tasks go by a name that is not their class's.
        named = self._by_name.get(str(getattr(operator, "task_type", "")))
        if named is not None:
            return named
        for cls in type(operator).__mro__:
            registered = self._by_name.get(f"{cls.__module__}.{cls.__qualname__}") or self._by_name.get(cls.__name__)
            if registered is not None:
                return registered
            if any(name in cls.__dict__ for name in _METHODS) and _tells(operator):
                return DefaultExtractor
        return DefaultExtractor if _tells(operator) else None

    def _import_pending(self) -> None:
        with self._lock:
            paths, self._pending = self._pending, []
        for path in paths:
            try:
                module, _, name = path.rpartition(".")
                self.register(getattr(importlib.import_module(module), name))
            except Exception as fault:  # noqa: BLE001  importing runs foreign code
                logger.warning("lineage extractor %s can't be used and is left out: %s", path, fault)


def _tells(operator: object) -> bool:
    return any(callable(getattr(operator, name, None)) for name in _METHODS)


_registry = ExtractorRegistry()


def default_registry() -> ExtractorRegistry:
    """The registry of this process, used wherever none is given."""
    return _registry


def register_extractor(extractor: _ExtractorClass) -> _ExtractorClass:
    """Register an extractor in the registry of this process; usable as a decorator."""
    return _registry.register(extractor)
