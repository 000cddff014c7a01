"""The JSON documents of a file: one per line, pretty-printed, concatenated, or the items of a list.

Memory is bounded by the largest document, and by twice the text in which none ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, TypeAlias

import msgspec

Place: TypeAlias = tuple[int, int]
"""The number of a document in its file, and the line where it begins; both from 1."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\r\n]*")
_BEGIN = re.compile(r"^[{\[]", re.MULTILINE)
"""A line with which a document may begin after text that is not JSON."""

# Numbers are not converted: only the end of a document is searched, and long ones are refused by int().
_decoder = json.JSONDecoder(parse_int=str, parse_float=str)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its number from 1, the line where it begins, its bytes unchanged.

    ``fault`` says why the text is not JSON. Such a text is yielded line by line; all lines but the first have ``continues``
    and the number of the first.
    """

    number: int
    line: int
    text: bytes
    fault: str = ""
    continues: bool = False

    @property
    def place(self) -> Place:
        return (self.number, self.line)


def documents(file: BinaryIO) -> Iterator[Document]:
    """Yield the documents of a file in UTF-8."""
    splitter, enough = _Splitter(), 0
    for number, read in enumerate(file, 1):
        line = read.removeprefix(_BYTE_ORDER_MARK) if number == 1 else read
        if splitter.is_between_documents and _is_object(line):
            yield splitter.document(number, line.rstrip(b"\r\n"))
            continue
        splitter.add(number, line)
        # Text without an end is tried again when it has doubled, so that the whole takes linear time.
        if splitter.size >= enough:
            yield from splitter.take()
            enough = 2 * splitter.size
    yield from splitter.take(final=True)


def _is_object(line: bytes) -> bool:
    try:
        _object.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


@dataclass(slots=True)
class _Splitter:
    """Divides text, which is added line by line, into documents."""

    _pending: bytearray = field(default_factory=bytearray)
    _line: int = 1
    _number: int = 0
    _list_line: int = 0
    """The line where the list begins whose items are documents; 0: there is none."""
    _is_broken: bool = False
    """Whether the next lines may continue a text that is not JSON."""

    @property
    def is_between_documents(self) -> bool:
        return not (self._pending or self._list_line or self._is_broken)

    @property
    def size(self) -> int:
        return len(self._pending)

    def document(self, line: int, text: bytes, fault: str = "") -> Document:
        """Return the next document."""
        self._number += 1
        return Document(self._number, line, text, fault)

    def add(self, number: int, line: bytes) -> None:
        if not self._pending:
            self._line = number
        self._pending += line

    def take(self, final: bool = False) -> Iterator[Document]:
        """Yield the documents that end in the text so far, and what can't be JSON; the rest waits for more text."""
        # Bytes that are not UTF-8 pass, and are refused with the document that has them.
        text = self._pending.decode("utf-8", "surrogateescape")
        position, end_of_text = 0, len(text.rstrip(" \t\r\n"))
        while (begin := _skip_space(text, position)) < end_of_text:
            self._line += text.count("\n", position, begin)
            position = begin
            if self._is_broken and not _BEGIN.match(text, begin):
                position = _end_of_line(text, begin)
                yield Document(self._number, self._line, _bytes(text[begin:position]).rstrip(b"\r"), continues=True)
                continue
            self._is_broken = False
            if self._is_list_sign(text[begin]):
                position += 1
                continue
            position, fault = self._end(text, begin)
            if fault is None:
                yield self.document(self._line, _bytes(text[begin:position]).rstrip(b"\r"))
            elif fault.pos >= end_of_text and not final:
                position = begin
                break
            else:
                yield from self._broken(text, begin, position, fault)
            self._line += text.count("\n", begin, position)
        self._pending = bytearray(_bytes(text[position:].lstrip(" \t\r\n")))
        if final and self._list_line:
            yield self.document(self._list_line, b"[", "the list does not end")

    def _is_list_sign(self, sign: str) -> bool:
        """Return whether a character begins, divides or ends a list of documents."""
        if self._list_line and sign in ",]":
            self._list_line = 0 if sign == "]" else self._list_line
            return True
        if sign == "[" and not self._list_line:
            self._list_line = self._line
            return True
        return False

    def _end(self, text: str, begin: int) -> tuple[int, json.JSONDecodeError | None]:
        """Return where the document ends that begins at a position, or the text that is not JSON, and why it is not."""
        if text[begin] != "{" and not self._list_line:
            # Not an event, whatever it is: the line as a whole says more than its words.
            return _end_of_line(text, begin), None
        try:
            return _decoder.raw_decode(text, begin)[1], None
        except json.JSONDecodeError as fault:
            found = fault
        except RecursionError:
            found = json.JSONDecodeError("nested too deeply", text, begin)
        following = _BEGIN.search(text, max(begin + 1, text.rfind("\n", 0, found.pos) + 1))
        return (following.start() if following else len(text)), found

    def _broken(self, text: str, begin: int, end: int, fault: json.JSONDecodeError) -> Iterator[Document]:
        """Yield the lines of a text that is not JSON."""
        self._is_broken = True
        lines = _bytes(text[begin:end]).split(b"\n")
        place = self._line + text.count("\n", begin, fault.pos)
        yield self.document(self._line, lines[0].rstrip(b"\r"), f"{fault.msg} (line {place})")
        for offset, line in enumerate(lines[1:], 1):
            if line.strip():
                yield Document(self._number, self._line + offset, line.rstrip(b"\r"), continues=True)


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
