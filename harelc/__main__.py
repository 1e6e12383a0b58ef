"""`python -m harelc` is the command `harelc` (build.md section 5)."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
