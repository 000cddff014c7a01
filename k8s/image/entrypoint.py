"""The entry point of the image: ``executor`` and ``driver`` as Spark on Kubernetes passes them, else a command.

Spark configures an executor by its environment (org.apache.spark.deploy.k8s.Constants). The program replaces this
process, so that signals reach the program itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

EXECUTOR = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTION = "SPARK_JAVA_OPT_"


def command(arguments: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the command for the arguments of the container; raises KeyError if Spark's environment is incomplete."""
    match list(arguments):
        case ["executor", *_]:
            return _executor(environ)
        case ["driver", *remaining]:
            return _driver(remaining, environ)
        case []:
            return ["headwater", "consume"]
        case program:
            return program


def _executor(environ: Mapping[str, str]) -> list[str]:
    home, memory = environ["SPARK_HOME"], environ["SPARK_EXECUTOR_MEMORY"]
    classpath = [f"{home}/conf", environ.get("SPARK_CLASSPATH", ""), f"{home}/jars/*"]
    options = {
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
        *(part for flag, name in options.items() for part in (flag, environ[name])),
    ]


def _java_options(environ: Mapping[str, str]) -> list[str]:
    numbers = sorted(int(name.removeprefix(_OPTION)) for name in environ if name.startswith(_OPTION))
    return [environ[f"{_OPTION}{number}"] for number in numbers]


def _driver(remaining: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    # This pod is the driver that cluster mode requested, so spark-submit runs in client mode.
    address = environ["SPARK_DRIVER_BIND_ADDRESS"]
    submit = f"{environ['SPARK_HOME']}/bin/spark-submit"
    return [submit, "--deploy-mode", "client", "--conf", f"spark.driver.bindAddress={address}", *remaining]


def main() -> None:
    """Replace this process with the program."""
    found = command(sys.argv[1:], os.environ)
    try:
        os.execvp(found[0], found)  # noqa: S606  # without a shell
    except OSError as fault:
        sys.exit(f"cannot run {found[0]}: {fault.strerror}")


if __name__ == "__main__":
    main()
