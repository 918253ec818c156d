"""Prints where the bytes of a library go, by the linker's map: for each module and library the code, the data, and the tables for
unwinding the stack.

usage: sizes.py MAP LIBRARY
"""
import collections
import os
import re
import sys

if len(sys.argv) != 3:
    sys.exit(__doc__)

ROW = re.compile(r"^\s*[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+ (\s*)(.+)$")
MODULE = re.compile(r"/(\w+)\.build/")
ARCHIVE = re.compile(r"/(?:lib)?([\w+]+)\.a\(")
KINDS = {".text": "code", ".plt": "code", ".eh_frame": "unwinding", ".eh_frame_hdr": "unwinding", ".rela.dyn": "relocations",
         ".relr.dyn": "relocations", ".rela.plt": "relocations"}

sizes = collections.defaultdict(collections.Counter)
output = ""
for line in open(sys.argv[1]):
    row = ROW.match(line)
    if not row:
        continue
    size, depth, text = int(row[1], 16), len(row[2]), row[3]
    if depth == 0:
        output = text
    elif depth == 8 and not output.startswith((".bss", ".tbss", ".comment", ".symtab", ".strtab", ".shstrtab", ".debug")):
        found = MODULE.search(text) or ARCHIVE.search(text)
        owner = found[1] if found else "the linker and start files"
        sizes[owner][KINDS.get(output, "data")] += size

columns = ["code", "data", "unwinding", "relocations"]
print("| part | " + " | ".join(columns) + " | all, kB |")
print("|---|" + "--:|" * 5)
rows = sorted(sizes.items(), key=lambda row: -sum(row[1].values()))
total = collections.Counter()
for owner, parts in rows:
    total.update(parts)
    if sum(parts.values()) >= 5000:
        print(f"| {owner} | " + " | ".join(f"{parts[kind] / 1000:.0f}" for kind in columns) + f" | {sum(parts.values()) / 1000:.0f} |")
print("| all | " + " | ".join(f"{total[kind] / 1000:.0f}" for kind in columns) + f" | {sum(total.values()) / 1000:.0f} |")
print(f"\nthe file has {os.path.getsize(sys.argv[2])} bytes")
