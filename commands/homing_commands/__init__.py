"""What the commands in Python share: `homing lab` and `homing experiment`."""
