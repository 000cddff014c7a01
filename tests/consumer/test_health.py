"""The state of the consumer and its HTTP answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from headwater_avro.errors import REJECTION_CODES, ConfigError
from headwater_consumer.monitoring.health import PROGRESS_TIMEOUT, STALLED, HealthServer, Lag, Status
from headwater_consumer.monitoring.metrics import BatchSummary, Metrics
from headwater_consumer.monitoring.progress import lag_of


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def status(metrics: Metrics, clock: Clock) -> Status:
    return Status(metrics, clock)


@pytest.fixture
def server(status: Status, metrics: Metrics) -> Iterator[HealthServer]:
    with HealthServer(status, metrics, "127.0.0.1", 0) as server:
        yield server


def batch(**raised: Any) -> BatchSummary:
    nothing: dict[str, Any] = {
        "query_id": "q", "batch_id": 3, "offsets": {"t": {0: 12}}, "messages": 10, "bytes": 1_000,
        "dead": {"not_decodable": 2}, "late_runs": 1, "refolded_versions": 4, "deferred_transactions": 0,
        "seconds": {"total": 0.3},
    }  # fmt: skip
    return BatchSummary(**nothing | raised)


def get(server: HealthServer, path: str) -> tuple[int, Any]:
    try:
        with urlopen(f"http://127.0.0.1:{server.port}{path}") as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as answer:
        with answer:
            return answer.code, json.loads(answer.read())


def sample(metrics: Metrics, name: str) -> float:
    lines = [line for line in metrics.text().decode().splitlines() if line.startswith(name + " ")]
    assert len(lines) == 1, name
    return float(lines[0].rsplit(" ", 1)[1])


def test_a_consumer_that_starts_is_healthy_and_not_ready(server: HealthServer) -> None:
    assert get(server, "/healthz")[0] == 200
    assert get(server, "/readyz") == (503, get(server, "/readyz")[1])


def test_a_running_consumer_is_ready_and_reports_its_last_batch(server: HealthServer, status: Status) -> None:
    status.batch_written(batch())
    code, raised = get(server, "/readyz")
    assert code == 200
    assert (raised["batch"], raised["written_at"], raised["offsets"]) == (3, 1_000.0, {"t": {"0": 12}})


def test_a_waiting_consumer_is_healthy_but_not_ready_and_reports_the_reason(
    server: HealthServer, status: Status
) -> None:
    status.enter("running")
    status.held_by("consumer-1@host")
    status.enter("waiting", "Neo4j does not answer")
    code, raised = get(server, "/readyz")
    assert (code, raised["phase"], raised["reason"], raised["holder"]) == (
        503,
        "waiting",
        "Neo4j does not answer",
        "consumer-1@host",
    )
    assert get(server, "/healthz")[0] == 200


def test_a_stream_without_a_sign_of_life_is_not_healthy(server: HealthServer, status: Status, clock: Clock) -> None:
    status.enter("running")
    clock.now += STALLED + 1
    assert get(server, "/healthz")[0] == 503
    status.moved(None)
    assert get(server, "/healthz")[0] == 200


def test_a_batch_without_progress_is_reported_as_stuck(server: HealthServer, status: Status, clock: Clock) -> None:
    status.enter("running")
    with status.working("reading batch 7"):
        clock.now += PROGRESS_TIMEOUT + 12
        status.alive()
        code, raised = get(server, "/readyz")
        assert (code, raised["phase"], raised["reason"]) == (503, "stuck", "reading batch 7: no progress for 312 s")
        assert get(server, "/healthz") == (200, raised | {"ok": True})
        status.progressed()
        assert get(server, "/readyz")[0] == 200
    clock.now += PROGRESS_TIMEOUT + 1
    assert get(server, "/readyz")[1]["phase"] == "running"


def test_a_batch_that_waits_for_a_server_is_not_reported_as_stuck(
    server: HealthServer, status: Status, clock: Clock
) -> None:
    status.enter("waiting", "Neo4j does not answer")
    with status.working("writing batch 7"):
        clock.now += PROGRESS_TIMEOUT + 1
        assert get(server, "/readyz")[1]["phase"] == "waiting"


def test_of_two_batches_the_stuck_one_is_reported(status: Status, clock: Clock) -> None:
    status.enter("running")
    with status.working("writing batch 6"):
        clock.now += PROGRESS_TIMEOUT
        with status.working("reading batch 7"):
            clock.now += 1
            assert status.under_way() == ["writing batch 6", "reading batch 7"]
            assert str(status.state.reason).startswith("writing batch 6")


def test_a_failed_stream_is_not_healthy(server: HealthServer, status: Status) -> None:
    status.enter("failed", "bug")
    assert get(server, "/healthz")[0] == 503


def test_other_paths_are_not_there(server: HealthServer) -> None:
    with pytest.raises(HTTPError, match="404") as raised:
        urlopen(f"http://127.0.0.1:{server.port}/other")
    raised.value.close()


def test_a_port_in_use_is_reported_in_one_line(server: HealthServer, status: Status, metrics: Metrics) -> None:
    with pytest.raises(ConfigError, match=f"127.0.0.1:{server.port} can't be opened"):
        HealthServer(status, metrics, "127.0.0.1", server.port)


def test_entering_a_phase_twice_changes_nothing(status: Status, clock: Clock) -> None:
    assert status.enter("waiting", "x")
    clock.now += 5
    assert not status.enter("waiting", "x")
    assert status.state.since == 1_000.0
    assert status.enter("waiting", "y")


def test_metrics_count_what_batches_did(status: Status, metrics: Metrics, server: HealthServer) -> None:
    status.batch_written(batch())
    status.batch_written(batch(dead={"before_horizon": 1}))
    status.moved(Lag(3, {"t/0": 17}, {"t/0": 7}))
    with urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        assert answer.read() == metrics.text()
    assert sample(metrics, "headwater_messages_total") == 20
    assert sample(metrics, "headwater_message_bytes_total") == 2_000
    assert sample(metrics, "headwater_joined_total") == 17
    assert sample(metrics, 'headwater_dead_letters_total{code="not_decodable"}') == 2
    assert sample(metrics, 'headwater_dead_letters_total{code="before_horizon"}') == 1
    assert sample(metrics, "headwater_late_runs_total") == 2
    assert sample(metrics, "headwater_refolded_versions_total") == 8
    assert sample(metrics, "headwater_batches_total") == 2
    assert sample(metrics, 'headwater_batch_seconds_count{phase="total"}') == 2
    assert sample(metrics, 'headwater_lag_messages{partition="t/0"}') == 7
    assert sample(metrics, "headwater_last_batch_timestamp_seconds") == 1_000


def test_every_reason_code_has_its_count_from_the_start(metrics: Metrics) -> None:
    for code in REJECTION_CODES:
        assert sample(metrics, f'headwater_dead_letters_total{{code="{code}"}}') == 0


def test_waiting_is_a_gauge(status: Status, metrics: Metrics) -> None:
    status.enter("waiting", "x")
    assert sample(metrics, "headwater_waiting") == 1
    status.enter("running")
    assert sample(metrics, "headwater_waiting") == 0


def test_what_is_handed_over_lags_until_it_is_written(status: Status, metrics: Metrics) -> None:
    status.batch_written(batch(batch_id=3))
    status.moved(Lag(4, {"t/0": 17}, {"t/0": 7}))
    assert sample(metrics, 'headwater_lag_messages{partition="t/0"}') == 17
    status.moved(None)
    assert sample(metrics, 'headwater_lag_messages{partition="t/0"}') == 17
    status.batch_written(batch(batch_id=4))
    assert sample(metrics, 'headwater_lag_messages{partition="t/0"}') == 7


def test_lag_is_what_each_partition_has_beyond_what_was_read() -> None:
    assert lag_of('{"t":{"0":5,"1":7}}', '{"t":{"0":9,"1":7,"2":4}}') == {"t/0": 4, "t/1": 0, "t/2": 4}
    assert lag_of(None, None) == {}
    assert lag_of("None", '{"t":{"0":9}}') == {"t/0": 9}
