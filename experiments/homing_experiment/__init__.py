"""Designed experiments: campaigns of runs on virtual and real machines, and what their rows mean."""

import sys
from pathlib import Path

COMMANDS = Path(__file__).resolve().parents[2] / "commands"  # in the source tree, and where they are installed
if str(COMMANDS) not in sys.path:
    sys.path.append(str(COMMANDS))
