"""Search: the order of matches, typing errors, and that a limit removes the last of them."""

from __future__ import annotations

import neo4j
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater_graph.queries.catalog.ranking import SEPARATORS, intact_parts, match_rank, one_error_pattern
from headwater_graph.queries.catalog.search import search, search_similar
from headwater_graph.queries.reader import Neo4jReader

from ..given_answers import GivenAnswers
from .graph_maker import GraphMaker


@pytest.mark.parametrize(
    ("name", "text", "rank"),
    [
        ("orders", "orders", 0),
        ("db.orders", "orders", 1),
        ("db.orders_daily", "orders", 1),
        ("s3/raw/orders.parquet", "parq", 1),
        ("a/b.c/orders", "ord", 1),
        ("db.sales.orders", "sales.ord", 1),
        ("db.sales.orders", "sales", 2),
        ("orders.clean", "ord", 2),
        ("load_orders", "orders", 2),
        ("load-orders", "orders", 2),
        ("spark:orders", "orders", 2),
        ("reorders", "orders", 3),
        ("db.reorders.x", "orders", 3),
        ("db.orders", "b.ord", 3),
        ("orders", "ordets", 4),
    ],
)
def test_how_closely_a_name_matches(name: str, text: str, rank: int) -> None:
    assert match_rank(name, text) == rank


TEXT = st.text("abc._/", min_size=4, max_size=12)


@given(TEXT, st.data())
def test_every_single_error_is_found(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    character = data.draw(st.sampled_from("abcz."))
    with_error = data.draw(
        st.sampled_from(
            [
                text[:at] + character + text[at + 1 :],
                text[:at] + text[at + 1 :],
                text[:at] + character + text[at:],
                text[:at] + text[at : at + 2][::-1] + text[at + 2 :],
            ]
        )
    )
    # Either way round: the name has the error, or the text has it.
    for typed, name in ((text, f"x{with_error}y"), (with_error, f"x{text}y")):
        if len(typed) < 4:
            continue
        assert typed in name or one_error_pattern(typed).search(name), (typed, name)
        assert typed in name or any(all(part in name for part in parts) for parts in intact_parts(typed)), (typed, name)


@pytest.mark.parametrize("name", ["ordr", "rodesr", "boarder", "older", "ord", "sredro"])
def test_two_errors_are_too_many(name: str) -> None:
    assert one_error_pattern("orders").search(name) is None


def test_a_text_is_not_a_pattern() -> None:
    assert one_error_pattern("a.*b").search("axxxb") is None
    assert one_error_pattern("(a+)+$").search("aaaaaaaaaaaaaaaaaaaaaaaaa!") is None


def test_a_very_short_or_long_text_has_no_similar_names() -> None:
    def asked(**_: object) -> list[dict[str, object]]:
        raise AssertionError("the graph was searched")

    answers = GivenAnswers({"find/datasets_by_parts": asked, "find/jobs_by_parts": asked})
    assert search_similar(answers, "abc") == search_similar(answers, "x" * 4_000) == []


@pytest.fixture
def word(maker: GraphMaker, driver: neo4j.Driver) -> str:
    """A word in the names of several datasets and jobs."""
    word = maker.namespace.removeprefix("ns-")
    names = (f"x.{word}", f"x.{word}_more", f"{word}.y", f"re{word}", f"x/{word}/y", word, f"a {word}")
    for number, name in enumerate(names):
        maker.run(f"job_{number}", [], [name], hour=number)
    for number in range(3):
        maker.run(f"reader_{number}", [f"x.{word}_more"], [], hour=number)
    maker.store(driver)
    return word


def names_of(reader: Neo4jReader, text: str, limit: int = 100) -> list[str]:
    return [node.name[-1] for node in search(reader, text, ("dataset",), limit)]


def test_the_closest_names_come_first_and_then_those_with_the_most_edges(reader: Neo4jReader, word: str) -> None:
    assert names_of(reader, word.upper()) == [
        word,
        f"x.{word}_more",
        f"x.{word}",
        f"a {word}",
        f"x/{word}/y",
        f"{word}.y",
        f"re{word}",
    ]


def test_a_limit_removes_the_last_matches(reader: Neo4jReader, word: str) -> None:
    whole = names_of(reader, word)
    for limit in range(1, len(whole)):
        assert names_of(reader, word, limit) == whole[:limit]


def test_the_graph_ranks_names_as_the_rule_does(reader: Neo4jReader, word: str) -> None:
    for text in (word, f"x.{word}", f"{word}.y", f"/{word}", word[1:], f"x/{word}/"):
        given = {"namespace": None, "separators": list(SEPARATORS), "candidates": 100, "limit": 100}
        rows = reader.rows("find/datasets", text=text, **given)
        assert rows
        assert [row["rank"] for row in rows] == [match_rank(row["name"].lower(), text) for row in rows]


def test_of_many_matches_the_closest_and_shortest_are_compared(reader: Neo4jReader, word: str) -> None:
    given = {"namespace": None, "separators": list(SEPARATORS), "candidates": 2, "limit": 100}
    rows = reader.rows("find/datasets", text=word, **given)
    assert [row["name"] for row in rows] == [word, f"x.{word}"]


def test_a_typing_error_is_forgiven(reader: Neo4jReader, word: str) -> None:
    middle = len(word) // 2
    wrong = "x" if word[middle] != "x" else "y"
    for typed in (
        word[:middle] + wrong + word[middle + 1 :],
        word[:middle] + word[middle + 1 :],
        word[:middle] + wrong + word[middle:],
    ):
        found = search_similar(reader, typed)
        assert found[0].name[-1] == f"x.{word}_more", typed
        assert len(found) == 7
    assert search_similar(reader, word[:2] + "??" + word[4:]) == []
