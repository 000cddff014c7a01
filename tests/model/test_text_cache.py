"""The cache of facet readers: small texts are read once, and its size is bounded in bytes."""

from __future__ import annotations

from headwater_graph.rules.facets import TextCache


def test_a_small_text_is_read_once_and_a_large_one_each_time() -> None:
    texts: list[bytes] = []

    def read(text: bytes) -> int:
        texts.append(text)
        return len(text)

    cache, small, large = TextCache(read), b"x" * TextCache.SMALL, b"x" * (TextCache.SMALL + 1)
    assert [cache(small), cache(small), cache(large), cache(large)] == [4096, 4096, 4097, 4097]
    assert texts == [small, large, large]


def test_the_cached_texts_stay_within_their_limit_in_bytes() -> None:
    cache = TextCache(bytes.decode)
    for number in range(3 * TextCache.LIMIT // TextCache.SMALL):
        text = b"%d" % number
        assert cache(text.ljust(TextCache.SMALL)).startswith(text.decode())
        assert cache.size <= TextCache.LIMIT
    assert cache.size > TextCache.LIMIT // 3
