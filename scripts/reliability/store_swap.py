#!/usr/bin/env python3
"""Tasks run a stored model without a pause while its versions change: no call fails, no answer is of two versions, and the versions
that are gone are freed."""

import os

from common import SCRATCH, SHORT, Row, run

TOOL = os.path.join(os.environ["BUILD"], "StoreTool")
TASKS = 8
CHANGES = 20 if SHORT else 100


def main():
    packages = SCRATCH / "packages"
    packages.mkdir()
    run(TOOL, "make", packages, 7)
    result = run(TOOL, "swap", SCRATCH / "store", packages, 7, TASKS, CHANGES, timeout=600)
    if result.returncode != 0:
        raise SystemExit(result.stderr[-500:])
    answers, failed, mixed, changes, alive = map(int, result.stdout.split())
    if changes != CHANGES or answers < CHANGES:
        raise SystemExit(f"{answers} answers in {changes} changes: there was no load")
    name = f"store: answers of {TASKS} tasks during {CHANGES} changes"
    print(name, answers + failed, answers - mixed, failed + mixed, sep="\t")
    freed = Row("store: versions freed after their last prediction")
    for index in range(changes):
        freed.tell(index >= alive)
    freed.print()


main()
