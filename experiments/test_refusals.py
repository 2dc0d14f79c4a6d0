"""A campaign's file that can't mean what it says is refused when it is read, in a line that names the place; so that
no run and no row is taken for what it is not. Method: made-up files."""

import unittest

from test_campaign import TEXT, Folder

from homing_experiment.errors import ExperimentError

PLAIN = """
schema = 1
name = "plain"
seed = 1
replicates = 3
[fixed]
machine = "westmere"
threads = 4
[factors]
program = ["cg", "mg"]
variant = ["tbb", "homing"]
"""
ANALYSIS = PLAIN + """[[analysis]]
response = "median_ms"
"""


class Refusals(Folder):
    def refused(self, text, *words):
        with self.assertRaises(ExperimentError) as caught:
            self.load(text)
        self.assertEqual(caught.exception.code, 2)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_a_factor_that_varies_and_is_not_asked_for(self):
        self.refused(ANALYSIS + 'factors = ["variant"]\n', "analysis 1: factors", "no 'program', which is cg in some",
                     "`only`")
        self.refused(TEXT.replace(', "env.HOMING_STEAL"]', "]"), "no 'env.HOMING_STEAL'")
        self.load(ANALYSIS + 'factors = ["variant"]\nonly = { program = "cg" }\n')
        self.load(ANALYSIS.replace("[[analysis]]", '[[leave_out]]\nprogram = "mg"\nvariant = "tbb"\n[[analysis]]')
                  + 'factors = ["program"]\nonly = { variant = "homing" }\n')

    def test_levels_that_only_leaves_out(self):
        for more, place in (('baseline = { program = "cg" }', "baseline.program"),
                            ('contrasts = [{ factor = "program", plus = ["mg"], minus = ["cg"] }]', "contrasts: minus"),
                            ('against = { factor = "program", level = "cg", best_of = ["mg"] }', "against: level")):
            self.refused(ANALYSIS + f'only = {{ program = "mg" }}\n{more}\n', place, "'cg'", "levels of 'program': mg")
        both = '[[leave_out]]\nprogram = "cg"\nvariant = "tbb"\n[[analysis]]'
        self.refused(ANALYSIS.replace("[[analysis]]", both) + 'only = { program = "cg", variant = "tbb" }\n', "only",
                     "no combination")

    def test_lists_that_say_nothing(self):
        self.refused(ANALYSIS + "only = { program = [] }\n", "only.program", "[]", "levels of 'program': cg, mg")
        self.refused(PLAIN + "[[leave_out]]\nprogram = []\n", "leave_out.program", "[]")
        self.refused(ANALYSIS + 'contrasts = [{ factor = "program", plus = ["mg"] }]\n', "contrasts: minus", "[]")
        self.refused(ANALYSIS + 'against = { factor = "program", level = "mg" }\n', "against: best_of", "[]")

    def test_what_is_of_another_kind(self):
        for old, new, place in (('response = "median_ms"', 'response = ["median_ms", "rate"]', "response"),
                                ("[[analysis]]", '[[analysis]]\nfactors = [["program"]]', "factors"),
                                ("[[analysis]]", '[[analysis]]\nfactors = ["program", "program"]', "factors"),
                                ("[[analysis]]", '[[analysis]]\nblocks = ["program", "program"]', "blocks"),
                                ("[[analysis]]", '[[analysis]]\nbaseline = { program = ["cg", "mg"] }',
                                 "baseline.program"),
                                ('["tbb", "homing"]', '["tbb", 1979-05-27]', "factors.variant"),
                                ("[factors]", "[factors]\nwhen = [1979-05-27]", "factors.when"),
                                ("[factors]", '[factors]\narguments = [["--a"], ["--b"]]', "'arguments'"),
                                ("[factors]", "[factors]\ncache_scale = [1, 1.0]",
                                 "factors.cache_scale: a level twice"),
                                ("seed = 1", f"seed = {'[' * 3000}{']' * 3000}", "nests too deeply")):
            self.refused(ANALYSIS.replace(old, new, 1), place)
        varied = PLAIN.replace("threads = 4\n", "").replace("[factors]", "[factors]\nthreads = [1, 2]")
        self.refused(varied + "[[leave_out]]\nthreads = true\n",
                     "leave_out.threads", "True")

    def test_what_no_page_could_say(self):
        against = 'against = { factor = "variant", level = "homing", best_of = ["tbb"], paper = { cg = 0.5 } }\n'
        self.load(ANALYSIS + against)
        for value in ("nan", "inf", "0", "-1", "true"):
            self.refused(ANALYSIS + against.replace("0.5", value), "against: paper", "cg", "a number above 0")
        self.refused(ANALYSIS.replace("median_ms", "local_dram") + against, "against: the best local_dram")
        for title in ('"a\\nb"', '""', "5"):
            self.refused(f"{ANALYSIS}title = {title}\n", "analysis 1: title", "a line")

    def test_a_factor_with_a_column_s_name(self):
        for name in ("block", "status", "y", "kind", "rate", "host", "command"):
            self.refused(f'{PLAIN}{name} = ["a", "b"]\n[levels.{name}.a]\nsize = "S"\n[levels.{name}.b]\nsize = "W"\n',
                         f"factors: '{name}'", "column")

    def test_a_contender_s_arena_with_more_threads_than_the_program(self):
        wide = PLAIN.replace("threads = 4", 'threads = 4\ncontention = "arena:compute:5@0,1"')
        self.refused(wide, "fixed.contention", "'arena:compute:5@0,1'", "threads = 4")
        for good in ("arena:compute:4@0", "arena:stream:all", "process:compute:5", "openmp:bursts:5", "none"):
            self.load(wide.replace("arena:compute:5@0,1", good))
        varied = PLAIN.replace("threads = 4\n", "").replace("[factors]", '[factors]\nthreads = [8, 4]\ncontention = ["none", "arena:compute:6"]')
        self.refused(varied, "factors.contention", "'arena:compute:6'", "threads = 4")
        self.load(varied + '[[leave_out]]\nthreads = 4\ncontention = "arena:compute:6"\n')

    def test_a_level_that_says_another(self):
        self.refused(PLAIN + '[levels.program.cg]\nprogram = "mg"\n', "levels.program.cg", "'program'", "by itself")


if __name__ == "__main__":
    unittest.main()
