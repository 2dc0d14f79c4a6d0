"""OpenVDB's own tools, Debian's: points to a level set, smoothed, meshed, and ray-traced to an image."""

from pathlib import Path

import data
from programs.base import SEED, Place, Program, Step
from results import Results, file_checksum


class OpenVdb(Program):
    name = "openvdb"
    title = "OpenVDB tools"

    def prepare(self, inputs: Path) -> None:
        data.point_cloud(inputs / "points.pts", seed=SEED, count=20_000)

    def steps(self, place: Place) -> list[Step]:
        return [
            Step(["vdb_tool", "-read", str(place.inputs / "points.pts"), "-points2ls", "dim=56", "radius=3", "width=3",
                  "-gauss", "iter=1", "size=1", "-ls2mesh", "keep=1", "-write", "out.vdb", "vdb=0", "-write", "out.ply"]),
            Step(["vdb_render", "out.vdb", "out.ppm", "-res", "480x360"]),
        ]

    def results(self, place: Place) -> Results:
        # out.vdb itself carries a fresh UUID each time.
        return {name: file_checksum(place.out / name) for name in ("out.ply", "out.ppm")}
