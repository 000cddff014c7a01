"""The facets of an event: accepted by the published schemas, and with all operations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.serde import Serde

from headwater.fields import (
    Columns,
    DatasetField,
    Destination,
    FieldOperation,
    Influence,
    MemoryRun,
    Metadata,
    Schema,
    SchemaField,
    Source,
    apply,
    propagate,
    resolve,
)
from headwater.fields.emit.facets import column_lineage_facet, compact, field_operations_facet, schema_facet
from headwater.fields.shapes import drop, generate, mask

from .wiring import dataset, field

SCHEMAS = Path(__file__).parents[2] / "../shared/data/openlineage/schemas/facets"
USERS = Source.of("crm", "users", schema=[("id", "int"), ("first", "text"), ("last", "text")])
PEOPLE = Destination.of("people", schema=["id", "name", "made"])
OPERATIONS = [
    FieldOperation("Concat", [USERS["first"], USERS["last"]], ["name"], description="full name"),
    *drop(USERS["first"]),
    *generate("now", "made"),
]


def emitted_facets() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facets of the only input and of the only output."""
    run = MemoryRun()
    lineage = resolve(OPERATIONS, PEOPLE, sources=[USERS], implicit_identity=True)
    apply(lineage, run, namespace="app")
    users, people = json.loads(json.dumps([run.inputs["crm", "users"], run.outputs["app", "people"]]))
    return users, people


def test_sources_are_inputs_and_destinations_outputs_with_their_schemas() -> None:
    users, people = emitted_facets()
    assert [(item["name"], item["type"]) for item in users["schema"]["fields"]] == [
        ("id", "int"),
        ("first", "text"),
        ("last", "text"),
    ]
    assert [item["name"] for item in people["schema"]["fields"]] == ["id", "name", "made"]


def test_column_lineage_has_every_field_and_generated_ones_without_inputs() -> None:
    fields = emitted_facets()[1]["columnLineage"]["fields"]
    assert fields["made"] == {"inputFields": []}
    assert fields["id"]["inputFields"] == [
        {
            "namespace": "crm",
            "name": "users",
            "field": "id",
            "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
        }
    ]
    assert [item["field"] for item in fields["name"]["inputFields"]] == ["first", "last"]
    (transformation,) = fields["name"]["inputFields"][0]["transformations"]
    assert transformation == {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "Concat: full name"}


def attached_operations(namespace: str = "app", destination: Destination = PEOPLE) -> tuple[str, dict[str, Any]]:
    """Return the name of the dataset that carries the operations of the output, and the facet with them."""
    run = MemoryRun()
    apply(resolve(OPERATIONS, destination, sources=[USERS], implicit_identity=True), run, namespace=namespace)
    ((output, (key, facets)),) = run.attached.items()
    assert run.outputs[output]["headwater_fieldOperations"]["fingerprint"] == key[1]
    assert key[0] == "urn:headwater:field-operations"
    return key[1], json.loads(json.dumps(facets["headwater_fieldOperations"]))


def test_the_operations_are_sent_once_under_their_fingerprint() -> None:
    name, facet = attached_operations()
    assert facet["fingerprint"] == name
    assert attached_operations()[0] == name
    assert "operations" not in emitted_facets()[1]["headwater_fieldOperations"]


def test_the_fingerprint_covers_the_namespace_of_datasets_without_one() -> None:
    named = Destination.of("app", "people", schema=["id", "name", "made"])
    assert attached_operations("app") == attached_operations("app", named)
    assert attached_operations("app")[0] != attached_operations("other")[0]


def test_the_operations_facet_has_all_operations() -> None:
    facet = attached_operations()[1]
    assert [item["name"] for item in facet["operations"]] == [
        "read users",
        "Concat",
        "Drop first",
        "now",
        "write people",
    ]
    assert facet["dropped"] == [{"namespace": "crm", "name": "users", "field": "first"}]
    assert len(facet["fingerprint"]) == 64
    concat = facet["operations"][1]
    assert concat["inputs"] == [
        {"origin": "read crm:users", "field": "first"},
        {"origin": "read crm:users", "field": "last"},
    ]
    assert concat["outputs"] == ["name"]


def test_operations_with_too_many_fields_have_names_only() -> None:
    lineage = resolve(OPERATIONS, PEOPLE)
    facet = field_operations_facet(lineage, "app", max_fields=3)
    assert [item["name"] for item in facet.operations] == ["read users", "Concat", "Drop first", "now", "write people"]
    assert not any("inputs" in item or "outputs" in item for item in facet.operations)
    assert facet.cut is not None
    assert field_operations_facet(lineage, "app").cut is None


def test_nested_schemas_nest_in_the_facet() -> None:
    facet = Serde.to_dict(schema_facet(Schema.of(SchemaField("a", "struct", (SchemaField("b", "int"),)))))
    (a,) = facet["fields"]
    assert [(item["name"], item["type"]) for item in a["fields"]] == [("b", "int")]


def test_an_escaped_dot_is_a_dot_in_the_event() -> None:
    lineage = resolve([FieldOperation("x", [Source.of("s")[r"v1\.2"]], [r"v1\.3"])], Destination.of("d"))
    facet = column_lineage_facet(lineage, dataset("d"), "app")
    assert facet.fields["v1.3"].inputFields[0].field == "v1.2"


def test_above_the_limit_sources_of_every_field_are_listed_once() -> None:
    sources = [DatasetField(dataset("s:t"), name) for name in "ab"]
    both = tuple(Influence(source, "DIRECT", "TRANSFORMATION") for source in sources)
    own = Influence(field("s:t#own"), "DIRECT", "IDENTITY")
    found = Columns({"x": both, "y": (*both, own)}, ())
    assert compact(found, 5) is found
    assert compact(found, 4) == Columns({"x": (), "y": (own,)}, both)


def test_a_field_without_sources_shares_no_influence() -> None:
    both = (Influence(field("s:t#a"), "DIRECT", "TRANSFORMATION"),)
    found = Columns({"x": both, "y": both, "made": ()}, ())
    assert compact(found, 1) == found


def test_masking_is_in_the_facet() -> None:
    lineage = resolve(mask("hash", Source.of("s")["ssn"], "ssn"), Destination.of("d"))
    facet = column_lineage_facet(lineage, dataset("d"), "app")
    (transformation,) = facet.fields["ssn"].inputFields[0].transformations or []
    assert transformation.masking is True


def test_inherited_metadata_becomes_tags_and_origins() -> None:
    run = MemoryRun()
    operation = FieldOperation("Concat", [USERS["first"], USERS["last"]], ["name"], propagate_metadata=True)
    lineage = resolve([operation], PEOPLE)
    known = {
        field("crm:users#first"): Metadata.of("pii", owner="ann"),
        field("crm:users#last"): Metadata.of("pii", owner="bob"),
    }
    apply(lineage, run, namespace="app", metadata=propagate(lineage, known))
    facets = run.outputs["app", "people"]
    assert [(item["key"], item["value"], item["field"]) for item in facets["tags"]["tags"]] == [
        ("pii", "true", "name"),
        ("owner", "ann", "name"),
        ("owner", "bob", "name"),
    ]
    metadata = facets["headwater_fieldMetadata"]["fields"]["name"]
    assert metadata["conflicts"] == ["owner"]
    assert metadata["properties"]["owner"]["bob"] == [{"namespace": "crm", "name": "users", "field": "last"}]


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the published facet schemas are in ../shared/data, which is not here")
@pytest.mark.parametrize(("facet", "file"), [("columnLineage", "ColumnLineage"), ("schema", "Schema")])
def test_the_published_schemas_accept_the_facets(facet: str, file: str) -> None:
    import jsonschema
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    def load(path: Path) -> dict[str, Any]:
        return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]

    schema = load(next(SCHEMAS.rglob(f"{file}DatasetFacet.json")))
    core = load(SCHEMAS.parent / "OpenLineage.json")
    resources = [(item["$id"], DRAFT202012.create_resource(item)) for item in (schema, core)]
    validator = jsonschema.Draft202012Validator(
        {"$ref": f"{schema['$id']}#/$defs/{file}DatasetFacet"}, registry=Registry().with_resources(resources)
    )
    validator.validate(emitted_facets()[1][facet])
