#!/usr/bin/env python3
"""A process that updates a stored model, or runs a new version for the first time, is killed at, or gets an error from, each call by
which it changes files; a run of the new version takes its process with it."""

import os

import common
from common import ERRORS, SCRATCH, SHORT, Row, fresh, run

TOOL = os.path.join(os.environ["BUILD"], "StoreTool")
PACKAGES = SCRATCH / "packages"


def number(root):
    """The number of the version that an app gets; None if it gets none."""
    result = run(TOOL, "run", root)
    return int(result.stdout) if result.returncode == 0 else None


def update(root, version, **further):
    return run(TOOL, "update", root, PACKAGES / f"{version}.accelpkg", **further)


def leftovers(root):
    return tuple(map(int, run(TOOL, "leftovers", root).stdout.split()))


def sound(root, allowed):
    """The app gets a whole version, one that may be; and the next update works and tidies up."""
    found = number(root)
    if found not in allowed:
        return f"the app gets {found}"
    for version in (3, 4):
        result = update(root, version)
        if result.returncode != 0 or number(root) != version:
            return f"the next update ends with {result.returncode}: {result.stderr[-200:]}"
    # The current version and the one before.
    return None if leftovers(root) == (0, 2) else f"leftovers: {leftovers(root)}"


def attempt(row, base, command, allowed, **fault):
    root = fresh(SCRATCH / "root", base)
    result = run(TOOL, *command, **fault)
    fault = sound(root, allowed)
    row.tell(fault is None, f"{command[0]} {row.name}: exit {result.returncode}, {fault}")


def main():
    PACKAGES.mkdir()
    run(TOOL, "make", PACKAGES, 4)
    base, tentative, root = SCRATCH / "base", SCRATCH / "tentative", SCRATCH / "root"
    update(base, 1)
    if number(base) != 1:
        raise SystemExit("the store does not work")
    fresh(tentative, base)
    update(tentative, 2)

    row = Row("store: the first run of a version kills its process")
    fresh(root, tentative)
    run(TOOL, "die", root)
    row.tell(number(root) == 1 and sound(root, {1}) is None, "the app does not get the version before")
    # Without a version before there is nothing to go back to.
    fresh(root)
    update(root, 2)
    run(TOOL, "die", root)
    row.tell(number(root) == 2, "the only version is lost")
    row.print()

    library, reason = common.shim()
    if not library:
        common.skip("store: kill and errors at each call", reason)
        return
    kinds = ["kill", *ERRORS]
    # An update to a folder and to an archive over a proven version, the first one of all, and the first run of a tentative one.
    commands = [
        ("update", base, ("update", root, PACKAGES / "2.accelpkg"), {1, 2}),
        ("update to a folder", base, ("update", root, PACKAGES / "3.accelpkg"), {1, 3}),
        ("first update", SCRATCH / "nothing", ("update", root, PACKAGES / "2.accelpkg"), {None, 2}),
        ("first run", tentative, ("run", root), {1, 2}),
    ]
    log = SCRATCH / "log"
    for name, start, command, allowed in commands:
        log.unlink(missing_ok=True)
        fresh(root, start)
        run(TOOL, *command, env=common.shim_environment(library, f"{root}", log=log))
        calls = len(log.read_text().splitlines())
        if not calls:
            raise SystemExit(f"{name} changes no file: does the preloaded library work?")
        for kind in kinds:
            row = Row(f"store: {kind} at each call of {'an' if name[0] in 'au' else 'a'} {name}")
            for number_ in range(1, calls + 1):
                if SHORT and (number_ + kinds.index(kind)) % 12:
                    continue
                env = common.shim_environment(library, f"{root}", at=number_, kind=ERRORS.get(kind, kind))
                attempt(row, start, command, allowed, env=env)
            row.print()


main()
