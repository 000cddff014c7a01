"""The documents of a file: the same ones, byte for byte, in whatever layout they are written."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater_cli.json_documents import Document, documents

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda items: st.lists(items, max_size=3) | st.dictionaries(st.text(max_size=3), items, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)
INDENTS = st.sampled_from((None, 0, 2))
LAYOUTS = st.sampled_from(("", "\n", " ", "\r\n", "\n\n", "list", "list of lines"))


def read(data: bytes) -> list[Document]:
    return list(documents(io.BytesIO(data)))


def written(value: Any, indent: int | None, ascii_only: bool) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only)


@given(st.lists(st.tuples(st.lists(st.tuples(OBJECTS, INDENTS, st.booleans()), max_size=4), LAYOUTS), max_size=4))
def test_documents_are_found_in_any_layout(groups: list[tuple[list[tuple[Any, int | None, bool]], str]]) -> None:
    expected, text = [], ""
    for listed, layout in groups:
        texts = [written(*one) for one in listed]
        expected += texts
        match layout:
            case "list":
                text += f"[{', '.join(texts)}]"
            case "list of lines":
                text += "[\n" + ",\n".join(texts) + "\n]\n"
            case separator:
                text += separator.join(texts) + separator
    found = read(text.encode())
    # A line that is one document has its spaces.
    assert [one.text.decode().strip(" ") for one in found] == expected
    assert [one.number for one in found] == list(range(1, len(expected) + 1))
    assert not any(one.fault or one.continues for one in found)
    lines = text.split("\n")
    for one in found:
        rest = "\n".join(lines[one.line - 1 :]).encode()
        assert one.text in rest
        assert one.text.split(b"\n")[0] in rest.split(b"\n")[0]


@given(st.binary(max_size=60) | st.text('{}[],:"a1 \n\\', max_size=60).map(str.encode))
def test_any_bytes_are_read_and_no_word_is_lost(data: bytes) -> None:
    found = read(data)
    unlisted = bytes.maketrans(b"", b"")
    kept = b"".join(one.text for one in found).translate(unlisted, b" \t\r\n[],")
    assert kept == data.removeprefix(b"\xef\xbb\xbf").translate(unlisted, b" \t\r\n[],")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ('{"a": 1}\n{"a": "20\n{"a": 2}\n', [(2, 2, "Invalid control character at (line 2)")]),
        ('{"a": {\n{"a": 2}\n', [(1, 1, "Expecting property name enclosed in double quotes (line 2)")]),
        ('{\n "a" 1,\n "b": 2\n}\n{\n "a": 1\n}\n', [(1, 1, "Expecting ':' delimiter (line 2)")]),
        ('{"a": 1}\n[{"a": 2}', [(3, 2, "the list does not end")]),
        ('{"a":' + "[" * 100_000, [(1, 1, "nested too deeply (line 1)")]),
    ],
)
def test_text_that_is_not_json_is_one_fault(text: str, faults: list[tuple[int, int, str]]) -> None:
    found = read(text.encode())
    assert [(one.number, one.line, one.fault) for one in found if one.fault] == faults
    assert [one.text for one in found if not one.fault and not one.continues] == [
        part for part in (b'{"a": 1}', b'{"a": 2}', b'{\n "a": 1\n}') if part in text.encode()
    ]


def test_lines_are_read_one_at_a_time() -> None:
    """A line is yielded before the next is read, so memory does not grow with the file."""
    reads: list[int] = []

    class Lines(io.RawIOBase):
        def __next__(self) -> bytes:
            reads.append(len(reads))
            if len(reads) > 1_000:
                raise StopIteration
            return b'{"a": 1}\n'

    for document in documents(Lines()):  # type: ignore[arg-type]
        assert document.line == len(reads)
    assert len(reads) == 1_001
