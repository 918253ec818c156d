#!/usr/bin/env python3
"""Bytes of the cache change or go: bit flips, cut-off files, pages of zeros, power cuts, and an old format beside this one."""

import json
import os
import pathlib
import random
import shutil
import tempfile

import common
from common import SCRATCH, SHORT, Row, check, fresh, put

COUNT = 2_000  # a content of 8 kB
# Tens of thousands of small files: in memory, where there is a place for that.
MANY = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else SCRATCH))


def paths(root):
    (record,) = [p for p in (root / "v1/ac").rglob("*") if p.is_file()]
    (blob,) = [p for p in (root / "v1/cas").rglob("*") if p.is_file()]
    return record, blob


def changed(data, random_source):
    """A copy with one bit flipped."""
    data = bytearray(data)
    data[random_source.randrange(len(data))] ^= 1 << random_source.randrange(8)
    return bytes(data)


def try_many(row, control, changes, one_file):
    """Makes many caches with a changed file each, and has one process look at each. They share nothing."""
    for number, data in enumerate(changes):
        root = fresh(MANY / str(number), SCRATCH / "sound")
        path = one_file(root)
        path.unlink()
        path.write_bytes(data)
    roots = str(MANY)
    # The one that trusts comes first: the other puts aside what it finds.
    for name, trusting in [(control, True), (row, False)]:
        if name is None:
            continue
        result = common.run(common.TOOL, "check-all" if not trusting else "check-all-trusting", roots, 1, COUNT, timeout=600)
        if result.returncode != 0:
            raise SystemExit(f"check-all ends with {result.returncode}: {result.stderr[-300:]}")
        for line in result.stdout.splitlines():
            number, hits, _, wrong = line.split()
            name.tell(wrong == "0" and (trusting or hits == "0"), f"change {number}: hits {hits}, wrong {wrong}")
    shutil.rmtree(roots)


def damage():
    sound = SCRATCH / "sound"
    put(sound, 0, count=COUNT)
    for name in ["README", "CACHEDIR.TAG"]:
        (sound / name).unlink()
    (sound / "v1/lease").rmdir()
    record, blob = (path.read_bytes() for path in paths(sound))
    source = random.Random(20)

    row = Row("cache: a bit flips in a record, at every byte")
    step = 8 if SHORT else 1
    flips = [record[:i] + bytes([record[i] ^ 1 << (i % 8)]) + record[i + 1:] for i in range(0, len(record), step)]
    try_many(row, None, flips, lambda root: paths(root)[0])
    row.print()
    row = Row("cache: a record is cut off, at every length")
    try_many(row, None, [record[:i] for i in range(0, len(record), step)], lambda root: paths(root)[0])
    row.print()

    row, control = Row("cache: a bit flips in a content"), Row("control: a bit flips, and the reader trusts")
    for start in range(0, 100 if SHORT else 10_000, 1_000):
        changes = [changed(blob, source) for _ in range(100 if SHORT else 1_000)]
        try_many(row, control if start == 0 else None, changes, lambda root: paths(root)[1])
    row.print()
    control.print()
    row = Row("cache: a content is cut off, or has a page of zeros")
    cuts = [blob[:i] for i in range(0, len(blob), 997 if SHORT else 61)]
    zeros = [blob[:i] + bytes(4096)[:len(blob) - i] + blob[i + 4096:] for i in range(0, len(blob), 4096)]
    try_many(row, None, cuts + zeros + [bytes(len(blob))], lambda root: paths(root)[1])
    row.print()


class Replay:
    """What a power cut may leave of a list of calls: what was synced, and anything or nothing of the rest."""

    def __init__(self, calls, data, root):
        self.calls, self.data, self.root = calls, data, root

    def state(self, count, variant, chance):
        files, synced, kept = {}, {}, {}  # path: bytes; the last may be older than the first
        contents = {}

        def maybe():
            return {"names": True, "zeros": True, "small": True, "nothing": False}.get(variant, chance.random() < 0.5)

        for number, call in enumerate(self.calls[:count], 1):
            name, path, more = call
            path = path.replace(" (deleted)", "")
            if name == "open" and more == "new":
                files.setdefault(path, len(contents) + 1)
                contents.setdefault(files[path], [b"", False])
                if maybe():
                    kept[path] = files[path]
            elif name == "write" and path in files:
                contents[files[path]][0] += (self.data / str(number)).read_bytes()
                contents[files[path]][1] = False
            elif name == "fsync":
                if path in files:
                    contents[files[path]][1] = True
                else:  # a folder: the names in it are as they are now
                    inside = lambda p: os.path.dirname(p) == path
                    kept = {p: i for p, i in kept.items() if not inside(p)} | {p: i for p, i in files.items() if inside(p)}
            elif name == "rename" and path in files:
                files[more] = files.pop(path)
                if maybe():
                    kept.pop(path, None)
                    kept[more] = files[more]
            elif name == "unlink":
                files.pop(path, None)
                if maybe():
                    kept.pop(path, None)
        target = fresh(self.root)
        pathlib.Path(target).mkdir(parents=True)
        for path, number in kept.items():
            content, is_synced = contents[number]
            if not is_synced:
                small = content if len(content) < 1024 else bytes(len(content))
                content = {"names": b"", "zeros": bytes(len(content)), "small": small, "nothing": content}.get(
                    variant, content if chance.random() < 0.3 else bytes(len(content)) if chance.random() < 0.5 else b"")
            place = pathlib.Path(target) / os.path.relpath(path, self.root)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def power_cuts():
    library, reason = common.shim()
    if not library:
        common.skip("cache: power cuts", reason)
        return
    chance = random.Random(30)
    control = Row("control: power cuts, and the reader trusts")
    for durability in ["none", "fsync"]:
        row = Row(f"cache: power cut after each call, durability {durability}")
        kept = Row("cache: what was stored with fsync is there after a power cut")
        root, data, log = SCRATCH / "cut", fresh(SCRATCH / "data"), SCRATCH / "cut.log"
        fresh(root)
        data.mkdir()
        log.unlink(missing_ok=True)
        put(root, 0, durability, count=COUNT, env=common.shim_environment(library, f"{root}/", log=log, data=data))
        calls = [line.split("\t") for line in log.read_text().splitlines()]
        replay = Replay(calls, data, str(root))
        for count in [*range(0, len(calls), 12 if SHORT else 1), len(calls)]:
            for variant in ["names", "zeros", "small", "nothing", "random"] + ([] if SHORT else ["random"]):
                replay.state(count, variant, chance)
                if durability == "none":
                    control.tell(check(root, 1, trusting=True, count=COUNT)[2] == 0)
                _, _, wrong, damaged = check(root, 1, count=COUNT)
                # The next conversion stores over what is left, and the one after finds it.
                healed = put(root, 0, count=COUNT).returncode == 0 and check(root, 1, count=COUNT)[0] == 1
                row.tell(wrong == 0 and healed and (damaged == 0 or durability == "none"),
                         f"{variant} after {count} calls: wrong {wrong}, damaged {damaged}, healed {healed}")
        if durability == "fsync":
            done = max(i for i, call in enumerate(calls, 1) if call[0] == "fsync")
            for _ in range(4 if SHORT else 40):
                replay.state(done, "random", chance)
                kept.tell(check(root, 1, count=COUNT)[0] == 1, "the result is gone")
            kept.print()
        row.print()
    control.print()


def versions():
    """A format of the past and one of the future, each beside this one."""
    row = Row("cache: another version's folder is left alone")
    root = fresh(SCRATCH / "versions")
    for name in ["v0", "v2"]:
        (root / name / "cas").mkdir(parents=True)
        (root / name / "format.json").write_text(json.dumps({"layout": int(name[1]), "min_reader": int(name[1])}))
        (root / name / "cas" / "x").write_bytes(b"other")
    before = {p: p.read_bytes() for other in ("v0", "v2") for p in (root / other).rglob("*") if p.is_file()}
    put(root, 0, count=COUNT)
    row.tell(check(root, 1, count=COUNT) == (1, 0, 0, 0), "this version does not work beside them")
    common.run(common.ACCELC, "cache", "gc", "--max-size", "0", "--min-age", "0s", "--cache", root)
    common.run(common.ACCELC, "cache", "clear", "--cache", root)
    row.tell(all(p.exists() and p.read_bytes() == data for p, data in before.items()), "a file of theirs was touched")
    # A later version that still writes this layout, but in a way that this tool must not read.
    put(root, 0, count=COUNT)
    (root / "v1/format.json").write_text('{"layout":1,"min_reader":2}\n')
    files = sorted(p for p in (root / "v1").rglob("*"))
    result = put(root, 1, count=COUNT)
    row.tell(result.returncode == 0 and "not stored" in result.stdout, "it wrote to a layout that asks for a newer tool")
    row.tell(sorted(p for p in (root / "v1").rglob("*")) == files, "files of a newer tool were touched")
    # What this version wrote stays readable: a record as it has been since the layout exists.
    (root / "v1/format.json").write_text('{"layout":1,"min_reader":1,"later":true}\n')
    row.tell(check(root, 1, count=COUNT) == (1, 0, 0, 0), "a field that a later version adds is not ignored")
    row.print()


try:
    damage()
    power_cuts()
    versions()
finally:
    shutil.rmtree(MANY, ignore_errors=True)
