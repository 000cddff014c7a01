"""Ids of versions: UUIDv5 of canonical JSON (specification 9)."""

import tracemalloc
import uuid

from hypothesis import given
from hypothesis import strategies as st

from headwater_avro.canonical import canonical
from headwater_avro.names import dataset_event_version_id, dataset_version_id, is_name, key_text, node_key

names = st.text(min_size=1, max_size=40).filter(is_name)
namespace_of_ids = uuid.uuid5(uuid.NAMESPACE_URL, "urn:headwater:ids")


@given(names, names, st.text())
def test_a_version_id_is_the_uuid5_of_the_canonical_json_of_its_parts(namespace: str, name: str, part: str) -> None:
    text = canonical([[namespace, name], part])
    assert dataset_version_id((namespace, name), part) == str(uuid.uuid5(namespace_of_ids, text))


def test_the_id_of_an_event_version_contains_the_event_as_a_string() -> None:
    text = canonical([["ns", 'a "quoted" näme'], "event", '{"a":"\\u007f"}'])
    assert dataset_event_version_id(("ns", 'a "quoted" näme'), '{"a":"\\u007f"}') == str(
        uuid.uuid5(namespace_of_ids, text)
    )


def test_long_names_do_not_fill_the_key_caches() -> None:
    names = [f"{number:06}" * 333 for number in range(2_000)]
    tracemalloc.start()
    try:
        for name in names:
            key_text(("ns", name))
            node_key("dataset", "ns", name)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1_000_000


def test_short_names_are_cached() -> None:
    assert key_text(("ns", "name")) is key_text(("ns", "name"))
    assert node_key("dataset", "ns", "näme") is node_key("dataset", "ns", "näme")
