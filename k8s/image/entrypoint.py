"""What a container of the image runs: ``executor`` and ``driver`` as Spark on Kubernetes says them, else a command.

Spark tells an executor all by its environment (org.apache.spark.deploy.k8s.Constants); the process that begins here is
replaced, so that signals reach the program itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

EXECUTOR = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTION = "SPARK_JAVA_OPT_"


def command(words: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return what to run for the arguments of the container; raises KeyError where Spark's environment lacks something."""
    match list(words):
        case ["executor", *_]:
            return _executor(environ)
        case ["driver", *rest]:
            return _driver(rest, environ)
        case []:
            return ["headwater", "consume"]
        case given:
            return given


def _executor(environ: Mapping[str, str]) -> list[str]:
    home, memory = environ["SPARK_HOME"], environ["SPARK_EXECUTOR_MEMORY"]
    classpath = [f"{home}/conf", environ.get("SPARK_CLASSPATH", ""), f"{home}/jars/*"]
    told = {
        "--driver-url": "SPARK_DRIVER_URL",
        "--executor-id": "SPARK_EXECUTOR_ID",
        "--cores": "SPARK_EXECUTOR_CORES",
        "--app-id": "SPARK_APPLICATION_ID",
        "--hostname": "SPARK_EXECUTOR_POD_IP",
        "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
        "--podName": "SPARK_EXECUTOR_POD_NAME",
    }
    return [
        f"{environ['JAVA_HOME']}/bin/java",
        *_java_options(environ),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        ":".join(filter(None, classpath)),
        EXECUTOR,
        *(word for flag, name in told.items() for word in (flag, environ[name])),
    ]


def _java_options(environ: Mapping[str, str]) -> list[str]:
    numbers = sorted(int(name.removeprefix(_OPTION)) for name in environ if name.startswith(_OPTION))
    return [environ[f"{_OPTION}{number}"] for number in numbers]


def _driver(rest: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    # This pod is the driver that cluster mode asked for: here it runs as a client.
    address = environ["SPARK_DRIVER_BIND_ADDRESS"]
    submit = f"{environ['SPARK_HOME']}/bin/spark-submit"
    return [submit, "--deploy-mode", "client", "--conf", f"spark.driver.bindAddress={address}", *rest]


def main() -> None:
    """Become the program."""
    found = command(sys.argv[1:], os.environ)
    try:
        os.execvp(found[0], found)  # noqa: S606  # no shell is wanted
    except OSError as fault:
        sys.exit(f"{found[0]} can't be run: {fault.strerror}")


if __name__ == "__main__":
    main()
