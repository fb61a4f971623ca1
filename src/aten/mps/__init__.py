"""Apple's GPUs, none of them here: what is asked is answered, what needs one says so."""

from aten.names.absent_devices import answers

globals().update(answers("mps"))
