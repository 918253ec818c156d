#!/usr/bin/env python3
"""Records what a rebuild of the sources must not change, and compares two records.

usage: record.py --tool PATH -o FILE.json [--tests FOLDER] [--only REGEX] [--jobs N] [--python PROGRAM]
       record.py --compare A.json B.json [--only REGEX] [--most N]

A record holds, for every model of Tests/Fixtures and for a model with rows of 256 weights that is made here: cache keys; digests of
packages, of exports in every format and of outputs; the values of parity reports; and for the commands of Tests/CommandTests/Scripts
that fail the exit status, the code and the location of the error. It holds no sentences, times, or paths of the machine.
Both records have to be made on the same machine, since metrics depend on the processor's instructions.

  --tests FOLDER   the Tests folder of another commit, for its fixtures and scripts
  --only REGEX     only the jobs (--tool) or entries (--compare) whose names the expression matches
  --jobs N         processes at a time (default: one a processor)
  --python PROGRAM the Python with the runtimes of exports; without it no runtime runs
  --most N         differences to print (default: 200)
Exit status of --compare: 1 if anything differs.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import sys
import time

from recording import commands, models, wide
from recording.tool import Tool

ROOT = pathlib.Path(__file__).resolve().parent.parent


def make(arguments):
    tests = pathlib.Path(arguments.tests or ROOT / "Tests").resolve()
    tool = Tool(arguments.tool, arguments.python)
    jobs = models.jobs(tool, tests) + wide.jobs(tool, tests) + commands.jobs(tool, tests)
    jobs = [job for job in jobs if re.search(arguments.only, job[0])]
    record, started = {}, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        names = {pool.submit(job): name for name, job in jobs}
        for number, future in enumerate(concurrent.futures.as_completed(names), 1):
            record[names[future]] = future.result()
            print(f"{number} of {len(jobs)}, {time.monotonic() - started:.0f} s: {names[future]}", file=sys.stderr)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of processors", file=sys.stderr)
    with open(arguments.output, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1, sort_keys=True, ensure_ascii=False)
        file.write("\n")


def is_names(value):
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def differences(left, right, path=""):
    """The paths at which two values differ, each with both values."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            place = f"{path} / {key}" if path else key
            if key not in right:
                yield place, left[key], "nothing"
            elif key not in left:
                yield place, "nothing", right[key]
            else:
                yield from differences(left[key], right[key], place)
    elif is_names(left) and is_names(right) and set(left) != set(right):
        yield path, sorted(set(left) - set(right)), sorted(set(right) - set(left))
    elif left != right or type(left) is not type(right):
        yield path, left, right


def compare(arguments):
    records = []
    for path in arguments.compare:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        records.append({name: value for name, value in record.items() if re.search(arguments.only, name)})
    count = 0
    for path, left, right in differences(*records):
        count += 1
        if count <= arguments.most:
            texts = [json.dumps(value, ensure_ascii=False)[:300] for value in (left, right)]
            print(f"{path}\n    {texts[0]}\n    {texts[1]}")
    print(f"{count} differences in {max(map(len, records))} entries")
    return 1 if count or not all(records) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool")
    parser.add_argument("-o", "--output")
    parser.add_argument("--tests")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--python")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"))
    parser.add_argument("--most", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.compare:
        return compare(arguments)
    if not arguments.tool or not arguments.output:
        parser.error("--tool and -o, or --compare")
    return make(arguments)


if __name__ == "__main__":
    sys.exit(main())
