"""What fails a stream in one line: the cause behind the wrapping, and whether memory was short."""

from __future__ import annotations

import pytest

from headwater_avro.errors import ConfigError, StoreRefused
from headwater_consumer.faults import StreamFailed, cause_of, ran_out_of_memory, spark_faults_in_one_line

PROXY = """[STREAM_FAILED] Query [id = 5, runId = 6] terminated with exception: An exception was raised by the Python Proxy. \
Return Message: Traceback (most recent call last):
  File "py4j/clientserver.py", line 642, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
py4j.protocol.Py4JJavaError: An error occurred while calling o95.collectAsArrowToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:3122)
\tat java.base/java.lang.Thread.run(Thread.java:1583)
Caused by: org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position 3 is out of range
\tat org.apache.kafka.clients.consumer.KafkaConsumer.poll(KafkaConsumer.java:874)
\t... 20 more
"""

JOB = """An error occurred while calling o95.collectAsArrowToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed: {}
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:3122)
Driver stacktrace:
"""


def test_the_innermost_cause_is_reported_without_its_wrappers() -> None:
    assert cause_of(PROXY) == "Fetch position 3 is out of range"


def test_a_fault_without_a_cause_is_reported_by_the_text_after_the_wrapper() -> None:
    assert "failed: no space left on device" in cause_of(JOB.format("no space left on device"))


def test_a_plain_fault_is_reported_unchanged() -> None:
    assert (
        cause_of("Partition t-0's offset was changed from 5 to 3\n\tat x")
        == "Partition t-0's offset was changed from 5 to 3"
    )
    assert cause_of(OSError("disk full")) == "disk full"
    assert cause_of(KeyError()) == "KeyError"
    assert cause_of("") == "no reason given"


@pytest.mark.parametrize(
    "text",
    [
        "java.lang.OutOfMemoryError: Java heap space",
        "org.apache.arrow.memory.OutOfMemoryException: Failure allocating buffer.",
        "org.apache.spark.memory.SparkOutOfMemoryError: Unable to acquire 65536 bytes of memory",
        "pyarrow.lib.ArrowMemoryError: malloc of size 2147483648 failed",
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
        "ExecutorLostFailure (executor 3 exited caused by one of the running tasks) Reason: exit code 137",
    ],
)
def test_a_shortage_of_memory_is_recognised_in_every_form(text: str) -> None:
    assert ran_out_of_memory(RuntimeError(JOB.format(text)))


def test_other_faults_are_no_shortage_of_memory() -> None:
    assert ran_out_of_memory(MemoryError())
    assert not ran_out_of_memory(RuntimeError(PROXY))
    assert not ran_out_of_memory(StoreRefused("no"))


def test_what_spark_fails_by_becomes_one_line_and_everything_else_stays_what_it_is() -> None:
    with pytest.raises(StreamFailed, match=r"^Spark failed: Connection refused$"), spark_faults_in_one_line():
        raise ConnectionError("Connection refused")
    with pytest.raises(ConfigError, match="wrong"), spark_faults_in_one_line():
        raise ConfigError("wrong")
    with pytest.raises(KeyError), spark_faults_in_one_line():
        raise KeyError("bug")
