"""python -m homing_lab.export_all XML JSON: every machine as hwloc's XML and as the plugin reads it,
in two folders, without typer."""

import sys
from pathlib import Path

from . import hand_over, hwloc_xml, machine_file


def main() -> None:
    xml, json = map(Path, sys.argv[1:3])
    for folder in (xml, json):
        folder.mkdir(parents=True, exist_ok=True)
    for name in machine_file.names():
        machine = machine_file.load(name)
        (xml / f"{name}.xml").write_text(hwloc_xml.export(machine))
        hand_over.write(machine, json / f"{name}.json")


main()
