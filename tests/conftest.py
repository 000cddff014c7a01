"""Fixtures for all tests: real servers, hypothesis profiles, and where the shared example data is."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from .servers import servers, topic

__all__ = ["example_data", "servers", "topic"]

# Servers and a busy machine make single examples slow now and then; no rule depends on it.
_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
settings.register_profile("default", deadline=None, suppress_health_check=_QUIET, derandomize=True)
settings.register_profile("nightly", deadline=None, suppress_health_check=_QUIET, max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of the session's own, so that no test finds or leaves anything in the user's."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWATER_HOME", str(folder))
        yield folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape the halves of surrogate pairs in captured output: reports of parallel processes are sent as UTF-8."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the files with end-to-end tests first: if one that takes minutes begins last, the other process waits for it."""
    slow = {item.path for item in items if item.get_closest_marker("end_to_end")}
    items.sort(key=lambda item: item.path not in slow)


_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def example_data() -> Path:
    """The folder of example events and cases that stands beside a checkout; it is no part of headwater."""
    if not _DATA.is_dir():
        pytest.skip(f"needs the example data in {_DATA}; put that folder there to run this test")
    return _DATA
