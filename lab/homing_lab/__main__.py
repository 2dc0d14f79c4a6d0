"""python -m homing_lab: the command `homing lab`."""

from .cli import main

main()
