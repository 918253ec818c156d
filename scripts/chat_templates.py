#!/usr/bin/env python3
"""Compares chat templates with Jinja2, set up as transformers does, and writes the goldens of the tests.

    chat_templates.py compare FOLDER...       renders the templates of folders with each conversation
    chat_templates.py snippets                renders the table of small templates
    chat_templates.py fuzz ROUNDS [SEED]      renders random templates made by a grammar
    chat_templates.py goldens                 writes the fixtures from Tests/Fixtures/ChatTemplates/templates

`--tool PATH` is the built ChatTemplateTool; `--show N` prints the first N differences. The interpreter needs transformers and jinja2.
"""

import argparse
import copy
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import jinja2
from transformers.utils import chat_template_utils

import chat_fuzz
from chat_conversations import CONVERSATIONS
from chat_snippets import KNOWN, VARIABLES, snippets

FIXTURES = pathlib.Path(__file__).parent.parent / "Tests/Fixtures/ChatTemplates"
NOW = datetime.datetime(2026, 7, 4, 15, 9, 5)


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


chat_template_utils.datetime = Clock


def failure(error):
    """The result of an error: its text, and its line where Jinja2 gives one."""
    line = getattr(error, "lineno", None)
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename in ("<template>", "<unknown>"):
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, (SyntaxError, RecursionError)):
        line = None
    return {"error": str(error), "line": line, "type": type(error).__name__}


def reference(source, inputs):
    """Returns what Jinja2 gives for each input."""
    chat_template_utils._compile_jinja_template.cache_clear()
    try:
        template = chat_template_utils._compile_jinja_template(source)
    except Exception as error:
        return [failure(error)] * len(inputs)
    results = []
    for data in inputs:
        try:
            messages = chat_template_utils._alias_reasoning_fields(data["messages"])
            variables = {**data["special_tokens"], **data["variables"]}
            # Copied, because some filters change lists.
            text = template.render(
                messages=copy.deepcopy(messages), tools=copy.deepcopy(data["tools"]),
                documents=copy.deepcopy(data["documents"]), add_generation_prompt=data["add_generation_prompt"],
                **copy.deepcopy(variables))
            text.encode()
            results.append({"text": text})
        except Exception as error:
            results.append(failure(error))
    return results


def subject(tool, jobs):
    """Returns what the tool gives for each job: a source and its inputs."""
    lines = "".join(json.dumps({"source": source, "inputs": inputs}) + "\n" for source, inputs in jobs)
    run = subprocess.run([tool], input=lines, capture_output=True, text=True, encoding="utf-8")
    results = [json.loads(line) for line in run.stdout.split("\n") if line]
    if run.returncode or len(results) != len(jobs):
        sys.exit(f"{tool} ended with {run.returncode} after {len(results)} of {len(jobs)} templates: {run.stderr[-2000:]}")
    return results


def difference(expected, found):
    """Returns the kind of difference between two results; None if they agree."""
    if "text" in expected or "text" in found:
        return None if expected.get("text") == found.get("text") else "text"
    if expected["line"] is not None and expected["line"] != found["line"]:
        return "line"
    return None


class Report:
    def __init__(self, show):
        self.show, self.counts, self.messages = show, {"equal": 0, "text": 0, "line": 0}, [0, 0]

    def add(self, name, expected, found):
        kind = difference(expected, found)
        self.counts[kind or "equal"] += 1
        if kind is None and "error" in expected:
            self.messages[expected["error"] == found["error"]] += 1
        if kind and self.show > 0:
            self.show -= 1
            print(f"--- {name}\n  jinja2: {shorten(expected, found)}\n  accelc: {shorten(found, expected)}")

    def finish(self):
        print(f"equal {self.counts['equal']}, other text {self.counts['text']}, other line {self.counts['line']}; "
              f"of the equal ones {sum(self.messages)} are errors, {self.messages[1]} with the same words")
        return 0 if self.counts["text"] + self.counts["line"] == 0 else 1


def shorten(result, other):
    if "text" not in result:
        return result
    text, rest = result["text"], other.get("text", "")
    start = next((i for i, (a, b) in enumerate(zip(text, rest)) if a != b), min(len(text), len(rest)))
    return ("..." if start > 40 else "") + repr(text[max(0, start - 40):start + 80])


def snippet_input():
    return {"messages": [], "tools": None, "documents": None, "add_generation_prompt": False, "special_tokens": {}, "variables": VARIABLES}


def unstable(result):
    """The result has an address, or a type's name that only Python has."""
    text = result.get("text", "")
    return " at 0x" in text or "<built-in" in text or "<class" in text or "<transformers" in text or "<function" in text


def compare_snippets(options, sources):
    inputs = [snippet_input()]
    expected = [reference(source, inputs)[0] for source in sources]
    found = subject(options.tool, [(source, inputs) for source in sources])
    report, skipped, known = Report(options.show), 0, 0
    for source, wanted, results in zip(sources, expected, found):
        if unstable(wanted):
            skipped += 1
        elif source in KNOWN and difference(wanted, results[0]):
            known += 1
        else:
            report.add(repr(source), wanted, results[0])
    print(f"{len(sources)} templates, {skipped} print what only Python has, {known} differ on purpose")
    return report.finish()


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def files(folders):
    return sorted(path for folder in folders for path in pathlib.Path(folder).rglob("*.jinja"))


def compare(options):
    report = Report(options.show)
    inputs = list(CONVERSATIONS.values())
    paths = files(options.folders)
    jobs = [(read(path), inputs) for path in paths]
    found = subject(options.tool, jobs)
    whole = 0
    for path, (source, _), results in zip(paths, jobs, found):
        before = report.counts["equal"]
        for name, wanted, result in zip(CONVERSATIONS, reference(source, inputs), results):
            report.add(f"{path.name}: {name}", wanted, result)
        whole += report.counts["equal"] - before == len(inputs)
    print(f"{len(paths)} templates with {len(inputs)} conversations; {whole} equal in all")
    return report.finish()


def goldens(options):
    FIXTURES.mkdir(parents=True, exist_ok=True)
    dump = lambda name, value: (FIXTURES / name).write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
    dump("conversations.json", CONVERSATIONS)
    inputs, names = list(CONVERSATIONS.values()), list(CONVERSATIONS)
    rows = []
    for number, path in enumerate(files([FIXTURES / "templates"])):
        results = reference(read(path), inputs)
        # One text is there whole, so that a reader sees what the template does.
        whole = next((i for i in range(len(names)) if "text" in results[(i + 7 * number) % len(names)]), 0)
        whole = (whole + 7 * number) % len(names)
        rows.append({"template": path.name, "results": [digest(result) for result in results], "example": names[whole],
                     "text": results[whole].get("text", "")})
    (FIXTURES / "goldens.jsonl").write_text("".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows), encoding="utf-8")
    sources = snippets()
    table = []
    for source in sources:
        result = reference(source, [snippet_input()])[0]
        if not unstable(result) and source not in KNOWN:
            table.append([source, compact(result)])
    dump("snippet_variables.json", VARIABLES)
    (FIXTURES / "snippets.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in table))
    print({path.name: path.stat().st_size for path in FIXTURES.iterdir() if path.is_file()})
    return 0


def compact(result):
    """A text, or the line of an error; null for an error without line."""
    return result["text"] if "text" in result else result["line"]


def digest(result):
    """The start of the SHA-256 of a text, or the line of an error; null for an error without line."""
    return hashlib.sha256(result["text"].encode()).hexdigest()[:16] if "text" in result else result["line"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["compare", "snippets", "fuzz", "goldens"])
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--tool", default=".build/debug/ChatTemplateTool")
    parser.add_argument("--show", type=int, default=20)
    options = parser.parse_args()
    if options.command == "compare":
        return compare(options)
    if options.command == "goldens":
        return goldens(options)
    if options.command == "snippets":
        return compare_snippets(options, snippets())
    rounds, seed = int(options.folders[0]), int((options.folders[1:] or ["1"])[0])
    return compare_snippets(options, chat_fuzz.templates(rounds, seed))


if __name__ == "__main__":
    sys.exit(main())
