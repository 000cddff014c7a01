"""Getting events out of a job: a transport of openlineage-python that never blocks and never fails its host.

`HeadwaterTransport` is named in openlineage-python's configuration; `default_transport` is what headwater's own parts
send through; `counters` tells what became of the events.
"""

from headwater.transport.counters import Counters
from headwater.transport.default import DefaultTransport, default_transport
from headwater.transport.lifecycle import counters
from headwater.transport.memory import MemoryTransport
from headwater.transport.openlineage import HeadwaterTransport
from headwater.transport.settings import HeadwaterConfig

__all__ = [
    "Counters",
    "DefaultTransport",
    "HeadwaterConfig",
    "HeadwaterTransport",
    "MemoryTransport",
    "counters",
    "default_transport",
]
