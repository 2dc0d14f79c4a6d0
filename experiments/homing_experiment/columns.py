"""The names of columns, of rows and of an analysis's spreadsheet, beside the campaign's factors and the settings. No
factor of one's own may have one of them."""

from __future__ import annotations

from .responses import RESPONSES

IDENTITY = ("design", "run", "block", "place", "cell", "run_seed", "started", "kind", "status", "message")
WHERE = ("commit", "parts", "host", "host_load", "host_seconds", "boot")
SAID = ("ms", "unit", "result", "pages", "moved_bytes", "note")
THIS_MACHINE = "this_machine"  # of rows with --here alone
OF_SPREADSHEETS = ("analysis", "table", "figure", "value", "low", "high", "blocks", "sure", "share", "freedom",
                   "F", "p")
# y: the response in an analysis
RESERVED = {*IDENTITY, "environment", *RESPONSES, *SAID, *WHERE, "command", *OF_SPREADSHEETS, "y", THIS_MACHINE}
