"""Shared bytes are told from shared lines, and addresses are given to the right file, heap or stack. Method: made-up lines and notes;
boots nothing."""

import sys
import unittest
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))

from homing_lab.hot.lines import BOTH, FALSE_SHARING, MEMBER, SHARED, sharing_of  # noqa: E402
from homing_lab.hot.memory import Memory  # noqa: E402
from homing_lab.hot.names import Names  # noqa: E402
from homing_lab.hot.symbols import short  # noqa: E402


def line(*sites):
    """Each: CPU, offset, bytes, loads, stores."""
    cpus = {}
    for cpu, offset, size, loads, stores in sites:
        cpus.setdefault(cpu, []).append({"offset": offset, "bytes": size, "loads": loads, "stores": stores, "atomics": 0})
    return {"cpus": [{"cpu": cpu, "sites": sites} for cpu, sites in cpus.items()]}


class Sharing(unittest.TestCase):
    def test_a_word_that_both_write(self):
        self.assertEqual(sharing_of(line((0, 0, 8, 100, 100), (1, 0, 8, 100, 100))), SHARED)

    def test_a_word_that_one_writes_and_the_other_reads(self):
        self.assertEqual(sharing_of(line((0, 8, 8, 0, 100), (1, 8, 8, 100, 0))), SHARED)

    def test_neighbours(self):
        self.assertEqual(sharing_of(line((0, 0, 4, 100, 100), (1, 4, 4, 100, 100))), FALSE_SHARING)

    def test_bytes_of_one_word(self):
        self.assertEqual(sharing_of(line((0, 3, 1, 0, 100), (1, 4, 1, 100, 0))), FALSE_SHARING)

    def test_a_wide_load_over_the_others_word(self):
        self.assertEqual(sharing_of(line((0, 0, 16, 100, 0), (1, 8, 8, 0, 100))), SHARED)

    def test_a_beginning_is_no_use(self):
        constructed = (0, 0, 8, 0, 1), (0, 8, 8, 0, 1)
        self.assertEqual(sharing_of(line(*constructed, (0, 0, 8, 500, 500), (1, 8, 8, 500, 500))), FALSE_SHARING)

    def test_only_read(self):
        self.assertEqual(sharing_of(line((0, 0, 8, 100, 0), (1, 8, 8, 100, 0))), SHARED)

    def test_a_lock_beside_counters_of_each(self):
        self.assertEqual(sharing_of(line((0, 0, 4, 9, 99), (1, 0, 4, 9, 99), (0, 8, 8, 99, 99), (1, 16, 8, 99, 99))), BOTH)

    def test_a_lock_beside_what_it_guards(self):
        self.assertEqual(sharing_of(line((0, 0, 4, 9, 99), (1, 0, 4, 9, 99), (0, 8, 8, 99, 99), (1, 8, 8, 99, 99))), SHARED)


class Places(unittest.TestCase):
    def setUp(self):
        self.memory = Memory(["map 2a 1000-3000 0 /usr/lib/libx.so", "map 2a 5000-6000 0 [heap]", "map 2a 9000-a000 0 [stack]",
                              "thread 2a 2b 20000 30000 2f000 1234", "nonsense", "map 2a 1-x 0 /y", "thread 2a 1"])

    def kind(self, address):
        return Names(self.memory, lambda path: None).data(address).kind

    def test_kinds(self):
        self.assertEqual([self.kind(a) for a in (0x1000, 0x5010, 0x9010, 0x20010, 0x2f010, 0x40000)],
                         ["file", "heap", "stack", "stack", "thread", "unnamed"])

    def test_threads(self):
        names = Names(self.memory, lambda path: None)
        self.assertEqual(names.data(0x20010).name, "stack of thread 43")
        self.assertEqual(names.data(0x2f010).name, "thread-local data of thread 43")

    def test_the_last_word_counts(self):
        memory = Memory(["map 1 1000-3000 0 /old", "map 2 2000-4000 0 /new"])
        self.assertEqual(memory.mapping(0x2800).path, "/new")
        self.assertIsNone(memory.mapping(0x1800))


    def test_ranges_that_are_given_to_others(self):
        """As if all were looked at for each; and 65,536 of them, which that would take half an hour for."""
        random = Random(7)
        expected, notes = [], []
        for number in range(2000):
            low = random.randrange(1, 3000)
            high = low + random.randrange(0, 40)
            notes.append(f"map 1 {low:x}-{high:x} 0 /{number}")
            expected = [m for m in expected if m[1] <= low or high <= m[0]] + [(low, high, f"/{number}")]
        memory = Memory(notes)
        for address in range(3100):
            found = next((path for low, high, path in expected if low <= address < high), None)
            seen = memory.mapping(address)
            self.assertEqual(seen and seen.path, found, hex(address))
        order = random.sample(range(1, 65_537), 65_536)
        self.assertEqual(len(Memory(f"map 1 {n:x}0-{n:x}8 0 /x" for n in order).mappings), 65_536)


class Text(unittest.TestCase):
    def test_functions(self):
        for name, expected in (("f(int, g<h>)", "f"), ("(anonymous namespace)::f(int)", "(anonymous)::f"),
                               ("main::{lambda(int)#1}::operator()(int) const", "main::{..}::operator()"),
                               ("a::b<c<d>, e>::f<int>(x<y>)", "a::b<..>::f<..>")):
            self.assertEqual(short(name), expected)

    def test_members(self):
        self.assertEqual(MEMBER.findall("if (a.head_.load(x) == tail_.fetch_add(1) || slots_[i + 1].compare_exchange_weak(e, f))"),
                         ["head_", "tail_", "slots_"])


if __name__ == "__main__":
    unittest.main()
