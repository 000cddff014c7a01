"""Operations on fields as text."""

from __future__ import annotations

from headwater_graph.queries.fields.field_operations_facet import INFLUENCES, FieldOperation
from headwater_graph.queries.fields.operations import OperationsAnswer, Step

from .formats import STATE_COLOURS, Paint, plain


def operations_text(answer: OperationsAnswer, paint: Paint = plain) -> str:
    """Return the steps as text, nearest first: the columns, the run that made them, and its operations in their order."""
    lines = [line for step in answer.steps for line in _step_lines(step, paint)]
    lines += [f"cut: {truncation.why} (--depth N or all, --nodes N)" for truncation in answer.truncations]
    return "\n".join(lines)


def _step_lines(step: Step, paint: Paint) -> list[str]:
    made = f"{paint('dataset', 'cyan')} {' '.join(step.dataset)}  {paint(', '.join(step.columns), 'green')}"
    state = paint(step.state or "", STATE_COLOURS.get(step.state or "", "reset"))
    ran = f"└─ {paint('job', 'yellow')} {' '.join(step.job)}  · run {step.run} {state} {step.at or ''}".rstrip()
    width = max((len(operation.name) for operation in step.operations), default=0)
    lines = [f"      {_operation_line(operation, width)}".rstrip() for operation in step.operations]
    return [made, ran, *lines, *([f"      cut: {step.truncated}"] if step.truncated else [])]


def _operation_line(operation: FieldOperation, width: int) -> str:
    inputs = ", ".join(dict.fromkeys(source.name for source in operation.inputs))
    outputs = ", ".join(operation.outputs) or ("*" if operation.kind in INFLUENCES else "")
    match operation.type, operation.dataset:
        case "read", dataset if dataset:
            inputs = " ".join(dataset.key)
        case "write", dataset if dataset:
            outputs = " ".join(dataset.key)
    notes = [
        note
        for note in (operation.kind, operation.description, operation.masking and "masks", operation.guess and "guess")
        if note
    ]
    line = f"{operation.name.ljust(width)}  {inputs or 'nothing'} → {outputs or 'nothing'}"
    return line + (f"  ({'; '.join(notes)})" if notes else "")
