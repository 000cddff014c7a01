"""Real Airflow takes minutes and an environment of its own: collected where HEADWATER_TEST_AIRFLOW is set (``make
test-airflow``)."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("HEADWATER_TEST_AIRFLOW") else ["test_*.py"]
