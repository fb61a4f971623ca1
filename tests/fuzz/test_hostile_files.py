"""Some damaged files of each kind; `hostile_files.py` goes on for as long as one likes."""

import hostile_files

FILES = 60


def test_files_are_read_or_refused():
    counts, kept = hostile_files.run(300, seed=1, kinds=sorted(hostile_files.READERS), most=FILES)
    assert kept is None, f"{counts}; see {kept}"
    assert counts.total() == FILES
