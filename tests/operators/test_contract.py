"""The contract of lineage methods (docs/operators.md, Airflow's provider): choice, calls and results."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.operators import (
    DefaultExtractor,
    ExtractorRegistry,
    InputDataset,
    OperatorLineage,
    OutputDataset,
    TaskInstanceLineage,
    read_result,
)
from headwater.operators.contract.extractors import extract
from headwater.operators.contract.signature import call_with_ti
from headwater_avro.errors import ConfigError

from .plain_operators import AllMethods, OnCompleteOnly, OnStartOnly, Plain, called_method, event_of, lineage_on, names


@pytest.mark.parametrize(("state", "method"), [("running", "start"), ("success", "complete"), ("failed", "failure")])
def test_each_state_calls_its_own_method(state: str, method: str) -> None:
    assert called_method(event_of(AllMethods(), state)) == method


def test_a_failure_calls_on_complete_without_on_failure() -> None:
    class NoFailure(AllMethods):
        get_openlineage_facets_on_failure = None  # type: ignore[assignment]

    assert called_method(event_of(NoFailure(), "failed")) == "complete"


@pytest.mark.parametrize(("state", "method"), [("running", None), ("success", "complete"), ("failed", "complete")])
def test_without_on_start_the_start_has_no_lineage(state: str, method: str | None) -> None:
    event = event_of(OnCompleteOnly(), state)
    assert called_method(event) == method
    assert bool(event["inputs"]) is (method is not None)


@pytest.mark.parametrize("state", ["success", "failed"])
def test_without_on_complete_on_start_is_called_again(state: str) -> None:
    OnStartOnly.calls = 0
    operator = OnStartOnly()
    assert called_method(event_of(operator, "running")) == "start"
    assert called_method(event_of(operator, state)) == "start"
    assert OnStartOnly.calls == 2


@pytest.mark.parametrize("state", ["up_for_retry", "", None])
def test_an_unknown_state_counts_as_complete(state: str | None) -> None:
    lineage = extract(DefaultExtractor(AllMethods()), state, None)
    assert lineage.job_facets == {"etl_method": {"method": "complete"}}


def test_an_attribute_that_is_not_callable_is_not_a_method() -> None:
    class NotCallable(Plain):
        get_openlineage_facets_on_complete = "not a method"

    assert ExtractorRegistry().for_operator(NotCallable()) is None


def test_a_plain_operator_has_no_extractor() -> None:
    assert ExtractorRegistry().for_operator(Plain()) is None


def test_an_operator_with_on_failure_only_is_called_when_it_fails() -> None:
    class OnFailureOnly(Plain):
        def get_openlineage_facets_on_failure(self, ti: Any) -> TaskInstanceLineage:
            return lineage_on("failure")

    assert called_method(event_of(OnFailureOnly(), "failed")) == "failure"
    assert event_of(OnFailureOnly(), "success")["inputs"] == []


@dataclass
class Foreign:
    inputs: list[Any] = field(default_factory=lambda: [SimpleNamespace(namespace="s3://raw", name="a.csv", facets={})])
    outputs: list[Any] = field(default_factory=list)
    run_facets: dict[str, Any] = field(default_factory=lambda: {"etl_batch": {"number": 7}})
    job_facets: dict[str, Any] = field(default_factory=lambda: {"sql": {"query": "select 1"}})
    more: str = "dropped"


def test_an_object_with_the_four_attributes_is_a_lineage_and_its_others_are_dropped() -> None:
    lineage = read_result(Foreign()).lineage
    assert isinstance(lineage, TaskInstanceLineage)
    assert lineage.inputs == [InputDataset("s3://raw", "a.csv")]
    assert lineage.run_facets["etl_batch"]["number"] == 7  # type: ignore[index]
    assert not hasattr(lineage, "more")


def test_an_object_without_the_facet_attributes_is_not_lineage(caplog: pytest.LogCaptureFixture) -> None:
    class Half(Plain):
        def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
            return SimpleNamespace(inputs=[InputDataset("s3://raw", "a.csv")], outputs=[])

    event = event_of(Half(), "success")
    assert event["inputs"] == []
    assert "has no run_facets" in caplog.text


def test_the_providers_attrs_class_is_a_lineage() -> None:
    attr = pytest.importorskip("attr")
    from openlineage.client.event_v2 import InputDataset as ClientInput
    from openlineage.client.facet_v2 import schema_dataset

    provided = attr.make_class("OperatorLineage", ["inputs", "outputs", "run_facets", "job_facets"])
    fields = [schema_dataset.SchemaDatasetFacetFields(name="id", type="int")]
    dataset = ClientInput("s3://raw", "a", facets={"schema": schema_dataset.SchemaDatasetFacet(fields=fields)})
    event = event_of(returning(provided([dataset], [], {}, {})), "success")
    schema = event["inputs"][0]["facets"]["schema"]
    assert schema["fields"] == [{"name": "id", "type": "int", "fields": []}]
    assert schema["_schemaURL"].endswith("SchemaDatasetFacet")


def returning(result: Any) -> Plain:
    class Returning(Plain):
        def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
            return result

    return Returning()


def test_none_sends_an_event_without_lineage() -> None:
    event = event_of(returning(None), "success")
    assert (event["eventType"], event["inputs"], event["outputs"]) == ("COMPLETE", [], [])
    assert "extractionError" not in event["run"]["facets"]


def test_a_method_that_raises_leaves_the_event_without_lineage_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    class Raises(Plain):
        def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
            raise OSError("no such table")

    event = event_of(Raises(), "success")
    assert event["inputs"] == []
    assert "no such table" in caplog.text
    fault = event["run"]["facets"]["extractionError"]
    assert (fault["totalTasks"], fault["failedTasks"]) == (1, 1)
    assert "OSError: no such table" in fault["errors"][0]["errorMessage"]


SEED = {
    "runFacets": {"errorMessage": {"message": "could not connect to foo", "language": "python"}},
    "jobFacets": {"sql": {"query": "CREATE TABLE FOO AS SELECT * FROM BAR"}},
    "inputs": [
        {
            "namespace": "postgres://example",
            "name": "workshop.public.wealth",
            "facets": {"schema": {"fields": [{"name": "foo", "type": "char", "description": "my first field"}]}},
            "inputFacets": {"dataQualityMetrics": {"rowCount": 1345}},
        }
    ],
    "outputs": [
        {
            "namespace": "postgres://example",
            "name": "workshop.public.death",
            "facets": {"schema": {"fields": [{"Name": "foo", "Type": "char", "Description": "my first field"}]}},
            "outputFacets": {"outputStatistics": {"rowCount": 10, "Size": 1000}},
        },
        {"namespace": "postgres://example", "name": "workshop.public.taxes"},
    ],
}


def test_the_dictionary_of_the_seed_is_a_lineage() -> None:
    event = event_of(returning(SEED), "success")
    assert names(event, "inputs") == ["workshop.public.wealth"]
    assert names(event, "outputs") == ["workshop.public.death", "workshop.public.taxes"]
    assert event["job"]["facets"]["sql"]["query"] == "CREATE TABLE FOO AS SELECT * FROM BAR"
    assert event["run"]["facets"]["errorMessage"]["programmingLanguage"] == "python"
    assert event["inputs"][0]["inputFacets"]["dataQualityMetrics"]["rowCount"] == 1345
    assert event["outputs"][0]["outputFacets"]["outputStatistics"]["size"] == 1000
    assert event["outputs"][0]["facets"]["schema"]["fields"][0]["name"] == "foo"
    assert "facets" not in event["outputs"][1]


def test_a_dictionary_of_something_else_is_no_lineage() -> None:
    with pytest.raises(ConfigError, match="runFacets"):
        read_result({"tables": ["a"]})


def test_an_invalid_dataset_does_not_affect_the_others(caplog: pytest.LogCaptureFixture) -> None:
    event = event_of(
        returning({"inputs": [{"namespace": "s3://raw"}, {"namespace": "s3://raw", "name": "b"}, 7]}), "success"
    )
    assert names(event, "inputs") == ["b"]
    assert caplog.text.count("left out") == 2


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 2001])
def test_a_name_that_the_graph_would_refuse_is_left_out(name: str) -> None:
    reading = read_result({"outputs": [{"namespace": "s3://raw", "name": name}]})
    assert reading.lineage.outputs == []
    assert len(reading.problems) == 1


def test_merging_keeps_order_and_prefers_its_own_facets() -> None:
    ours = OperatorLineage([InputDataset("n", "a")], [], {"x": {"by": "ours"}}, {"j": {"by": "ours"}})
    theirs = OperatorLineage([InputDataset("n", "b")], [OutputDataset("n", "c")], {"x": {"by": "theirs"}, "y": {}}, {})
    merged = ours.merge(theirs)
    assert [dataset.name for dataset in merged.inputs] == ["a", "b"]  # type: ignore[union-attr]
    assert merged.outputs == [OutputDataset("n", "c")]
    assert merged.run_facets == {"x": {"by": "ours"}, "y": {}}
    assert merged.job_facets == {"j": {"by": "ours"}}
    assert ours == OperatorLineage([InputDataset("n", "a")], [], {"x": {"by": "ours"}}, {"j": {"by": "ours"}})


class Methods:
    def none(self) -> Any:
        return "none"

    def by_name(self, *, task_instance: Any = None) -> Any:
        return task_instance

    def by_place(self, instance: Any, /) -> Any:
        return instance

    def optional(self, instance: Any = "default") -> Any:
        return instance

    def starred(self, *given: Any) -> Any:
        return given[0]

    def keywords(self, **given: Any) -> Any:
        return given["ti"]

    def both(self, ti: Any, verbose: bool = False) -> Any:
        return (ti, verbose)

    def too_many(self, ti: Any, dag: Any) -> Any:
        raise AssertionError("never called")


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("none", "none"),
        ("by_name", "TI"),
        ("by_place", "TI"),
        ("optional", "TI"),
        ("starred", "TI"),
        ("keywords", "TI"),
        ("both", ("TI", False)),
    ],
)
def test_a_method_is_called_as_its_signature_asks(method: str, result: Any) -> None:
    assert call_with_ti(getattr(Methods(), method), "TI") == result


def test_a_method_with_other_required_parameters_is_an_error() -> None:
    with pytest.raises(ConfigError, match="needs ti, dag"):
        call_with_ti(Methods().too_many, "TI")


def test_on_start_gets_ti_if_it_asks_for_it() -> None:
    class Asks(Plain):
        def get_openlineage_facets_on_start(self, ti: Any) -> Any:
            return {"runFacets": {"etl_try": {"number": ti.try_number}}}

    event = event_of(Asks(), "running", ti=SimpleNamespace(try_number=3))
    assert event["run"]["facets"]["etl_try"]["number"] == 3


class TestRegistry:
    def test_a_registered_extractor_wins_over_the_operators_own_methods(self) -> None:
        registry = ExtractorRegistry([named("AllMethods")])
        assert names(event_of(AllMethods(), "success", registry=registry), "inputs") == ["by_extractor"]

    def test_a_full_path_and_a_class_name_are_different(self) -> None:
        registry = ExtractorRegistry([named("elsewhere.AllMethods")])
        assert called_method(event_of(AllMethods(), "success", registry=registry)) == "complete"
        registry.register(named(f"{AllMethods.__module__}.AllMethods"))
        assert names(event_of(AllMethods(), "success", registry=registry), "inputs") == ["by_extractor"]

    def test_a_subclass_without_methods_is_read_by_the_extractor_of_its_parent(self) -> None:
        class Child(AllMethods):
            pass

        assert names(event_of(Child(), "success", registry=ExtractorRegistry([named("AllMethods")])), "inputs") == [
            "by_extractor"
        ]

    def test_a_subclass_with_its_own_methods_is_called_itself(self) -> None:
        class Child(AllMethods):
            def get_openlineage_facets_on_complete(self, ti: Any) -> TaskInstanceLineage:
                return lineage_on("child")

        assert called_method(event_of(Child(), "success", registry=ExtractorRegistry([named("AllMethods")]))) == "child"

    def test_a_task_type_is_a_name_too(self) -> None:
        class Decorated(Plain):
            task_type = "@task.shell"

        registry = ExtractorRegistry([named("@task.shell")])
        assert names(event_of(Decorated(), "success", registry=registry), "inputs") == ["by_extractor"]

    def test_of_two_extractors_for_a_class_the_later_wins_and_is_warned_of(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        registry = ExtractorRegistry([named("AllMethods", "first"), named("AllMethods", "second")])
        assert names(event_of(AllMethods(), "success", registry=registry), "inputs") == ["second"]
        assert "replaces" in caplog.text

    def test_registering_the_same_extractor_twice_is_not_a_conflict(self, caplog: pytest.LogCaptureFixture) -> None:
        extractor = named("AllMethods")
        ExtractorRegistry([extractor, extractor])
        assert not caplog.records

    def test_paths_are_imported_when_needed_and_broken_ones_left_out(self, caplog: pytest.LogCaptureFixture) -> None:
        registry = ExtractorRegistry(paths=f" no.such.Module ; {__name__}.Importable;; {__name__}.NotThere ")
        assert not caplog.records
        assert names(event_of(AllMethods(), "success", registry=registry), "inputs") == ["imported"]
        assert "no.such.Module cannot be used" in caplog.text
        assert "NotThere cannot be used" in caplog.text

    def test_what_is_no_extractor_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="not an extractor"):
            ExtractorRegistry([Plain])

    def test_an_extractor_for_an_older_contract_takes_the_operator_alone(self) -> None:
        seen: list[Any] = []

        class Legacy:
            def __init__(self, operator: Any) -> None:
                self.operator = operator

            @classmethod
            def get_operator_classnames(cls) -> list[str]:
                return ["Plain"]

            def extract(self) -> Any:
                return None

            def extract_on_complete(self, ti: Any) -> Any:
                seen.append(vars(self)["include_source_code"])
                return {"inputs": [{"namespace": "n", "name": "legacy"}]}

        event = event_of(Plain(), "failed", registry=ExtractorRegistry([Legacy]))
        assert names(event, "inputs") == ["legacy"]
        assert seen == [True]

    def test_an_extractor_that_raises_leaves_the_event_whole(self, caplog: pytest.LogCaptureFixture) -> None:
        class Raising(named("Plain")):  # type: ignore[misc]
            def extract(self) -> Any:
                raise KeyError("connection")

        event = event_of(Plain(), "running", registry=ExtractorRegistry([Raising]))
        assert event["eventType"] == "START"
        assert "KeyError" in caplog.text


def named(operator: str, name: str = "by_extractor") -> type[Any]:
    class Named:
        def __init__(self, operator: Any) -> None:
            self.operator = operator

        @classmethod
        def get_operator_classnames(cls) -> list[str]:
            return [operator]

        def extract(self) -> Any:
            return {"inputs": [{"namespace": "n", "name": name}]}

        def extract_on_complete(self, ti: Any) -> Any:
            return self.extract()

    return Named


Importable = named("AllMethods", "imported")


def test_warnings_come_from_the_packages_own_loggers(caplog: pytest.LogCaptureFixture) -> None:
    event_of(returning(7), "success")
    assert {record.name.split(".")[0] for record in caplog.records} == {"headwater"}
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
