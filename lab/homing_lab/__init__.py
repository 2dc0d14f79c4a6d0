"""The lab: virtual NUMA machines that anybody can boot, and that count who served each access."""

import sys
from pathlib import Path

COMMANDS = Path(__file__).resolve().parents[2] / "commands"  # in the source tree, and where they are installed
if str(COMMANDS) not in sys.path:
    sys.path.append(str(COMMANDS))
