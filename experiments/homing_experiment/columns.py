"""The names of a row's columns, beside the campaign's factors and the settings. No factor of one's own may have one of them."""

from __future__ import annotations

from .responses import RESPONSES

IDENTITY = ("design", "run", "block", "place", "cell", "run_seed", "started", "kind", "status", "message")
WHERE = ("commit", "parts", "host", "host_load", "host_seconds", "boot")
SAID = ("ms", "unit", "result", "pages", "moved_bytes", "note")
RESERVED = {*IDENTITY, "environment", *RESPONSES, *SAID, *WHERE, "command", "y"}  # y: the response in an analysis
