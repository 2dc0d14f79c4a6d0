"""Builds and runs oneTBB's own tests against a libtbb.so.12, and compares with what is expected."""
