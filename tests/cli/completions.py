#!/usr/bin/env python3
"""Property: `homing completions` gives scripts that their shells accept and that complete subcommands, options and
values. Method: bash runs its function on words; where they are installed, fish completes words, and zsh a line on a
terminal of its own."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

from command import COMMAND, check, homing, leave_out, main

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_homing 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash_script(folder):
    seen = homing("completions", "bash")
    check(seen.code == 0 and seen.err == "", "completions bash", seen)
    path = folder / "homing.bash"
    path.write_text(seen.out)
    return path


def complete(path, *words):
    done = subprocess.run(["bash", "-c", COMPLETE, "bash", path, "homing", *words], text=True, capture_output=True)
    return set(done.stdout.split()) if done.returncode == 0 else done


def bash(folder):
    if shutil.which("bash") is None:
        leave_out("no bash")
        return
    path = bash_script(folder)
    seen = complete(path, "")
    check({"topology", "doctor", "where", "run", "--version"} <= seen, "subcommands", seen)
    check(complete(path, "to") == {"topology"}, "a subcommand by its beginning")
    seen = complete(path, "topology", "--")
    check({"--json", "--csv", "--svg", "--domain"} <= seen and "--steal" not in seen, "options of one subcommand", seen)
    for words in (["run", "--tbb", ""], ["run", "--tbb", "=", ""], ["run", "--tbb", "="]):
        check(complete(path, *words) == {"homing", "stock"}, f"values: {words}", complete(path, *words))
    check(complete(path, "completions", "f") == {"fish"}, "a word without a name")
    check("lab" in complete(path, "la"), "the lab")
    seen = complete(path, "help", "")
    check({"topology", "run", "lab"} <= seen and not any(word.startswith("-") for word in seen) and complete(path, "he") == {"help"}, "help", seen)
    seen = complete(path, "manual", "")
    check({"topology", "run", "manual"} <= seen, "whose manual page", seen)
    (folder / "man1").mkdir()
    check(complete(path, "manual", "--folder", f"{folder}/m") == {f"{folder}/man1"}, "a folder is no subcommand")
    words = set(re.findall(r"^  ([a-z]+) ", homing("experiment", "--help").out.partition("Commands:")[2], re.MULTILINE))
    seen = complete(path, "experiment", "")
    check({"run", "status"} <= seen and (not words or seen == words), "the words of homing experiment", (seen, words))
    check(complete(path, "experiment", "status", f"{folder}/m") == {f"{folder}/man1"}, "a campaign is a file")
    check("--json" not in complete(path, "run", "--", "--"), "after -- the words are the program's")


def others(folder):
    for shell, check_only in (("zsh", "-n"), ("fish", "--no-execute")):
        seen = homing("completions", shell)
        check(seen.code == 0 and "topology" in seen.out and "domain" in seen.out, f"completions {shell}", seen)
        if shutil.which(shell) is None:
            leave_out(f"no {shell}")
            continue
        path = folder / f"homing.{shell}"
        path.write_text(seen.out)
        done = subprocess.run([shell, check_only, path], text=True, capture_output=True)
        check(done.returncode == 0, f"{shell} accepts it", done.stderr)
    if shutil.which("fish"):
        lines = ("homing run --tbb ", "homing doctor --st", "homing wh")
        script = f"source {folder}/homing.fish; " + "; ".join(f"complete -C '{line}'" for line in lines)
        done = subprocess.run(["fish", "-c", script], text=True, capture_output=True,
                              env={"HOME": str(folder), "PATH": f"{COMMAND.parent}:/usr/bin:/bin"})
        check({"homing", "stock", "--strict"} <= set(done.stdout.split()), "fish completes", done)
        check("a program's pages" in done.stdout, "fish describes", done)


# Ctrl-G prints the line as it is by then.
ZSH_HEAD = r"""PS1=; fpath=(FOLDER $fpath); autoload -U compinit; compinit -u -D; setopt no_beep; bindkey '^I' complete-word
show() { BUFFER="print -r -- 'LINE''<'${(q)BUFFER}'>'"; zle accept-line }; zle -N show; bindkey '^G' show; print READ''Y
"""


class ZshTerminal:
    """An interactive zsh with our completions."""

    def __init__(self, folder):
        (folder / "zsh").mkdir()
        (folder / "zsh" / "_homing").write_text(homing("completions", "zsh").out)
        program = shutil.which("zsh")
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.environ.update(PATH=f"{COMMAND.parent}:/usr/bin:/bin", HOME=str(folder), TERM="dumb")
            os.execv(program, ["zsh", "-f", "-i"])
        self.say(ZSH_HEAD.replace("FOLDER", str(folder / "zsh")))
        self.hear(rb"READY\r\n")

    def say(self, text):
        os.write(self.terminal, text.encode())

    def hear(self, expected):
        said, give_up = b"", time.monotonic() + 60
        while not (found := re.search(expected, said)) and time.monotonic() < give_up:
            if select.select([self.terminal], [], [], 1)[0]:
                said += os.read(self.terminal, 65536)
        return found[1].decode() if found and found.groups() else said

    def completed(self, line):
        self.say(line + "\t\a")
        return self.hear(rb"LINE<([^>]*)>\r\n")

    def end(self):
        self.say("exit\n")
        os.close(self.terminal)
        os.waitpid(self.child, 0)


def zsh(folder):
    if shutil.which("zsh") is None:
        leave_out("no zsh")
        return
    shell = ZshTerminal(folder)
    for line, whole in (("homing to", "homing topology "), ("homing run --tb", "homing run --tbb="),
                        ("homing run --tbb=st", "homing run --tbb=stock "), ("homing doctor --st", "homing doctor --strict "),
                        ("homing help top", "homing help topology "), ("homing manual ban", "homing manual bandwidth "),
                        ("homing experiment sta", "homing experiment status ")):
        seen = shell.completed(line)
        check(seen == whole, f"zsh completes {line!r}", seen)
    shell.end()


def bad_input(_):
    for words in ([], ["tcsh"], ["bash", "zsh"], ["--nothing"]):
        seen = homing("completions", *words)
        check(seen.code == 2 and seen.out == "" and seen.err.count("\n") == 1, f"wrong usage: {words}", seen)


main([bash, others, zsh, bad_input])
