"""python FOLDER: the command `homing lab`, without installing the package."""

from homing_lab.cli import main

main()
