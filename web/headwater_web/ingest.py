"""The ingest gateway: OpenLineage events over HTTP, acknowledged by Kafka before the answer goes out."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from fastapi import APIRouter, Request, Response

from headwater.transport.wire import key_of
from headwater_avro.codec import read_message
from headwater_avro.errors import EventRejected, ServerUnavailable

from .capacity import Capacity
from .guard import answered
from .problems import RETRY_SECONDS, Problem
from .settings import WebSettings

Fate: TypeAlias = Literal["delivered", "unavailable", "refused"]
"""``unavailable``: send it again later; ``refused``: Kafka will never take it."""


CHECK_SECONDS = 1.5
"""How long a check waits for Kafka: less than a readiness probe does."""


class Busy(Exception):
    """More is under way to Kafka already than may be: nothing of this request was sent."""


class Outlet(Protocol):
    """Where events go; called from many threads.

    ``send`` returns once each event has its fate, in their order, or raises Busy; ``check`` raises ServerUnavailable where
    events can not be sent now. Both raise it where there is no Kafka.
    """

    def send(self, events: Sequence[bytes]) -> list[Fate]: ...

    def check(self) -> None: ...


class KafkaOutlet:
    """Events into a Kafka topic; the producer is made when it is first needed, so that an idle server costs nothing.

    While Kafka is known to be away, one request at a time tries it again and all others are refused at once.
    """

    def __init__(self, client: Mapping[str, Any], topic: str, settings: WebSettings) -> None:
        # Every event's fate is told to its sender; the client's own log lines would only double that on stderr.
        self._client = {"log_level": 0, "error_cb": lambda _: None, **client}
        self._client |= {"enable.idempotence": True, "compression.type": "zstd", "linger.ms": 5}
        self._client |= {"message.timeout.ms": int(settings.ingest_patience * 1000), "partitioner": "murmur2_random"}
        self._topic, self._most = topic, settings.ingest_in_flight
        self._lock = threading.Lock()
        self._producer: Any = None
        self._in_flight = 0
        self._answers: bool | None = None
        self._is_tried = False

    def send(self, events: Sequence[bytes]) -> list[Fate]:
        with self._attempt(), self._room(len(events)):
            producer = self._made()
            fates: list[Fate | None] = [None] * len(events)
            for place, event in enumerate(events):
                self._produce(producer, event, fates, place)
            while any(fate is None for fate in fates):
                producer.poll(0.05)
            self._answers = any(fate != "unavailable" for fate in fates)
            return [fate or "unavailable" for fate in fates]

    def check(self) -> None:
        """Raise ServerUnavailable where Kafka does not answer; it is contacted only while that is not known."""
        from confluent_kafka import KafkaException

        if self._answers:
            return
        try:
            self._made().list_topics(timeout=CHECK_SECONDS)
        except KafkaException:
            raise self._away() from None
        self._answers = True

    @contextmanager
    def _attempt(self) -> Iterator[None]:
        """Let one request at a time try a Kafka that is away; raises ServerUnavailable for the others."""
        with self._lock:
            tries = self._answers is False
            if tries and self._is_tried:
                raise self._away()
            self._is_tried = self._is_tried or tries
        try:
            yield
        finally:
            if tries:
                self._is_tried = False

    @contextmanager
    def _room(self, count: int) -> Iterator[None]:
        with self._lock:
            if self._in_flight and self._in_flight + count > self._most:
                raise Busy
            self._in_flight += count
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= count

    def _made(self) -> Any:
        from confluent_kafka import Producer

        with self._lock:
            self._producer = self._producer or Producer(self._client)
            return self._producer

    def _away(self) -> ServerUnavailable:
        return ServerUnavailable("Kafka", str(self._client.get("bootstrap.servers")), "send the events again later")

    def _produce(self, producer: Any, event: bytes, fates: list[Fate | None], place: int) -> None:
        from confluent_kafka import KafkaException

        def told(error: Any, _: object) -> None:
            fates[place] = "delivered" if error is None else "refused" if _is_final(error) else "unavailable"

        key = message_key(event)
        while True:
            try:
                producer.produce(self._topic, event, key, on_delivery=told)
                return
            except BufferError:
                producer.poll(0.05)
            except KafkaException as fault:
                fates[place] = "refused" if _is_final(fault.args[0]) else "unavailable"
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
    """Return the key of an event's message, None where there is no event to be read.

    Only the names are made into objects: to decode a large event whole would hold the interpreter for seconds.
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


def _is_final(error: Any) -> bool:
    from confluent_kafka import KafkaError

    return error.code() in (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG, KafkaError.INVALID_RECORD)


class NoOutlet:
    """What stands for Kafka where none is known: questions are answered, events are not taken."""

    def send(self, events: Sequence[bytes]) -> list[Fate]:
        raise ServerUnavailable("Kafka", "any known address", "set HEADWATER_KAFKA_BOOTSTRAP_SERVERS")

    def check(self) -> None:
        self.send(())


@dataclass
class MemoryOutlet:
    """An outlet that keeps what it gets; ``fate`` is what every event meets, ``busy`` refuses all."""

    fate: Fate = "delivered"
    busy: bool = False
    received: list[bytes] = field(default_factory=list)

    def send(self, events: Sequence[bytes]) -> list[Fate]:
        if self.busy:
            raise Busy
        self.received += events if self.fate == "delivered" else []
        return [self.fate] * len(events)

    def check(self) -> None:
        if self.fate == "unavailable":
            raise ServerUnavailable("Kafka", "memory", "it is away")


@dataclass(frozen=True, slots=True)
class Failed:
    """An event of a batch that is not in Kafka: its place, why, and whether sending it again may help."""

    index: int
    reason: str
    retriable: bool


def ingest_routes(outlet: Outlet, settings: WebSettings) -> APIRouter:
    """Return the two addresses of OpenLineage's HTTP contract."""
    routes = APIRouter(prefix="/api/v1", tags=["ingest"])
    capacity = Capacity(settings.ingest_requests, settings.ingest_bytes)

    @routes.post("/lineage", status_code=201, openapi_extra=_body(_EVENT))
    async def post_event(request: Request) -> Response:
        """Take one OpenLineage event; 201 once Kafka has acknowledged it."""
        with capacity.request() as room:
            event = await room.body(request)
            fate = await capacity.run(lambda: _sent_event(outlet, event))
        if fate == "refused":
            raise Problem(413, "Kafka does not take an event as large as this")
        if fate == "unavailable":
            raise Problem(503, "Kafka does not answer", _RETRY)
        return Response(status_code=201)

    @routes.post("/lineage/batch", openapi_extra=_body({"type": "array", "items": _EVENT}), responses=_ALL_SENT)
    async def post_batch(request: Request) -> Response:
        """Take a list of OpenLineage events; 204 if all are in Kafka, else 200 with those that are not."""
        with capacity.request() as room:
            body = await room.body(request)
            received, failed = await capacity.run(lambda: _sent_batch(outlet, body, settings.max_batch))
        return answered(request, _summary(received, failed)) if failed else Response(status_code=204)

    return routes


_DECODING = threading.BoundedSemaphore(2)
"""Bodies that are decoded at one time: each may unfold to many times its size."""

_RETRY = {"Retry-After": str(RETRY_SECONDS)}
_EVENT = {
    "type": "object",
    "description": "a RunEvent, JobEvent or DatasetEvent of OpenLineage",
    "required": ["eventTime"],
}
_ALL_SENT: dict[int | str, dict[str, Any]] = {204: {"description": "Kafka has acknowledged every event"}}


def _body(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _sent_event(outlet: Outlet, event: bytes) -> Fate:
    with _DECODING:
        _checked(event)
    (fate,) = _sent(outlet, [event])
    return fate


def _sent_batch(outlet: Outlet, body: bytes, most: int) -> tuple[int, list[Failed]]:
    """Send the good events of a batch; return how many events it has, and those that are not in Kafka."""
    with _DECODING:
        events = _listed(body, most)
        failed = list(_faults(events))
    wrong = {each.index for each in failed}
    good = [place for place in range(len(events)) if place not in wrong]
    fates = _sent(outlet, [events[place] for place in good]) if good else []
    failed += [_failure(place, fate) for place, fate in zip(good, fates, strict=True) if fate != "delivered"]
    return len(events), failed


def _sent(outlet: Outlet, events: Sequence[bytes]) -> list[Fate]:
    try:
        return outlet.send(events)
    except Busy:
        raise Problem(429, "too many events are under way to Kafka", _RETRY) from None


def _checked(event: bytes) -> None:
    """Raise EventRejected where the consumer would dead-letter the event (specification 8)."""
    read_message(event)


def _listed(body: bytes, most: int) -> list[bytes]:
    """The events of a JSON list, each with its very bytes."""
    try:
        events = [bytes(each) for each in msgspec.json.decode(body, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise Problem(400, f"a batch is a JSON list of events: {fault}") from fault
    if len(events) > most:
        raise Problem(413, f"at most {most} events in a batch")
    return events


def _faults(events: Iterable[bytes]) -> Iterable[Failed]:
    for index, event in enumerate(events):
        try:
            _checked(event)
        except EventRejected as fault:
            yield Failed(index, str(fault), retriable=False)


def _failure(index: int, fate: Fate) -> Failed:
    if fate == "refused":
        return Failed(index, "too large for Kafka", retriable=False)
    return Failed(index, "Kafka does not answer", retriable=True)


def _summary(received: int, failed: Sequence[Failed]) -> dict[str, Any]:
    """The body of OpenLineage's contract for a batch of which something failed."""
    retriable = sum(each.retriable for each in failed)
    counts = {"received": received, "successful": received - len(failed), "failed": len(failed)}
    counts |= {"retriable": retriable, "non_retriable": len(failed) - retriable}
    listed = [{"index": f.index, "reason": f.reason, "retriable": f.retriable} for f in sorted(failed, key=_place)]
    return {"status": "partial_success", "summary": counts, "failed_events": listed}


def _place(failed: Failed) -> int:
    return failed.index
