"""GCC's C++17 parallel algorithms: sort, scan, reduce and more of `std::execution::par`."""

from pathlib import Path

from programs.base import SEED, Place, Program, Step, compile_client
from results import Results, parse_lines


class Stl(Program):
    name = "stl"
    title = "C++ parallel STL"
    timed = "the algorithms"

    def prepare(self, inputs: Path) -> None:
        compile_client("stl", inputs, ["-ltbb"])

    def steps(self, place: Place) -> list[Step]:
        return [Step([str(place.inputs / "stl"), "3000000", str(SEED)])]

    def results(self, place: Place) -> Results:
        return parse_lines(place.stdout())
