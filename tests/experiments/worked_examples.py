#!/usr/bin/env python3
"""Property: `homing experiment analyse` finds what published worked examples found. Method: the data of Jain's book (1991) and of
Box and Cox (1964), and made-up data whose effects are known. Needs the packages of scripts/setup experiment; else skipped."""

import csv
import json
import signal
import unittest
from unittest import mock

from made_up import Campaign  # skips, too

import numpy as np
import pandas as pd
from scipy import stats

from homing_experiment import analyse, assumptions, bootstrap, box_cox
from homing_experiment import cli, rows, tables
from homing_experiment.errors import ExperimentError
from homing_experiment.factorial import Factorial


def frame(table: dict, names: tuple[str, str]) -> pd.DataFrame:
    """{level: {level: values}}"""
    return pd.DataFrame([{names[0]: a, names[1]: b, "y": y} for a, row in table.items() for b, ys in row.items() for y in ys])


# Jain, chapter 18: memory and cache of a workstation, three replicates, in MIPS.
MEMORY = frame({-1: {-1: (15, 18, 12), 1: (25, 28, 19)}, 1: {-1: (45, 48, 51), 1: (75, 75, 81)}}, ("memory", "cache"))
# Jain, chapter 20: code sizes on three processors.
CODE = pd.DataFrame([{"processor": p, "y": y} for p, ys in (("R", (144, 120, 176, 288, 144)), ("V", (101, 144, 211, 288, 72)),
                                                            ("Z", (130, 180, 141, 374, 302))) for y in ys])
# Jain, chapter 21: caches and workloads, without replicates, in ms.
CACHES = frame({"ASM": {2: [54.0], 1: [55.0], 0: [106.0]}, "TECO": {2: [60.0], 1: [60.0], 0: [123.0]}, "SIEVE": {2: [43.0], 1: [43.0], 0: [120.0]},
                "DHRYSTONE": {2: [49.0], 1: [52.0], 0: [111.0]}, "SORT": {2: [49.0], 1: [50.0], 0: [108.0]}}, ("workload", "caches"))
# Jain, table 22.2: code sizes of five workloads on four processors, as logarithms to the base of ten; three replicates.
SIZES = frame({"I": {"W": (3.8455, 3.8191, 3.8634), "X": (4.0807, 4.0717, 4.1164), "Y": (4.4633, 4.4321, 4.4779),
                     "Z": (3.9958, 3.9641, 4.0015)},
               "J": {"W": (3.5061, 3.4598, 3.5469), "X": (3.7095, 3.7507, 3.6635), "Y": (3.9523, 3.9066, 3.9857),
                     "Z": (3.6184, 3.6291, 3.6091)},
               "K": {"W": (3.6727, 3.6933, 3.6498), "X": (3.9735, 3.9510, 3.9984), "Y": (4.2953, 4.2866, 4.3247),
                     "Z": (3.8506, 3.8440, 3.8246)},
               "L": {"W": (3.7082, 3.7410, 3.6761), "X": (3.7492, 3.7743, 3.7127), "Y": (4.3491, 4.3636, 4.3313),
                     "Z": (3.7288, 3.7585, 3.6959)},
               "M": {"W": (3.8330, 3.8056, 3.8578), "X": (4.0879, 4.0790, 4.1131), "Y": (4.4558, 4.4289, 4.4851),
                     "Z": (3.9914, 3.9688, 4.0100)}}, ("workload", "processor"))
# Box and Cox (1964), table 1: survival times of animals, in units of 10 hours.
POISONS = frame({"I": {"A": (.31, .45, .46, .43), "B": (.82, 1.10, .88, .72), "C": (.43, .45, .63, .76), "D": (.45, .71, .66, .62)},
                 "II": {"A": (.36, .29, .40, .23), "B": (.92, .61, .49, 1.24), "C": (.44, .35, .31, .40), "D": (.56, 1.02, .71, .38)},
                 "III": {"A": (.22, .21, .18, .23), "B": (.30, .37, .38, .29), "C": (.23, .25, .24, .22), "D": (.30, .36, .31, .33)}},
                ("poison", "treatment"))

# Montgomery, table 4.3: the yield of vascular grafts by extrusion pressure; each block is a batch of resin.
GRAFTS = pd.DataFrame([{"pressure": pressure, "block": batch, "y": y} for pressure, ys in (
    (8500, (90.3, 89.2, 98.2, 93.9, 87.4, 97.9)), (8700, (92.5, 89.5, 90.6, 94.7, 87.0, 95.8)),
    (8900, (85.5, 90.8, 89.6, 86.2, 88.0, 93.4)), (9100, (82.5, 89.5, 85.6, 87.4, 78.9, 90.7))) for batch, y in enumerate(ys)])


class Published(unittest.TestCase):
    def near(self, found, expected, places=2):
        self.assertAlmostEqual(found, expected, places)

    def effect(self, model, *levels):
        return next(one for one in model.effects() if one.levels == levels)

    def test_two_squared_with_three_replicates(self):
        model = Factorial(MEMORY, ["memory", "cache"], 0.9)
        self.near(model.mean().value, 41)
        for levels, value, low, high in (((1,), 21.5, 19.58, 23.42), ((1, 1), 5, 3.08, 6.92)):
            found = self.effect(model, *levels)
            self.near(found.value, value)
            self.near(found.low, low)
            self.near(found.high, high)
        cache = [one for one in model.effects() if one.term == ("cache",) and one.levels == (1,)][0]
        self.near(cache.value, 9.5)
        self.near(model.error_deviation, 3.57)
        squares = {row.name: row for row in model.anova()}
        for name, value, percent in (("memory", 5547, 78.88), ("cache", 1083, 15.40), ("memory x cache", 300, 4.27), ("errors", 102, 1.45), ("total", 7032, 100)):
            self.near(squares[name].sum_of_squares, value)
            self.near(squares[name].percent, percent)
        self.assertEqual([row.freedom for row in model.anova()], [1, 1, 1, 8, 11])

    def test_a_contrast(self):
        """The difference of two levels is twice the effect, with twice its interval."""
        model = Factorial(MEMORY, ["memory", "cache"], 0.9)
        found = model.contrast("memory", [1], [-1])
        self.near(found.value, 43)
        self.near(found.high - found.value, 2 * 1.92, 1)
        self.assertTrue(found.significant)
        self.assertRaises(ExperimentError, model.contrast, "memory", [7], [1])

    def test_one_factor(self):
        model = Factorial(CODE, ["processor"], 0.9)
        self.near(model.mean().value, 187.67)
        for level, value in (("R", -13.27), ("V", -24.47), ("Z", 37.73)):
            self.near(self.effect(model, level).value, value)
        processors, errors, total = model.anova()
        self.near(processors.sum_of_squares, 10992.13)
        self.near(errors.sum_of_squares, 94365.20)
        self.near(total.sum_of_squares, 105357.33)
        self.near(processors.f, 0.7, 1)
        self.near(model.error_deviation, 88.7, 1)
        self.assertFalse(any(one.significant for one in model.effects()))

    def test_two_factors_without_replicates(self):
        """The interaction is the error."""
        model = Factorial(CACHES, ["workload", "caches"], 0.9)
        self.near(model.mean().value, 72.2)
        for level, value in ((2, -21.2), (1, -20.2), (0, 41.4), ("TECO", 8.8), ("SIEVE", -3.5)):
            self.near(self.effect(model, level).value, value, 1)
        workloads, caches, errors, total = model.anova()
        self.near(caches.sum_of_squares, 12857.20)
        self.near(workloads.sum_of_squares, 308.40)
        self.near(errors.sum_of_squares, 236.80)
        self.near(total.sum_of_squares, 13402.40)
        self.near(caches.f, 217.2, 1)
        self.near(workloads.f, 2.6, 1)

    def test_two_factors_with_replicates(self):
        """Jain, tables 22.3 and 22.4, which he computes from rounded means: so the last digit may differ by one. Of his
        analysis of variance, what slides on it say (A. Milenkovic, CPE 619): interactions explain less than 5%, and all
        three effects are significant at a level of 0.10."""
        model = Factorial(SIZES, ["workload", "processor"], 0.9)
        printed = {(): 3.9423, ("W",): -0.2304, ("X",): -0.0202, ("Y",): 0.3603, ("Z",): -0.1096,
                   ("I",): 0.1520, ("J",): -0.2475, ("K",): 0.0047, ("L",): -0.0599, ("M",): 0.1507}
        for workload, values in (("I", (-0.0212, 0.0155, 0.0032, 0.0024)), ("J", (0.0399, 0.0333, -0.1069, 0.0337)),
                                 ("K", (-0.0447, 0.0475, -0.0051, 0.0023)), ("L", (0.0564, -0.1168, 0.1054, -0.0450)),
                                 ("M", (-0.0305, 0.0205, 0.0033, 0.0066))):
            printed |= {(workload, processor): value for processor, value in zip("WXYZ", values)}
        found = {one.levels: one.value for one in model.effects()} | {(): model.mean().value}
        self.assertEqual(set(found), set(printed))
        for levels, value in printed.items():
            self.assertAlmostEqual(found[levels], value, delta=1.5e-4, msg=levels)
        squares = model.anova()
        self.assertEqual([row.freedom for row in squares], [4, 3, 12, 40, 59])
        self.assertTrue(all(row.p < 0.1 for row in squares[:3]))
        self.assertLess(next(row.percent for row in squares if row.name == "workload x processor"), 5)

    def test_blocks(self):
        """Montgomery, table 4.4."""
        pressure, blocks, errors, total = Factorial(GRAFTS, ["pressure"], 0.95, []).anova()
        for row, squares, freedom in ((pressure, 178.17, 3), (blocks, 192.25, 5), (errors, 109.89, 15), (total, 480.31, 23)):
            self.near(row.sum_of_squares, squares)
            self.assertEqual(row.freedom, freedom)
        self.assertEqual(blocks.name, "blocks")
        self.near(pressure.f, 8.11)
        self.near(pressure.p, 0.0019, 4)

    def test_box_and_cox(self):
        model = Factorial(POISONS, ["poison", "treatment"], 0.95)
        poison, treatment, both, errors, _ = model.anova()
        self.near(poison.sum_of_squares, 1.0330, 4)
        self.near(treatment.sum_of_squares, 0.9212, 4)
        self.near(both.sum_of_squares, 0.2501, 4)
        self.near(errors.sum_of_squares, 0.8007, 4)
        additive = model.matrix[:, :6]  # the mean, two poisons, three treatments
        found = box_cox.profile(POISONS["y"].to_numpy(), additive)
        self.near(found.best, -0.75, 2)
        self.near(found.low, -1.13, 1)
        self.near(found.high, -0.37, 1)

    def test_blocks_within_a_factor(self):
        """Each program has another input in each block: what that explains is no error, and moves no effect."""
        inputs = {"a": (0, 40, -40), "b": (5, -5, 0)}
        noise = {0: (1, -1, 0), 1: (-1, 1, 0)}
        data = pd.DataFrame([{"program": p, "scenario": s, "block": b, "y": 100 + (10 if s else -10) + inputs[p][b] + noise[s][b]}
                             for p in inputs for s in noise for b in range(3)])
        within, without = (Factorial(data, ["program", "scenario"], 0.95, blocks) for blocks in (["program"], None))
        squares = {row.name: row for row in within.anova()}
        self.near(squares["errors"].sum_of_squares, 8)
        self.assertEqual(squares["errors"].freedom, 4)
        self.near(squares["blocks within program"].sum_of_squares, 2 * (2 * 40**2 + 2 * 5**2))
        self.assertEqual(squares["blocks within program"].freedom, 4)
        self.near(sum(row.percent for row in within.anova()[:-1]), 100)
        for one, other in zip(within.effects(), without.effects()):
            self.near(one.value, other.value)
        scenario = within.contrast("scenario", [1], [0])
        self.near(scenario.value, 20)
        self.assertLess(scenario.high - scenario.value, 0.1 * (without.contrast("scenario", [1], [0]).high - scenario.value))
        self.near(float(np.abs(within.residuals).max()), 1)

    def test_what_differs_between_groups_of_blocks(self):
        """The mean and the program's effect hang on the inputs that were drawn: F and intervals are those of one mean
        an input, as of whole plots. Independent: scipy on these means. What is within a program is over the errors."""
        source = np.random.default_rng(8)
        data = pd.DataFrame([{"program": p, "scenario": s, "block": b,
                              "y": 10 * p + 3 * s + drawn + source.normal(0, 0.1)}
                             for p in range(3) for b, drawn in enumerate(source.normal(0, 2, 4)) for s in range(5)])
        model = Factorial(data, ["program", "scenario"], 0.95, ["program"])
        inputs = data.groupby(["program", "block"])["y"].mean()
        expected = stats.f_oneway(*(inputs[p] for p in range(3)))
        found = {row.name: row for row in model.anova()}
        self.near(found["program"].f, expected.statistic, 6)
        self.near(found["program"].p, expected.pvalue, 8)
        self.assertEqual((found["program"].against, found["scenario"].against), ("blocks within program", "errors"))
        contrast = model.contrast("program", [1], [0])
        spread = np.sqrt(sum(((inputs[p] - inputs[p].mean()) ** 2).sum() for p in range(3)) / 9)
        self.near(contrast.high - contrast.value, float(stats.t.ppf(0.975, 9) * spread * np.sqrt(2 / 4)), 6)
        self.near(model.mean().high - model.mean().value, float(stats.t.ppf(0.975, 9) * spread / np.sqrt(12)), 6)
        scenario = model.contrast("scenario", [1], [0])
        t = float(stats.t.ppf(0.975, model.error_freedom))
        self.near(scenario.high - scenario.value, t * model.error_deviation * float(np.sqrt(2 / 12)), 6)
        for levels in (model.level_means("scenario")[0], model.weigh((), (), np.eye(15)[0])):  # of both
            self.assertTrue(scenario.high - scenario.value < levels.high - levels.value < 10)
        whole = Factorial(GRAFTS, ["pressure"], 0.95, []).mean()
        batches = GRAFTS.groupby("block")["y"].mean()
        self.near(whole.high - whole.value, float(stats.t.ppf(0.975, 5) * batches.std() / np.sqrt(6)), 6)
        without = Factorial(data, ["program", "scenario"], 0.95).anova()
        self.assertEqual([row.against for row in without], ["errors"] * 3 + [None] * 2)

    def test_a_block_that_is_not_whole_is_left_out(self):
        data = pd.DataFrame([{"block": block, "cell": cell} for block in range(3) for cell in "abc"])
        found = {"remarks": []}
        whole, blocks = analyse._whole_blocks(data, ["program"], found)
        self.assertEqual((len(whole), blocks), (9, ["program"]))
        self.assertEqual(found["remarks"], [])
        part = data.drop(index=[4])
        self.assertEqual(sorted(set(analyse._whole_blocks(part, [], found)[0]["block"])), [0, 2])
        self.assertEqual(found["remarks"], ["2 runs of blocks that are not whole are not in the analysis of variance"])
        parts = data.drop(index=[0, 4, 8])
        whole, blocks = analyse._whole_blocks(parts, [], found)
        self.assertEqual((len(whole), blocks), (6, None))
        self.assertEqual(found["remarks"][1:], ["no block is whole: what blocks explain counts as errors"])

    def test_jain_s_contrast_of_effects(self):
        """q_A + q_B - 2 q_AB of chapter 18: 21, from 16.31 to 25.69 at 90%."""
        model = Factorial(MEMORY, ["memory", "cache"], 0.9)
        signs = {cell: cell for cell in model.cells}
        weights = np.array([(a + b - 2 * a * b) / 4 for a, b in signs])
        found = model.weigh((), (), weights)
        self.near(found.value, 21)
        self.near(found.low, 16.31, 1)
        self.near(found.high, 25.69, 1)


class Decisions(unittest.TestCase):
    def made_up(self, make, replicates=6, seed=3):
        source = np.random.default_rng(seed)
        return pd.DataFrame([{"a": a, "b": b, "block": r, "place": (3 * r + 2 * a + b) % 6, "y": make(a, b, source)}
                             for a in range(3) for b in range(2) for r in range(replicates)])

    def remarks(self, data):
        return assumptions.remarks(Factorial(data, ["a", "b"], 0.95), data)

    def test_errors_that_grow_want_a_logarithm(self):
        data = self.made_up(lambda a, b, s: float(np.exp(a + 3 * b + s.normal(0, 0.2))), 12)
        model = Factorial(data, ["a", "b"], 0.95)
        transform, reason = box_cox.decide("auto", data["y"].to_numpy(), box_cox.profile(data["y"].to_numpy(), model.matrix))
        self.assertEqual(transform, "log")
        self.assertIn("lambda", reason)
        self.assertTrue(any("errors grow" in remark for remark in self.remarks(data)))
        logged = data.assign(y=np.log(data["y"]))
        self.assertEqual(self.remarks(logged), [])
        change = Factorial(logged, ["a", "b"], 0.95).contrast("b", [1], [0])
        self.assertLess(change.low, 3)
        self.assertGreater(change.high, 3)

    def test_even_errors_want_none(self):
        data = self.made_up(lambda a, b, s: float(10 + 3 * a + 2 * b + s.normal(0, 0.5)))
        model = Factorial(data, ["a", "b"], 0.95)
        self.assertEqual(box_cox.decide("auto", data["y"].to_numpy(), box_cox.profile(data["y"].to_numpy(), model.matrix))[0], "none")
        self.assertEqual(self.remarks(data), [])

    def test_what_fails_is_said(self):
        source = np.random.default_rng(1)
        spike = self.made_up(lambda a, b, s: 10.0 + s.normal(0, 0.1))
        spike.loc[[3, 20], "y"] += 5
        self.assertTrue(any("not normal" in remark for remark in self.remarks(spike)))
        blocks = self.made_up(lambda a, b, s: float(s.normal(0, 0.1)))
        blocks["y"] += blocks["block"]
        self.assertTrue(any("blocks differ" in remark for remark in self.remarks(blocks)))
        order = self.made_up(lambda a, b, s: float(s.normal(0, 0.1)))
        order["place"] = source.integers(0, 100, len(order))
        order["y"] += 0.05 * order["place"]
        self.assertTrue(any("follow the order" in remark for remark in self.remarks(order)))
        uneven = self.made_up(lambda a, b, s: float(s.normal(0, 1))).iloc[:-1]
        self.assertTrue(any("not balanced" in remark for remark in self.remarks(uneven)))
        exact = self.made_up(lambda a, b, s: float(a))
        self.assertTrue(any("no errors" in remark for remark in self.remarks(exact)))
        self.assertIsNone(box_cox.profile(exact["y"].to_numpy(), Factorial(exact, ["a", "b"], 0.95).matrix))

    def test_false_alarms(self):
        """Of data that is as the model says: five questions, each wrong once in a hundred; with two runs a cell,
        too."""
        source = np.random.default_rng(4)
        for replicates in (2, 3):
            alarms = 0
            for _ in range(60):
                data = self.made_up(lambda a, b, s: 10.0 * a + s.normal(0, 1), replicates,
                                    int(source.integers(1 << 30)))
                alarms += any(not remark.startswith("fewer") for remark in self.remarks(data))
            self.assertLessEqual(alarms, 8, replicates)  # 3 are expected; more than 8 have a chance of 1 in 200

    def test_warnings_that_would_contradict_others(self):
        """With fewer than five blocks the bootstrap is no refuge; with blocks in the model they are no surprise."""
        for replicates in (3, 6):
            spike = self.made_up(lambda a, b, s: 10.0 + s.normal(0, 0.1), replicates)
            spike.loc[[3, 10], "y"] += 5
            (remark,) = [one for one in self.remarks(spike) if "not normal" in one]
            self.assertEqual("bootstrap" in remark, replicates == 6)
        data = self.made_up(lambda a, b, s: float(s.normal(0, 0.1)))
        data["y"] += data["block"]
        self.assertFalse(any("blocks differ" in one
                             for one in assumptions.remarks(Factorial(data, ["a", "b"], 0.95, []), data)))

    def test_a_transform_beyond_the_first_look(self):
        """Errors of the seventh power: the interval is looked for until it ends, and 1 is judged by its likelihood."""
        data = self.made_up(lambda a, b, s: float((100 + 9 * a + s.normal(0, 4)) ** (1 / 7)), 40)
        found = box_cox.profile(data["y"].to_numpy(), Factorial(data, ["a", "b"], 0.95).matrix)
        self.assertTrue(3 < found.low < 7 < found.high < found.limit, found)
        transform, reason = box_cox.decide("auto", data["y"].to_numpy(), found)
        self.assertEqual((transform, "neither 0" in reason), ("none", True))
        close = self.made_up(lambda a, b, s: float(100 + s.normal(0, 0.01)), 2)
        found = box_cox.profile(close["y"].to_numpy(), Factorial(close, ["a", "b"], 0.95).matrix)
        self.assertIsNone(found.high)
        self.assertIn("beyond 48", box_cox.decide("auto", close["y"].to_numpy(), found)[1])

    def test_a_logarithm_that_was_asked_for(self):
        """It is taken though Box and Cox have no answer; and refused, with a reason, where there is none."""
        exact = self.made_up(lambda a, b, s: float(a + 1))
        self.assertEqual(box_cox.decide("log", exact["y"].to_numpy(), None)[0], "log")
        self.assertEqual(box_cox.decide("auto", exact["y"].to_numpy(), None)[0], "none")

    def test_too_little_is_refused(self):
        data = self.made_up(lambda a, b, s: 1.0)
        for part in (data[(data["a"] > 0) | (data["b"] > 0)], data[data["b"] == 0]):
            self.assertRaises(ExperimentError, Factorial, part, ["a", "b"], 0.95)
        self.assertRaises(ExperimentError, Factorial, data[data["block"] == 0].query("b == 0"), ["a"], 0.95)

    def test_bootstrap(self):
        source = np.random.default_rng(5)
        base = {block: float(source.normal(100, 5)) for block in range(20)}
        twice = {block: 2 * value for block, value in base.items()}
        found = bootstrap.ratio(twice, base, 0.95, 1)
        self.assertEqual((round(found.value, 9), round(found.low, 9), round(found.high, 9)), (2, 2, 2))  # blocks stay together
        other = {block: float(source.normal(200, 10)) for block in range(20)}
        found = bootstrap.ratio(other, base, 0.95, 1)
        self.assertTrue(found.low < 2 < found.high and found.high - found.low < 0.3 and found.sure)
        self.assertFalse(bootstrap.median({0: 1.0, 1: 2.0}, 0.95, 1).sure)
        self.assertIsNone(bootstrap.ratio({0: 1.0}, {1: 1.0}, 0.95, 1))
        self.assertIsNone(bootstrap.ratio({0: 1.0}, {0: 0.0}, 0.95, 1))

    def test_ratios_of_blocks_with_other_inputs(self):
        """0.8, 0.9 and 1 of inputs that differ a hundredfold: the ratio is 0.9, where that of the medians would be 0.8
        or 1."""
        base = {0: 1.0, 1: 10.0, 2: 100.0, 3: 7.0}
        own = {0: 0.9, 1: 8.0, 2: 100.0}
        found = bootstrap.ratio(own, base, 0.95, 1)
        self.assertEqual((found.value, found.low, found.high, found.blocks), (0.9, 0.8, 1.0, 3))


class Whole(Campaign):
    def test_known_effects_are_found(self):
        found = analyse.analyse(self.design, rows.good(self.store.load()), self.design.analyses[0])
        self.assertEqual(found["model"]["transform"], "log")
        (contrast,) = found["model"]["contrasts"]
        self.assertTrue(contrast["factor"][1] < 0.4 < contrast["factor"][2])
        cells = {tuple(cell["levels"]): cell for cell in found["cells"]}
        self.assertAlmostEqual(cells[("cg", "homing-placed")]["relative"]["value"], 0.4, 1)
        self.assertAlmostEqual(cells[("mg", "homing-placed")]["speed_up"]["value"], 2.5, 0)
        against = {one["levels"][0]: one for one in found["against"]}
        self.assertEqual((against["cg"]["best"], against["cg"]["no_worse"], against["mg"]["no_worse"]), ("homing", True, False))
        program = next(row for row in found["model"]["anova"] if row["name"] == "program")
        self.assertGreater(program["percent"], 80)

    def test_the_logarithm_of_nothing(self):
        found = rows.good(self.store.load())
        found[0] = found[0] | {"median_ms": "0"}
        seen = analyse.analyse(self.design, found, self.design.analyses[0] | {"transform": "log"})
        self.assertIn("no analysis of variance: the logarithm of a response of 0", seen["remarks"][0])

    def test_nothing_varies(self):
        """As where all memory is near: no analysis of variance, and JSON without NaN, which is none."""
        def refused(word):
            raise ValueError(word)
        names = self.store.path.read_text().partition("\n")[0].split(",")
        for value in ("0", "5"):
            lines = list(csv.reader(self.store.path.read_text().splitlines()))
            for line in lines[1:]:
                line[names.index("median_ms")] = value
            with self.store.path.open("w") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)
            code, out, _ = self.command("analyse", str(self.file), "--json", "--only", "time")
            (one,) = json.loads(out, parse_constant=refused)["analyses"]
            self.assertEqual((code, one["model"]), (0, None))
            self.assertIn(f"all 36 runs have the same median_ms, {value}", one["remarks"][0])

    def test_marks_are_explained_where_they_are(self):
        """Six blocks, one run a block of all but the base line, which lacks two: its ratios alone are unsure."""
        found = rows.good(self.store.load())
        self.assertNotIn("~", tables.text(analyse.analyse(self.design, found, self.design.analyses[0])))
        part = [row for row in found if row["variant"] != "tbb" or int(row["block"]) > 1]
        said = tables.text(analyse.analyse(self.design, part, self.design.analyses[0]))
        self.assertIn("] ~", said)
        self.assertIn("`~`: an interval", said)
        single = [row for row in found if row["block"] == "0"]
        self.assertNotIn("~", tables.text(analyse.analyse(self.design, single, self.design.analyses[0])))

    def test_what_the_paper_says_inside_the_interval(self):
        found = analyse.analyse(self.design, rows.good(self.store.load()), self.design.analyses[0])
        self.assertEqual([one["spans"] for one in found["against"]], [False, False])
        ratio = found["against"][0]["ratio"]
        analysis = self.design.analyses[0] | {"against": self.design.analyses[0]["against"]
                                              | {"paper": {"cg": ratio["high"]}}}
        again = analyse.analyse(self.design, rows.good(self.store.load()), analysis)
        self.assertIn("no worse than the paper's, but the interval spans it", tables.text(again))

    def test_the_command(self):
        code, out, _ = self.command("analyse", str(self.file))
        self.assertEqual(code, 0)
        for part in ("Main effects", "Contrasts", "no worse than the paper's", "Box-Cox", "modelled by the lab"):
            self.assertIn(part, out)
        code, out, _ = self.command("analyse", str(self.file), "--json", "--only", "lines")
        self.assertEqual([one["name"] for one in json.loads(out)["analyses"]], ["lines"])
        code, out, _ = self.command("analyse", str(self.file), "--csv")
        self.assertIn("lines,", out)
        with mock.patch("signal.signal") as handle:  # a terminal that closes ends what was started, but for nohup
            self.command("status", str(self.file))
            self.assertIn(mock.call(signal.SIGHUP, signal.default_int_handler), handle.mock_calls)
        with mock.patch("signal.getsignal", lambda _: signal.SIG_IGN), mock.patch("signal.signal") as handle:
            self.command("status", str(self.file))
            self.assertEqual(handle.mock_calls, [])
        for wrong in (("--only", "speed"), ("--json", "--csv")):
            code, _, err = self.command("analyse", str(self.file), *wrong)
            self.assertEqual((code, wrong[0] in err), (2, True))

    def test_runs_that_are_left(self):
        """Exit status 1 if the call had no bound."""
        status = {"name": "x", "done": 1, "runs": 2, "left": 1, "cells": 1, "replicates": 2, "seconds_left": None,
                  "rows": "", "commits": [],
                  "builds": 1, "failed": []}
        with (mock.patch.object(cli.campaign, "run", lambda *_: status), mock.patch.object(cli.known, "refuse_unknown"),
              mock.patch.object(cli.Places, "find"), mock.patch.object(cli.plan, "missing", lambda *_: [[None]])):
            self.assertEqual([self.command("run", str(self.file), *more)[0]
                              for more in ([], ["--runs", "1"], ["--minutes", "1"])], [1, 0, 0])

    def test_a_campaign_that_is_done_needs_no_build(self):
        with mock.patch.object(cli.Places, "find", side_effect=AssertionError):
            code, out, err = self.command("run", str(self.file))
            self.assertEqual((code, "36 of 36 runs" in out, err), (0, True, ""))
            self.assertEqual(self.command("run", "--dry", str(self.file)), (0, "nothing to run\n", ""))
            self.assertEqual(json.loads(self.command("run", "--dry", "--json", str(self.file))[1])["runs"], [])

    def test_measured_and_modelled_do_not_mix(self):
        text = self.store.path.read_text()
        self.store.path.write_text(text.replace(",modelled,", ",measured,", 1))
        code, _, err = self.command("analyse", str(self.file), "--only", "time")
        self.assertEqual((code, "do not mix" in err), (1, True))

    def test_builds(self):
        """Programs differ between cells; only within one do their sums tell of another build."""
        found = rows.good(self.store.load())
        self.assertEqual(rows.builds(found), 1)
        self.assertFalse(any("builds" in remark for remark in analyse.analyse(self.design, found, self.design.analyses[0])["remarks"]))
        found[0] = found[0] | {"parts": "y"}
        self.assertEqual(rows.builds(found), 2)
        self.assertTrue(any("builds" in remark for remark in analyse.analyse(self.design, found, self.design.analyses[0])["remarks"]))

    def test_part_of_a_campaign(self):
        """Cells without a run: no variation, but what there is."""
        text = self.store.path.read_text().splitlines(keepends=True)
        self.store.path.write_text("".join(line for line in text if ",mg,homing," not in line))
        code, out, _ = self.command("analyse", str(self.file), "--only", "time")
        self.assertEqual((code, "no analysis of variance" in out), (0, True))
        self.store.path.write_text(text[0])
        code, _, err = self.command("analyse", str(self.file), "--only", "time")
        self.assertEqual((code, "run the campaign first" in err), (1, True))


if __name__ == "__main__":
    unittest.main()
