"""The decorator ``task``: each call of a function is a run; of a generator or coroutine, from first to last step."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, TypeVar, overload

from . import context
from .runs import Run, run

F = TypeVar("F", bound=Callable[..., Any])


@overload
def task(function: F) -> F: ...
@overload
def task(*, namespace: str | None = None, name: str | None = None, **options: Any) -> Callable[[F], F]: ...
def task(
    function: Callable[..., Any] | None = None,
    *,
    namespace: str | None = None,
    name: str | None = None,
    **options: Any,
) -> Any:
    """Return the function with each call as a run: ``@task``, or ``@task(namespace=…, name=…)`` with options of ``run``.

    By default, the job is ``module.qualified_name`` in the namespace of ``HEADWATER_NAMESPACE``,
    ``OPENLINEAGE_NAMESPACE`` or ``default``. Inside, ``headwater.lineage.current`` returns the run. Functions,
    generators, coroutine functions and asynchronous generators remain what they are.
    """
    if function is None:
        return functools.partial(task, namespace=namespace, name=name, **options)
    inner = inspect.unwrap(function)
    options.setdefault("script", inner.__code__.co_filename if inspect.isfunction(inner) else None)
    job = name or f"{function.__module__}.{function.__qualname__}"

    def begin() -> Run:
        return run(namespace or default_namespace(), job, **options)

    return _wrap(function, begin)


def default_namespace() -> str:
    """Return the namespace of jobs without one."""
    return os.environ.get("HEADWATER_NAMESPACE") or os.environ.get("OPENLINEAGE_NAMESPACE") or "default"


def _wrap(function: Callable[..., Any], begin: Callable[[], Run]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):

        def call(*args: Any, **kwargs: Any) -> Any:
            return _steps_async(function(*args, **kwargs), begin)

    elif inspect.iscoroutinefunction(function):

        async def call_async(*args: Any, **kwargs: Any) -> Any:
            with begin():
                return await function(*args, **kwargs)

        return functools.wraps(function)(call_async)

    elif inspect.isgeneratorfunction(function):

        def call(*args: Any, **kwargs: Any) -> Any:
            return _steps(function(*args, **kwargs), begin)

    else:

        def call(*args: Any, **kwargs: Any) -> Any:
            with begin():
                return function(*args, **kwargs)

    return functools.wraps(function)(call)


def _steps(generator: Generator[Any, Any, Any], begin: Callable[[], Run]) -> Generator[Any, Any, Any]:
    # The run is current only while the generator's own code runs, not in the code that consumes it.
    current = begin()
    current.start()
    step: Callable[[], Any] = functools.partial(next, generator)
    error: BaseException | None = None
    try:
        while True:
            token = context.enter(current)
            try:
                item = step()
            except StopIteration as end:
                return end.value
            finally:
                context.leave(token)
            try:
                sent = yield item
                step = functools.partial(generator.send, sent)
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as thrown:  # noqa: BLE001  the generator handles it
                step = functools.partial(generator.throw, thrown)
    except BaseException as fault:
        error = fault
        raise
    finally:
        current.end_with(error)


async def _steps_async(generator: AsyncGenerator[Any, Any], begin: Callable[[], Run]) -> AsyncGenerator[Any, Any]:
    current = begin()
    current.start()
    step: Callable[[], Any] = generator.__anext__
    error: BaseException | None = None
    try:
        while True:
            token = context.enter(current)
            try:
                item = await step()
            except StopAsyncIteration:
                return
            finally:
                context.leave(token)
            try:
                sent = yield item
                step = functools.partial(generator.asend, sent)
            except GeneratorExit:
                await generator.aclose()
                raise
            except BaseException as thrown:  # noqa: BLE001  the generator handles it
                step = functools.partial(generator.athrow, thrown)
    except BaseException as fault:
        error = fault
        raise
    finally:
        current.end_with(error)
