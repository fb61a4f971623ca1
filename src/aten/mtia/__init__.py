"""MTIA accelerators, of which there are none: questions have answers, and what needs a device says so."""

from aten.absent_devices import answers

globals().update(answers("mtia"))
