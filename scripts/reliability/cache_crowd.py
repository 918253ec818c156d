#!/usr/bin/env python3
"""Many processes take out, store and clean up at random over one cache, and are killed now and then (seeded)."""

import os
import random
import subprocess
import time

import common
from common import SCRATCH, SHORT, TOOL, Row, check, fresh

COUNT = 2_000


def crowd(name, processes, seconds, environment=None):
    root, notes = fresh(SCRATCH / "crowd"), fresh(SCRATCH / "notes")
    notes.mkdir()
    chance = random.Random(40)
    row, twice = Row(name), Row("cache: a result is made twice at a time, among them")
    started = 0

    def start():
        nonlocal started
        started += 1
        return subprocess.Popen(
            [TOOL, "work", str(root), str(started), str(seconds), str(COUNT), str(notes)],
            env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    crew = [start() for _ in range(processes)]
    end = time.monotonic() + seconds
    kills = made = 0
    while time.monotonic() < end:
        time.sleep(chance.uniform(0.05, 0.4))
        victim = chance.randrange(len(crew))
        crew[victim].kill()
        crew[victim].communicate()
        kills += 1
        crew[victim] = start()
    for process in crew:
        try:
            output, errors = process.communicate(timeout=seconds + 60)
        except subprocess.TimeoutExpired:
            process.kill()
            row.tell(False, "a process does not end")
            continue
        row.tell(process.returncode == 0, f"exit {process.returncode}: {errors[-300:]}")
        if process.returncode == 0:
            made += int(output.split()[1])
            if int(output.split()[3]):
                twice.lost += int(output.split()[3])
    _, _, wrong, damaged = check(root, 24, count=COUNT)
    row.tell(wrong == 0, f"{wrong} wrong results afterwards")
    row.tell(damaged == 0, f"{damaged} damaged files afterwards")
    row.tried += kills
    row.print()
    if not environment:
        twice.tried = made
        twice.print()


crowd("cache: 16 processes at random, some killed", 16, 4 if SHORT else 60)
library, reason = common.shim()
if library:
    crowd("cache: the same where locks have no effect", 16, 2 if SHORT else 15,
          {"LD_PRELOAD": str(library), "FAULT_NO_LOCKS": "1"})
else:
    common.skip("cache: the same where locks have no effect", reason)
