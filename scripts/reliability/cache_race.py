#!/usr/bin/env python3
"""Several conversions and exports of different requests write one path at once: each stores its own result, and no hit is another's."""

import hashlib
import json
import pathlib
import struct
import subprocess
import zlib

import common
from common import ACCELC, SCRATCH, SHORT, Row, fresh

MODEL = pathlib.Path("Tests/Fixtures/bert_base").resolve()
LENGTHS = [5, 6, 7]


def words(command, length, output, cache):
    format = ["--format", "coreml"] if command == "export" else []
    return [ACCELC, command, MODEL, *format, "--shape", f"batch=1,sequence={length}", "--threads", "1", "-o", output, *cache]


def content(path):
    """The bytes of a folder's files by their names."""
    return {p.relative_to(path): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def expected(command, length):
    path = SCRATCH / f"{command}{length}"
    result = common.run(*words(command, length, path, ["--no-cache"]))
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return content(path)


def hits(command, cache, right):
    """For each request whether the cache gives back its own result, or none."""
    for length in LENGTHS:
        path = fresh(SCRATCH / "hit")
        result = common.run(*words(command, length, path, ["--cache", cache]))
        yield result.returncode == 0 and content(path) == right[length], f"sequence={length}: {result.stdout}{result.stderr}"


def race(command):
    right = {length: expected(command, length) for length in LENGTHS}
    row = Row(f"{command}: three at once to one path, then a hit each")
    control = Row(f"control: {command}, what lies at the path afterwards")
    for turn in range(2 if SHORT else 12):
        root, output = fresh(SCRATCH / "cache"), fresh(SCRATCH / "out")
        crew = [
            subprocess.Popen([str(w) for w in words(command, length, output, ["--cache", root])], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for length in LENGTHS]
        for length, process in zip(LENGTHS, crew):
            stdout, _ = process.communicate()
            # Whether all three succeed is for others to tell: a success must be one's own.
            if process.returncode == 0 and command == "convert":
                own = json.loads(right[length][pathlib.Path("manifest.json")])["digest"]
                row.tell(f"digest: {own}" in stdout, f"turn {turn}: sequence={length} prints another's digest: {stdout}")
        for length in LENGTHS:
            control.tell(content(output) == right[length])
        for survived, remark in hits(command, root, right):
            row.tell(survived, f"turn {turn}: {remark}")
        sound = common.run(ACCELC, "cache", "fsck", "--cache", root)
        row.tell(sound.returncode == 0, sound.stdout)
    row.print()
    control.print()
    return right


def fields(message):
    """The fields of a protobuf message, whole: (number, bytes)."""
    def variable(at):
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if message[at - 1] < 128:
                return value, at

    at = 0
    while at < len(message):
        start = at
        tag, at = variable(at)
        if tag & 7 == 2:
            count, at = variable(at)
            yield tag >> 3, message[start:at + count], message[at:at + count]
            at += count
        else:
            raise SystemExit(f"a record has a field of type {tag & 7}")


def with_key_of(record, other):
    """A sound record with the result of one and the key of another."""
    def parts(record):
        return list(fields(record[:-16]))

    def metadata(record):
        return next(json.loads(content) for number, _, content in parts(record) if number == 5)

    mixed = metadata(record) | {"key": metadata(other)["key"]}
    text = json.dumps(mixed, separators=(",", ":")).encode()
    size, prefix = len(text), b"\x2a"
    while size > 127:
        prefix, size = prefix + bytes([size & 127 | 128]), size >> 7
    message = b"".join(prefix + bytes([size]) + text if number == 5 else whole for number, whole, _ in parts(record))
    return message + struct.pack("<QI", len(message), zlib.crc32(message)) + b"ACR1"


def sound_by_digests(root):
    """Whether all contents have their digests and all records their checksums: all that a reader sees who looks into none."""
    contents = [p for p in (root / "v1/cas").rglob("*") if p.is_file()]
    records = [p.read_bytes() for p in (root / "v1/ac").rglob("*") if p.is_file()]
    return all(hashlib.sha256(p.read_bytes()).hexdigest() == p.name for p in contents) and all(
        zlib.crc32(r[:-16]) == struct.unpack("<I", r[-8:-4])[0] for r in records)


def poisoned(command, right):
    """The state that a cache that stores what lies at a public path ends in: a record of one request names another's files."""
    row = Row(f"{command}: a record that names another's result is found")
    control = Row(f"control: {command}, by digests of contents alone")
    root = fresh(SCRATCH / "cache")
    for length in LENGTHS[:2]:
        common.run(*words(command, length, fresh(SCRATCH / "out"), ["--cache", root]))
    kind = "export" if command == "export" else "package"
    entries = json.loads(common.run(ACCELC, "cache", "list", "--json", "--cache", root).stdout)
    listed = [e for e in entries if e["kind"] == kind]
    paths = [root / "v1/ac" / e["key"][:2] / e["key"] for e in listed]
    one, other = (p.read_bytes() for p in paths)
    paths[1].unlink()
    paths[1].write_bytes(with_key_of(one, other))
    found = common.run(ACCELC, "cache", "fsck", "--cache", root)
    row.tell(found.returncode == 1 and str(paths[1]) in found.stdout, f"fsck: {found.stdout}")
    control.tell(not sound_by_digests(root))
    for survived, remark in hits(command, root, right):
        row.tell(survived, remark)
    sound = common.run(ACCELC, "cache", "fsck", "--cache", root)
    row.tell(sound.returncode == 0, sound.stdout)
    row.print()
    control.print()


for command in ["convert", "export"]:
    poisoned(command, race(command))
