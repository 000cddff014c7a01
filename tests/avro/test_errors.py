"""The class of an error determines a process's exit code, on the command line and in the container."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import headwater_avro
import headwater_cli
import headwater_consumer
import headwater_graph
import headwater_stack
from headwater_avro.errors import ConfigError, HeadwaterError, SchemaMismatch, ServerUnavailable, StoreBusy
from headwater_cli import main as command_line
from headwater_consumer import __main__ as container

CODES = [
    (HeadwaterError("failed"), 1),
    (ConfigError("a wrong setting"), 2),
    (SchemaMismatch("an older graph"), 2),
    (ServerUnavailable("Neo4j", "bolt://127.0.0.1:1", "start it"), 3),
    (StoreBusy("another transaction"), 3),
]


def _all_errors() -> list[type[HeadwaterError]]:
    for package in (headwater_avro, headwater_graph, headwater_consumer, headwater_cli, headwater_stack):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and "demo_jobs" not in module.name:
                importlib.import_module(module.name)
    found, waiting = [], [HeadwaterError]
    while waiting:
        error = waiting.pop()
        found.append(error)
        waiting += error.__subclasses__()
    return found


def test_subclasses_of_an_error_have_the_exit_code_of_their_parent() -> None:
    for error in _all_errors():
        if issubclass(error, ServerUnavailable):
            assert error.exit_code == 3, error
        if issubclass(error, ConfigError):
            assert error.exit_code == 2, error
        assert error.exit_code in (1, 2, 3), error


@pytest.mark.parametrize(("error", "code"), CODES, ids=lambda value: type(value).__name__)
def test_command_line_and_container_exit_with_the_code_of_the_error(
    error: HeadwaterError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(command_line.headwater, "main", fail)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == code
    monkeypatch.setattr(container, "load", fail)
    assert container.main() == code
    assert capsys.readouterr().err == f"headwater: {error}\n" * 2
