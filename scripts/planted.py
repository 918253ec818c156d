#!/usr/bin/env python3
"""Plants mistakes in a copy of the sources, one after the other, and prints which test catches each.

usage: planted.sh [OPTION...] [NAME or NUMBER...]

The mistakes are the tables in scripts/planted/*.toml. The copy is built once with all of them, each behind a switch that
an environment variable sets, so that a mistake costs one run of its test and no build. Exit status 1: a mistake was not caught.

  --list          print the mistakes and end
  --whole         run the whole suite for a mistake that its test misses
  --all-tests     run the whole suite for each mistake, without its test before
  --tests REF     take the tests of another commit (Tests and Package.swift)
  --folder PATH   the folder of the copy (default: .build/planted)
  --limit SECONDS a run that takes longer hangs, and is caught (default: 600; the whole suite: 3600)
  --no-build      the copy is built already
  --no-control    do not check first that the tests pass without mistakes
"""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The commands of scripts/test.sh, with the same flags.
BUILD = shlex.split(os.environ.get("ACCELC_BUILD_TESTS", "swift build --build-tests"))
TEST = shlex.split(os.environ.get("ACCELC_RUN_TESTS", "swift test --skip-build --disable-xctest"))
SWITCH = "ACCELC_PLANTED"
COMMAND_SCRIPTS = "CommandTests.CommandTests/script"
FAILURE = re.compile(r"✘ Test (?!run |case )(.*?) (?:recorded an issue|failed after)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SWITCH_IN_C = f"""\
#include <stdlib.h>
static int number;
__attribute__((constructor)) static void read_number(void) {{
    const char *text = getenv("{SWITCH}");
    number = text ? atoi(text) : 0;
}}
_Bool accelc_planted(int candidate);
_Bool accelc_planted(int candidate) {{ return number == candidate; }}
"""
SWITCH_IN_SWIFT = '@_silgen_name("accelc_planted") func isPlanted(_ number: Int32) -> Bool\n'


class Mistake:
    """One entry of a table."""

    def __init__(self, number, area, name, entry):
        self.number, self.area, self.name = number, area, name
        fields = {"file", "expression", "statement", "near", "becomes", "test"}
        if not entry.keys() <= fields:
            raise Stale(self, f"unknown fields {sorted(entry.keys() - fields)}")
        if ("expression" in entry) == ("statement" in entry) or not {"file", "becomes", "test"} <= entry.keys():
            raise Stale(self, "needs file, expression or statement, becomes, and test")
        self.file, self.test, self.becomes = entry["file"], entry["test"], entry["becomes"]
        self.is_statement = "statement" in entry
        self.text = entry.get("statement") or entry["expression"]
        self.near = entry.get("near", self.text)

    def place(self, source):
        """Where the text lies in a file: it has to occur once, or once in the text `near`, which occurs once."""
        if source.count(self.near) != 1 or self.near.count(self.text) != 1:
            count = source.count(self.near) if source.count(self.near) != 1 else self.near.count(self.text)
            raise Stale(self, f"the text occurs {count} times in {self.file}, expected once")
        start = source.index(self.near) + self.near.index(self.text)
        return start, start + len(self.text)

    def switched(self, text):
        """Both forms behind the switch. `text` is the original, perhaps with other mistakes inside."""
        if self.file.endswith(".swift"):
            condition, parens = f"isPlanted({self.number})", ("", "")
        else:
            condition, parens = f"accelc_planted({self.number})", ("(", ")")
        if not self.is_statement:
            return f"({condition} ? ({self.becomes}) : ({text}))"
        if not self.becomes:
            return f"if {parens[0]}!{condition}{parens[1]} {{ {text} }}"
        return f"if {parens[0]}{condition}{parens[1]} {{ {self.becomes} }} else {{ {text} }}"


class Stale(Exception):
    def __init__(self, mistake, what):
        super().__init__(f"{mistake.area}.toml, {mistake.name}: {what}")


def table():
    mistakes = []
    for path in sorted((ROOT / "scripts/planted").glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text()).items():
            mistakes.append(Mistake(len(mistakes) + 1, path.stem, name, entry))
    if len({mistake.name for mistake in mistakes}) != len(mistakes):
        raise SystemExit("planted: two mistakes have the same name")
    return mistakes


def planted_sources(mistakes):
    """The contents of the files with mistakes, by path."""
    files = {}
    for mistake in mistakes:
        files.setdefault(mistake.file, []).append(mistake)
    result = {"Sources/CAccelKernels/planted.c": SWITCH_IN_C}
    for file, own in files.items():
        source = (ROOT / file).read_text()
        places = sorted((mistake.place(source), mistake) for mistake in own)
        end = len(source)
        for (start, stop), mistake in reversed(places):
            if stop > end:
                raise Stale(mistake, f"overlaps another mistake in {file}")
            source = source[:start] + mistake.switched(source[start:stop]) + source[stop:]
            end = start
        if file.endswith(".swift"):
            result["/".join(file.split("/")[:2]) + "/Planted.swift"] = SWITCH_IN_SWIFT
        else:
            source = "_Bool accelc_planted(int candidate);\n" + source
        result[file] = source
    return result


Mistake.__lt__ = lambda self, other: self.number < other.number


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True).stdout


def make_copy(folder, mistakes, tests):
    """Writes the tree with all mistakes. Files that are there already stay, with their times: the build begins where it ended."""
    planted = {path: text.encode() for path, text in planted_sources(mistakes).items()}
    names = set(git("ls-files", "-co", "--exclude-standard", "-z").decode().split("\0")) - {""}
    names = {name for name in names if (ROOT / name).is_file()}
    with tempfile.TemporaryDirectory() as other:
        origins = {name: ROOT / name for name in names}
        if tests:
            archive = git("archive", tests, "Tests", "Package.swift")
            subprocess.run(["tar", "-x", "-C", other], input=archive, check=True)
            origins = {n: p for n, p in origins.items() if not n.startswith("Tests/") and n != "Package.swift"}
            origins |= {str(p.relative_to(other)): p for p in Path(other).rglob("*") if p.is_file()}
        for name in origins.keys() | planted.keys():
            content = planted[name] if name in planted else origins[name].read_bytes()
            target = folder / name
            if target.is_file() and target.read_bytes() == content:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            if name in origins:
                shutil.copymode(origins[name], target)
        for part in ["Sources", "Tests"]:
            for path in list((folder / part).rglob("*")):
                name = str(path.relative_to(folder))
                if path.is_file() and name not in origins and name not in planted:
                    path.unlink()


def run(folder, filters, scripts, number, limit):
    """Runs tests up to the first that fails. Returns that one, or None, how many ran, and the output."""
    environment = dict(os.environ)
    environment.pop(SWITCH, None)
    environment["SWIFT_BACKTRACE"] = "enable=no"  # which takes a minute for a test bundle
    if number:
        environment[SWITCH] = str(number)
    if scripts:
        environment["ACCELC_SCRIPTS"] = " ".join(scripts)
    words = TEST + [word for test in filters for word in ("--filter", test)]
    lines, failed, hangs = [], None, threading.Event()
    # Tests that are ended leave their files.
    with tempfile.TemporaryDirectory(prefix="planted", ignore_cleanup_errors=True) as temporary:
        environment["TMPDIR"] = temporary
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True, text=True, errors="replace")

        def end():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

        def hang():
            hangs.set()
            end()

        timer = threading.Timer(limit, hang)
        timer.start()
        try:
            for line in process.stdout:
                lines.append(COLOUR.sub("", line))
                failed = FAILURE.match(lines[-1])
                if failed:
                    break
        finally:
            end()
            status = process.wait()
            timer.cancel()
            process.stdout.close()
    text = "".join(lines)
    if failed:
        script = re.search(r'name → "([^"]*)"', lines[-1])
        place = re.search(r" at (\w+\.swift):\d+", lines[-1])
        what = script or place
        return failed[1] + (f" ({what[1]})" if what else ""), 0, text
    if hangs.is_set():
        return f"the time limit of {limit} seconds", 0, text
    counts = [int(count) for count in re.findall(r"Test run with (\d+) test", text)]
    if not counts:
        # The process has ended during a test.
        begun = re.findall(r"^◇ Test (?!run |case )(.*?) started\.$", text, re.M)
        running = [name for name in begun if f"Test {name} passed" not in text]
        return f"the end of the test process, {status}, in {' or '.join(running[-3:]) or 'its start'}", 0, text
    return None, sum(counts), text


def filters_of(test):
    """A filter of `swift test`, and the command scripts that it runs."""
    if test.startswith("script "):
        return COMMAND_SCRIPTS, test.split()[1:]
    return test, []


def main(arguments):
    options = {"--folder": str(ROOT / ".build/planted"), "--limit": "600", "--tests": ""}
    flags, chosen = set(), []
    words = iter(arguments)
    for word in words:
        if word in options:
            options[word] = next(words, "") or sys.exit(f"planted: {word} needs a value")
        elif word in ["--list", "--whole", "--all-tests", "--no-build", "--no-control"]:
            flags.add(word)
        elif word.startswith("-"):
            sys.exit(__doc__ if word in ["-h", "--help"] else f"planted: unknown option {word}\n{__doc__}")
        else:
            chosen.append(word)
    mistakes = table()
    unknown = set(chosen) - {m.name for m in mistakes} - {str(m.number) for m in mistakes} - {m.area for m in mistakes}
    if unknown:
        sys.exit(f"planted: no mistake {', '.join(sorted(unknown))}; --list prints all")
    asked = [m for m in mistakes if not chosen or {m.name, m.area, str(m.number)} & set(chosen)]
    if "--list" in flags:
        planted_sources(mistakes)
        for mistake in asked:
            print(f"{mistake.number:3} {mistake.area:14} {mistake.name:32} {mistake.file}  {mistake.test}")
        return 0
    folder = Path(options["--folder"]).resolve()
    make_copy(folder, mistakes, options["--tests"])
    start = time.monotonic()
    if "--no-build" not in flags:
        subprocess.run(BUILD, cwd=folder, check=True)
        print(f"built in {time.monotonic() - start:.0f} s", flush=True)
    limit = int(options["--limit"])
    if "--no-control" not in flags:
        # Without a mistake, every test of the table runs and passes.
        start = time.monotonic()
        parts = [filters_of(mistake.test) for mistake in asked]
        everything = [] if "--all-tests" in flags else sorted({test for test, _ in parts})
        scripts = [] if "--all-tests" in flags else sorted({name for _, names in parts for name in names})
        failed, count, text = run(folder, everything, scripts, None, 3600)
        if failed or count == 0:
            print(text[-20000:])
            sys.exit(f"planted: without a mistake, {failed or 'no test ran'}")
        print(f"control: {count} tests pass without a mistake, in {time.monotonic() - start:.0f} s", flush=True)
    missed = []
    for mistake in asked:
        start = time.monotonic()
        failed = None
        if "--all-tests" not in flags:
            test, scripts = filters_of(mistake.test)
            failed, count, text = run(folder, [test], scripts, mistake.number, limit)
            if not failed and count == 0:
                print(text[-4000:])
                print(f"planted: no test matches {mistake.test}", flush=True)
        if not failed and flags & {"--whole", "--all-tests"}:
            failed, _, _ = run(folder, [], [], mistake.number, 3600)
        result = f"caught by {failed}" if failed else "NOT CAUGHT"
        print(
            f"{mistake.number:3} {mistake.name} ({mistake.file}): {result} [{time.monotonic() - start:.0f} s]", flush=True)
        if not failed:
            missed.append(mistake.name)
    print(f"{len(asked) - len(missed)} of {len(asked)} mistakes caught" + "".join(f"\n  not caught: {n}" for n in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Stale, OSError) as error:
        sys.exit(f"planted: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"planted: {shlex.join(map(str, error.cmd))} ended with {error.returncode}")
