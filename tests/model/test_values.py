"""Values that are stored in the graph: what an earlier release stored stays readable."""

from __future__ import annotations

import msgspec

from headwater_graph.apply.deferred import FoldBody, defer
from headwater_graph.model.values import JobVersion, RetainedCounts

STORED = {
    "id": "v",
    "job": ("j", "a"),
    "since": (1, "r"),
    "made_by": "r",
    "inputs": (),
    "outputs": (("d", "x"),),
    "unknown": False,
    "code": None,
    "code_since": None,
    "kept": {"number": 3, "runs": 2, "last": (0, "q")},
}


def test_a_retained_version_in_a_deferred_fold_is_stored_under_its_first_name() -> None:
    version = JobVersion(
        "v", ("j", "a"), (1, "r"), "r", (), (("d", "x"),), False, None, None, RetainedCounts(3, 2, (0, "q"))
    )
    stored = msgspec.msgpack.encode((("j", "a"), (1, "r"), (2, "s"), STORED, False, (), ()))
    assert msgspec.msgpack.decode(stored, type=FoldBody).valid == version
    assert defer(FoldBody(("j", "a"), (1, "r"), (2, "s"), version, False))["body"] == stored
