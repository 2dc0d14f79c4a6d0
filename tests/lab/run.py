#!/usr/bin/env python3
"""Property: a program in the guest is what it would be here: words, environment, folder, files, input, output, exit status,
user; its results come back. Method: programs that say what they were given, on the smallest machine."""

import hashlib
import json
import os
import random
import subprocess

from lab import BOOT_SECONDS_MAX, ROOT, boot, check, compile_c, lab, main, need

SAYS_ALL = r"""
#include <stdio.h>
#include <unistd.h>
extern char** environ;
int main(int count, char** words) {
  char folder[4096];
  for (int i = 0; i < count; ++i) printf("word:%s\n", words[i]);
  for (char** e = environ; *e; ++e) printf("variable:%s\n", *e);
  printf("folder:%s\n", getcwd(folder, sizeof folder));
  fflush(stdout);
  fprintf(stderr, "on stderr\n");
  return 42;
}
"""


def handed_over_exactly(folder):
    compile_c(folder, "says", SAYS_ALL)
    words = ["", "a b", "--json", "-x", "*", "\"'$HOME", "naïve", "tab\there", "--"]
    environment = {"ODD": "a=b  c\n'\"", "EMPTY": "", "PATH": os.environ["PATH"]}
    seen = boot("--env", "MORE=x=y", "--", "./says", *words, env=environment, cwd=folder)
    check(seen.code == 42, "the exit status", seen)
    check([line[5:] for line in seen.out.splitlines() if line.startswith("word:")] == ["./says", *words], "the words", seen)
    check("variable:ODD=a=b  c\n'\"\n" in seen.out and "variable:EMPTY=\n" in seen.out and "variable:MORE=x=y\n" in seen.out,
          "the environment", seen)
    check(f"folder:{folder}\n" in seen.out and "HOMING_LAB_" not in seen.out, "the folder", seen)
    check("on stderr" in seen.err and "on stderr" not in seen.out, "two streams", seen)


def exit_statuses(_):
    for command, status in (("exit 0", 0), ("exit 255", 255), ("kill -SEGV $$", 139), ("kill -TERM $$", 143)):
        seen = boot("--", "sh", "-c", command)
        check(seen.code == status, f"{command}: {status}", seen)


def input_and_output(folder):
    numbers = "".join(f"{n}\n" for n in range(100_000))
    seen = boot("--", "cat", stdin=numbers)
    check(seen.code == 0 and seen.out == numbers, "input comes back as output", (seen.code, len(seen.out), seen.err))
    many = "".join(f"{n * 2654435761 % 2 ** 32}\n" for n in range(2_000_000))   # 20 MB: more than the window holds
    seen = boot("--", "sha256sum", stdin=many)
    check(seen.out.split()[:1] == [hashlib.sha256(many.encode()).hexdigest()], "20 MB of input, byte for byte", seen)
    seen = boot("--", "sh", "-c", "head -n 1; exec <&-; echo closed; exit 3", stdin=many)
    check(seen.code == 3 and seen.out == "0\nclosed\n", "a program that closes its input", seen)
    seen = boot("--", "sh", "-c", "head -n 1; exit 3", stdin=numbers)
    check(seen.code == 3 and seen.out == "0\n", "a program that stops reading", seen)
    seen = boot("--", "sh", "-c", "cat; echo end")
    check(seen.out == "end\n", "no input is an end", seen)
    seen = boot("--", "sh", "-c", "head -c 20000000 /dev/zero; echo here >&2")
    check(len(seen.out) == 20_000_000 and "here" in seen.err, "20 MB of output", (len(seen.out), seen.err))


def prompts(folder):
    """A shell whose input is no terminal ends with it, also where another program ran meanwhile; commas are nothing special."""
    odd = folder / "a,b"
    odd.mkdir()
    seen = lab("shell", "--machine", "one-node", "--count", "--timeout", BOOT_SECONDS_MAX, stdin="echo $((6*7))\nsleep 1\necho the''re",
               env={"TMPDIR": str(odd)})
    check(seen.code == 0 and "42\n" in seen.out and "\nthere\n" in seen.out, "a shell with a pipe as its input", seen)
    check(not list(odd.iterdir()), "nothing is left of it", list(odd.iterdir()))


def what_is_left_running(_):
    seen = boot("--", "sh", "-c", "yes >&2 & echo done; exit 6")
    check(seen.code == 6 and seen.out == "done\n", "what a program left behind, and says without end, is killed", (seen.code, seen.out))


def results_come_back(folder):
    content = random.Random(5).randbytes(3_000_001)
    (folder / "data.bin").write_bytes(content)
    script = folder / "work.sh"
    script.write_text("#!/bin/sh\nmkdir -p /results/deep/er\ncp $1 /results/copy\nchmod 755 /results/copy\n"
                      "echo text > '/results/deep/er/a name'\n: > /results/empty\nln -s copy /results/link\nexit 5\n")
    script.chmod(0o755)
    out = folder / "out"
    seen = boot("--results", out, "--json", "--", "./work.sh", "data.bin", cwd=folder)
    report = json.loads(seen.out)
    check(seen.code == 5 and report["exit_status"] == 5, "a script with an interpreter", seen)
    check(hashlib.sha256((out / "copy").read_bytes()).digest() == hashlib.sha256(content).digest(), "content, byte for byte")
    check(os.access(out / "copy", os.X_OK) and (out / "empty").read_bytes() == b"", "modes, and an empty file")
    check((out / "deep/er/a name").read_text() == "text\n", "folders")
    kept = json.loads((out / "lab-run.json").read_text())
    check(kept["words"] == ["./work.sh", "data.bin"] and kept["exit_status"] == 5 and kept["machine"] == "one-node"
          and kept["machine_file"] == (ROOT / "lab/machines/one-node.toml").read_text(), "what was run", kept)
    check(sorted(report["results"]) == ["copy", "deep/er/a name", "empty"] and not (out / "link").exists()
          and any("link" in m for m in report["messages"]), "what is no file is left out, and said", report)


def files_and_libraries(folder):
    (folder / "tree/inner").mkdir(parents=True)
    (folder / "tree/inner/a").write_text("A")
    (folder / "single").write_text("S")
    seen = boot("--file", f"{folder}/tree:/data", "--file", f"{folder}/single", "--", "cat", "/data/inner/a", f"{folder}/single")
    check(seen.code == 0 and seen.out == "AS", "--file SRC:DEST and SRC, folders", seen)
    compile_c(folder, "libpart.so", "int part(void) { return 9; }", "-shared", "-fPIC")
    compile_c(folder, "whole", "int part(void); int main(void) { return part(); }", "-L.", f"-L{folder}", "-l:libpart.so")
    seen = boot("--", f"{folder}/whole", env={"LD_LIBRARY_PATH": str(folder)})
    check(seen.code == 9, "a library of LD_LIBRARY_PATH", seen)
    (folder / "beside").mkdir()
    compile_c(folder, "upwards", "int part(void); int main(void) { return part() + 1; }", f"-L{folder}", "-l:libpart.so",
              f"-Wl,-rpath,{folder}/beside/..")
    check(boot("--file", f"{folder}/upwards:/bench/upwards", "--", "sh", "-c", "/bench/upwards").code == 10,
          "a library of a run path with `..`")
    compile_c(folder, "fixed", "int main(void) { return 8; }", "-static")
    check(boot("--", f"{folder}/fixed").code == 8, "a static program")
    check(boot("--", "env", "-u", "HOME", f"{folder}/fixed").code == 8, "a program that another one starts")


def a_folder_with_odd_files(folder):
    """Data that looks like programs of other machines, or that lacks something, goes along and is told; so do links."""
    tree = folder / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "empty").mkdir()
    (tree / "inner/a").write_text("A")
    arm = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + (183).to_bytes(2, "little") + bytes(44)
    (tree / "arm").write_bytes(arm)
    script = tree / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    compile_c(folder, "libgone.so", "int gone(void) { return 9; }", "-shared", "-fPIC")
    compile_c(folder, "libpart.so", "int gone(void); int part(void) { return gone(); }", "-shared", "-fPIC", f"-L{folder}",
              "-l:libgone.so")
    (folder / "libpart.so").rename(tree / "libpart.so")
    (folder / "libgone.so").unlink()
    (tree / "link").symlink_to("inner")
    (tree / "round").symlink_to(".")
    (tree / "dangling").symlink_to("nowhere")
    seen = boot("--file", f"{tree}:/data", "--", "sh", "-c",
                "cd /data; cat link/a round/inner/a; wc -c < arm; ls; readlink link; readlink round", cwd=folder)
    check(seen.code == 0 and seen.out.split() ==
          ["AA64", "arm", "empty", "inner", "libpart.so", "link", "round", "script", "inner", "."], "all of it is there", seen)
    for said in ("arm is no x86-64 program", "/no/such/interpreter", "libgone.so"):
        check(said in seen.err, f"told: {said}", seen)
    seen = boot("--", "wc", "-c", "tree/arm", cwd=folder)
    check(seen.code == 0 and seen.out == "64 tree/arm\n", "a word that names such a file", seen)


PYTHON = """
import ctypes, hashlib, json, multiprocessing, sqlite3, subprocess, sys
import mine.part
if __name__ == "__main__":
    host = subprocess.check_output(["uname", "-n"], text=True).strip()
    nodes = ctypes.CDLL(None).getpagesize()
    print(json.dumps([host, mine.part.value(), sys.argv[1:], sqlite3.sqlite_version_info[0], nodes]))
"""


def python_programs(folder):
    """Debian's own Python, with its library, the program's modules, and those of an environment."""
    (folder / "mine").mkdir()
    (folder / "mine/__init__.py").write_text("")
    (folder / "mine/part.py").write_text("from decimal import Decimal\nimport other\ndef value(): return str(Decimal(other.three))\n")
    (folder / "other.py").write_text("three = 3\n")
    (folder / "app.py").write_text(PYTHON)
    seen = boot("--", "/usr/bin/python3", "app.py", "a", "--b", cwd=folder)
    check(seen.code == 0 and json.loads(seen.out) == ["lab", "3", ["a", "--b"], 3, 4096], "a script with modules of its own", seen)
    check(seen.err == "", "nothing to complain about", seen)
    seen = boot("--", "env", "-u", "HOME", "/usr/bin/python3", "-Bc", "import mine.part; print(mine.part.value())", cwd=folder)
    check(seen.code == 0 and seen.out == "3\n", "behind another program, with -c", seen)
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder / "env"], check=True)
    site = next((folder / "env/lib").glob("python3*")) / "site-packages"
    (site / "installed").mkdir()
    (site / "installed/__init__.py").write_text("from needed import four\n")
    (site / "needed.py").write_text("four = 4\n")
    for name, content, requires in (("installed", "installed/__init__.py", "Requires-Dist: needed>=1\n"), ("needed", "needed.py", "")):
        info = site / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{requires}")
        (info / "RECORD").write_text(f"{content},,\n{name}-1.dist-info/METADATA,,\n")
    tool = folder / "tool"
    tool.write_text(f"#!{folder}/env/bin/python\nimport installed, importlib.metadata as m\n"
                    "print(installed.four, m.version('needed'), __import__('sys').prefix)\n")
    tool.chmod(0o755)
    seen = boot("--", "./tool", cwd=folder)
    check(seen.code == 0 and seen.out == f"4 1 {folder}/env\n", "a script of an environment, and what is installed there", seen)


LOADS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  char name[64], line[64];
  sprintf(name, "./%s.so", "plugged in");
  void* plugin = dlopen(name, RTLD_NOW);
  if (!plugin) { puts(dlerror()); return 3; }
  FILE* data = fopen("data\xc3\xa9.txt", "r");
  if (!data || !fgets(line, sizeof line, data)) return 4;
  printf("%d %s", ((int (*)(void))dlsym(plugin, "plugged"))(), line);
}
"""


def learnt_files(folder):
    """What a program opens by names that only the run knows."""
    compile_c(folder, "part", "int part(void) { return 30; }", "-shared", "-fPIC", "-o", str(folder / "libpart.so"))
    compile_c(folder, "plug", "int part(void); int plugged(void) { return part() + 3; }", "-shared", "-fPIC", "-o",
              str(folder / "plugged in.so"), f"-L{folder}", "-l:libpart.so", f"-Wl,-rpath,{folder}")
    compile_c(folder, "loads", LOADS, "-ldl")
    (folder / "dataé.txt").write_text("data\n")
    seen = boot("--", "./loads", cwd=folder)
    check(seen.code == 3 and "plugged in.so" in seen.out, "unknown beforehand", seen)
    seen = boot("--learn", "--", "./loads", cwd=folder)
    check(seen.code == 0 and seen.out == "33 data\n", "learnt from a run here", seen)
    seen = boot("--learn", "--", "perl", "-MPOSIX", "-e", "print POSIX::floor(2.5)")
    check(seen.code == 0 and seen.out == "2", "Perl and a module with a library of its own", seen)


def users(folder):
    seen = boot("--user", "nobody", "--results", folder / "out", "--",
                "sh", "-c", "id -u; id -G; grep CapEff /proc/self/status; echo mine > /results/f; echo 0 > /proc/sys/kernel/numa_balancing")
    check(seen.out.splitlines()[:2] == ["65534", "65534"] and "CapEff:\t0000000000000000" in seen.out, "nobody has no rights", seen)
    check(seen.code != 0 and (folder / "out/f").read_text() == "mine\n", "but may leave results", seen)
    check(boot("--user", "1234", "--", "id", "-u").out == "1234\n", "a number")
    check(boot("--", "id", "-u").out == "0\n", "root if nobody else is named")
    check(boot("--user", "no-such-user", "--", "true").code == 2, "an unknown user")


def tbb_library(folder):
    seen = lab("run", "--machine", "one-node", "--no-count", "--tbb", "homing", "--", "sh", "-c",
               "ls ${LD_LIBRARY_PATH%%:*}/libtbb.so.12 && echo there")
    if "is not built" in seen.err:
        print("skipped: no libtbb.so.12 of ours")
        return
    check(seen.code == 0 and seen.out.endswith("there\n"), "--tbb=homing takes our library along", seen)
    seen = boot("--tbb", "stock", "--", "true")
    check(seen.code == 125 and "--stock-library" in seen.err, "--tbb=stock wants a file", seen)


need("qemu-system-x86_64", "busybox", "cc", "strace")
main([handed_over_exactly, exit_statuses, input_and_output, prompts, what_is_left_running, results_come_back, files_and_libraries,
      a_folder_with_odd_files, python_programs, learnt_files, users, tbb_library])
