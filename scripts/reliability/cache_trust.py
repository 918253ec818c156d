#!/usr/bin/env python3
"""Contents of a cache are changed behind its back, or the cache is another user's: no wrong result is handed out."""

import mmap
import os
import pathlib
import time

import common
from common import ACCELC, SCRATCH, SHORT, TOOL, Row, fresh, put

COUNT = 400_000  # a content of 1.6 MB: larger than what is verified at each use
MODEL = ["Tests/Fixtures/digits", "--shape", "batch=1,sequence=65"]


def content(root):
    (path,) = [p for p in (root / "v1/cas").rglob("*") if p.is_file()]
    return path


def look(folder, trusting=False):
    """hits, misses, wrong of the one cache in a folder."""
    result = common.run(TOOL, "check-all-trusting" if trusting else "check-all", folder, 1, COUNT)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return tuple(map(int, result.stdout.split()[1:]))


def by_write(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def by_map(path, offset):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
        shared[offset] ^= 1


def by_copy(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.unlink()
    path.write_bytes(data)


def edits():
    row = Row("cache: a large content is changed, its size and mtime are not")
    by_mtime, trusting = Row("control: the same, known by size and mtime"), Row("control: the same, and the reader trusts")
    for turn in range(2 if SHORT else 20):
        for change in [by_write, by_map, by_copy]:
            folder = fresh(SCRATCH / "many")
            folder.mkdir()
            root = folder / "cache"
            put(root, 0, count=COUNT)
            row.tell(look(folder) == (1, 0, 0), "no hit before the change")
            path = content(root)
            before = path.stat()
            time.sleep(0.02)
            path.chmod(0o644)
            change(path, 1000 + 70_000 * turn)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            after = path.stat()
            by_mtime.tell((after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns))
            trusting.tell(look(folder, trusting=True)[2] == 0)
            row.tell(look(folder) == (0, 1, 0), f"{change.__name__}, turn {turn}: {look(folder)}")
            row.tell(put(root, 0, count=COUNT).returncode == 0 and look(folder) == (1, 0, 0), "it is not made again")
    for line in [row, by_mtime, trusting]:
        line.print()


def held_maps():
    """A page that was written through a shared map before it was verified is written again afterwards."""
    name = "cache: a second write through a shared map"
    row, control = Row(name), Row("control: the times after such a write, without a sync between")
    for turn in range(2 if SHORT else 20):
        folder = fresh(SCRATCH / "many")
        folder.mkdir()
        root = folder / "cache"
        put(root, 0, count=COUNT)
        path = content(root)
        path.chmod(0o644)
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
            shared[5000] = shared[5000]
            first = path.stat().st_ctime_ns
            time.sleep(0.02)
            shared[5000] = shared[5000]
            control.tell(path.stat().st_ctime_ns != first)
            os.fsync(file.fileno())
            time.sleep(0.02)
            shared[5000] = shared[5000]
            if path.stat().st_ctime_ns == first:
                common.skip(name, "this file system does not note writes through maps: there a note counts for a day")
                return
            row.tell(look(folder) == (1, 0, 0), "no hit before the change")
            time.sleep(0.02)
            shared[5000] ^= 1
            row.tell(look(folder) == (0, 1, 0), f"turn {turn}: {look(folder)}")
    row.print()
    control.print()


def convert(root, *options, env=None):
    result = common.run(ACCELC, "convert", *MODEL, "-o", fresh(SCRATCH / "out.accelpkg"), "--cache", root, *options, env=env)
    made = result.returncode == 0 and common.run(ACCELC, "inspect", SCRATCH / "out.accelpkg").returncode == 0
    return made, "cache hit" in result.stdout, result.stderr


def owners():
    row, control = Row("cache: another user's, or open to others"), Row("control: whose it is does not matter")
    root = fresh(SCRATCH / "cache")
    convert(root)
    row.tell(convert(root)[1], "no hit in one's own cache")

    def reject(remark):
        made, hit, said = convert(root)
        row.tell(made and not hit and said.count("--trust-shared-cache") == 1, f"{remark}: hit {hit}, {said}")
        result = common.run(ACCELC, "cache", "clear", "--cache", root)
        row.tell(result.returncode == 3 and (root / "v1/ac").exists(), f"{remark}: clear ends with {result.returncode}")
        for options, env in [(["--trust-shared-cache"], None), ([], {"ACCELC_TRUST_SHARED_CACHE": "1"})]:
            made, hit, said = convert(root, *options, env=env)
            row.tell(made and hit, f"{remark}, trusted: hit {hit}, {said}")
            control.tell(not hit)

    for path in [root, root / "v1"]:
        for mode in [0o777, 0o770, 0o702]:
            mode, before = mode, path.stat().st_mode & 0o777
            path.chmod(mode)
            reject(f"{path} of mode {mode:o}")
            path.chmod(before)
        if os.geteuid() == 0:
            os.chown(path, 12345, 12345)
            reject(f"{path} of another user")
            os.chown(path, 0, 0)
    row.tell(convert(root)[1], "no hit in one's own cache afterwards")
    row.print()
    control.print()


def modes():
    row, control = Row("cache: modes of all files, whatever the umask"), Row("control: modes of what a plain program makes")
    for mask in ["000", "002", "022", "077"]:
        root = fresh(SCRATCH / "cache")
        out = fresh(SCRATCH / "out.accelpkg")
        for words in [["convert", *MODEL, "-o", out], ["cache", "get", *MODEL], ["cache", "gc", "--max-size", "0", "--min-age", "0s"]]:
            prefix = ["sh", "-c", f'umask {mask}; exec "$@"', "sh"]
            common.run(ACCELC, *words, "--cache", root, prefix=prefix)
        for path in [root, *root.rglob("*")]:
            mode = path.stat().st_mode & 0o777
            row.tell(mode == 0o700 if path.is_dir() else mode & 0o022 == 0, f"umask {mask}: {path} has the mode {mode:o}")
        plain = fresh(SCRATCH / "plain")
        common.run("sh", "-c", f"umask {mask}; mkdir {plain}")
        control.tell(plain.stat().st_mode & 0o777 == 0o700)
        plain.rmdir()
    row.print()
    control.print()


edits()
held_maps()
owners()
modes()
