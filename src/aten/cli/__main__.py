"""`python -m aten.cli`."""

import sys

from aten.cli import main

sys.exit(main())
