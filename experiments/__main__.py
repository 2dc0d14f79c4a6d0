"""python FOLDER: the command `homing experiment`, without installing the package."""

from homing_experiment.cli import main

main()
