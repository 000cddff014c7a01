"""``POST /api/v1/dead-letters/redrive``: dead letters sent back to the topic from which they came, by operators alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator

from headwater_avro.errors import REJECTION_CODES
from headwater_consumer.kafka.dead_letters import Identity, identity_in
from headwater_consumer.kafka.redrive import Redriven

from .audit import DETAIL_KEY
from .callers import SCOPE_KEY, Caller
from .problems import Problem

PATH = "/api/v1/dead-letters/redrive"
MOST_LETTERS = 10_000
"""The number of letters that a request can name."""
NO_PERMISSION = (
    "only operators may send dead letters back: "
    "use a token with the scope redrive, one of HEADWATER_WEB_OPERATOR_TOKENS, or a user of HEADWATER_WEB_OPERATOR_USERS"
)

routes = APIRouter(tags=["dead letters"])


class Choice(BaseModel):
    """Which letters: those named `topic/partition/offset`, those with a reason code, or all. Exactly one of the three."""

    model_config = ConfigDict(extra="forbid")

    letters: list[Annotated[str, Field(max_length=500)]] = Field(default_factory=list, max_length=MOST_LETTERS)
    code: str | None = None
    all: bool = False

    @model_validator(mode="after")
    def _is_one_choice(self) -> Choice:
        if sum((bool(self.letters), self.code is not None, self.all)) != 1:
            raise ValueError("give one of letters, code and all")
        if self.code is not None and self.code not in REJECTION_CODES:
            raise ValueError(f"code is one of {', '.join(REJECTION_CODES)}")
        for letter in self.letters:
            if identity_in(letter.encode("utf-8", "surrogatepass")) is None:
                raise ValueError(f"{letter!r} is not topic/partition/offset")
        return self

    def identities(self) -> frozenset[Identity]:
        """Return the letters that it names."""
        found = (identity_in(letter.encode("utf-8", "surrogatepass")) for letter in self.letters)
        return frozenset(identity for identity in found if identity is not None)


Redrive: TypeAlias = Callable[[Choice], Redriven]
"""Sends the chosen letters back; raises ServerUnavailable if Kafka does not answer."""


@routes.post(PATH)
def post_redrive(request: Request, choice: Choice) -> dict[str, Any]:
    """Send dead letters back to the topic from which they came, as they were; they stay on the dead-letter topic.

    Sending a letter back twice changes nothing. `deleted` are letters whose messages Kafka has deleted, `missing` are named
    letters that are not on the topic.
    """
    caller: Caller | None = request.scope.get(SCOPE_KEY)
    if caller is None or not caller.is_operator:
        raise Problem(403, NO_PERMISSION)
    redrive: Redrive = request.app.state.redrive
    done = redrive(choice)
    request.scope[DETAIL_KEY] = {"redriven": len(done.sent), "deleted": len(done.deleted)}
    missing = choice.identities() - done.sent - done.deleted
    return {"redriven": len(done.sent), "deleted": _names(done.deleted), "missing": _names(missing)}


def _names(letters: frozenset[Identity]) -> list[str]:
    return ["/".join(map(str, letter)) for letter in sorted(letters)]
