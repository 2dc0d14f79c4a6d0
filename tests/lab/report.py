#!/usr/bin/env python3
"""Property: the page of `homing lab report` says what counts.json says, fits every screen, can be read in dark and in light,
on paper and without eyes, and asks nobody for anything. Method: pages of checked-in runs, opened in Chromium."""

import copy
import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from browser import Browser
from lab import ROOT, check, lab, main

RUNS = ROOT / "tests/data/lab"
SERVED = ("local_cache", "remote_cache", "local_dram", "remote_dram")
COLUMNS = ("local cache", "remote cache", "local DRAM", "remote DRAM")
CONTRAST_MIN = 4.5   # WCAG 2.2, AA, for text of any size


def counts(name):
    return json.loads((RUNS / name / "counts.json").read_text())


def make(folder, *words):
    page = folder / "page.html"
    seen = lab("report", *words, "-o", page)
    check(seen.code == 0 and seen.out == "" and page.resolve().as_uri() in seen.err, "the page is made and named", seen)
    return page


TABLES = """[...document.querySelectorAll('main section[data-region]')].map(s => ({
  region: s.dataset.region,
  tables: [...s.querySelectorAll('table.figures')].map(t => ({
    caption: t.caption.textContent,
    columns: [...t.tHead.rows[0].cells].slice(1).map(c => c.textContent),
    rows: [...t.tBodies[0].rows].map(r => ({name: r.cells[0].textContent,
      values: [...r.cells].slice(1).map(c => [...c.querySelectorAll('data')].map(d => Number(d.value))),
      texts: [...r.cells].slice(1).map(c => c.textContent)}))})),
  heats: [...s.querySelectorAll('table.heat')].map(t => ({
    title: t.caption.firstChild.textContent.trim(),
    rows: [...t.tBodies[0].rows].map(r => [...r.querySelectorAll('data')].map(d => Number(d.value)))}))}))"""


def mean(values):
    return sum(values) / len(values)


def near(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))


def figures_are_those_of_the_counts(folder):
    names = {"one thread fills": ["one-thread-fills/1", "one-thread-fills/2"], "first-touch": ["first-touch/1"]}
    page = make(folder, "--label", f"one thread fills={RUNS}/one-thread-fills", f"--label=first-touch={RUNS}/first-touch/1")
    with Browser() as browser:
        browser.open(page, 1280)
        shown = browser.value(TABLES)
    raw = {label: [counts(one)["regions"] for one in of] for label, of in names.items()}
    check([s["region"] for s in shown] == ["whole", "fill", "update"], "a section a region", [s["region"] for s in shown])
    for section in shown:
        of = {label: [next(r for r in regions if r["label"] == section["region"]) for regions in runs]
              for label, runs in raw.items()}
        first = mean([r["virtual_ns"] for r in of["one thread fills"]])
        served, time, program, kernel = section["tables"]
        check(tuple(served["columns"][:4]) == COLUMNS, "columns", served)
        check([row["name"] for row in served["rows"]] == list(of), "runs", served)
        for row in served["rows"]:
            expected = [mean([r[kind] for r in of[row["name"]]]) for kind in SERVED]
            expected.append(sum(expected))
            same = all(near(value[0], e) for value, e in zip(row["values"], expected, strict=True))
            check(same, f"{section['region']}: who served", (row, expected))
            if len(of[row["name"]]) == 1:
                said = [text.replace(",", "") for text in row["texts"]]
                check(all(t.startswith(f"{e:.0f}") for t, e in zip(said, expected)), "as people read them", (said, expected))
            else:
                ends = [f"{f(r['local_dram'] for r in of[row['name']]):,}" for f in (min, max)]
                check(f"{ends[0]} to {ends[1]}" in row["texts"][2], "the spread of runs of one label", (row["texts"], ends))
        for row in time["rows"]:
            expected = mean([r["virtual_ns"] for r in of[row["name"]]])
            check(near(row["values"][0][0], expected) and near(row["values"][1][0], expected / first), "virtual time", row)
        for table, where in ((program, None), (kernel, "kernel")):
            for row in table["rows"]:
                for column, value in zip(table["columns"], row["values"]):
                    key = column.lower().replace(" ", "_").replace("-", "_")
                    expected = mean([(r[where] if where else r)[key] for r in of[row["name"]]])
                    check(near(value[0], expected), f"{where or 'program'} {key}", (value, expected))
        seen = iter(section["heats"])
        for runs in of.values():
            for key, title in (("dram", "From memory"), ("cache", "From another node's cache"),
                               ("local_cache", "From a cache of its own node")):
                matrix = [[mean(cell) for cell in zip(*rows)] for rows in zip(*(r["matrix"][key] for r in runs))]
                if not any(map(any, matrix)):
                    continue
                heat = next(seen)
                check(heat["title"] == title and all(near(a, b) for x, y in zip(heat["rows"], matrix) for a, b in zip(x, y))
                      and len(heat["rows"]) == len(matrix), f"{section['region']}: {key} by node", (heat, matrix))
        check(next(seen, None) is None, "no other heat map")


def csv_and_json_have_the_same_figures(folder):
    words = ("--label", f"a={RUNS}/one-thread-fills/1", "--label", f"b={RUNS}/first-touch/1")
    seen = lab("report", *words, "--json", cwd=folder)
    document = json.loads(seen.out)
    raw = {"a": counts("one-thread-fills/1")["regions"], "b": counts("first-touch/1")["regions"]}
    check(seen.code == 0 and seen.err == "" and not list(folder.iterdir()), "--json alone makes no page", seen)
    for number, region in enumerate(document["regions"]):
        for run in region["runs"]:
            own = raw[run["label"]][number]
            check(all(run["served"][kind]["mean"] == own[kind] for kind in SERVED)
                  and run["virtual_ns"]["mean"] == own["virtual_ns"] and run["matrix"] == own["matrix"], "JSON", run)
    check(document["modelled"] is True and document["runs"][0]["notSeen"] == counts("first-touch/1")["notSeen"]
          and document["runs"][0]["assumed"]["cpi"], "what is modelled, not seen, assumed", document["runs"])
    seen = lab("report", *words, "--csv", cwd=folder)
    rows = list(csv.DictReader(io.StringIO(seen.out)))
    for label, regions in raw.items():
        for own in regions:
            mine = [r for r in rows if r["region"] == own["label"] and r["run"] == label]
            one = {r["figure"]: float(r["mean"]) for r in mine if not r["node"]}
            check(all(one[kind] == own[kind] for kind in SERVED) and near(one["virtual_ns"], own["virtual_ns"]), "CSV", one)
            dram = {(int(r["cpu_node"]), int(r["node"])): float(r["mean"]) for r in mine if r["figure"] == "matrix_dram"}
            check(all(own["matrix"]["dram"][a][b] == value for (a, b), value in dram.items()) and len(dram) == 16, "matrix", dram)
    seen = lab("report", *words, "--region", "update", "--json")
    check([r["label"] for r in json.loads(seen.out)["regions"]] == ["update"], "--region chooses", seen)


OVERFLOWS = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && !e.closest('thead')
  && !e.closest('details:not([open])') && e.getBoundingClientRect().right > innerWidth + 0.5)
  .map(e => e.tagName + '.' + e.getAttribute('class') + ': ' + e.textContent.slice(0, 60))"""

# Text against what is painted behind it, by WCAG's formula. Chart letters stand on rectangles; those have a table.
FAINT = """(() => {
  const parts = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parts(c).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
      if (c !== 'transparent' && parts(c)[3] !== 0) return c; } return 'rgb(255,255,255)'; };
  const faint = [];
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg') || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < MIN) faint.push(e.textContent.slice(0, 40) + ' ' + ((a + 0.05) / (b + 0.05)).toFixed(2));
  }
  return faint; })()""".replace("MIN", str(CONTRAST_MIN))

UNTOLD = """[
  ...[...document.querySelectorAll('svg')].filter(s => s.getAttribute('role') !== 'img' || !s.getAttribute('aria-labelledby')
     .split(' ').every(id => document.getElementById(id).textContent.trim())).map(s => 'svg without words'),
  ...[...document.querySelectorAll('table')].filter(t => !t.caption || !t.caption.textContent).map(t => 'no caption'),
  ...[...document.querySelectorAll('section[data-region]')].filter(s => s.querySelectorAll('svg').length !== 3
     || !s.querySelector('table.figures')).map(s => 'charts without table'),
  ...[...document.querySelectorAll('input')].filter(i => !i.labels.length).map(i => 'input without label'),
  ...[...document.querySelectorAll('[id]')].filter(e => document.querySelectorAll('#' + CSS.escape(e.id)).length > 1)
     .map(e => 'twice: ' + e.id),
  ...(document.documentElement.lang ? [] : ['no language']),
  ...(document.querySelectorAll('h1').length === 1 ? [] : ['not one h1'])]"""
NOISE = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")

SHOWN = "[...document.querySelectorAll('section[data-region]')].filter(s => s.offsetHeight).map(s => s.dataset.region)"


INK = "getComputedStyle(document.body).color"


def quiet(browser, page, what):
    """Neither the console nor anybody outside heard of the page."""
    noise = [e for e in browser.events if e.get("method") in NOISE]
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    left = [url for url in asked if url != page.resolve().as_uri() and not url.startswith("data:")]
    check(not noise and not left, f"{what}: no console message, no request", (noise, left))


def fits_and_reads(page, what):
    with Browser() as browser:
        pictures = {}
        for width in (320, 390, 800, 1280):
            for dark in (False, True):
                browser.open(page, width, dark=dark)
                size = browser.value("[document.documentElement.scrollWidth, innerWidth]")
                over = browser.value(OVERFLOWS)
                check(size[0] <= size[1] == width and not over, f"{what}: nothing overflows at {width} px", (size, over))
                quiet(browser, page, what)
                faint = browser.value(FAINT)
                check(not faint, f"{what}: text stands out, {'dark' if dark else 'light'}", faint[:10])
                pictures[width, dark] = browser.screenshot(whole=False), browser.value(INK)
        for width in (390, 1280):
            differ = [a != b for a, b in zip(pictures[width, False], pictures[width, True])]
            check(all(differ), f"{what}: dark and light differ", differ)
        check(browser.value(UNTOLD) == [], f"{what}: pictures and tables have words", browser.value(UNTOLD))
        check(browser.value("document.scripts.length") == 0, f"{what}: no script")


def fits_every_screen(folder):
    fits_and_reads(make(folder, RUNS / "one-thread-fills", RUNS / "first-touch"), "two runs")


def regions_are_picked_without_a_script(folder):
    page = make(folder, RUNS / "one-thread-fills", RUNS / "first-touch/1", RUNS / "one-node")
    with Browser() as browser:
        browser.open(page, 390)
        check(browser.value(SHOWN) == ["whole", "fill", "update"], "all regions at first")
        browser.value("document.getElementById('pick-2').click()")
        check(browser.value(SHOWN) == ["update"], "a picked one alone", browser.value(SHOWN))
        browser.send("Emulation.setEmulatedMedia", media="print")
        check(browser.value(SHOWN) == ["whole", "fill", "update"], "paper has them all", browser.value(SHOWN))
        check(browser.value("document.querySelector('details table').checkVisibility()"), "and what is folded away")
        check(browser.pdf().startswith(b"%PDF"), "it prints")
        text = browser.value("document.body.textContent")
    for said in ("Modelled, not measured", "What the model does not see", *counts("one-node")["notSeen"],
                 "10 line fill buffers a core", "node 3, socket 3", "caches 16 times smaller", "different machines"):
        check(said in text, f"the page says: {said[:40]}")


def odd(folder, name, change):
    """A run like a checked-in one, changed."""
    document = copy.deepcopy(counts("first-touch/1"))
    change(document)
    (folder / name).mkdir(parents=True)
    (folder / name / "counts.json").write_text(json.dumps(document))
    return folder / name


def odd_runs_fit_too(folder):
    """A machine without a file and with sixteen nodes, words that look like HTML, regions without a line, too many."""
    evil = "<script>alert(1)</script>\"'&amp; " + "w" * 40

    def wide(document):
        document["machine"] = "sixteen"
        document["calibrated"] = False
        for region in document["regions"]:
            matrix = [[10 ** (a % 10) + b for b in range(16)] for a in range(16)]
            region["matrix"] = dict.fromkeys(region["matrix"], matrix)
            region["unplaced"] = 3

    def none(document):
        for region in document["regions"]:
            region.update(dict.fromkeys(SERVED, 0), virtual_ns=0)
            region["matrix"] = {key: [[0] * 4 for _ in range(4)] for key in region["matrix"]}

    def many(document):
        base = document["regions"][1]
        document["regions"] += [base | {"label": f"{evil}{n}"[-63:] if n % 2 else f"<b>{n}"} for n in range(60)]

    words = ["-l", f"{evil}={odd(folder, 'wide', wide)}", "-l", f"none={odd(folder, 'none', none)}"]
    page = make(folder, *words)
    fits_and_reads(page, "odd runs")
    with Browser() as browser:
        browser.open(page, 390)
        text = browser.value("document.body.textContent")
        check(evil in text and "not calibrated" in text and " 3 accesses" in text and "can't be drawn" in text,
              "labels are text, warnings are there", text[:600])
    nine = [word for n in range(9) for word in ("-l", f"run {n}, a longer name={RUNS}/first-touch/1")]
    page = make(folder, odd(folder, "many", many), *nine)
    with Browser() as browser:
        browser.open(page, 390)
        check(browser.value("document.documentElement.scrollWidth") == 390 and not browser.value(OVERFLOWS), "ten runs fit",
              browser.value(OVERFLOWS))
        check(browser.value("document.querySelectorAll('section[data-region]').length") == 40
              and "23 more regions" in browser.value("document.body.textContent"), "too many regions: said")
        quiet(browser, page, "ten runs")


def the_picture_is_one_file(folder):
    picture = folder / "picture.svg"
    seen = lab("report", RUNS / "one-thread-fills", RUNS / "first-touch/1", "--svg", picture, cwd=folder)
    check(seen.code == 0 and not (folder / "lab-report.html").exists(), "--svg alone makes no page", seen)
    root = ElementTree.fromstring(picture.read_text())
    check(root.tag.endswith("svg") and root[0].text.startswith("Who served"), "SVG with a title")
    with Browser() as browser:
        shots = []
        for dark in (False, True):
            browser.open(picture, 1280, dark=dark)
            shots.append(browser.screenshot(whole=False))
            quiet(browser, picture, "the picture")
        check(shots[0] != shots[1], "the picture: dark and light differ")
        size = browser.value("(({width, height}) => [width, height])(document.documentElement.getBBox())")
        box = [float(n) for n in root.get("viewBox").split()[2:]]
        check(size[0] <= box[0] + 0.5 and size[1] <= box[1] + 0.5, "all of it is inside", (size, box))


def mistakes_are_named(folder):
    good = counts("one-node")
    region = good["regions"][0]
    broken = {"no JSON": "{", "schema: expected 1, found 7": json.dumps(good | {"schema": 7}),
              "regions[0].local_dram: expected a number": json.dumps(good | {"regions": [region | {"local_dram": "x"}]}),
              "regions[0].matrix.dram": json.dumps(good | {"regions": [region | {"matrix": {"dram": [[1, 2]]}}]}),
              "regions[0].kernel: expected": json.dumps(good | {"regions": [region | {"kernel": []}]}),
              "regions[0].instructions: expected a number": json.dumps(good | {"regions": [region | {"instructions": "x"}]}),
              "notSeen: expected a list": json.dumps(good | {"notSeen": 5}),
              "precision: expected": json.dumps(good | {"precision": 5}),
              "nothing was counted": json.dumps(good | {"regions": []}), "expected a JSON object": "[]"}
    for said, content in broken.items():
        (folder / "counts.json").write_text(content)
        seen = lab("report", folder / "counts.json")
        check(seen.code not in (0, 1) and said in seen.err and seen.err.count("\n") <= 2 and seen.out == "", said, seen)
    (folder / "empty").mkdir()
    for words, said in (([], "expected a RUN"), ([folder / "nothing"], "there is no"),
                        ([folder / "empty"], "no counts.json in it"),
                        ([RUNS / "one-node", RUNS / "one-node"], "two runs would be called 'one-node'"),
                        (["--label", "x"], "expected NAME=RUN"), (["--label", f"={RUNS}/one-node"], "expected NAME=RUN"),
                        ([RUNS / "first-touch", "--region", "updat"], "there are: update"),
                        ([RUNS / "one-node", "--csv", "--json"], "not both"),
                        (["-l", f"a={RUNS}/one-node", "-l", f"a={RUNS}/first-touch"], "different machines")):
        seen = lab("report", *words, cwd=folder)
        check(seen.code == 2 and said in seen.err and seen.err.count("\n") <= 2, f"refused: {said}", seen)
    seen = lab("report", RUNS / "one-node", "-o", folder / "no/where.html")
    check(seen.code == 125 and "can't write" in seen.err, "a folder that is not there", seen)
    seen = lab("report", "--help")
    check(seen.code == 0 and "Examples:" in seen.out and "homing lab report before after" in seen.out, "--help", seen)


main([figures_are_those_of_the_counts, csv_and_json_have_the_same_figures, fits_every_screen,
      regions_are_picked_without_a_script, odd_runs_fit_too, the_picture_is_one_file, mistakes_are_named])
