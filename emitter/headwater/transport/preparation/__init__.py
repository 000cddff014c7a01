"""The steps between an event and its Kafka messages: throttling, redaction, the size limit and encoding."""

from .preparation import Preparation

__all__ = ["Preparation"]
