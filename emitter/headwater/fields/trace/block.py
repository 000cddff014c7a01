"""Trace blocks: record what data frame libraries read and write while a block is open.

Inside ``with trace(run):`` the common functions of pandas, polars, PyArrow and DuckDB, if these are installed, report the
datasets that they read and write to the run. The origins of columns are:

- for SQL that DuckDB runs: exact, where sqlglot can resolve them (``sql``);
- for lazy plans of polars that a sink writes: exact, where every step is known (``polars_hooks``);
- otherwise unknown, because a frame doesn't know the origins of its columns: every column read so far in the block feeds
  every column written. Such an operation is marked as a guess, and its name says so.

The functions are wrapped while any block is open; calls outside the context of a block are not recorded. A fault in
recording is logged and never raised into the code that is traced.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from ..emit.recorder import ProgramRecorder
from ..emit.run import Run, schema_facets
from ..model.field_operations import Destination, FieldOperation, Input, Source
from ..model.paths import FieldPath
from ..model.schema import Schema
from .duckdb_hooks import DUCKDB_HOOKS
from .hooks import FRAME_HOOKS, Call, Hook
from .polars_hooks import POLARS_HOOKS

logger = logging.getLogger("headwater.fields")

NOT_DERIVED = "every column read so far feeds every column written"


@dataclass(slots=True, repr=False)
class Trace:
    """The reads and writes of a block; ``unnamed`` counts those whose dataset has no name (open files, buffers)."""

    run: Run
    recorder: ProgramRecorder
    columns_read: dict[Source, dict[str, None]] = field(default_factory=dict)
    written: dict[Destination, None] = field(default_factory=dict)
    unnamed: int = 0

    def __repr__(self) -> str:
        counts = f"{len(self.columns_read)} datasets read, {len(self.written)} written"
        return f"<Trace: {counts}, {self.unnamed} reads and writes unnamed>"

    def record_read(self, source: Source, columns: Iterable[str]) -> None:
        """Record that a dataset was read with these columns."""
        known = self.columns_read.setdefault(source, {})
        known.update(dict.fromkeys(columns))
        schema = Schema.of(*known) if known else None
        self.run.reads(source.namespace or "default", source.name, facets=schema_facets(schema))

    def record_write(self, destination: Destination, operations: Sequence[FieldOperation]) -> None:
        """Record that a dataset was written by these operations."""
        self.written[destination] = None
        self.recorder.record(destination, operations)

    def record_opaque_write(self, name: tuple[str, str] | None, columns: Sequence[str], library: str) -> None:
        """Record that a dataset was written by code whose column origins are unknown: all columns read feed it."""
        if name is None:
            self.unnamed += 1
            return
        schema = Schema.of(*columns) if columns else None
        inputs = [Input(FieldPath((column,)), source) for source, read in self.columns_read.items() for column in read]
        outputs = [FieldPath((column,)) for column in columns]
        operation = FieldOperation(f"{library}: {NOT_DERIVED}", inputs, outputs, guess=True)
        self.record_write(Destination.of(*name, schema=schema), [operation])


_current: ContextVar[Trace | None] = ContextVar("headwater_trace", default=None)
_inside: ContextVar[bool] = ContextVar("headwater_trace_inside", default=False)
_lock = threading.Lock()
_wrapped: list[tuple[Any, str, Any]] = []
_open_blocks = 0


@contextmanager
def trace(run: Run) -> Iterator[Trace]:
    """Record what the block reads and writes as lineage of the run; of nested blocks, the innermost records."""
    block = Trace(run, ProgramRecorder(run))
    token = _current.set(block)
    _enter()
    try:
        yield block
    finally:
        _leave()
        _current.reset(token)


def _enter() -> None:
    global _open_blocks  # the wrapped functions belong to the process, too
    with _lock:
        _open_blocks += 1
        if _open_blocks == 1:
            for hook in (*FRAME_HOOKS, *POLARS_HOOKS, *DUCKDB_HOOKS):
                _guarded(hook, functools.partial(_wrap, hook))


def _leave() -> None:
    global _open_blocks
    with _lock:
        _open_blocks -= 1
        while _wrapped and not _open_blocks:
            owner, name, original = _wrapped.pop()
            setattr(owner, name, original)


def _wrap(hook: Hook) -> None:
    if importlib.util.find_spec(hook.library) is None or not (hook.usable is None or hook.usable()):
        return
    owner: Any = importlib.import_module(hook.module)
    *parents, name = hook.path.split(".")
    for parent in parents:
        owner = getattr(owner, parent, None)
    original = getattr(owner, name, None)
    if original is not None:
        setattr(owner, name, _recording(hook, original))
        _wrapped.append((owner, name, original))


def _recording(hook: Hook, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        block = _current.get()
        # A library function can call another wrapped function (pandas reads Parquet with PyArrow).
        if _inside.get() or (block is None and hook.finally_ is None):
            return original(*args, **kwargs)
        token = _inside.set(True)
        try:
            return _recorded(hook, original, block, Call(hook, args, kwargs))
        finally:
            _inside.reset(token)

    return call


def _recorded(hook: Hook, original: Callable[..., Any], block: Trace | None, call: Call) -> Any:
    prepared = replace(call, prepared=_guarded(hook, lambda: hook.before and hook.before(call)))
    try:
        result = original(*call.args, **call.kwargs)
    finally:
        _guarded(hook, lambda: hook.finally_ and hook.finally_(prepared))
    if block is not None:
        _guarded(hook, lambda: hook.after(block, replace(prepared, result=result)))
    return result


def _guarded(hook: Hook, step: Callable[[], Any]) -> Any:
    try:
        return step()
    except Exception:  # a fault in recording must not stop the program
        logger.warning("the lineage of %s.%s is incomplete", hook.module, hook.path, exc_info=True)
        return None
