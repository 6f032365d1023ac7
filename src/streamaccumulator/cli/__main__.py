"""`python -m streamaccumulator.cli`: the same command where the script `streamacc` is not on the path."""

import sys

from .command import main

sys.exit(main())
