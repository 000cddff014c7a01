"""The programs in examples/fields, run as a user runs them, with a file transport."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..laws.model import dump

EXAMPLES = Path(__file__).parents[2] / "examples/fields"
Json = dict[str, Any]


def run(program: str, home: Path, *files: Path) -> tuple[list[Json], Json]:
    """Run an example and return its events and the facets of the only output of its COMPLETE event."""
    log = home / "events.jsonl"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENLINEAGE", "HEADWATER"))
    }
    environment |= {
        "HEADWATER_HOME": str(home),
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(log),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
    }
    command = [sys.executable, str(EXAMPLES / program), *map(str, files)]
    subprocess.run(command, check=True, env=environment, cwd=home, timeout=120)
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    (output,) = events[-1]["outputs"]
    return events, output["facets"]


def example_files(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Write the input files of each example and return its arguments."""
    contents = {
        "users.csv": "UID,FirstName,LastName,DOB,Zip\n1,Ada,Lovelace,1815-12-10,12345\n",
        "lines.txt": "to be or not\nto be\n",
        "customers.csv": "id,name,city\n7,Ada,London\n",
        "purchases.csv": "customer_id,item,price\n7,tea,1.50\n7,air,0\n8,pen,2\n",
    }
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    names = {
        "concatenate.py": ("users.csv", "profiles.csv"),
        "word_count.py": ("lines.txt", "counts.csv"),
        "join_pipeline.py": ("customers.csv", "purchases.csv", "report.csv"),
    }
    return {program: tuple(folder / name for name in files) for program, files in names.items()}


def origins_of(facets: Json, field: str) -> list[tuple[str, str, str]]:
    return [
        (Path(item["name"]).name, item["field"], transformation["subtype"])
        for item in facets["columnLineage"]["fields"][field]["inputFields"]
        for transformation in item["transformations"]
    ]


def column_edges(events: list[Json]) -> list[tuple[str, str, str]]:
    """Return the column edges of the events' graph: (source field, destination field, subtype)."""
    lines = [json.loads(line) for line in dump(json.dumps(event).encode() for event in events).splitlines()]
    edges = [line for line in lines if line["kind"] == "columnEdge"]
    assert not any(edge.get("undeclared") for edge in edges)
    return sorted((edge["from"][2], edge["to"][2], edge["subtype"]) for edge in edges)


def test_column_lineage_of_the_concatenation(tmp_path: Path) -> None:
    users, profiles = example_files(tmp_path)["concatenate.py"]
    events, facets = run("concatenate.py", tmp_path, users, profiles)
    assert profiles.read_text(encoding="utf-8").splitlines()[1] == "1,Ada Lovelace,1815-12-10,12345"
    assert [event.get("eventType", "dataset") for event in events] == ["START", "dataset", "COMPLETE"]
    assert origins_of(facets, "Name") == [
        ("users.csv", "FirstName", "TRANSFORMATION"),
        ("users.csv", "LastName", "TRANSFORMATION"),
    ]
    assert origins_of(facets, "Zip") == [("users.csv", "Zip", "IDENTITY")]
    dataset = events[1]["dataset"]
    assert dataset["name"] == facets["headwater_fieldOperations"]["fingerprint"]
    dropped = dataset["facets"]["headwater_fieldOperations"]["dropped"]
    assert [field_json["field"] for field_json in dropped] == ["FirstName", "LastName"]
    assert [field_json["name"] for field_json in facets["schema"]["fields"]] == ["UID", "Name", "DOB", "Zip"]
    assert column_edges(events) == [
        ("DOB", "DOB", "IDENTITY"),
        ("FirstName", "Name", "TRANSFORMATION"),
        ("LastName", "Name", "TRANSFORMATION"),
        ("UID", "UID", "IDENTITY"),
        ("Zip", "Zip", "IDENTITY"),
    ]
    (read,) = events[-1]["inputs"]
    assert (read["namespace"], read["name"]) == ("file", str(users))


def test_column_lineage_of_the_word_count(tmp_path: Path) -> None:
    lines, counts = example_files(tmp_path)["word_count.py"]
    events, facets = run("word_count.py", tmp_path, lines, counts)
    assert column_edges(events) == [("record", "count", "TRANSFORMATION"), ("record", "word", "TRANSFORMATION")]
    assert counts.read_text(encoding="utf-8").splitlines() == ["word,count", "be,2", "not,1", "or,1", "to,2"]
    for field in ("word", "count"):
        assert origins_of(facets, field) == [("lines.txt", "record", "TRANSFORMATION")]
    assert "schema" not in facets


def test_column_lineage_of_the_pipeline_with_a_joiner(tmp_path: Path) -> None:
    customers, purchases, report = example_files(tmp_path)["join_pipeline.py"]
    events, facets = run("join_pipeline.py", tmp_path, customers, purchases, report)
    assert report.read_text(encoding="utf-8").splitlines() == ["id,customer,item,cents", "7,Ada,tea,150"]
    assert len(events[-1]["inputs"]) == 2
    assert origins_of(facets, "id") == [("customers.csv", "id", "IDENTITY")]
    assert origins_of(facets, "customer") == [("customers.csv", "name", "IDENTITY")]
    assert origins_of(facets, "cents") == [("purchases.csv", "price", "TRANSFORMATION")]
    influences = [
        (item["field"], transformation["subtype"])
        for item in facets["columnLineage"]["dataset"]
        for transformation in item["transformations"]
    ]
    assert column_edges(events) == [
        ("customer_id", "*", "JOIN"),
        ("id", "*", "JOIN"),
        ("id", "id", "IDENTITY"),
        ("item", "item", "IDENTITY"),
        ("name", "customer", "IDENTITY"),
        ("price", "*", "FILTER"),
        ("price", "cents", "TRANSFORMATION"),
    ]
    assert sorted(influences) == [("customer_id", "JOIN"), ("id", "JOIN"), ("price", "FILTER")]
