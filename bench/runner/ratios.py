"""From raw repetitions to ratios: medians, their quotient, and how far it can be trusted."""

import random
from statistics import median

RESAMPLES = 1000
PAIRS_MIN = 5  # with fewer rounds an interval is too narrow to be believed
LOSS = 1.05  # no case may be slower than this
OVERALL = 0.95  # the median over all cases is to be below this
CONSTRAINED = 2.0  # NUMA-constrained execute over the unconstrained one
LINEAR = 15.0  # 100k nested groups over 10k: ten, and room for cold caches
DISTRIBUTED = 1.03  # a loop with a distribution over one with static_partitioner, on one domain
ADDRESSED = 1.5  # a spawn with an address over one without
WHERE_NS = 5.0  # the question where a thread is
IDLE_MS = 5.0  # CPU time in the second after a loop


def pooled(rounds: list[dict], library: str, clock: str) -> list[int]:
    return [value for entry in rounds for value in entry[library][clock]]


def interval(rounds: list[dict], clock: str, names: tuple[str, str], seed: int):
    """95% of the ratios when whole rounds are drawn again, with replacement.

    Rounds, not repetitions: those of one process share its luck with placement and timing.
    """
    source = random.Random(seed)
    ratios = []
    for _ in range(RESAMPLES):
        drawn = source.choices(rounds, k=len(rounds))
        stock = median(pooled(drawn, names[0], clock))
        if stock > 0:
            ratios.append(median(pooled(drawn, names[1], clock)) / stock)
    ratios.sort()
    if not ratios:
        return None
    return ratios[int(0.025 * len(ratios))], ratios[min(int(0.975 * len(ratios)), len(ratios) - 1)]


def compare(rounds: list[dict], clock: str, names: tuple[str, str], iterations: int, seed: int):
    """Median time of one iteration on each library, their ratio and its interval; or None."""
    both = [entry for entry in rounds if names[0] in entry and names[1] in entry]
    if not both:
        return None
    stock = median(pooled(both, names[0], clock))
    ours = median(pooled(both, names[1], clock))
    result = {"stock_ns": stock / iterations, "ours_ns": ours / iterations, "pairs": len(both),
              "ratio": ours / stock if stock > 0 else None}
    bounds = interval(both, clock, names, seed) if result["ratio"] is not None else None
    result["low"], result["high"] = bounds or (None, None)
    return result


def row(series, names: tuple[str, str], seed: int) -> dict:
    """One line of the table."""
    alone = [entry for entry in series.rounds if names[1] in entry]
    return {
        "case": series.case, "threads": series.threads, "figure": series.figure,
        "iterations": series.iterations, "capped": series.capped, "failed": series.failed,
        "wall": compare(series.rounds, "wall_ns", names, series.iterations, seed),
        "cpu": compare(series.rounds, "cpu_ns", names, series.iterations, seed),
        "ours_alone_ns": median(pooled(alone, names[1], "wall_ns")) / series.iterations
                         if alone else None,
        "ours_alone_cpu_ns": median(pooled(alone, names[1], "cpu_ns")) / series.iterations
                             if alone else None,
        "rounds": series.rounds,
    }


# Stock oneTBB has no answer: there it is a constant, here a question with a bar of its own.
NO_EQUAL = "homes/current_domain"


def counted(rows: list[dict]) -> list[dict]:
    """Rows whose wall time counts for the bar."""
    return [entry for entry in rows
            if entry["figure"] == "wall" and entry["case"] != NO_EQUAL
            and entry["wall"] and entry["wall"]["ratio"] is not None]


def certain(comparison: dict) -> bool:
    """Whether the interval leaves 1 out, and comes from enough rounds to mean it."""
    return (comparison["low"] is not None and comparison["pairs"] >= PAIRS_MIN
            and not comparison["low"] <= 1 <= comparison["high"])


def verdicts(rows: list[dict]) -> list[dict]:
    """The bars that this set of rows can answer: what, the figure, whether it is met."""
    result = []
    wall = counted(rows)
    if wall:
        losses = [entry for entry in wall if entry["wall"]["ratio"] > LOSS]
        sure = sum(certain(entry["wall"]) for entry in losses)
        result.append({"bar": f"no case above {LOSS} whose interval leaves 1 out", "met": sure == 0,
                       "figure": f"{sure} of {len(wall)}, and {len(losses) - sure} in doubt"})
        overall = median(entry["wall"]["ratio"] for entry in wall)
        result.append({"bar": f"median of all wall ratios below {OVERALL}",
                       "met": overall < OVERALL, "figure": f"{overall:.3f}"})
    # By CPU time: these cases never wait, and a busy machine doesn't stretch it.
    ours = {(entry["case"], entry["threads"]): entry["ours_alone_cpu_ns"] for entry in rows}
    result += within(ours, "arena/execute_numa", "arena/execute_unconstrained", CONSTRAINED,
                     "NUMA-constrained execute over unconstrained")
    result += within(ours, "arena/execute_numa@2nodes", "arena/execute_unconstrained@2nodes",
                     CONSTRAINED, "the same on two made-up nodes")
    result += within(ours, "live_groups/100k", "live_groups/10k", LINEAR,
                     "100k live groups over 10k")
    # By wall time: a thread that has done its part looks for work until the loop ends.
    took = {(entry["case"], entry["threads"]): entry["ours_alone_ns"] for entry in rows}
    result += within(took, "homes/loop_block", "homes/loop_static", DISTRIBUTED,
                     "a loop with a distribution over a static one")
    result += within(ours, "homes/spawn_addressed", "homes/spawn_plain", ADDRESSED,
                     "a spawn with an address over one without")
    asked = [time for (case, _), time in ours.items() if case == "homes/current_domain" and time]
    if asked:
        result.append({"bar": f"current_domain() below {WHERE_NS:.0f} ns",
                       "met": max(asked) < WHERE_NS, "figure": f"{max(asked):.1f} ns at most"})
    idle = [entry["cpu"]["ours_ns"] / 1e6 for entry in rows
            if entry["case"] == "idle/second_after_loop" and entry["cpu"]]
    if idle:
        result.append({"bar": f"idle CPU below {IDLE_MS:.0f} ms a second",
                       "met": max(idle) < IDLE_MS, "figure": f"{max(idle):.1f} ms at most"})
    return result


def within(ours: dict, over: str, under: str, bound: float, text: str) -> list[dict]:
    quotients = [ours[(over, threads)] / base for (case, threads), base in ours.items()
                 if case == under and base and ours.get((over, threads))]
    if not quotients:
        return []
    return [{"bar": f"{text} at most {bound:g}x", "met": max(quotients) <= bound,
             "figure": f"{max(quotients):.2f}x at most"}]
