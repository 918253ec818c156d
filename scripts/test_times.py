"""Prints the times of tests, or of a build, sorted. See test_times.sh.
usage: test_times.py tests RECORD
       test_times.py build FOLDER LOG    the folder of -stats-output-dir, and what the build printed"""
import collections
import glob
import json
import os
import re
import sys

LINES = int(os.environ.get("LINES", 30))


def table(title, rows, total=None):
    """Prints the first rows of (seconds, count, name), the longest first."""
    rows = sorted(rows, reverse=True)
    print(f"\n{title}: {len(rows)}, {sum(row[0] for row in rows) if total is None else total:.1f} s")
    for seconds, count, name in rows[:LINES]:
        print(f"{seconds:9.2f} s {count or '':>6}  {name}")


def tests(record):
    """A record is what `--event-stream-output-path` writes. A test with arguments takes the sum of its cases."""
    started, names, functions, cases, failed = {}, {}, collections.defaultdict(float), [], set()
    counts = collections.Counter()
    begin = end = None
    for line in open(record, encoding="utf-8"):
        entry = json.loads(line)
        payload = entry["payload"]
        if entry["kind"] == "test":
            names[payload["id"]] = payload
            continue
        kind, now = payload["kind"], payload["instant"]["absolute"]
        case = payload.get("_testCase", {})
        key = (payload.get("testID"), case.get("id"))
        begin, end = begin or now, now
        if kind in ("testStarted", "testCaseStarted"):
            started[key] = now
        elif kind == "issueRecorded":
            failed.add(key[0])
        elif kind == "testCaseEnded":
            seconds = now - started[key]
            functions[key[0]] += seconds
            counts[key[0]] += 1
            cases.append((seconds, 0, f"{label(names[key[0]])}: {case.get('displayName', '?')}"))
        elif kind == "testEnded" and names[key[0]]["kind"] == "function" and not names[key[0]].get("isParameterized"):
            functions[key[0]] += now - started[key]
    suites, targets = collections.Counter(), collections.Counter()
    suite_counts, target_counts = collections.Counter(), collections.Counter()
    for name, seconds in functions.items():
        suite = name.split("/")[0]
        suites[suite] += seconds
        suite_counts[suite] += 1
        targets[suite.split(".")[0]] += seconds
        target_counts[suite.split(".")[0]] += 1
    table("Targets (with tests)", [(seconds, target_counts[name], name) for name, seconds in targets.items()])
    table("Suites (with tests)", [(seconds, suite_counts[name], name) for name, seconds in suites.items()])
    table("Tests (with cases)", [(seconds, counts[name], label(names[name])) for name, seconds in functions.items()])
    table("Cases", cases)
    print(f"\n{len(functions)} tests in {end - begin:.1f} s, {len(failed)} failed")


def label(test):
    return test["id"].split("/")[0] + "/" + test["name"] + (f" \"{test['displayName']}\"" if "displayName" in test else "")


def build(folder, log):
    """Every run of the compiler leaves a file of its own, named after its module."""
    modules, counts = collections.Counter(), collections.Counter()
    for path in glob.glob(f"{folder}/stats-*.json"):
        match = re.match(r"stats-\d+-swift-frontend-(\w+)-", os.path.basename(path))
        figures = json.load(open(path, encoding="utf-8"))
        seconds = sum(value for name, value in figures.items() if re.fullmatch(r"time\.swift-frontend\.[^.]*\.?(user|sys)", name))
        if not match:
            continue
        modules[match[1]] += seconds
        counts[match[1]] += 1
    table("Modules (with runs of the compiler)", [(seconds, counts[name], name) for name, seconds in modules.items()])
    slow = {"expression": {}, "function": {}}
    pattern = re.compile(r"([^ ]+:\d+:\d+): warning: (.*?) took (\d+)ms to type-check")
    for line in open(log, encoding="utf-8", errors="replace"):
        if match := pattern.search(line):
            kind = "expression" if match[2] == "expression" else "function"
            place = os.path.relpath(match[1])
            name = place if kind == "expression" else f"{place} {match[2]}"
            slow[kind][name] = max(slow[kind].get(name, 0), int(match[3]) / 1000)
    for kind, found in slow.items():
        table(f"Slow to type-check: {kind}s", [(seconds, 0, name) for name, seconds in found.items()])


if len(sys.argv) == 3 and sys.argv[1] == "tests":
    tests(sys.argv[2])
elif len(sys.argv) == 4 and sys.argv[1] == "build":
    build(sys.argv[2], sys.argv[3])
else:
    sys.exit(__doc__)
