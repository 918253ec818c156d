#!/usr/bin/env python3
"""Prints the public declarations without a doc comment, one a line: `Module: path.of.declaration file:line`.

What a symbol graph says itself leaves out what needs none: a witness of a protocol's requirement and a member that the compiler makes or
a protocol extension gives have the declaration that they come from beside them, and what the compiler makes has no line.

usage: undocumented.py FOLDER      (where scripts/symbols.sh has put the graphs; exit status 1 where there are any)
"""
import collections
import glob
import json
import os
import sys


def undocumented(path):
    with open(path) as file:
        graph = json.load(file)
    inherited = {relation["source"] for relation in graph["relationships"] if "sourceOrigin" in relation}
    for symbol in graph["symbols"]:
        name = symbol["identifier"]["precise"]
        lines = symbol.get("docComment", {}).get("lines", [])
        if any(line["text"].strip() for line in lines) or name in inherited or "location" not in symbol:
            continue
        file = symbol["location"]["uri"].partition("/Sources/")[2]
        yield f"Sources/{file}", symbol["location"]["position"]["line"] + 1, ".".join(symbol["pathComponents"])


(folder,) = sys.argv[1:]
counts = collections.Counter()
modules = collections.Counter()
for path in sorted(glob.glob(f"{folder}/*.symbols.json")):
    module = os.path.basename(path).removesuffix(".symbols.json").partition("@")[0]
    modules[module] += 0
    for file, line, name in sorted(set(undocumented(path))):
        print(f"{module}: {name} {file}:{line}")
        modules[module] += 1
total = sum(modules.values())
if not modules:
    sys.exit(f"undocumented: there are no symbol graphs in {folder}")
listed = ", ".join(f"{module} {count}" for module, count in modules.items() if count)
print(f"undocumented: {total} public declarations without a doc comment" + (f" ({listed})" if listed else ""), file=sys.stderr)
sys.exit(1 if total else 0)
