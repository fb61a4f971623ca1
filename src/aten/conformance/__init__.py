"""Comparing a device with the CPU, operator by operator; see `aten conformance --help`."""

from aten.conformance.examination import (
    Limits,
    Outcome,
    check,
    check_decompositions,
    operator_names,
    summary,
    write_json,
    write_junit,
)

__all__ = [
    "Limits",
    "Outcome",
    "check",
    "check_decompositions",
    "operator_names",
    "summary",
    "write_json",
    "write_junit",
]
