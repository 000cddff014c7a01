"""The values in docs/marquez.md: Marquez's interface beside a release, pointed at its service."""

from __future__ import annotations

import re

import yaml

from .charts import CHART, SERVERS, merged, render

PAGE = (CHART.parents[1] / "docs" / "marquez.md").read_text()


def test_the_interface_points_at_the_service_of_the_release() -> None:
    (values,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    found = render(merged(SERVERS, yaml.safe_load(values)))
    named = {(each["kind"], each["metadata"]["name"]): each for each in found}
    container = named["Deployment", "marquez-web"]["spec"]["template"]["spec"]["containers"][0]
    environment = {each["name"]: each["value"] for each in container["env"]}
    service = named["Service", environment["MARQUEZ_HOST"]]
    assert [str(port["port"]) for port in service["spec"]["ports"]] == [environment["MARQUEZ_PORT"]]
    assert str(container["ports"][0]["containerPort"]) == environment["WEB_PORT"]
    assert named["Service", "marquez-web"]["spec"]["selector"] == {"app": "marquez-web"}
