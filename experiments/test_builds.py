"""Which build a campaign is run with: an installed command has none, and says so; a plan is checked against the one at hand, as a
run is. Method: a build with one made-up program, and the command in this process."""

import contextlib
import io
import os
import unittest
from unittest import mock

from test_campaign import Build

from homing_experiment import places
from homing_experiment.errors import ExperimentError


class Builds(Build):
    def command(self, *words):
        try:
            from homing_experiment import cli
        except ModuleNotFoundError as missing:
            self.skipTest(f"no {missing.name}")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), self.assertRaises(SystemExit) as ended:
            with mock.patch("sys.argv", ["homing-experiment", *map(str, words)]):
                cli.main()
        return ended.exception.code or 0, out.getvalue(), err.getvalue()

    def test_a_plan_is_checked_as_a_run_is(self):
        file = self.load(self.text).path
        self.assertEqual(self.command("run", "--dry", file, "--build", self.folder)[::2], (0, ""))
        file.write_text(self.text.replace('"tbb"', '"bogus"'))
        seen = self.command("run", "--dry", file, "--build", self.folder)
        self.assertEqual((*seen[:2], "'bogus'; expected one of cg's variants" in seen[2]), (2, "", True))
        with mock.patch.dict("os.environ", {"HOMING_EXPERIMENT_BUILD": str(self.folder / "none")}):
            code, out, err = self.command("run", "--dry", file)
        self.assertEqual((code, len(out.splitlines()), "not checked" in err), (0, 12, True))

    def test_a_command_without_its_source_tree(self):
        with mock.patch.object(places, "ROOT", self.folder / "prefix/lib/homing"), mock.patch.dict("os.environ"):
            os.environ.pop("HOMING_EXPERIMENT_BUILD", None)
            with self.assertRaises(ExperimentError) as caught:
                places.Places.find(None, None)
            for word in ("installed without the programs", "--build DIR", "HOMING_EXPERIMENT_BUILD=DIR"):
                self.assertIn(word, str(caught.exception))
            self.assertEqual(places.Places.find(self.folder, self.folder / "stock"), self.places)


if __name__ == "__main__":
    unittest.main()
