"""python -m homing_lab.export_all FOLDER: every machine as hwloc's XML, without typer."""

import sys
from pathlib import Path

from . import hwloc_xml, machine_file


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in machine_file.names():
        (folder / f"{name}.xml").write_text(hwloc_xml.export(machine_file.load(name)))


main()
