#!/usr/bin/env python3
"""Prints the public declarations of one module from its symbol graphs, a line each, sorted: where it stands, and what it says.

usage: api.py MODULE FOLDER      (where swift symbolgraph-extract has put the graphs)
"""
import glob
import json
import sys


def declaration(symbol):
    text = "".join(part["spelling"] for part in symbol.get("declarationFragments", []))
    return " ".join(text.split())


def lines(path):
    with open(path) as file:
        graph = json.load(file)
    names = {symbol["identifier"]["precise"]: symbol["pathComponents"] for symbol in graph["symbols"]}
    # What a type has because a protocol of the module requires it is told by its being such a type.
    required = {}
    for relation in graph["relationships"]:
        if relation["kind"] == "requirementOf" and relation["source"] in names:
            required.setdefault(relation["target"], set()).add(names[relation["source"]][-1])
    witnesses = {}
    for relation in graph["relationships"]:
        if relation["kind"] == "conformsTo" and relation["source"] in names:
            witnesses.setdefault(tuple(names[relation["source"]]), set()).update(required.get(relation["target"], ()))
    for symbol in graph["symbols"]:
        components = symbol["pathComponents"]
        if components[-1] not in witnesses.get(tuple(components[:-1]), ()):
            yield ".".join(components[:-1]) + ": " + declaration(symbol)
    for relation in graph["relationships"]:
        if relation["kind"] in ("conformsTo", "inheritsFrom") and relation["source"] in names:
            target = names.get(relation["target"], [relation.get("targetFallback", relation["target"])])[-1]
            target = target.split(".")[-1]
            # Every type is or is not these by what it consists of.
            if target not in ("Copyable", "Escapable", "SendableMetatype"):
                yield f"{'.'.join(names[relation['source']])}: is {target}"


module, folder = sys.argv[1:]
graphs = [f"{folder}/{module}.symbols.json"] + sorted(glob.glob(f"{folder}/{module}@*.symbols.json"))
print(f"# The public declarations of {module}. scripts/api.sh --update writes this file.")
for line in sorted({line.removeprefix(": ") for path in graphs for line in lines(path)}):
    print(line)
