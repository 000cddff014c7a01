"""Sending events out of a job: a transport of openlineage-python that never blocks and never fails the job.

openlineage-python's configuration names ``HeadwaterTransport``. Headwater's own parts send through
``default_transport``. ``counters`` returns how many events of this process were delivered, spooled or lost.

An event passes the ``queue``, the thread of the ``background_sender``, the ``preparation`` (``redaction`` included) and
the ``kafka_sink``, which sends it through the ``broker`` or appends it to the ``spool``. ``process`` handles forks, exit
and SIGTERM.
"""

from .counters import Counters
from .default import DefaultTransport, default_transport
from .memory import MemoryTransport
from .openlineage import HeadwaterTransport
from .process.lifecycle import counters
from .settings import HeadwaterConfig

__all__ = [
    "Counters",
    "DefaultTransport",
    "HeadwaterConfig",
    "HeadwaterTransport",
    "MemoryTransport",
    "counters",
    "default_transport",
]
