"""Lineage of plain code without a word said: reads and writes of data frame libraries are recorded while they happen.

Inside ``with trace(run):`` the common functions of pandas, polars, PyArrow and DuckDB (those that are imported or can
be) tell the run which datasets they read and write. Column origins:

- SQL that DuckDB runs: exact where sqlglot can tell (`trace_sql`);
- lazy plans of polars that are written by a sink: exact where every step is understood (`trace_polars`);
- everything else: a frame does not say where its columns come from, so every column read so far in the block is taken
  to feed every column written, and the operation's name says so.

The functions are wrapped while any block is open; calls outside of a block's context pass unrecorded. Nothing here
raises into the code that is traced: faults are logged.
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
from ..model.schema import Schema, SchemaField
from .duckdb_hooks import DUCKDB_HOOKS
from .hooks import FRAME_HOOKS, Call, Hook
from .polars_hooks import POLARS_HOOKS

logger = logging.getLogger("headwater.fields")

NOT_DERIVED = "every column read so far feeds every column written"


@dataclass(slots=True)
class Trace:
    """What one block has seen; ``unnamed`` counts reads and writes whose dataset can't be named (open files, buffers)."""

    run: Run
    recorder: ProgramRecorder
    read: dict[Source, dict[str, None]] = field(default_factory=dict)
    written: dict[Destination, None] = field(default_factory=dict)
    unnamed: int = 0

    def reads(self, source: Source, columns: Iterable[str]) -> None:
        """A dataset was read, with these columns."""
        known = self.read.setdefault(source, {})
        known.update(dict.fromkeys(columns))
        schema = Schema(tuple(map(SchemaField, known))) if known else None
        self.run.reads(source.namespace or "default", source.name, facets=schema_facets(schema))

    def writes(self, destination: Destination, operations: Sequence[FieldOperation]) -> None:
        """A dataset was written; the operations tell its columns."""
        self.written[destination] = None
        self.recorder.record(destination, operations)

    def everything_to(self, columns: Sequence[str], library: str) -> FieldOperation:
        """The operation that stands for code that can't be seen into."""
        inputs = [Input(FieldPath((name,)), source) for source, names in self.read.items() for name in names]
        return FieldOperation(f"{library}: {NOT_DERIVED}", inputs, [FieldPath((name,)) for name in columns])


_current: ContextVar[Trace | None] = ContextVar("headwater_trace", default=None)
_inside: ContextVar[bool] = ContextVar("headwater_trace_inside", default=False)
_lock = threading.Lock()
_wrapped: list[tuple[Any, str, Any]] = []
_open_blocks = 0


@contextmanager
def trace(run: Run) -> Iterator[Trace]:
    """Record what the block reads and writes into the run; blocks may nest, the innermost records."""
    tracing = Trace(run, ProgramRecorder(run))
    token = _current.set(tracing)
    _enter()
    try:
        yield tracing
    finally:
        _leave()
        _current.reset(token)


def _enter() -> None:
    global _open_blocks  # the wrapped functions are the process's too
    with _lock:
        _open_blocks += 1
        if _open_blocks == 1:
            for hook in (*FRAME_HOOKS, *POLARS_HOOKS, *DUCKDB_HOOKS):
                _guarded(hook, functools.partial(_wrap, hook))


def _leave() -> None:
    global _open_blocks
    with _lock:
        _open_blocks -= 1
        if not _open_blocks:
            while _wrapped:
                owner, name, original = _wrapped.pop()
                setattr(owner, name, original)


def _wrap(hook: Hook) -> None:
    if importlib.util.find_spec(hook.module.partition(".")[0]) is None:
        return
    if hook.usable is not None and not hook.usable():
        return
    owner: Any = importlib.import_module(hook.module)
    for part in hook.path.split(".")[:-1]:
        owner = getattr(owner, part, None)
    name = hook.path.split(".")[-1]
    original = getattr(owner, name, None)
    if original is not None:
        setattr(owner, name, _recording(hook, original))
        _wrapped.append((owner, name, original))


def _recording(hook: Hook, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        tracing = _current.get()
        # A library's function may use another one that is wrapped too (pandas reads Parquet by PyArrow).
        if _inside.get() or (tracing is None and hook.finally_ is None):
            return original(*args, **kwargs)
        token = _inside.set(True)
        try:
            return _recorded(hook, original, tracing, Call(hook, args, kwargs))
        finally:
            _inside.reset(token)

    return call


def _recorded(hook: Hook, original: Callable[..., Any], tracing: Trace | None, call: Call) -> Any:
    noted = replace(call, noted=_guarded(hook, lambda: hook.before and hook.before(call)))
    try:
        result = original(*call.args, **call.kwargs)
    finally:
        _guarded(hook, lambda: hook.finally_ and hook.finally_(noted))
    if tracing is not None:
        _guarded(hook, lambda: hook.after(tracing, replace(noted, result=result)))
    return result


def _guarded(hook: Hook, tell: Callable[[], Any]) -> Any:
    try:
        return tell()
    except Exception:
        logger.warning("the lineage of %s.%s is incomplete", hook.module, hook.path, exc_info=True)
        return None
