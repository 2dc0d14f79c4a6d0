"""lab-run.json: what was run, beside the counts in the folder of --results, for reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .errors import LabError
from .output import write_text

if TYPE_CHECKING:
    from .machine import Machine
    from .run import Options
    from .session import Outcome

NAME = "lab-run.json"
SCHEMA = 1


def write(options: Options, machine: Machine, outcome: Outcome | None = None) -> None:
    """Before the machine boots, without an outcome; again when it is off."""
    if options.results is None:
        return
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "virtual": True,
        "words": options.words,
        "machine": machine.name,
        "architecture": options.architecture.name,
        "machine_file": machine.file.read_text(encoding="utf-8"),
        "cache_scale": options.cache_scale,
        "memory_mib": options.memory_mib,
        "user": options.user,
        "tbb": options.tbb or None,
        "numa_balancing": options.numa_balancing or None,
        "thp": options.thp or None,
        "quantum_cycles": options.quantum,
        "exit_status": outcome.status if outcome else None,
    }
    file = options.results / NAME
    try:
        if outcome is None:
            # Figures of an earlier run must not be taken for this one's, should it fail.
            for name in ("counts.json", "hot.json"):
                (options.results / name).unlink(missing_ok=True)
        write_text(file, json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise LabError(f"can't write {error.filename or file}: {error.strerror}") from error
