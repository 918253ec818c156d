#!/usr/bin/env python3
"""The parts of scripts/docs.sh that read documents.

usage: docs.py links                        checks every relative link of the repository's documents: the file and the heading exist
       docs.py stage FOLDER                 copies the DocC catalogues there, with relative links as DocC has them
       docs.py diagnostics FILE...          prints what docc has found; exit status 1 where there is anything
       docs.py commands ACCELC              checks that the options of every command in an example are in the command's help
       docs.py snippets GRAPHS FOLDER       writes each Swift example there, as a file to be compiled
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = "accelc"  # its catalogue takes in the documents of schemas/
LINK = re.compile(r"(?<!!)\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*([\w-]*)(.*)$")


def documents():
    patterns = ["README.md", "schemas/*.md", "Sources/**/*.md", "Tests/**/README.md"]
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return [path for path in paths if ".build" not in path.parts]


def prose(text):
    """The lines that are not within a fence or an indented block, numbered from 1; other lines are empty."""
    fence = None
    lines = []
    for line in text.split("\n"):
        match = FENCE.match(line)
        if fence is None and match:
            fence = match[2]
        elif fence is not None:
            if match and match[2].startswith(fence) and not match[3]:
                fence = None
        elif not line.startswith("    "):
            lines.append(re.sub(r"(`+)[^`].*?\1", lambda code: " " * len(code[0]), line))
            continue
        lines.append("")
    return lines


def headings(text):
    plain = text.split("\n")
    return [
        re.sub(r"^#+\s+|\s+#*\s*$", "", plain[number])
        for number, line in enumerate(prose(text))
        if re.match(r"#{1,6}\s", line)
    ]


def slug(heading):
    """The name of a heading in a link, as GitHub forms it."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def is_relative(target):
    return not re.match(r"[a-z][a-z0-9+.-]*:|/", target)


def links():
    count = 0
    faults = []
    for path in documents():
        text = path.read_text()
        for number, line in enumerate(prose(text), 1):
            # Code in a link's text has been blanked out by `prose`, which leaves the brackets where they are.
            for match in LINK.finditer(line):
                target = match[2]
                if not is_relative(target):
                    continue
                count += 1
                where = f"{path.relative_to(ROOT)}:{number}"
                name, _, anchor = target.partition("#")
                file = (path.parent / name).resolve() if name else path
                if not file.exists():
                    faults.append(f"{where}: there is no {name}")
                elif ROOT not in file.parents:
                    faults.append(f"{where}: {name} is outside of the repository")
                elif anchor and (file.suffix != ".md" or anchor not in map(slug, headings(file.read_text()))):
                    faults.append(f"{where}: {name or path.name} has no heading #{anchor}")
    for fault in faults:
        print(f"docs: {fault}", file=sys.stderr)
    if not count:
        sys.exit("docs: there are no links: is this the repository?")
    print(f"docs: {count} relative links in {len(documents())} documents, {len(faults)} broken")
    sys.exit(1 if faults else 0)


def catalogue(path):
    """The module of the catalogue that an article belongs to; None for other files."""
    if path.suffix == ".md" and path.parent == ROOT / "schemas":
        return TOOL
    return path.parent.stem if path.suffix == ".md" and path.parent.suffix == ".docc" else None


def as_docc(match, path):
    """A relative link as DocC has it: an article of this catalogue, of another one, or a file that the documentation lacks."""
    text, target = match[1], match[2]
    if not is_relative(target):
        return match[0]
    name, _, anchor = target.partition("#")
    file = (path.parent / name).resolve() if name else path
    module = catalogue(file)
    if module is None:
        return text
    heading = next((h for h in headings(file.read_text()) if slug(h) == anchor), None) if anchor else None
    fragment = "#" + re.sub(r"\s+", "-", re.sub(r"[`'\"]", "", heading)) if heading else ""
    if module == catalogue(path):
        return f"[{text}](doc:{file.stem}{fragment})"
    page = "" if file.stem == module else f"/{file.stem.lower()}"
    return f"[{text}](/documentation/{module.lower()}{page}{fragment})"


def stage(folder):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    paths = [path for path in documents() if catalogue(path)]
    for path in paths:
        target = folder / f"{catalogue(path)}.docc"
        target.mkdir(exist_ok=True)
        blanked = prose(path.read_text())
        lines = path.read_text().split("\n")
        for number, line in enumerate(blanked):
            for match in reversed(list(LINK.finditer(line))):
                whole = LINK.match(lines[number], match.start())
                lines[number] = lines[number][: match.start()] + as_docc(whole, path) + lines[number][match.end() :]
        (target / path.name).write_text("\n".join(lines))
    for name in sorted(os.listdir(folder)):
        print(folder / name)


def diagnostics(paths):
    found = 0
    for path in paths:
        for fault in json.loads(pathlib.Path(path).read_text())["diagnostics"]:
            # A parameter whose name says it all needs no words.
            if fault["summary"].startswith("Parameter ") and fault["summary"].endswith(" is missing documentation"):
                continue
            found += 1
            place = fault.get("source", "").removeprefix("file://")
            line = fault.get("range", {}).get("start", {}).get("line", "")
            print(f"{place}:{line}: {fault['severity']}: {fault['summary']}", file=sys.stderr)
    sys.exit(1 if found else 0)


def commands(tool):
    """Examples of the command line: what is typed in blocks of sh, and after a $ in those of text."""
    prompts = {"sh": "", "text": "$ "}
    helps = {}
    faults = []
    count = 0
    for path in documents():
        typed = [
            (place, language, line)
            for language in prompts
            for place, block in fenced(path.read_text(), path.relative_to(ROOT), language)
            for line in "\n".join(block).replace("\\\n", " ").split("\n")
        ]
        for place, language, line in typed:
            prompt, name, rest = line.partition("accelc ")
            words = [name.strip(), *rest.partition(" #")[0].split()]
            if prompt != prompts[language] or len(words) < 2:
                continue
            command = "-".join(words[1:3]) if words[1:3] in (["verify", "record"], ["verify", "replay"]) else words[1]
            if command not in helps:
                asked = subprocess.run([tool, command, "--help-all"], capture_output=True, text=True)
                helps[command] = None if asked.returncode else set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", asked.stdout))
            count += 1
            if helps[command] is None:
                faults.append(f"{place}: there is no command {command}")
                continue
            for word in words[2:]:
                option = word.partition("=")[0]
                if option.startswith("-") and option not in helps[command]:
                    faults.append(f"{place}: {command} has no option {option}")
    for fault in faults:
        print(f"docs: {fault}", file=sys.stderr)
    print(f"docs: {count} example commands, {len(faults)} with an option or name that there is not")
    sys.exit(1 if faults or not count else 0)


def fenced(text, path, wanted="swift"):
    """The blocks of a document in a language."""
    lines = text.split("\n")
    fence = None
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence, start, language, block = match[2], number, match[3], []
        elif fence is not None and match and match[2].startswith(fence) and not match[3]:
            if language == wanted:
                yield f"{path}:{start}", block
            fence = None
        elif fence is not None:
            block.append(line)


def indented(lines):
    """The indented blocks of a doc comment: its examples."""
    block, start, before = [], 0, ""
    for number, line in enumerate(lines + [""]):
        if line.startswith("    ") and (block or not before.strip()):
            if not block:
                start = number
            block.append(line[4:])
        elif block and not line.strip() and any(later.startswith("    ") for later in lines[number + 1 : number + 2]):
            block.append("")
        elif block:
            yield start, block
            block = []
        before = line
    if block:
        yield start, block


def snippets(graphs, folder):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    context = (ROOT / "scripts" / "docs" / "Context.swift").read_text().rstrip("\n")
    found = []
    for path in documents():
        found += [(place, block, True) for place, block in fenced(path.read_text(), path.relative_to(ROOT))]
    seen = set()
    for path in sorted(glob.glob(f"{graphs}/*.symbols.json")):
        for symbol in json.loads(pathlib.Path(path).read_text())["symbols"]:
            comment = symbol.get("docComment", {})
            source = comment.get("uri", "").partition("/Sources/")[2]
            if not source or (symbol["identifier"]["precise"] in seen):
                continue
            seen.add(symbol["identifier"]["precise"])
            lines = [line["text"] for line in comment["lines"]]
            first = comment["lines"][0]["range"]["start"]["line"] + 1
            found += [(f"Sources/{source}:{first + start}", block, False) for start, block in indented(lines)]
            found += [
                (f"Sources/{source}:{first + int(place.rpartition(':')[2]) - 1}", block, True)
                for place, block in fenced("\n".join(lines), "")
            ]
    listed = {}
    for place, block, is_marked in found:
        if place in listed:
            continue
        file, _, line = place.rpartition(":")
        imports = [l for l in block if re.match(r"\s*(@\w+\s+)?(public\s+)?import\s", l)]
        # A list of `...` stands for one that is not shown.
        body = ["" if l in imports else l.replace("[...]", "[given()]") for l in block]
        # An example that has imports is whole; the others use the context's names.
        first = "; ".join(imports) if imports else context
        name = folder / f"{len(listed):03}.swift"
        listed[place] = is_marked
        name.write_text(
            f"{first}\nfunc example() async throws {{\n"
            f'#sourceLocation(file: "{file}", line: {int(line) + (1 if is_marked else 0)})\n'
            + "\n".join(body) + "\n#sourceLocation()\n}\n")
        print(f"{name} {'marked' if is_marked else 'unmarked'} {place}")


if __name__ == "__main__":
    parts = {
        "links": (links, 0), "stage": (lambda folder: stage(folder), 1),
        "diagnostics": (lambda *paths: diagnostics(paths), None), "snippets": (snippets, 2),
        "commands": (commands, 1),
    }
    words = sys.argv[1:]
    if not words or words[0] not in parts or parts[words[0]][1] not in (None, len(words) - 1):
        sys.exit(__doc__)
    parts[words[0]][0](*words[1:])
