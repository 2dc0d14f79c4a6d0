"""`homing lab run` and `shell`: packs, boots, runs, brings back, tells."""

from __future__ import annotations

import math
import os
import pwd
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import architecture, counts, guest_root, hand_over, hot, image, kernel, learn, machine_file, python, qemu, record
from .architecture import X86_64, Architecture
from .boot import GRACE_S, LostBoot
from .boot import Machine as Booted
from .endings import told
from .errors import LabError, UsageError, shortened
from .guest import CLOCK_BYTES, Request
from .machine import Machine
from .pack import Entry, Pack, guest_path
from .paths import TBB, binary, needed, tbb_library
from .progress import Waiting
from .session import Limit, Outcome, Session, Streams

PLUGIN = "homing_lab_plugin.so"
PLUGIN_SAYS = "homing lab: "  # begins its lines on QEMU's stderr
CLOCK = "homing-lab-clock.so"
GUEST_CLOCK = f"/homing/{CLOCK}"
NAMES = "homing-lab-names.so"
GUEST_NAMES = f"/homing/{NAMES}"
# QEMU 7.2 translates code while another CPU patches it, and may keep the old translation: then CPUs
# run into the breakpoint that marks the patch, for ever. One boot of 100 or so hangs so; fewer crash.
BOOTS_MAX = 4
# How far apart the CPUs' clocks may be, unless the user says otherwise; the plugin has the bounds.
QUANTUM_CYCLES, QUANTUM_LEAST, QUANTUM_MOST = 1000, 100, 1_000_000
USER_MOST = (1 << 32) - 2  # the one above means "no change" to the kernel
AUTOMATIC_BYTES_MAX = 64 << 20  # of a file that is packed because the command-line names it
SETTINGS = {
    "numa_balancing": "/proc/sys/kernel/numa_balancing",
    "thp": "/sys/kernel/mm/transparent_hugepage/enabled",
}


@dataclass
class Options:
    machine: str
    words: list[str]
    files: list[str] = field(default_factory=list)
    user: str = "root"
    results: Path | None = None
    timeout_s: float = 600
    memory_mib: int | None = None
    kernel_words: str = ""
    count: bool = True
    tbb: str = ""
    stock_library: Path | None = None
    # Off: it goes by the guest's clock, on which an emulated program takes a hundred times too long.
    numa_balancing: str = "off"
    thp: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    cache_scale: float = 1
    pack_words: bool = True
    virtual_clock: bool = False
    quantum: int = QUANTUM_CYCLES
    hot: bool = False
    learn: bool = False
    arch: str = ""  # empty: the program's

    @property
    def architecture(self) -> Architecture:
        return architecture.choose(self.arch, self.words)


@dataclass
class Report:
    """What --json tells."""

    machine: Machine
    outcome: Outcome
    counted: dict[str, Any] | None  # counts.json
    image: Path
    architecture: Architecture
    packed_s: float
    virtual_clock: bool
    hot: dict[str, Any] | None = None  # lines that CPUs take from each other, with their names


def tell(text: str) -> None:
    print(f"homing lab: {text}", file=sys.stderr, flush=True)


def load_machine(options: Options) -> Machine:
    machine = machine_file.load(options.machine)
    machine.cache_scale = options.cache_scale
    if options.memory_mib:
        for node in machine.memory_nodes:
            node.memory_mib = options.memory_mib
    return machine


def environment_of(options: Options) -> dict[str, str]:
    """The program's: ours but for the lab's own variables, and what the options add."""
    result = {
        name: value for name, value in os.environ.items() if not name.startswith("HOMING_LAB_")
    }
    result |= options.environment
    if options.stock_library and options.tbb != "stock":
        raise UsageError("--stock-library without --tbb stock", "expected both, or neither")
    if options.tbb:
        library = tbb_library(options.architecture) if options.tbb == "homing" else options.stock_library
        if options.tbb == "stock" and library is not None and library.name != TBB:
            raise UsageError(
                f"--stock-library {library}: expected a file that is called {TBB}",
                "it is loaded by its folder and that name",
            )
        if library is None or not library.is_file():
            what = (
                "our libtbb.so.12 is not built (scripts/build "
                + ("release" if options.architecture is X86_64 else options.architecture.name)
                + " tbb)"
                if options.tbb == "homing"
                else "--tbb=stock needs --stock-library FILE"
            )
            raise LabError(what if library is None else f"there is no {library}")
        before = result.get("LD_LIBRARY_PATH", "")
        folder = os.path.dirname(os.path.abspath(library))  # a link's own: what it leads to may be called otherwise
        result["LD_LIBRARY_PATH"] = folder + (f":{before}" if before else "")
    return result


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _user(name: str) -> tuple[int, int, str]:
    """Numbers and home folder; of the host's users, or a bare number."""
    if _is_number(name):
        digits = name.lstrip("0") or "0"
        if len(digits) > len(str(USER_MOST)) or int(digits) > USER_MOST:
            raise UsageError(f"--user {shortened(name)} is too large", f"expected a number up to {USER_MOST}")
        return int(digits), int(digits), ""
    if name == "nobody":
        return 65534, 65534, ""
    try:
        known = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(
            f"there is no user '{name}' here", "root, nobody, a user of this host, or a number"
        ) from None
    return known.pw_uid, known.pw_gid, known.pw_dir


def make_pack(options: Options, environment: dict[str, str]) -> Pack:
    arch = options.architecture
    root = Path("/") if arch.native else guest_root.root(arch, tell)
    pack = Pack(environment, arch, root)
    _add_files(pack, options.files)
    if options.words:
        pack.add_program(options.words[0])
    pack.add_preloaded()
    if options.tbb:
        library = Path(environment["LD_LIBRARY_PATH"].split(":")[0]) / TBB
        pack.add_file(library, str(library))
    for word in options.words[1:] if options.pack_words else []:
        _add_word(pack, word)
    for name in () if arch.native else guest_root.PROGRAMS:
        pack.add_program(name)  # a host's `--file` can't bring them
    _add_pythons(pack, options)
    if options.learn:
        _add_learnt(pack, options)
    if options.virtual_clock:
        pack.add_file(needed(CLOCK, "homing_lab_init", arch), GUEST_CLOCK)
        if options.words and is_static(pack, options.words[0]):
            tell(f"{options.words[0]} is static: --virtual-clock can't change its own times")
    if options.hot:
        pack.add_file(needed(NAMES, "homing_lab_init", arch), GUEST_NAMES)
    if options.user not in ("root", "nobody") and not _is_number(options.user):
        uid, gid, home = _user(options.user)
        users = f"root:x:0:0:root:/root:/bin/sh\n{options.user}:x:{uid}:{gid}:user:{home}:/bin/sh\n"
        pack.add("/etc/passwd", Entry(0o100644, content=users.encode()))
    return pack


def _add_files(pack: Pack, files: list[str]) -> None:
    """--file SRC[:DEST]"""
    sources: dict[str, str] = {}
    for text in files:
        source, colon, guest = text.partition(":")
        if not source or (colon and not guest):
            raise UsageError(f"--file {text}: expected SRC or SRC:DEST")
        place = guest_path(os.path.abspath(guest or source))
        if place in sources and os.path.abspath(source) != sources[place]:
            raise UsageError(
                f"--file {text}: {place} is {sources[place]} already", "give each its own place: --file SRC:DEST"
            )
        sources[place] = os.path.abspath(source)
        pack.add_file(Path(source), os.path.abspath(guest or source))


def _add_pythons(pack: Pack, options: Options) -> None:
    """Interpreters anywhere in the command-line: behind numactl, too."""
    for place, word in enumerate(options.words if options.pack_words else options.words[:1]):
        if python.is_python(word) and (place == 0 or shutil.which(word)):
            pack.add_python(word, options.words[place + 1 :])


def _add_learnt(pack: Pack, options: Options) -> None:
    tell(f"{options.words[0]} runs here first, for the files that it opens (--learn)")
    files, status = learn.learn(options.words, pack.environment, options.timeout_s or math.inf)
    for file in files:
        pack.add_file(file, str(file))
    if status:
        tell(f"it ended here with status {status}: it may open more there than it did here")


def is_static(pack: Pack, word: str) -> bool:
    """No interpreter, so nothing can be preloaded; false for what is no program."""
    found = shutil.which(word)
    entry = pack.entries.get(guest_path(os.path.abspath(found))) if found else None
    if entry is None or entry.source is None:
        return False
    with entry.source.open("rb") as file:
        head = file.read(4096)
    return head.startswith(b"\x7fELF") and b"ld-linux" not in head


def with_preloads(options: Options, environment: dict[str, str]) -> dict[str, str]:
    """The program's environment, with the lab's libraries before what else it preloads."""
    ours = [GUEST_CLOCK] * options.virtual_clock + [GUEST_NAMES] * options.hot
    before = environment.get("LD_PRELOAD", "")
    return environment | ({"LD_PRELOAD": ":".join(ours + [before] * bool(before))} if ours else {})


def _add_word(pack: Pack, word: str) -> None:
    """A file or program that the command-line names."""
    path = Path(word)
    try:
        if path.is_file() and not os.path.abspath(word).startswith(("/proc/", "/sys/", "/dev/")):
            if path.stat().st_size > AUTOMATIC_BYTES_MAX:
                tell(f"{word} is large and stays here; --file {word} takes it along")
            else:
                pack.add_file(path, os.path.abspath(word))
        elif (
            word
            and "/" not in word
            and not word.startswith("-")
            and shutil.which(word, path=os.environ.get("PATH"))
        ):
            pack.add_program(word)
    except LabError as error:
        # It may be no program to this one: a word that happens to be on PATH, too.
        pack.note(f"{str(error).splitlines()[0]}; it stays here")
    except (OSError, ValueError):
        pass  # no name of a file


def _settings(options: Options) -> list[tuple[str, str]]:
    result = []
    if options.numa_balancing:
        result.append((SETTINGS["numa_balancing"], "1" if options.numa_balancing == "on" else "0"))
    if options.thp:
        result.append((SETTINGS["thp"], options.thp))
    return result


def _check_memory(machine: Machine, image_file: Path) -> None:
    """The image is in memory twice while the guest unpacks it."""
    need = 2 * (image_file.stat().st_size >> 20) + 96
    if need > machine.memory_mib:
        raise LabError(
            f"the guest's memory is too small: files of {image_file.stat().st_size >> 20} MiB, and "
            f"{machine.memory_mib} MiB in all",
            f"--memory MIB gives each node more; {need} MiB in all are needed",
        )


def _boot_cpu_s_max(machine: Machine, image_file: Path) -> float:
    """Some ten times what it takes."""
    return 30 + 2 * machine.cpu_count + (image_file.stat().st_size >> 20) / 10


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise LabError(
            f"the working folder can't be used: {error.strerror}",
            "the program would start in it; change to one that is there",
        ) from error


def run(options: Options, streams: Streams, terminal: tuple[int, int] | None = None) -> Report:
    began = time.monotonic()
    if options.virtual_clock and not options.count:
        raise UsageError(
            "--virtual-clock needs the plugin, whose time it is",
            "run: without --no-count; shell: with --count",
        )
    if options.hot and not options.count:
        raise UsageError("--hot needs the plugin, which sees the lines", "run without --no-count")
    machine = load_machine(options)
    arch = options.architecture
    working_folder = _working_folder()
    environment = environment_of(options)
    uid, gid, home = _user(options.user)
    kernel_file = kernel.kernel(tell, arch)
    qemu.program(arch)
    pack = make_pack(options, environment)
    for note in pack.notes_told():
        tell(note)
    image_file = image.build(pack)
    _check_memory(machine, image_file)
    plugin = binary(PLUGIN) if options.count else None
    if options.count and plugin is None:
        if options.virtual_clock or options.hot:
            needed(PLUGIN, "homing_lab")
        tell(f"no {PLUGIN} here, so nothing is counted (--no-count says so beforehand)")
    if options.results:
        try:
            options.results.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(f"can't make the folder {options.results}: {error.strerror}") from error
    record.write(options, machine)

    def command(folder: Path, channel: int) -> list[str]:
        argument = ""
        if plugin:
            hand_over.write(machine, folder / "machine.json")
            files = {"file": plugin, "machine": folder / "machine.json", "out": folder / "counts.json"}
            argument = ",".join(f"{key}={qemu.option(file)}" for key, file in files.items())
            argument += f",quantum={options.quantum}"
        if options.virtual_clock:
            with (folder / "clock").open("wb") as file:
                file.truncate(CLOCK_BYTES)
            argument += f",clock={qemu.option(folder / 'clock')}"
        if options.hot:
            argument += f",hot={qemu.option(folder / 'hot.json')}"
        return qemu.command(
            machine,
            kernel_file,
            image_file,
            folder,
            channel,
            options.kernel_words,
            argument,
            options.virtual_clock,
            arch,
        )

    request = Request(
        words=options.words or ["/bin/sh"],
        environment=with_preloads(options, environment),
        folder=working_folder,
        user=uid,
        group=gid,
        home=environment.get("HOME", home) if uid == os.getuid() else home,
        terminal=terminal,
        calibrate=plugin is not None,
        settings=_settings(options),
    )
    packed_s = time.monotonic() - began
    boot_cpu_s_max = _boot_cpu_s_max(machine, image_file)
    limit = Limit(options.timeout_s)
    for boots_left in reversed(range(BOOTS_MAX)):
        try:
            with Booted(command) as booted, Waiting(f"{machine.name} boots") as waiting:
                session = Session(
                    booted,
                    request,
                    waiting.until_start(streams),
                    options.results,
                    limit,
                    boot_cpu_s_max,
                )
                try:
                    outcome = session.run()
                finally:
                    counted = counts.collect(booted.folder / "counts.json", options.results)
                    raw = hot.read(booted.folder / "hot.json")
                    said = booted.said("qemu.txt")
            break
        except LostBoot as lost:
            if boots_left == 0:
                raise LabError(str(lost), f"{BOOTS_MAX} boots were lost; is this host's QEMU at fault?") from None
            tell(f"{lost}\n  QEMU's emulation loses a boot now and then: booting again")
    _explain(outcome, machine, options)
    record.write(options, machine, outcome)
    if plugin:
        _check_counts(outcome, counted is not None, raw is not None or not options.hot, said)
    names = hot.named(raw, pack, options.results) if raw else None
    return Report(machine, outcome, counted, image_file, arch, packed_s, options.virtual_clock, names)


def _check_counts(outcome: Outcome, counted: bool, hot_lines: bool, said: str) -> None:
    """Counts that did not come, or perhaps not whole, are never passed over. `said`: by QEMU, on its stderr."""
    if not counted or not hot_lines:
        what = "counts.json" if not counted else "hot.json"
        raise LabError(f"the plugin left no {what}, though the program ended", said.strip()[-1500:])
    for line in dict.fromkeys(said.splitlines()):
        if line.startswith(PLUGIN_SAYS):
            tell(f"the plugin: {line.removeprefix(PLUGIN_SAYS)}; the counts may be incomplete")
    if not outcome.in_order:
        tell(f"QEMU did not end within {GRACE_S} s, and was killed; the counts may be incomplete")


def _explain(outcome: Outcome, machine: Machine, options: Options) -> None:
    for message in outcome.messages:
        tell(message)
    if outcome.phase == "calibration":
        raise LabError(
            "the plugin could not learn which memory belongs to which node",
            outcome.calibration.strip() or f"the calibrator ended with status {outcome.status}",
        )
    if outcome.start_error:
        outcome.code = 127 if outcome.start_error == 2 else 126
        tell(
            f"can't start {options.words[0] if options.words else 'the shell'} in the guest: "
            f"{os.strerror(outcome.start_error)}"
        )
    else:
        program = options.words[0] if options.words else "the shell"
        if end := told(program, outcome.code, outcome.signal, options.architecture):
            tell(end)
    if outcome.memory_kills:
        tell(
            f"the guest's memory was full ({machine.memory_mib} MiB): its kernel killed "
            f"{outcome.memory_kills} process{'es' if outcome.memory_kills > 1 else ''}; "
            "--memory MIB gives each node more"
        )
