"""mathicgb, Debian's: the Groebner basis of seeded random quadrics, by its matrix reduction in parallel."""

from pathlib import Path

import data
from programs.base import SEED, Place, Program, Step
from results import Results, checksum


class MathicGb(Program):
    name = "mathicgb"
    title = "mathicgb"

    def prepare(self, inputs: Path) -> None:
        data.polynomial_system(inputs / "quadrics.ideal", seed=SEED, variables=10, degree=2, count=10)

    def steps(self, place: Place) -> list[Step]:
        # mgb writes its result beside the input's name, so the input is linked into the run's own folder.
        link = place.out / "quadrics.ideal"
        link.symlink_to(place.inputs / "quadrics.ideal")
        return [Step(["mgb", "gb", "quadrics", "-reducer", "26", "-outputResult", "on",
                      "-threadCount", str(place.threads)])]

    def results(self, place: Place) -> Results:
        # A basis is a set: mgb writes equal polynomials, in an order that now and then differs, also on stock.
        header, size, *polynomials = (place.out / "quadrics.gb").read_text().split("\n")
        basis = sorted(line.strip() for line in polynomials)
        return {"ring": header, "size": size, "basis": checksum("\n".join(basis).encode())}
