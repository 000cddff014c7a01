"""Limits of compressed messages: within both a message is read, beyond either it is ``too_large``."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from collections.abc import Callable
from typing import TypeAlias

import pytest
import zstandard

from headwater_avro.codec import Decompression, read_message
from headwater_avro.errors import EventRejected
from headwater_avro.events import RunEvent
from headwater_avro.framing import unframed

from .registries import JSON, MemorySchemas, framed

EVENT = b'{"eventTime":"2026-01-01T00:00:00Z","run":{"runId":"r"},"job":{"namespace":"n","name":"j"}}'
MEGABYTE = 1_000_000
Compress: TypeAlias = Callable[[bytes], bytes]
both = pytest.mark.parametrize("compress", [zstandard.compress, gzip.compress], ids=["zstd", "gzip"])


def padded(size: int) -> bytes:
    """Return an event of ``size`` bytes, nearly all of them spaces."""
    return EVENT[:-1] + b" " * (size - len(EVENT)) + b"}"


def refused(value: bytes, decompression: Decompression | None = None) -> EventRejected:
    with pytest.raises(EventRejected) as rejected:
        read_message(value, (), decompression or Decompression())
    assert rejected.value.code == "too_large"
    return rejected.value


@both
def test_the_decompressed_size_is_limited(compress: Compress) -> None:
    limit = Decompression(most_bytes=100_000, free_bytes=100_000)
    assert isinstance(read_message(compress(padded(100_000)), (), limit), RunEvent)
    fault = refused(compress(padded(100_001)), limit)
    assert "100000 bytes" in fault.detail
    assert "HEADWATER_MAX_DECOMPRESSED_BYTES" in fault.detail


@both
def test_the_decompression_ratio_is_limited(compress: Compress) -> None:
    value = compress(padded(200_000))
    enough = -(-200_000 // len(value))
    assert isinstance(read_message(value, (), Decompression(ratio=enough, free_bytes=0)), RunEvent)
    fault = refused(value, Decompression(ratio=enough - 1, free_bytes=0))
    assert f"{enough - 1} times its {len(value)} bytes" in fault.detail
    assert "HEADWATER_MAX_DECOMPRESSION_RATIO" in fault.detail
    assert isinstance(read_message(value, (), Decompression(ratio=1, free_bytes=200_000)), RunEvent)


def test_a_small_message_of_a_hundred_decompressed_megabytes_is_too_large_by_default() -> None:
    empties = b"[" + b"{}," * (100 * MEGABYTE // 3) + b"{}]"
    bomb = zstandard.compress(EVENT[:-1] + b',"x":' + empties + b"}")
    assert len(bomb) < 20_000
    refused(bomb)


def test_an_uncompressed_message_has_no_limit() -> None:
    assert isinstance(read_message(padded(20 * MEGABYTE)), RunEvent)
    assert isinstance(read_message(padded(2_000), (), Decompression(most_bytes=1, free_bytes=0, ratio=1)), RunEvent)


def test_column_lineage_with_repeated_indirect_inputs_is_not_too_large() -> None:
    # Spark's stock listener lists the columns of every filter and join for each output column: hundreds to one, by zstd.
    indirect = b",".join(
        b'{"namespace":"s3://warehouse","name":"raw/customers","field":"filter_%d","transformations":[{"type":"INDIRECT",'
        b'"subtype":"FILTER","description":"","masking":false}]}' % number
        for number in range(60)
    )
    fields = b",".join(b'"customer_attribute_%d":{"inputFields":[%b]}' % (at, indirect) for at in range(300))
    output = b'{"namespace":"s3://warehouse","name":"out","facets":{"columnLineage":{"fields":{%b}}}}' % fields
    event = EVENT[:-1] + b',"outputs":[' + output + b"]}"
    value = zstandard.compress(event)
    assert len(event) > 400 * len(value)
    assert isinstance(read_message(value), RunEvent)


@pytest.mark.parametrize("layers", [2, 3])
def test_all_compression_layers_share_a_limit(layers: int) -> None:
    noise = random.Random(7).randbytes(30_000).hex().encode()
    event = EVENT[:-1] + b',"producer":"' + noise + b'"}'
    value = event
    size = 0
    for _ in range(layers):
        size += len(value)
        value = gzip.compress(value)
    assert isinstance(read_message(value, (), Decompression(most_bytes=size, free_bytes=size)), RunEvent)
    refused(value, Decompression(most_bytes=size - 1, free_bytes=size))


def test_layers_inside_and_outside_a_frame_share_a_limit() -> None:
    schemas = MemorySchemas({2: JSON})
    inner = gzip.compress(padded(50_000))
    value = zstandard.compress(framed(2, inner))
    size = len(framed(2, inner)) + 50_000
    assert unframed(value, schemas, Decompression(most_bytes=size, free_bytes=size)) == padded(50_000)
    with pytest.raises(EventRejected) as rejected:
        unframed(value, schemas, Decompression(most_bytes=size - 1, free_bytes=size))
    assert rejected.value.code == "too_large"


@both
def test_decompression_memory_is_bounded_by_the_limit(compress: Compress) -> None:
    value = compress(b" " * (200 * MEGABYTE))
    tracemalloc.start()
    try:
        refused(value, Decompression(most_bytes=2 * MEGABYTE, free_bytes=2 * MEGABYTE))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * MEGABYTE


@both
def test_a_truncated_message_is_not_decodable(compress: Compress) -> None:
    with pytest.raises(EventRejected) as rejected:
        read_message(compress(padded(3 * MEGABYTE))[:-100])
    assert rejected.value.code == "not_decodable"
