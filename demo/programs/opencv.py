"""Debian's OpenCV: a chain of image operations, threaded by the library itself."""

from pathlib import Path

from programs.base import SEED, Failure, Place, Program, Step, compile_client
from results import Results, parse_lines


class OpenCv(Program):
    name = "opencv"
    title = "OpenCV"
    timed = "the operations"

    def prepare(self, inputs: Path) -> None:
        compile_client("opencv", inputs, ["-I/usr/include/opencv4", "-lopencv_imgproc", "-lopencv_core"])

    def steps(self, place: Place) -> list[Step]:
        return [Step([str(place.inputs / "opencv"), "2200", str(SEED)])]

    def results(self, place: Place) -> Results:
        results = parse_lines(place.stdout())
        if not str(results["framework"]).startswith("TBB"):
            raise Failure(f"this OpenCV is built with {results['framework']}, not TBB")
        return results
