"""The programs in examples/fields, run as a user runs them; their events go to a file."""

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
    """Run an example; its START and COMPLETE, and the facets of the one output of the latter."""
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


def made_files(folder: Path) -> dict[str, tuple[Path, ...]]:
    """For each example the files that it takes, made where it reads them."""
    told = {
        "users.csv": "UID,FirstName,LastName,DOB,Zip\n1,Ada,Lovelace,1815-12-10,12345\n",
        "lines.txt": "to be or not\nto be\n",
        "customers.csv": "id,name,city\n7,Ada,London\n",
        "purchases.csv": "customer_id,item,price\n7,tea,1.50\n7,air,0\n8,pen,2\n",
    }
    for name, text in told.items():
        (folder / name).write_text(text, encoding="utf-8")
    names = {
        "concatenate.py": ("users.csv", "profiles.csv"),
        "word_count.py": ("lines.txt", "counts.csv"),
        "join_pipeline.py": ("customers.csv", "purchases.csv", "report.csv"),
    }
    return {program: tuple(folder / name for name in files) for program, files in names.items()}


def made_of(facets: Json, field: str) -> list[tuple[str, str, str]]:
    return [
        (Path(one["name"]).name, one["field"], told["subtype"])
        for one in facets["columnLineage"]["fields"][field]["inputFields"]
        for told in one["transformations"]
    ]


def column_edges(events: list[Json]) -> list[tuple[str, str, str]]:
    """What the graph makes of the events: (source field, destination field, subtype)."""
    lines = [json.loads(line) for line in dump(json.dumps(event).encode() for event in events).splitlines()]
    edges = [line for line in lines if line["kind"] == "columnEdge"]
    assert not any(edge.get("undeclared") for edge in edges)
    return sorted((edge["from"][2], edge["to"][2], edge["subtype"]) for edge in edges)


def test_the_concatenation_tells_its_columns(tmp_path: Path) -> None:
    users, profiles = made_files(tmp_path)["concatenate.py"]
    events, facets = run("concatenate.py", tmp_path, users, profiles)
    assert profiles.read_text(encoding="utf-8").splitlines()[1] == "1,Ada Lovelace,1815-12-10,12345"
    assert [event.get("eventType", "dataset") for event in events] == ["START", "dataset", "COMPLETE"]
    assert made_of(facets, "Name") == [
        ("users.csv", "FirstName", "TRANSFORMATION"),
        ("users.csv", "LastName", "TRANSFORMATION"),
    ]
    assert made_of(facets, "Zip") == [("users.csv", "Zip", "IDENTITY")]
    told = events[1]["dataset"]
    assert told["name"] == facets["headwater_fieldOperations"]["fingerprint"]
    dropped = told["facets"]["headwater_fieldOperations"]["dropped"]
    assert [one["field"] for one in dropped] == ["FirstName", "LastName"]
    assert [one["name"] for one in facets["schema"]["fields"]] == ["UID", "Name", "DOB", "Zip"]
    assert column_edges(events) == [
        ("DOB", "DOB", "IDENTITY"),
        ("FirstName", "Name", "TRANSFORMATION"),
        ("LastName", "Name", "TRANSFORMATION"),
        ("UID", "UID", "IDENTITY"),
        ("Zip", "Zip", "IDENTITY"),
    ]
    (read,) = events[-1]["inputs"]
    assert (read["namespace"], read["name"]) == ("file", str(users))


def test_the_word_count_tells_its_columns(tmp_path: Path) -> None:
    lines, counts = made_files(tmp_path)["word_count.py"]
    events, facets = run("word_count.py", tmp_path, lines, counts)
    assert column_edges(events) == [("record", "count", "TRANSFORMATION"), ("record", "word", "TRANSFORMATION")]
    assert counts.read_text(encoding="utf-8").splitlines() == ["word,count", "be,2", "not,1", "or,1", "to,2"]
    for field in ("word", "count"):
        assert made_of(facets, field) == [("lines.txt", "record", "TRANSFORMATION")]
    assert "schema" not in facets


def test_the_pipeline_with_a_joiner_tells_its_columns(tmp_path: Path) -> None:
    customers, purchases, report = made_files(tmp_path)["join_pipeline.py"]
    events, facets = run("join_pipeline.py", tmp_path, customers, purchases, report)
    assert report.read_text(encoding="utf-8").splitlines() == ["id,customer,item,cents", "7,Ada,tea,150"]
    assert len(events[-1]["inputs"]) == 2
    assert made_of(facets, "id") == [("customers.csv", "id", "IDENTITY")]
    assert made_of(facets, "customer") == [("customers.csv", "name", "IDENTITY")]
    assert made_of(facets, "cents") == [("purchases.csv", "price", "TRANSFORMATION")]
    influences = [
        (one["field"], told["subtype"]) for one in facets["columnLineage"]["dataset"] for told in one["transformations"]
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
