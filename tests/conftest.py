"""Fixtures for all tests: real servers, hypothesis profiles, and where the shared example data is."""

from __future__ import annotations

import os
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

_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def example_data() -> Path:
    """The folder of example events and cases that stands beside a checkout; it is no part of headwater."""
    if not _DATA.is_dir():
        pytest.skip(f"needs the example data in {_DATA}; put that folder there to run this test")
    return _DATA
