"""Programs that record operations: two complete programs, and the rules of docs/fields.md."""

from __future__ import annotations

import pytest

from headwater.fields import (
    Destination,
    FieldOperation,
    FieldPath,
    Input,
    InvalidLineage,
    MemoryRun,
    OpKind,
    Output,
    ProgramRecorder,
    Schema,
    SchemaField,
    Source,
    resolve,
)
from headwater.fields.shapes import drop, generate, rename
from headwater_avro.errors import ConfigError

from .wiring import field, names, texts

USERS = Source.of("Users", schema=["UID", "FirstName", "LastName", "DOB", "Zip"])
PROFILES = Destination.of("NormalizedUserProfiles", schema=["UID", "Name", "DOB", "Zip"])
CONCAT = (
    FieldOperation.builder("Concat")
    .set_description("Concatenating FirstName and LastName to Name.")
    .add_input(Input.of(USERS, "FirstName"))
    .add_inputs([Input.of(USERS, "LastName")])
    .add_output(Output.of("Name"))
    .build()
)
DROPS = [FieldOperation("Drop", [USERS["FirstName"]]), FieldOperation("Drop", [USERS["LastName"]])]


def test_inputs_and_outputs_have_of_field_beside_of() -> None:
    users = Source.of("crm", "Users")
    assert Input.of_field("a.b") == Input.of("a.b")
    assert Input.of_field(users, "a") == Input.of(users, "a") == users["a"]
    assert Output.of_field("a") == Output.of("a")


def test_the_concatenation() -> None:
    lineage = resolve([CONCAT, *DROPS], PROFILES)
    assert texts(lineage.incoming) == {"NormalizedUserProfiles#Name": ["Users#FirstName", "Users#LastName"]}
    assert sorted(map(str, lineage.dropped)) == ["Users#FirstName", "Users#LastName"]
    assert names(lineage.operations) == ["read Users", "Concat", "Drop", "Drop", "write NormalizedUserProfiles"]


def test_implicit_identity_lets_the_schemas_other_fields_pass() -> None:
    lineage = resolve([CONCAT, *DROPS], PROFILES, implicit_identity=True)
    assert texts(lineage.incoming) == {
        "NormalizedUserProfiles#Name": ["Users#FirstName", "Users#LastName"],
        "NormalizedUserProfiles#UID": ["Users#UID"],
        "NormalizedUserProfiles#DOB": ["Users#DOB"],
        "NormalizedUserProfiles#Zip": ["Users#Zip"],
    }


def test_implicit_identity_respects_a_drop_and_what_sources_have() -> None:
    other = Source.of("Other", schema=["Zip"])
    lineage = resolve(
        DROPS,
        Destination.of("d", schema=["FirstName", "Zip", "Age"]),
        sources=[USERS, other],
        implicit_identity=True,
    )
    assert texts(lineage.incoming) == {"d#Zip": ["Other#Zip", "Users#Zip"]}


def test_the_word_count() -> None:
    source = Source.of("ns", "lines")
    create = FieldOperation("Create", [source["record"]], ["word", "count"])
    lineage = resolve([create], Destination.of("ns", "counts"))
    assert texts(lineage.incoming) == {"ns:counts#word": ["ns:lines#record"], "ns:counts#count": ["ns:lines#record"]}


def test_an_input_without_source_is_the_latest_earlier_output() -> None:
    s = Source.of("s")
    operations = [
        FieldOperation("one", [s["a"]], ["x"]),
        FieldOperation("two", [s["b"]], ["x"]),
        FieldOperation("use", ["x"], ["y"]),
        FieldOperation("three", [s["c"]], ["x"]),
    ]
    assert texts(resolve(operations, Destination.of("d")).incoming) == {"d#x": ["s#c"], "d#y": ["s#b"]}


def test_an_update_in_place_reads_the_version_before_it() -> None:
    s = Source.of("s")
    operations = [FieldOperation("make", [s["a"]], ["x"]), FieldOperation("trim", ["x", s["b"]], ["x"])]
    assert texts(resolve(operations, Destination.of("d")).incoming) == {"d#x": ["s#a", "s#b"]}


def test_all_unknown_inputs_are_reported() -> None:
    operations = [FieldOperation("use", ["x", "w"], ["y"]), FieldOperation("late", [], ["x"])]
    with pytest.raises(InvalidLineage) as caught:
        resolve(operations, Destination.of("d"), strict=True)
    assert (caught.value.kind, caught.value.culprits) == ("unknown_input", ("w", "x"))
    lenient = resolve(operations, Destination.of("d"))
    assert [problem.field for problem in lenient.problems] == ["x", "w"]
    assert texts(lenient.incoming) == {"d#y": [], "d#x": []}


def test_fields_with_the_same_name_in_two_records_are_two_fields() -> None:
    s = Source.of("s")
    operations = [
        FieldOperation("a", [s["a"]], ["user.name"]),
        FieldOperation("b", [s["b"]], ["shop.name"]),
        FieldOperation("use", ["user.name"], ["greeting"]),
    ]
    incoming = texts(resolve(operations, Destination.of("d")).incoming)
    assert incoming == {"d#user.name": ["s#a"], "d#shop.name": ["s#b"], "d#greeting": ["s#a"]}


def test_an_input_record_includes_later_outputs_of_its_fields() -> None:
    s = Source.of("s")
    operations = [
        FieldOperation("old", [s["old"]], ["user.zip"]),
        FieldOperation("whole", [s["whole"]], ["user"]),
        FieldOperation("name", [s["name"]], ["user.name"]),
        FieldOperation("record", ["user"], ["copy"]),
        FieldOperation("part", ["user.zip"], ["zip"]),
    ]
    incoming = texts(resolve(operations, Destination.of("d")).incoming)
    assert incoming["d#copy"] == ["s#name", "s#whole"]
    assert incoming["d#zip"] == ["s#whole"]


def test_a_dot_in_a_name_is_escaped() -> None:
    assert FieldPath.of(r"v1\.2.x").parts == ("v1.2", "x")
    assert str(FieldPath(("v1.2", "x"))) == r"v1\.2.x"
    assert FieldPath.of(("v1.2", "x")) == FieldPath.of(r"v1\.2.x")
    for bad in ("", "a..b", ".a", "a.", "a\\"):
        with pytest.raises(ConfigError):
            FieldPath.of(bad)


def test_a_nested_schema_names_its_leaves() -> None:
    schema = Schema.of("id", SchemaField("address", "struct", (SchemaField("zip", "int"), SchemaField("city"))))
    assert list(map(str, schema.leaves())) == ["id", "address.zip", "address.city"]
    assert schema["address.zip"] == FieldPath(("address", "zip"))
    with pytest.raises(KeyError):
        schema["zip"]
    made = FieldOperation("parse", [Source.of("s")["raw"]], ["address"])
    incoming = texts(resolve([made], Destination.of("d", schema=schema)).incoming)
    assert incoming == {"d#address.zip": ["s#raw"], "d#address.city": ["s#raw"]}


def test_schema_of_paths_shares_records() -> None:
    schema = Schema.of_paths(["a.b", "a.c", "d"])
    assert schema == Schema.of(("a", None, ["b", "c"]), "d")


def test_a_generated_field_has_no_sources() -> None:
    lineage = resolve(generate("now", "loaded_at"), Destination.of("d"))
    assert texts(lineage.incoming) == {"d#loaded_at": []}
    assert lineage.outgoing == {}


def test_a_filter_drops_nothing() -> None:
    s = Source.of("s")
    filtered = FieldOperation("adults", [s["age"]], kind=OpKind.FILTER)
    assert resolve([filtered, *drop(s["x"])], Destination.of("d")).dropped == frozenset({field("s#x")})


def test_calls_accumulate_for_each_destination() -> None:
    run = MemoryRun()
    recorder = ProgramRecorder(run, namespace="app")
    s, d, e = Source.of("s"), Destination.of("d"), Destination.of("e")
    recorder.record(d, [FieldOperation("parse", [s["raw"]], ["a"])])
    lineage = recorder.record(d, rename("a", "b"))
    recorder.record(e, [FieldOperation("parse", [s["other"]], ["a"])])
    assert texts(lineage.incoming) == {"d#a": ["s#raw"], "d#b": ["s#raw"]}
    assert set(run.outputs) == {("app", "d"), ("app", "e")}
    assert set(run.outputs["app", "d"]["columnLineage"]["fields"]) == {"a", "b"}


def test_a_call_that_raises_leaves_the_recorder_as_it_was() -> None:
    recorder = ProgramRecorder(strict=True)
    d = Destination.of("d")
    recorder.record(d, [FieldOperation("parse", [Source.of("s")["raw"]], ["a"])])
    with pytest.raises(InvalidLineage):
        recorder.record(d, [FieldOperation("use", ["ghost"], ["b"])])
    assert set(texts(recorder.record(d, []).incoming)) == {"d#a"}


def test_the_order_of_unrelated_operations_does_not_change_the_fingerprint() -> None:
    first = resolve([CONCAT, *DROPS], PROFILES)
    second = resolve([*DROPS, CONCAT], PROFILES)
    assert first.fingerprint == second.fingerprint
    assert resolve([CONCAT], PROFILES).fingerprint != first.fingerprint


def test_names_of_datasets_are_checked() -> None:
    with pytest.raises(ConfigError):
        Source.of("")
    with pytest.raises(ConfigError):
        Destination.of("a", "b", "c")
    with pytest.raises(ConfigError):
        Input.of(Source.of("s"))  # type: ignore[call-overload]
