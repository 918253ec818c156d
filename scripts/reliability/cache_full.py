#!/usr/bin/env python3
"""A disk that is full, read-only, or fails, under the cache of a conversion: the package is made all the same."""

import filecmp
import os
import shutil
import subprocess

import common
from common import ACCELC, ERRORS, SCRATCH, SHORT, Row, check, fresh, put

MODEL = ["convert", "Tests/Fixtures/digits", "--shape", "batch=1,sequence=65", "--compress", "palette:bits=4,group=16"]


def same(left, right):
    names = sorted(os.path.relpath(os.path.join(f, n), left) for f, _, ns in os.walk(left) for n in ns)
    return names and all(os.path.exists(f"{right}/{n}") and filecmp.cmp(f"{left}/{n}", f"{right}/{n}", False) for n in names)


def convert(cache, **further):
    """Whether the package is made, and how often it is said that the cache is not written."""
    output = fresh(SCRATCH / "out.accelpkg")
    result = common.run(ACCELC, *MODEL, "-o", output, "--cache", cache, **further)
    return result.returncode == 0 and same(SCRATCH / "expected.accelpkg", output), result.stderr.count("is not written to")


def errors(library):
    row = Row("convert: an error at each call that writes to its cache")
    root, log = SCRATCH / "cache", SCRATCH / "log"
    fresh(root)
    convert(root, env=common.shim_environment(library, f"{root}/", log=log))
    calls = log.read_text().splitlines()
    for number in range(1, len(calls) + 1, len(calls) // 6 if SHORT else max(1, len(calls) // 120)):
        kind = list(ERRORS)[number % 3]
        fresh(root)
        made, warnings = convert(root, env=common.shim_environment(library, f"{root}/", at=number, kind=ERRORS[kind]))
        _, _, wrong, damaged = check(root, 1)
        row.tell(made and warnings <= 1 and not wrong and not damaged,
                 f"{kind} at {calls[number - 1]}: made {made}, {warnings} warnings, {damaged} damaged")
    row.print()


def tiny_disk():
    name = "convert: true ENOSPC, the cache on a disk of 256 kB"
    disk = SCRATCH / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        common.skip(name, "only root may mount a tmpfs")
        return
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode != 0:
        common.skip(name, f"no tmpfs can be mounted: {mounted.stderr.strip()}")
        return
    try:
        row = Row(name)
        for turn in range(2 if SHORT else 6):
            made, warnings = convert(disk / "cache")
            row.tell(made and warnings == 1, f"turn {turn}: made {made}, {warnings} warnings")
        _, _, wrong, damaged = check(disk / "cache", 1)
        row.tell(not wrong and not damaged, "what is on the full disk is damaged")
        row.tell(not [p for p in disk.rglob("*.partial")], "something half-written is left")
        # What does not fit as a package is rejected whole.
        result = common.run(ACCELC, *MODEL[:-1], "float32", "-o", disk / "p.accelpkg", "--no-cache")
        row.tell(result.returncode == 3 and not (disk / "p.accelpkg").exists(), f"exit {result.returncode}")
        row.print()
    finally:
        subprocess.run(["umount", disk])


def read_only():
    row = Row("convert: the cache may not be written")
    root = fresh(SCRATCH / "cache")
    fresh(SCRATCH / "file").write_text("x")
    made, warnings = convert(SCRATCH / "file" / "cache")
    row.tell(made and warnings == 1, f"a file in its place: made {made}, {warnings} warnings")
    convert(root)
    row.tell(convert(root)[0], "a hit")
    if os.geteuid() == 0:
        mounted = subprocess.run(["mount", "--bind", root, root]).returncode == 0 and \
            subprocess.run(["mount", "-o", "remount,ro,bind", root]).returncode == 0
        try:
            if mounted:
                made, warnings = convert(root)
                row.tell(made and warnings == 0, f"a hit on a read-only disk: made {made}, {warnings} warnings")
                os.environ["ACCELC_CACHE"] = str(root)
                other = common.run(ACCELC, *MODEL[:-1], "int8", "-o", fresh(SCRATCH / "o.accelpkg"))
                row.tell(other.returncode == 0 and other.stderr.count("is not written to") == 1, other.stderr[-300:])
        finally:
            subprocess.run(["umount", root], capture_output=True)
    row.print()


def main():
    made = common.run(ACCELC, *MODEL, "-o", SCRATCH / "expected.accelpkg", "--no-cache")
    if made.returncode != 0:
        raise SystemExit(made.stderr)
    library, reason = common.shim()
    if library:
        errors(library)
    else:
        common.skip("convert: an error at each call that writes to its cache", reason)
    tiny_disk()
    read_only()


main()
