"""The command `harelc new`: a machine to begin with, small and without a finding (build.md section 1)."""

from __future__ import annotations

import re
from pathlib import Path

from . import console
from .outputs import write_atomically
from .project import SUFFIX, shown

_TEXT = """\
# harelc build {file}
# harelc run {file} -e Submit -e 'PaymentResult:{{"status": "authorized"}}'

event Submit {{}}
event PaymentResult {{ status: string }}

guard authorized = status == "authorized"

## From the first click to the receipt. Say here what the machine is for.
machine {machine} version 1 {{
  initial Draft

  state Draft {{}}

  ## Waits for the payment, fifteen minutes at most.
  state AwaitingPayment {{
    timeout 15m
  }}

  final Paid success {{}}
  final Abandoned abandoned {{}}

  from Draft to AwaitingPayment on Submit
  from AwaitingPayment to Paid on PaymentResult where authorized
  from AwaitingPayment to Abandoned on PaymentResult | Timeout
}}
"""


def write_starter(file: Path) -> int:
    """Write the starter to a `.stm` file that is not there yet; the machine is named like the file.

    Raises:
        Refusal: the file exists, or its name does not end in `.stm`.
        OSError: it cannot be written.
    """
    if file.suffix != SUFFIX:
        raise console.Refusal(f"{file}: a source's name ends in {SUFFIX}")
    machine = re.sub(r"\W", "_", file.stem, flags=re.ASCII) or "machine"
    if machine[0].isdigit():
        machine = f"_{machine}"
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists():
        raise console.Refusal(f"{file} exists already; choose another name")
    write_atomically(file, _TEXT.format(file=shown(file), machine=machine))
    print(f"wrote {file}; next: harelc build {shown(file)}")
    return console.FINE
