"""Ids of versions: UUIDv5 of canonical JSON (specification 9)."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from headwater_avro.canonical import canonical
from headwater_avro.names import dataset_event_version_id, dataset_version_id, is_name

names = st.text(min_size=1, max_size=40).filter(is_name)
namespace_of_ids = uuid.uuid5(uuid.NAMESPACE_URL, "urn:headwater:ids")


@given(names, names, st.text())
def test_a_version_id_is_the_uuid5_of_the_canonical_json_of_its_parts(namespace: str, name: str, part: str) -> None:
    text = canonical([[namespace, name], part])
    assert dataset_version_id((namespace, name), part) == str(uuid.uuid5(namespace_of_ids, text))


def test_an_event_stands_in_the_id_of_its_version_as_a_text() -> None:
    text = canonical([["ns", 'a "quoted" näme'], "event", '{"a":"\\u007f"}'])
    assert dataset_event_version_id(("ns", 'a "quoted" näme'), '{"a":"\\u007f"}') == str(
        uuid.uuid5(namespace_of_ids, text)
    )
