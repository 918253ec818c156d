#!/usr/bin/env python3
"""A process that writes to the cache is killed at, or gets an error from, each call by which it changes files."""

import common
from common import ERRORS, SCRATCH, SHORT, Row, check, fresh, put

COUNT = 20_000 if SHORT else common.COUNT


def sound(root, earlier):
    """The earlier result is there, nothing is wrong or damaged, and storing once more works."""
    hits, _, wrong, damaged = check(root, 2, count=COUNT)
    if wrong or damaged or hits < earlier:
        return False
    return put(root, 1, count=COUNT).returncode == 0 and check(root, 2, count=COUNT) == (1 + earlier, 1 - earlier, 0, 0)


def attempt(rows, kind, base, earlier, naively, **fault):
    root = fresh(SCRATCH / "root", base)
    result = put(root, 1, "fsync", naively=naively, count=COUNT, **fault)
    rows[kind].tell(
        sound(root, earlier) and (kind == "kill" or result.returncode == 0),
        f"{fault} over {base.name}: exit {result.returncode}")


def main():
    base, empty = SCRATCH / "base", SCRATCH / "empty"
    put(base, 0, count=COUNT)
    kinds = ["kill", *ERRORS]
    bases = [(base, 1)] if SHORT else [(base, 1), (empty, 0)]
    library, reason = common.shim()

    if common.has_strace():
        rows = {kind: Row(f"cache: {kind} at each call (strace)") for kind in kinds}
        control = {"kill": Row("control: kill at each call of a naive writer")}
        for start, earlier in bases:
            root = SCRATCH / "root"
            fresh(root, start)
            points = common.strace_points([common.TOOL, "put", root, 1, COUNT, "fsync"], root)
            for index, (name, number) in enumerate(points):
                for kind in kinds:
                    if not SHORT or (index + kinds.index(kind)) % 6 == 0:
                        attempt(rows, kind, start, earlier, False, prefix=common.strace_prefix(name, number, kind))
        fresh(root, base)
        for name, number in common.strace_points([common.TOOL, "put-naively", root, 1, COUNT], str(root) + "/"):
            attempt(control, "kill", base, 1, True, prefix=common.strace_prefix(name, number, "kill"))
        for row in [*rows.values(), *control.values()]:
            row.print()
    else:
        common.skip("cache: kill and errors at each call (strace)", "strace is not installed, or may not trace")

    if SHORT and common.has_strace():
        return
    if not library:
        common.skip("cache: kill and errors at each call (preloaded)", reason)
        return
    rows = {kind: Row(f"cache: {kind} at each call (preloaded)") for kind in kinds}
    control = {"kill": Row("control: kill at each call of a naive writer (preloaded)")}
    for start, earlier in [(base, 1)]:
        log = SCRATCH / "log"
        for naively, table in [(False, rows), (True, control)]:
            log.unlink(missing_ok=True)
            root = fresh(SCRATCH / "root", start)
            put(root, 1, "fsync", naively=naively, count=COUNT, env=common.shim_environment(library, f"{root}/", log=log))
            calls = len(log.read_text().splitlines())
            for number in range(1, calls + 1):
                for kind in table:
                    if SHORT and not naively and (number + kinds.index(kind)) % 3:
                        continue
                    env = common.shim_environment(library, f"{root}/", at=number, kind=ERRORS.get(kind, kind))
                    attempt(table, kind, start, earlier, naively, env=env)
    for row in [*rows.values(), *control.values()]:
        row.print()


main()
