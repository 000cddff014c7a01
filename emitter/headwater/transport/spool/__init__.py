"""Undelivered events on disk: their segments, the spool that writes them, and the replay that sends them."""

from .segments import DAMAGED, PENDING, REFUSED, Segment, SegmentInfo, claim, describe_segments, segments
from .spool import Spool, SpoolError

__all__ = [
    "DAMAGED",
    "PENDING",
    "REFUSED",
    "Segment",
    "SegmentInfo",
    "Spool",
    "SpoolError",
    "claim",
    "describe_segments",
    "segments",
]
