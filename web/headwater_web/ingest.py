"""The ingest gateway: OpenLineage events over HTTP, acknowledged by Kafka before the response is sent."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import msgspec
from fastapi import APIRouter, Request, Response

from headwater.transport.kafka_errors import DeliveryStatus, delivery_status
from headwater.transport.wire import key_of
from headwater_avro.codec import read_message
from headwater_avro.errors import EventRejected, ServerUnavailable
from headwater_avro.kafka_refusals import Refusals
from headwater_avro.signatures import read_key

from .capacity import Capacity
from .etags import answered
from .problems import RETRY_SECONDS, Problem
from .settings import WebSettings

logger = logging.getLogger("headwater.web")

DOWN_SECONDS = 2.0
"""How long all brokers may be unreachable before senders are answered."""

CHECK_SECONDS = 1.5
"""How long a check waits for Kafka: less than the timeout of a readiness probe."""


class Busy(Exception):
    """Too many events await Kafka's acknowledgement; no event of this request was sent."""


class EventSink(Protocol):
    """A destination of events; called from many threads.

    ``send`` returns the delivery status of each event, in their order, or raises Busy. ``check`` raises ServerUnavailable
    if events cannot be sent now. Both raise ServerUnavailable if Kafka is not configured.
    """

    def send(self, events: Sequence[bytes]) -> list[DeliveryStatus]: ...

    def check(self) -> None: ...


class KafkaSink:
    """A sink that writes to a Kafka topic; it creates its producer at the first use.

    While Kafka is known to be unavailable, one request at a time tries it again and all others are refused at once.
    """

    def __init__(self, client: Mapping[str, Any], topic: str, settings: WebSettings) -> None:
        # Senders get the status of every event; the client's own log lines would repeat it on stderr.
        self._refusals = Refusals(self._log)
        self._down_since: float | None = None
        self._logged: str | None = None
        self._client = {"log_level": 0, "error_cb": self._on_error, **client}
        self._client |= {"enable.idempotence": True, "compression.type": "zstd", "linger.ms": 5}
        self._client |= {"message.timeout.ms": int(settings.ingest_patience * 1000), "partitioner": "murmur2_random"}
        self._key = None if settings.signing_key_file is None else read_key(settings.signing_key_file)
        self._topic, self._max_in_flight = topic, settings.ingest_in_flight
        self._lock = threading.Lock()
        self._cached_producer: Any = None
        self._in_flight = 0
        self._is_available: bool | None = None
        self._is_probed = False

    def send(self, events: Sequence[bytes]) -> list[DeliveryStatus]:
        with self._attempt(), self._reserve(len(events)):
            producer = self._producer()
            statuses: list[DeliveryStatus | None] = [None] * len(events)
            for index, event in enumerate(events):
                self._produce(producer, event, statuses, index)
            give_up = self._giving_up(producer)
            while any(status is None for status in statuses):
                producer.poll(0.05)
                give_up()
            self._is_available = any(status != "unavailable" for status in statuses)
            return [status or "unavailable" for status in statuses]

    def _on_error(self, error: Any) -> None:
        self._refusals.heard(error)
        if error.name() == "_ALL_BROKERS_DOWN" and self._down_since is None:
            self._down_since = time.monotonic()

    def _giving_up(self, producer: Any) -> Callable[[], None]:
        """Return a function that reports all events as unavailable if no broker is reachable for ``DOWN_SECONDS``.

        An event that Kafka has stored nevertheless does no harm: its sender sends it again, and repeated events change nothing.
        """
        started = time.monotonic()

        def give_up() -> None:
            down = self._down_since
            if down is not None and time.monotonic() - max(down, started) > DOWN_SECONDS:
                producer.purge()

        return give_up

    def check(self) -> None:
        """Raise ServerUnavailable if Kafka does not answer; contact it only if it is not known to be available."""
        from confluent_kafka import KafkaException

        if self._is_available:
            return
        try:
            self._producer().list_topics(timeout=CHECK_SECONDS)
        except KafkaException:
            self._producer().poll(0)
            raise self._unavailable() from None
        self._is_available, self._down_since = True, None

    @contextmanager
    def _attempt(self) -> Iterator[None]:
        """Let one request at a time try an unavailable Kafka; raise ServerUnavailable for the others."""
        with self._lock:
            probes = self._is_available is False
            if probes and self._is_probed:
                raise self._unavailable()
            self._is_probed = self._is_probed or probes
        try:
            yield
        finally:
            if probes:
                self._is_probed = False

    @contextmanager
    def _reserve(self, count: int) -> Iterator[None]:
        with self._lock:
            if self._in_flight and self._in_flight + count > self._max_in_flight:
                raise Busy
            self._in_flight += count
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= count

    def _producer(self) -> Any:
        from confluent_kafka import Producer

        with self._lock:
            self._cached_producer = self._cached_producer or Producer(self._client)
            return self._cached_producer

    def _log(self, refusal: str) -> None:
        # Senders only learn that Kafka does not answer; what to do about it concerns the operator.
        if not self._is_available and refusal.partition(" (")[0] != self._logged:
            self._logged = refusal.partition(" (")[0]
            logger.error("Kafka refuses the connection: %s", refusal)

    def _unavailable(self) -> ServerUnavailable:
        return ServerUnavailable("Kafka", str(self._client.get("bootstrap.servers")), "send the events again later")

    def _produce(self, producer: Any, event: bytes, statuses: list[DeliveryStatus | None], index: int) -> None:
        from confluent_kafka import KafkaException

        def on_delivery(error: Any, _: object) -> None:
            statuses[index] = delivery_status(error)
            if error is None:
                self._down_since = None

        key = message_key(event)
        headers = None if self._key is None else self._key.headers(event)
        while True:
            try:
                producer.produce(self._topic, event, key, on_delivery=on_delivery, headers=headers)
                return
            except BufferError:
                producer.poll(0.05)
            except KafkaException as fault:
                on_delivery(fault.args[0], None)
                return


class _Members(msgspec.Struct):
    run: msgspec.Raw = msgspec.Raw()
    job: msgspec.Raw = msgspec.Raw()
    dataset: msgspec.Raw = msgspec.Raw()


class _Run(msgspec.Struct):
    runId: str


class _Named(msgspec.Struct):
    namespace: str
    name: str


def message_key(event: bytes) -> bytes | None:
    """Return the key of an event's message, None if the event cannot be read.

    It decodes the names alone: decoding a large event completely would hold the interpreter lock for seconds.
    """
    try:
        members = msgspec.json.decode(event, type=_Members)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    forms: dict[str, type[msgspec.Struct]] = {"run": _Run, "job": _Named, "dataset": _Named}
    found = {name: _read(getattr(members, name), form) for name, form in forms.items()}
    return key_of({name: msgspec.to_builtins(part) for name, part in found.items() if part is not None})


def _read(part: msgspec.Raw, form: type[msgspec.Struct]) -> msgspec.Struct | None:
    try:
        return msgspec.json.decode(part, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class DisabledSink:
    """The sink of a server without Kafka settings: it answers queries and accepts no events."""

    def send(self, events: Sequence[bytes]) -> list[DeliveryStatus]:
        raise ServerUnavailable("Kafka", "any configured address", "set HEADWATER_KAFKA_BOOTSTRAP_SERVERS")

    def check(self) -> None:
        self.send(())


@dataclass
class MemorySink:
    """A sink that stores events in a list; every event gets ``status``; if ``busy``, ``send`` raises Busy."""

    status: DeliveryStatus = "delivered"
    busy: bool = False
    received: list[bytes] = field(default_factory=list)

    def send(self, events: Sequence[bytes]) -> list[DeliveryStatus]:
        if self.busy:
            raise Busy
        self.received += events if self.status == "delivered" else []
        return [self.status] * len(events)

    def check(self) -> None:
        if self.status == "unavailable":
            raise ServerUnavailable("Kafka", "memory", "it is unavailable")


@dataclass(frozen=True, slots=True)
class FailedEvent:
    """An event of a batch that Kafka did not acknowledge; ``retriable``: it may succeed later."""

    index: int
    reason: str
    retriable: bool


def ingest_routes(sink: EventSink, settings: WebSettings) -> APIRouter:
    """Return the two routes of OpenLineage's HTTP API."""
    routes = APIRouter(prefix="/api/v1", tags=["ingest"])
    capacity = Capacity(settings.ingest_requests, settings.ingest_bytes)

    @routes.post("/lineage", status_code=201, openapi_extra=_body(_EVENT))
    async def post_event(request: Request) -> Response:
        """Accept one OpenLineage event; 201 once Kafka has acknowledged it."""
        with capacity.request() as reservation:
            event = await reservation.body(request)
            await capacity.run(lambda: send_event(sink, event))
        return Response(status_code=201)

    @routes.post("/lineage/batch", openapi_extra=_body({"type": "array", "items": _EVENT}), responses=_ALL_SENT)
    async def post_batch(request: Request) -> Response:
        """Accept a list of OpenLineage events; 204 if Kafka acknowledged all, else 200 with those that failed."""
        with capacity.request() as reservation:
            body = await reservation.body(request)
            received, failed = await capacity.run(lambda: _send_batch(sink, body, settings.max_batch))
        return answered(request, _summary(received, failed)) if failed else Response(status_code=204)

    return routes


_DECODING = threading.BoundedSemaphore(2)
"""How many bodies are decoded at the same time: each may decompress to many times its size."""

_RETRY = {"Retry-After": str(RETRY_SECONDS)}
_EVENT = {
    "type": "object",
    "description": "a RunEvent, JobEvent or DatasetEvent of OpenLineage",
    "required": ["eventTime"],
}
_ALL_SENT: dict[int | str, dict[str, Any]] = {204: {"description": "Kafka has acknowledged every event"}}


def _body(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def send_event(sink: EventSink, event: bytes) -> None:
    """Send one event and wait until Kafka has acknowledged it; raises EventRejected, and Problem if Kafka does not accept it."""
    with _DECODING:
        read_message(event)
    (status,) = _send(sink, [event])
    if status == "refused":
        raise Problem(413, "Kafka does not accept an event of this size")
    if status == "unavailable":
        raise Problem(503, "Kafka does not answer", _RETRY)


def _send_batch(sink: EventSink, body: bytes, max_events: int) -> tuple[int, list[FailedEvent]]:
    """Send the valid events of a batch; return the number of its events, and those that failed."""
    with _DECODING:
        events = _events_of(body, max_events)
        failed = list(_invalid(events))
    invalid = {event.index for event in failed}
    valid = [index for index in range(len(events)) if index not in invalid]
    statuses = _send(sink, [events[index] for index in valid]) if valid else []
    failed += [
        _undelivered(index, status) for index, status in zip(valid, statuses, strict=True) if status != "delivered"
    ]
    return len(events), failed


def _send(sink: EventSink, events: Sequence[bytes]) -> list[DeliveryStatus]:
    try:
        return sink.send(events)
    except Busy:
        raise Problem(429, "too many events await Kafka's acknowledgement", _RETRY) from None


def _events_of(body: bytes, max_events: int) -> list[bytes]:
    """Return the events of a JSON list, each with its original bytes."""
    try:
        events = [bytes(event) for event in msgspec.json.decode(body, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise Problem(400, f"a batch is a JSON list of events: {fault}") from fault
    if len(events) > max_events:
        raise Problem(413, f"a batch has at most {max_events} events")
    return events


def _invalid(events: Iterable[bytes]) -> Iterable[FailedEvent]:
    """Yield the events that the consumer would reject (specification 8)."""
    for index, event in enumerate(events):
        try:
            read_message(event)
        except EventRejected as fault:
            yield FailedEvent(index, str(fault), retriable=False)


def _undelivered(index: int, status: DeliveryStatus) -> FailedEvent:
    if status == "refused":
        return FailedEvent(index, "too large for Kafka", retriable=False)
    return FailedEvent(index, "Kafka does not answer", retriable=True)


def _summary(received: int, failed: Sequence[FailedEvent]) -> dict[str, Any]:
    """Return the body that OpenLineage's API defines for a batch with failures."""
    retriable = sum(event.retriable for event in failed)
    counts = {"received": received, "successful": received - len(failed), "failed": len(failed)}
    counts |= {"retriable": retriable, "non_retriable": len(failed) - retriable}
    in_order = sorted(failed, key=lambda event: event.index)
    return {"status": "partial_success", "summary": counts, "failed_events": [asdict(event) for event in in_order]}
