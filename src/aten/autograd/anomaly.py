"""Anomaly detection: errors on the way back name the line on the way there."""

from __future__ import annotations

from typing import Any

from aten._core.autograd import node


class set_detect_anomaly:  # noqa: N801
    """Turns detection on or off; as a context, until its end.

    While it is on, operators note where they were recorded, and gradients that are NaN (unless
    `check_nan` is False) raise RuntimeError.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = node.anomaly_detection()
        node.set_anomaly_detection(bool(mode), check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: Any) -> None:
        node.set_anomaly_detection(*self._before)


class detect_anomaly:  # noqa: N801
    """`set_detect_anomaly(True)` until the context's end."""

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan

    def __enter__(self) -> None:
        self._before = node.anomaly_detection()
        node.set_anomaly_detection(True, self._check_nan)

    def __exit__(self, *exc_info: Any) -> None:
        node.set_anomaly_detection(*self._before)
