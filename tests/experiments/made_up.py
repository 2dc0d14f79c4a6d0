"""A campaign with rows whose effects are known, for the tests beside this. Needs the packages of scripts/setup experiment; whoever
imports it without them is skipped."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments"))

try:
    import numpy as np
    import pandas  # noqa: F401
    import matplotlib  # noqa: F401
    import scipy  # noqa: F401
    import statsmodels  # noqa: F401
except ModuleNotFoundError as missing:
    print(f"skipped: no {missing.name} (scripts/setup experiment)")
    sys.exit(77)

from homing_experiment import campaign, cli, design, rows  # noqa: E402
from homing_experiment.progress import Progress  # noqa: E402

CAMPAIGN = """
schema = 1
name = "made-up"
seed = 1
replicates = 6
[fixed]
machine = "westmere"
threads = 4
[factors]
program = ["cg", "mg"]
variant = ["tbb", "homing", "homing-placed"]
[[analysis]]
name = "time"
response = "median_ms"
baseline = { variant = "tbb" }
contrasts = [{ factor = "variant", plus = ["homing-placed"], minus = ["tbb"] }]
against = { factor = "variant", level = "homing-placed", best_of = ["tbb", "homing"], paper = { cg = 0.6, mg = 0.4 } }
[[analysis]]
name = "lines"
response = "remote_dram"
factors = ["variant"]
only = { program = "cg" }
"""
FACTOR = {"tbb": 1.0, "homing": 0.8, "homing-placed": 0.4}


class Campaign(unittest.TestCase):
    """A campaign with its rows, and the command."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "campaign.toml"
        self.file.write_text(CAMPAIGN)
        self.design = design.load(self.file)
        self.store = rows.Rows(self.folder / "rows" / "made-up.csv", self.design)
        source = np.random.default_rng(2)

        def answer(_, __, batch, ended):
            found = []
            for run in batch:
                levels = dict(run.cell.levels)
                size = FACTOR[levels["variant"]] * (10 if levels["program"] == "cg" else 1) * float(np.exp(source.normal(0, 0.03)))
                found.append({"run": run, "status": "ok", "kind": "modelled", "median_ms": size, "remote_dram": int(1e5 * size), "local_dram": 5,
                              "local_cache": 4, "remote_cache": 3, "parts": "x", "host_seconds": 1.0, "command": "cg"})
            return found

        campaign.run(self.design, SimpleNamespace(commit="c"), self.store, campaign.Bounds(), Progress(False), answer)

    def command(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), self.assertRaises(SystemExit) as ended:
            sys.argv = ["homing-experiment", *words]
            cli.main()
        return ended.exception.code or 0, out.getvalue(), err.getvalue()
