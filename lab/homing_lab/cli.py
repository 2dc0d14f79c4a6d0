"""The words of `homing lab`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from . import hand_over, machine_file
from .errors import LabError

app = typer.Typer(name="homing lab", no_args_is_help=True, add_completion=False,
                  context_settings={"help_option_names": ["-h", "--help"]},
                  help="Virtual NUMA machines that anybody can boot, and that count who served each access.")

Name = Annotated[str, typer.Argument(help="a machine of `homing lab list`, or a file .toml")]


@app.command("machine-json")
def machine_json(name: Name, cache_scale: Annotated[float, typer.Option(help="divide the caches' sizes")] = 1,
                 output: Annotated[Optional[Path], typer.Option("--output", "-o", help="a file")] = None) -> None:
    """Print what the plugin is given: the machine with dense matrices and all routes."""
    machine = machine_file.load(name)
    machine.cache_scale = cache_scale
    text = json.dumps(hand_over.machine_json(machine), indent=1) + "\n"
    if output:
        output.write_text(text)
    else:
        sys.stdout.write(text)


def main() -> None:
    try:
        app(prog_name="homing lab", standalone_mode=True)
    except LabError as error:
        print(f"homing lab: {error}", file=sys.stderr)
        raise SystemExit(error.code) from None
