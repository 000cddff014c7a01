"""Real dbt needs an environment of its own: collected where HEADWATER_TEST_DBT is set (``make test-dbt``)."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("HEADWATER_TEST_DBT") else ["test_*.py"]
