"""The papers' programs, interleaved: a round runs the programs in random order, and all variants of each one after the other, in
random order, too; those that use nothing of Homing's on both libraries. So what is compared ran within seconds, and a ratio is the
median of those of the rounds: a machine that changes its speed from minute to minute changes both."""

import json
import random
import time
from pathlib import Path
from statistics import median

from .execute import LIST_S_MAX, Library, environment, finish, how_it_ended
from .ratios import PAIRS_MIN, RESAMPLES

RUN_S_MAX = 3600  # of a variant in one round
SLOWER_THAN_AFFINITY = 1.03  # with one domain, any of Homing's variants than tbb-affinity
# What takes between some milliseconds and some tenths of a second, and lies in memory where the paper's program does; a program
# that is not named here has its first size.
SIZES = {"jacobi": "medium", "heat": "medium", "stream": "medium", "cg": "W", "mg": "W", "streamcluster": "simsmall", "fluidanimate": "simsmall", "ferret": "simsmall", "cilksort": "medium",
         "transpose": "4096", "matmul": "1024", "uts": "T1", "nqueens": "12", "fib": "27", "integrate": "500", "skynet": "1M"}
SLOWER_THAN_BEST = 1.05  # homing and homing-placed than the best of all others


def cases_of(binary: Path, stock: Library, ours: Library, size: list[str]) -> list[tuple[str, Library]]:
    """Ends the campaign, with the program's own line, if it refuses the size."""
    status, listed, errors = finish([binary, *size, "--list"], environment(ours, {}), LIST_S_MAX)
    if status != 0:
        raise SystemExit(f"{' '.join([binary.name, *size])}: {how_it_ended(status, LIST_S_MAX)}: {errors.strip()}")
    both = [(v, library) for v in listed.split() if v != "openblas" for library in (stock, ours)]
    return [(v, library) for v, library in both if library is ours or v.startswith("tbb")]


def run_once(binary: Path, variant: str, library: Library, options: list[str]) -> dict:
    """{"ms"} of a variant, or its {"failure", "message"}."""
    status, output, errors = finish([binary, "--variant", variant, "--json", "--warm-up", "1", *options],
                                    environment(library, {}), RUN_S_MAX)
    if status != 0:
        return {"failure": how_it_ended(status, RUN_S_MAX), "message": errors.strip()[-2000:]}
    try:
        ms = [float(value) for value in json.loads(output)["ms"]]
    except (ValueError, TypeError, KeyError):
        ms = []
    return {"ms": ms} if ms else {"failure": "no record of its times", "message": output.strip()[-2000:]}


def compared(rounds: list[dict], one: str, other: str, seed: int) -> dict:
    """The median over the rounds of the ratio of two cases' medians, and 95% of what it is when rounds are drawn again."""
    ratios = [median(entry[one]["ms"]) / median(entry[other]["ms"]) for entry in rounds]
    source = random.Random(seed)
    drawn = sorted(median(source.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return {"case": one, "over": other, "rounds": len(ratios), "ratio": median(ratios), "low": drawn[int(0.025 * RESAMPLES)],
            "high": drawn[int(0.975 * RESAMPLES)]}


def verdicts(rounds: list[dict], seed: int) -> list[dict]:
    """What one program's rounds say to the two bars, of the cases that all rounds have. The second can't be met by chance: its
    best is chosen afterwards."""
    cases = whole(rounds)
    sent = [c for c in cases if c.startswith("homing")]
    others = [c for c in cases if c not in sent and not c.startswith("serial")]
    base = next((c for c in ("tbb-affinity, ours", "tbb, ours") if c in cases), None)
    found = [compared(rounds, c, base, seed) | {"bar": SLOWER_THAN_AFFINITY} for c in sent if base]
    best = min(others, key=lambda c: median(ms for entry in rounds for ms in entry[c]["ms"]), default=None)
    found += [compared(rounds, c, best, seed) | {"bar": SLOWER_THAN_BEST} for c in sent
              if best and c in ("homing, ours", "homing-placed, ours")]
    return found


def whole(rounds: list[dict]) -> list[str]:
    return [case for case in rounds[0] if all(case in entry for entry in rounds)]


def verdict(c: dict) -> str:
    """Whether a comparison meets its bar; "open" where its median does not and its interval might, or is of too few rounds."""
    if c["ratio"] <= c["bar"]:
        return "met"
    return "MISSED" if c["rounds"] >= PAIRS_MIN and c["low"] > c["bar"] else "open"


def missed(results: list[dict]) -> bool:
    """Whether --check fails: a program of which nothing was compared meets no bar."""
    return any(not of["compared"] or any(verdict(c) == "MISSED" for c in of["compared"]) for of in results)


def campaign(binaries: list[Path], stock: Library, ours: Library, size: str | None, threads: int, pairs: int, reps: int,
             seed: int, progress, limit_s: float | None = None) -> list[dict]:
    """For each program: the median of each case in ms, and the comparisons. `size` none: those of SIZES. With a limit, no
    round begins that would last beyond it if it took as long as the longest before; the first is always whole."""
    source = random.Random(seed)
    chosen = {binary: size or SIZES.get(binary.name) for binary in binaries}
    size_of = {binary: ["--size", name] if name else [] for binary, name in chosen.items()}
    cases = {binary: cases_of(binary, stock, ours, size_of[binary]) for binary in binaries}
    rounds: dict[Path, list[dict]] = {binary: [] for binary in binaries}
    failures: dict[Path, list[dict]] = {binary: [] for binary in binaries}
    begun = time.monotonic()
    longest = 0.0
    for index in range(pairs):
        round_begun = time.monotonic()
        if index > 0 and limit_s is not None and round_begun - begun + longest > limit_s:
            break
        jobs = [(binary, *case) for binary in source.sample(binaries, len(binaries)) for case in source.sample(cases[binary], len(cases[binary]))]
        for of in rounds.values():
            of.append({})
        for position, (binary, variant, library) in enumerate(jobs):
            progress(f"round {index + 1}/{pairs}, {position + 1}/{len(jobs)} {binary.name} {variant}")
            options = ["--threads", str(threads), "--repeat", str(reps), *size_of[binary]]
            found = run_once(binary, variant, library, options)
            if "failure" in found:  # costs this case only, which is not run again
                failures[binary].append({"case": f"{variant}, {library.name}", "round": index + 1, **found})
                cases[binary].remove((variant, library))
            else:
                rounds[binary][index][f"{variant}, {library.name}"] = found
        longest = max(longest, time.monotonic() - round_begun)
    result = []
    for binary, of in rounds.items():
        middle = {c: median(ms for entry in of for ms in entry[c]["ms"]) for c in sorted(whole(of))}
        result.append({"program": binary.name, "size": chosen[binary] or "the first", "threads": threads, "median_ms": middle,
                       "compared": verdicts(of, seed), "failures": failures[binary], "rounds": of})
    return result


def lines(results: list[dict]) -> list[str]:
    text = []
    for of in results:
        text.append(f"{of['program']}, size {of['size']}, {of['threads']} threads, {len(of['rounds'])} rounds")
        text += [f"  {case:28} {ms:11.3f} ms" for case, ms in sorted(of["median_ms"].items(), key=lambda item: item[1])]
        text += [f"  FAILED {entry['case']}, round {entry['round']}: {entry['failure']}: {entry['message']}" for entry in of["failures"]]
        for c in of["compared"]:
            text.append(f"  {c['case']} over {c['over']}: {c['ratio']:.3f} ({c['low']:.3f} to {c['high']:.3f}), at most {c['bar']}: {verdict(c)}")
        if not of["compared"]:
            text.append("  nothing was compared")
    told = [verdict(c) for of in results for c in of["compared"]]
    text.append(f"{told.count('met')} bars met, {told.count('MISSED')} missed, {told.count('open')} open: more rounds tell")
    return text
