"""Dead letters sent back from the page, over real Kafka: confirmed, with its result, and refused without the permission."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from pydantic import SecretStr

from headwater_consumer.kafka.brokers import kafka_client
from headwater_consumer.kafka.dead_letter_report import letter_report
from headwater_consumer.kafka.dead_letters import DeadLetter, KafkaDeadLetters
from headwater_consumer.kafka.messages import Message, messages_on
from headwater_consumer.kafka.redrive import redrive_chosen
from headwater_graph.queries.reader import Row
from headwater_web import MemorySink, WebSettings, create_app

from ...given_answers import GivenAnswers
from ...servers import Servers
from .browsing import Visit, running
from .shop_events import MARKUP, NOW

pytestmark = pytest.mark.end_to_end
REPORT = "/operations?report=dead-letters"
NOTHING: dict[str, list[Row]] = {"reports/consumer_state": []}
TOKENS = WebSettings(tokens=(SecretStr("reader"),), operator_tokens=(SecretStr("operator"),))


@dataclass
class Desk:
    """A topic with three dead letters, and a tab on a server over it."""

    client: dict[str, Any]
    topic: str
    visit: Visit

    @property
    def page(self) -> Page:
        return self.visit.page

    def values(self) -> list[bytes | None]:
        """The values of the messages that are on the topic."""
        return [message.value for message in messages_on(self.client, self.topic)]

    def signed_in(self, token: str) -> None:
        self.visit.expected = ("401", "403")
        self.page.goto(REPORT)
        self.sign_in(token)

    def sign_in(self, token: str) -> None:
        self.page.get_by_label("Token").fill(token)
        self.page.keyboard.press("Enter")

    @property
    def part(self) -> Locator:
        return self.page.get_by_role("region", name="Send back")


@pytest.fixture
def open_desk(
    servers: Servers, topic: str, browser: Browser, size: str, scheme: str, pictures: Callable[[Page], None]
) -> Iterator[Callable[[WebSettings], Desk]]:
    client = kafka_client(servers.kafka_bootstrap_servers)
    dead = f"{topic}.dead"
    codes = ("not_decodable", "not_decodable", "too_large")
    messages = [
        Message(topic, 0, at, timestamp=1_700_000_000_000, key=b"k", value=f"{MARKUP} {at}".encode(), headers=())
        for at in range(len(codes))
    ]
    letters = [DeadLetter(message, code, "why", NOW) for message, code in zip(messages, codes, strict=True)]
    KafkaDeadLetters(dead, client).send(letters)
    opened: list[tuple[Desk, Any]] = []

    def clock() -> datetime:
        return NOW

    def open_one(settings: WebSettings) -> Desk:
        app = create_app(
            GivenAnswers(NOTHING),
            MemorySink(),
            settings,
            clock,
            letters=lambda: letter_report(client, dead),
            redrive=lambda choice: redrive_chosen(client, dead, choice.code, choice.identities()),
        )
        server = running(app)
        desk = Desk(client, topic, Visit(browser, server.__enter__(), size, scheme))
        opened.append((desk, server))
        return desk

    yield open_one
    for desk, server in opened:
        pictures(desk.page)
        desk.visit.context.close()
        server.__exit__(None, None, None)
        desk.visit.check()


def test_letters_of_a_reason_are_sent_back_once_confirmed(open_desk: Callable[[WebSettings], Desk]) -> None:
    desk = open_desk(TOKENS)
    desk.signed_in("operator")
    desk.part.get_by_label("Reason").select_option("not_decodable")
    button = desk.part.get_by_role("button", name="Send back …")
    button.click()
    dialog = desk.page.get_by_role("dialog", name="Send 2 messages back?")
    expect(dialog).to_contain_text("not_decodable")
    desk.visit.accessible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert desk.values() == []
    button.click()
    dialog.get_by_role("button", name="Send back").click()
    expect(desk.part.get_by_role("status")).to_contain_text("2 messages sent back")
    expect(button).to_be_focused()
    assert desk.values() == [f"{MARKUP} {at}".encode() for at in (0, 1)]
    desk.visit.accessible()
    desk.visit.fits()


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")], indirect=True)
def test_without_the_permission_it_says_so_and_offers_another_sign_in(
    open_desk: Callable[[WebSettings], Desk],
) -> None:
    desk = open_desk(TOKENS)
    desk.signed_in("reader")
    expect(desk.part).to_contain_text("No permission. Only operators may send dead letters back.")
    expect(desk.part.get_by_role("button", name="Send back …")).to_have_count(0)
    desk.visit.accessible()
    desk.visit.fits()
    desk.part.get_by_role("button", name="Sign in as an operator").click()
    desk.sign_in("operator")
    expect(desk.part.get_by_role("button", name="Send back …")).to_be_visible()
    assert desk.values() == []


def test_a_permission_that_was_withdrawn_meanwhile_is_refused_clearly(
    open_desk: Callable[[WebSettings], Desk],
) -> None:
    desk = open_desk(TOKENS)
    desk.signed_in("operator")
    expect(desk.part.get_by_role("button", name="Send back …")).to_be_visible()
    # Another tab of the browser has signed in as somebody else.
    other = desk.page.context.new_page()
    other.goto("/operations")
    other.evaluate(
        """async () => fetch("/api/v1/session", {method: "POST", body: JSON.stringify({token: "reader"}),
        headers: {"Content-Type": "application/json"}})"""
    )
    desk.part.get_by_role("button", name="Send back …").click()
    desk.page.get_by_role("dialog").get_by_role("button", name="Send back").click()
    expect(desk.part).to_contain_text("No permission.")
    assert desk.values() == []
