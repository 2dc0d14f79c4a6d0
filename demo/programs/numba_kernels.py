"""A Numba script on Numba's TBB threading layer, compiled once and then taken from Numba's cache."""

import sys
from pathlib import Path

from programs.base import CLIENTS, SEED, Failure, Place, Program, Step
from results import Results, parse_lines


class NumbaKernels(Program):
    name = "numba"
    title = "Numba, TBB layer"
    timed = "the kernels"

    def prepare(self, inputs: Path) -> None:
        (inputs / "numba-cache").mkdir(exist_ok=True)

    def steps(self, place: Place) -> list[Step]:
        env = {
            "NUMBA_THREADING_LAYER": "tbb",
            "NUMBA_NUM_THREADS": str(place.threads),
            "NUMBA_CACHE_DIR": str(place.inputs / "numba-cache"),
        }
        return [Step([sys.executable, str(CLIENTS / "kernels.py"), "1200", str(SEED)], env)]

    def results(self, place: Place) -> Results:
        results = parse_lines(place.stdout())
        loaded = str(results.pop("libtbb"))
        if Path(loaded).resolve() != place.libtbb.resolve():
            raise Failure(f"Numba mapped {loaded or 'no libtbb'}; {place.libtbb} was meant")
        return results
