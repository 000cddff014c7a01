"""Redaction of secrets in events and in what headwater shows."""

from .redaction import Redaction, is_secret_name

__all__ = ["Redaction", "is_secret_name"]
