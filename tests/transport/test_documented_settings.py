"""The settings that the documents show for openlineage-python's clients, block by block, bring every event to Kafka.

The clients run as in Airflow: in children that are forked and end by ``os._exit``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headwater_stack

from ..servers import Servers
from .events import arrived_since, ends, run_ids
from .programs import run
from .test_forked_children import FORKS, RUNS, provider

PAGES = Path(__file__).parents[2] / "docs"
TOPIC = "lineage.events"


def blocks() -> dict[str, dict[str, str]]:
    """Return the settings of each block, of environment files and of shell commands, that configure such a client."""
    found = {}
    for page in ("deploy.md", "emitter.md", "operators.md"):
        texts = re.findall(r"^```(?:ini|sh)\n(.*?)^```", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL)
        for number, text in enumerate(texts):
            settings = dict(re.findall(r"^(?:export )?([A-Z_]+)=(.*)$", text, re.MULTILINE))
            if "OPENLINEAGE__TRANSPORT__TYPE" in settings:
                found[f"{page}-{number}"] = settings
    return found


def test_every_page_shows_settings() -> None:
    pages = {name.split("-")[0] for name in blocks()}
    assert pages == {"deploy.md", "emitter.md", "operators.md"}
    assert "kafka" in {settings["OPENLINEAGE__TRANSPORT__TYPE"] for settings in blocks().values()}


@pytest.mark.parametrize("block", blocks())
def test_every_event_is_in_kafka(block: str, servers: Servers, spool_dir: Path) -> None:
    address = servers.kafka_bootstrap_servers
    headwater_stack.make_topics(address, {TOPIC: 4})
    before = ends(address, TOPIC)
    settings = {name: value.replace("kafka:9092", address) for name, value in blocks()[block].items()}
    clean = {name: value for name, value in provider(spool_dir, "", "", fork_wait=20).items() if name not in UNSET}
    ended = run(f"for run_id in {RUNS[:3]}: emit_in_child(run_id)", clean | settings, FORKS)
    assert (ended.code, ended.errors) == (0, "")
    assert run_ids([(None, value) for value in arrived_since(address, TOPIC, before)]) == set(RUNS[:3])


UNSET = ("OPENLINEAGE__TRANSPORT__TYPE", "HEADWATER_KAFKA_BOOTSTRAP_SERVERS", "HEADWATER_KAFKA_TOPIC")
"""What a block has to set by itself."""
