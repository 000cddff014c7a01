"""The events of a small shop, for tests of the page: a pipeline with a failed run, versions, columns, and hostile names."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from ...queries.events import Event, run_event

NOW = datetime(2026, 2, 1, tzinfo=UTC)
PRODUCER = "https://example.org/producer/1.2.3"
JOBS, DATABASE, LAKE, WAREHOUSE = "checkout-jobs", "postgres://db:5432", "s3://checkout-lake", "warehouse"
ORDERS: Event = {"namespace": DATABASE, "name": "checkout.public.orders"}
CUSTOMERS: Event = {"namespace": DATABASE, "name": "checkout.public.customers"}
CLEAN: Event = {"namespace": LAKE, "name": "checkout/orders/clean"}
REVENUE: Event = {"namespace": WAREHOUSE, "name": "checkout.mart.daily_revenue"}
REPORT: Event = {"namespace": WAREHOUSE, "name": "checkout.mart.revenue_report"}
FAILED, LAST_GOOD, RUNNING = "checkout-revenue-4", "checkout-revenue-3", "checkout-report-running"
NIGHT = "checkout-night-4"
ERROR = "column customer_id cannot be resolved"
SQL = """-- revenue of each day and country
INSERT INTO checkout.mart.daily_revenue
SELECT order_date AS day, country, SUM(amount) AS revenue
FROM lake.orders_clean
WHERE status = 'paid' AND amount > 0.5
GROUP BY order_date, country"""
TRACE = "\n".join(
    ["org.apache.spark.sql.AnalysisException: [UNRESOLVED_COLUMN] customer_id"]
    + [f"\tat org.apache.spark.sql.Analyzer.step{at}(Analyzer.scala:{at})" for at in range(12)]
)

SCRIPT = "<script>alert(1)</script>"
MARKUP = "<img src=x onerror=alert(1)>"
RIGHT_TO_LEFT = "\u202e\u05d4\u05d6\u05de\u05e0\u05d5\u05ea\u202d.checkout"
EMOJI = "🛒 checkout orders 👩‍👩‍👧"
LONG = "checkout." + "very_long_name_" * 132 + "end"
HOSTILE = (SCRIPT, MARKUP, RIGHT_TO_LEFT, EMOJI, LONG)
HOSTILE_RUN = "checkout-hostile-run"


def facet(**members: Any) -> Event:
    return {"_producer": PRODUCER, "_schemaURL": f"{PRODUCER}#facet", **members}


def at(hour: float) -> str:
    """The time of an event, in hours before ``NOW``."""
    return (NOW - timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")


def shop_events() -> list[Event]:
    """Return all events: four nights of the pipeline, of which the last failed, a run that still runs, and hostile names."""
    return [event for night in range(1, 5) for event in _night(night)] + [*_report(), *_hostile()]


def _night(night: int) -> Iterator[Event]:
    """Yield the runs of one night: the pipeline, the load, the revenue, which failed in the last one."""
    hours = 24.0 * (4 - night) + 2
    parent = {"run": {"runId": f"checkout-night-{night}"}, "job": {"namespace": JOBS, "name": "checkout.nightly"}}
    of_night = {"run_parent": facet(**parent)}
    yield run_event(JOBS, "checkout.nightly", f"checkout-night-{night}", "START", at(hours))
    yield from _load(night, hours - 0.05, of_night)
    yield from _revenue(night, hours - 0.6, of_night)
    kind = "FAIL" if night == 4 else "COMPLETE"
    yield run_event(JOBS, "checkout.nightly", f"checkout-night-{night}", kind, at(hours - 1.1))


def _load(night: int, hours: float, of_night: dict[str, Event]) -> Iterator[Event]:
    run, name = f"checkout-load-{night}", "checkout.load_orders"
    reads = [ORDERS, CUSTOMERS] if night >= 3 else [ORDERS]
    fields = [("order_id", "bigint"), ("order_date", "date"), ("country", "string"), ("amount", "decimal(12,2)")]
    fields += [("customer", "struct")] if night >= 3 else []
    listed: list[Event] = [{"name": name, "type": kind, "description": f"{name} of the order"} for name, kind in fields]
    if night >= 3:
        listed[-1]["fields"] = [{"name": "id", "type": "bigint"}, {"name": "segment", "type": "string"}]
    checks = [{"assertion": "not_null", "column": "order_id", "success": True}]
    checks += [{"assertion": "row_count_between", "success": night != 4}]
    clean = CLEAN | {
        "facets": {
            "schema": facet(fields=listed),
            "documentation": facet(description="Paid and open orders, one row for each, without test accounts."),
            "ownership": facet(owners=[{"name": "team:checkout", "type": "MAINTAINER"}]),
            "tags": facet(tags=[{"key": "pii", "value": "true", "source": "CONFIG"}]),
            "dataQualityAssertions": facet(assertions=checks),
            "columnLineage": facet(fields={name: _from(ORDERS, name, "IDENTITY") for name, _ in fields[:4]}),
        },
        "outputFacets": {"outputStatistics": facet(rowCount=1_250_000 + night, size=84_000_000, fileCount=12)},
    }
    yield run_event(JOBS, name, run, "START", at(hours), reads, [], **of_night)
    yield run_event(JOBS, name, run, "COMPLETE", at(hours - 0.5), reads, [clean], **of_night)


def _revenue(night: int, hours: float, of_night: dict[str, Event]) -> Iterator[Event]:
    run, name = f"checkout-revenue-{night}", "checkout.daily_revenue"
    revenue = REVENUE | {
        "facets": {
            "schema": facet(
                fields=[{"name": name, "type": kind} for name, kind in (("day", "date"), ("revenue", "decimal"))]
            ),
            "columnLineage": facet(
                fields={"day": _from(CLEAN, "order_date", "IDENTITY"), "revenue": _from(CLEAN, "amount", "AGGREGATION")}
            ),
        }
    }
    of_job = {"job_sql": facet(query=SQL), "job_sourceCodeLocation": facet(type="git", version=f"c0ffee{night // 4}")}
    of_run = of_night | {"run_spark_properties": facet(properties={"spark.sql.ansi.enabled": str(night == 4).lower()})}
    yield run_event(JOBS, name, run, "START", at(hours), [CLEAN], [], **of_run, **of_job)
    if night == 4:
        error = facet(message=ERROR, programmingLanguage="SCALA", stackTrace=TRACE)
        yield run_event(
            JOBS, name, run, "FAIL", at(hours - 0.2), [CLEAN], [REVENUE], run_errorMessage=error, **of_night
        )
    else:
        yield run_event(JOBS, name, run, "COMPLETE", at(hours - 0.4), [CLEAN], [revenue], **of_run, **of_job)


def _report() -> Iterator[Event]:
    yield run_event(JOBS, "checkout.report", "checkout-report-1", "START", at(20), [REVENUE])
    yield run_event(JOBS, "checkout.report", "checkout-report-1", "COMPLETE", at(19.9), [REVENUE], [REPORT])
    yield run_event(JOBS, "checkout.report", RUNNING, "START", at(0.5), [REVENUE], [REPORT])


def _from(dataset: Event, field: str, subtype: str) -> Event:
    steps = [{"type": "DIRECT", "subtype": subtype}]
    named = {"namespace": dataset["namespace"], "name": dataset["name"], "field": field}
    return {"inputFields": [{**named, "transformations": steps}]}


def _hostile() -> Iterator[Event]:
    """Yield runs whose names and facets try to become markup, links or a broken layout."""
    links = facet(
        url="javascript:alert(1)", other=" javascript:alert(2)", data="data:text/html,<script>alert(3)</script>"
    )
    outputs: list[str | Event] = [
        {"name": name, "facets": {"dataSource": facet(name=name, uri="javascript:alert(4)"), "documentation": links}}
        for name in HOSTILE
    ]
    for number, name in enumerate(HOSTILE):
        run = HOSTILE_RUN if name == SCRIPT else f"{HOSTILE_RUN}-{number}"
        error = facet(message=MARKUP, programmingLanguage=SCRIPT, stackTrace=SCRIPT)
        facets = {
            "run_links": links,
            "run_errorMessage": error,
            "job_sql": facet(query=f"SELECT '{SCRIPT}' -- {MARKUP}"),
        }
        yield run_event(f"hostile {EMOJI}", name, run, "FAIL", at(5), [ORDERS], outputs, **facets)
