#!/usr/bin/env python3
"""Files that accelc has not made lie in a cache, or the cache is named by mistake: nothing of them is removed."""

import os
import pathlib
import shutil
import subprocess
import time

import common
from common import ACCELC, SCRATCH, SHORT, Row, fresh

MODEL = ["Tests/Fixtures/digits", "--shape", "batch=1,sequence=65"]
OLD = time.time() - 30 * 86400
NAMES = ["main.go", "notes", ".hidden", "ab.partial", ".main.go.0123456789abcdef.partial", "a" * 63, "g" * 64]
ACTIONS = {
    "clear": ["cache", "clear"], "gc": ["cache", "gc", "--max-size", "0", "--min-age", "0s"], "fsck --repair": ["cache", "fsck", "--repair"],
    "convert": ["convert", *MODEL, "-o", SCRATCH / "out.accelpkg"], "get": ["cache", "get", *MODEL],
}


def plant(root):
    """Puts young and old files, and a folder with a file, into every folder: all that must survive."""
    planted = {}
    # What lies in tmp has names of 128 random bits; what is in it is being made.
    folders = [p for p in [root, *root.rglob("*")] if p.is_dir() and p.parent.name != "tmp"]
    for number, folder in enumerate(folders):
        for index, name in enumerate(NAMES):
            path = folder / name
            path.write_text(f"{number} {name}")
            if index % 2:
                os.utime(path, (OLD, OLD))
            planted[path] = path.read_bytes()
        (folder / "theirs").mkdir()
        (folder / "theirs/file").write_text("x")
        os.utime(folder / "theirs/file", (OLD, OLD))
        os.utime(folder / "theirs", (OLD, OLD))
        planted[folder / "theirs/file"] = b"x"
    return planted


def survived(planted):
    for path, content in planted.items():
        yield path.is_file() and path.read_bytes() == content, str(path)


def as_before(root):
    """A clean-up that goes by folders and age alone."""
    for place in ["tmp", "lease"]:
        for path in (root / "v1" / place).glob("*"):
            if time.time() - path.stat().st_mtime > 86400:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def in_a_cache():
    base = SCRATCH / "base"
    for words in [["convert", *MODEL, "-o", SCRATCH / "out.accelpkg"], ["cache", "get", *MODEL]]:
        result = common.run(ACCELC, *words, "--cache", base)
        if result.returncode != 0:
            raise SystemExit(result.stderr)
    for place in ["tmp", "quarantine", "lock"]:
        (base / "v1" / place).mkdir(exist_ok=True)
    for name, words in ACTIONS.items():
        row = Row(f"cache: foreign files in every folder, {name}")
        root = fresh(SCRATCH / "cache", base)
        planted = plant(root)
        result = common.run(ACCELC, *words, "--cache", root)
        row.tell(result.returncode == 0, f"exit {result.returncode}: {result.stderr}")
        for is_there, path in survived(planted):
            row.tell(is_there, f"{path} is gone")
        listed = common.run(ACCELC, "cache", "fsck", "--cache", root)
        for path in planted:
            # A folder of which nothing is accelc's (any more) is listed as one.
            names = [path, *(folder for folder in path.parents if root in folder.parents)]
            row.tell(any(f"{name}: left alone" in listed.stdout for name in names), f"{path} is not listed")
        # It is a cache still.
        result = common.run(ACCELC, "convert", *MODEL, "-o", SCRATCH / "out.accelpkg", "--cache", root)
        row.tell(result.returncode == 0 and "warning: the cache" not in result.stderr, result.stderr)
        row.print()
    for name, action in [("by age", as_before), ("of whole folders", lambda root: shutil.rmtree(root / "v1"))]:
        control = Row(f"control: a clean-up {name}")
        root = fresh(SCRATCH / "cache", base)
        planted = plant(root)
        action(root)
        for is_there, _ in survived(planted):
            control.tell(is_there)
        control.print()


def elsewhere():
    row = Row("cache: a folder that is none, named by --cache")
    for name in ["v1/main.go", "v1/tmp/notes", "v1/lease/notes", "main.go", "README", "CACHEDIR.TAG", "v1/cas/ab/x"]:
        root = fresh(SCRATCH / "p")
        path = root / name
        path.parent.mkdir(parents=True)
        path.write_text("theirs")
        os.utime(path, (OLD, OLD))
        for action, words in ACTIONS.items():
            result = common.run(ACCELC, *words, "--cache", root)
            files = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
            row.tell(files == {path: b"theirs"}, f"{name}, {action}: {sorted(files)}")
            row.tell(result.returncode == (0 if action == "convert" else 3), f"{name}, {action}: exit {result.returncode}")
            row.tell("accelc has not made" in result.stderr, f"{name}, {action}: {result.stderr}")
    row.print()


def unfinished():
    """Killed at each call while the first result is stored: the next one completes the cache, and stores."""
    name = "cache: killed while the folder becomes a cache"
    if not common.has_strace():
        common.skip(name, "strace is not installed, or may not trace")
        return
    row = Row(name)
    root = fresh(SCRATCH / "half")
    points = common.strace_points([common.TOOL, "put", root, 0, 1000], root)[:24]
    for number, (call, count) in enumerate(points):
        if SHORT and number % 3:
            continue
        fresh(root)
        common.put(root, 0, count=1000, prefix=common.strace_prefix(call, count, "kill"))
        result = common.put(root, 0, count=1000)
        row.tell(result.stdout == "stored\n" and common.check(root, 1, count=1000) == (1, 0, 0, 0),
                 f"{call} {count}: {result.stdout}{result.stderr}")
    row.print()


in_a_cache()
elsewhere()
unfinished()
