#!/usr/bin/env python3
"""Interrupts and time limits at many moments of each phase: exit status 130 within a second, and nothing half-written left.

Whether something is left is seen in the folder that the command writes to and in its cache: only whole results may be there.
"""
import os, pathlib, random, shutil, signal, subprocess, sys, time

ACCELC, SCRATCH = os.environ["ACCELC"], pathlib.Path(os.environ["SCRATCH"])
SHORT = os.environ["MODE"] == "short"
MOMENTS = 2 if SHORT else 24
LIMIT = 1.0
FIXTURES = pathlib.Path("Tests/Fixtures").resolve()
DIGITS, BERT = str(FIXTURES / "digits"), str(FIXTURES / "bert_base")
INPUT = SCRATCH / "input"

digits = ["convert", DIGITS, "--shape", "batch=1,sequence=65", "-q"]
bert = ["convert", BERT, "--shape", "batch=2,sequence=8", "-q"]
samples = ["--calibrate", f"{BERT}/golden.safetensors"]
package = str(INPUT / "a.accelpkg")
# What is done, the words, whether the short form tries it, and what may stand there when the command is done.
PHASES = [
    ("exact k-means", digits + ["--compress", "palette:bits=8", "--no-cache", "-o", "a.accelpkg"], True),
    ("GPTQ", bert + samples + ["--compress", "palette:bits=4,method=gptq", "--no-cache", "-o", "a.accelpkg"], True),
    ("a budget's solver", bert + samples + ["--target-bits", "6", "--no-cache", "-o", "a.accelpkg"], False),
    ("a conversion that fills a cache", digits + ["--compress", "palette:bits=4,group=16", "--cache", "cache", "-o", "a.accelpkg"], False),
    ("a conversion in place of a package", digits + ["--compress", "int4", "--no-cache", "-o", "old.accelpkg"], False),
    ("writing an archive", digits + ["--compress", "int8", "--no-cache", "-o", "a.zip"], False),
    ("verify", ["verify", package, "--against", BERT, "--report", "r.json", "--html", "r.html"], True),
    ("hashing", ["inspect", "--check", package], False),
    ("export", ["export", DIGITS, "--shape", "batch=1,sequence=65", "--format", "coreml", "--no-cache", "-o", "a.mlpackage"], True),
    ("decompress", ["decompress", package, "-o", "w.safetensors"], False),
]


def start(words, folder):
    return subprocess.Popen([ACCELC, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def fresh(name):
    folder = SCRATCH / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copytree(INPUT / "old.accelpkg", folder / "old.accelpkg")
    return folder


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def flaw(folder, status, whole, old):
    """What is wrong with what a command left, None when nothing is."""
    found = files(folder)
    tops = {}
    for name, content in found.items():
        tops.setdefault(name.split("/")[0], {})[name] = content
    for top, members in tops.items():
        if top == "cache":
            if any(".partial" in name for name in members):
                return f"a partial file in the cache: {[name for name in members if '.partial' in name][:3]}"
            continue
        good = [{name: content for name, content in state.items() if name.split("/")[0] == top} for state in (whole, old)]
        # A report tells times, a log moments: it has to be there whole, not to be the same.
        if members not in good and not (top in ("r.json", "r.html") and whole.get(top)):
            return f"{top} is half-written (exit {status})"
    if not any(name.startswith("old.accelpkg") for name in found):
        return "the package that was there is gone"
    return None


def sweep(words, stop, whole, old, took):
    lost = 0
    for moment in range(1, MOMENTS + 1):
        for attempt in range(2):  # a moment of a busy machine does not come twice
            folder = fresh("run")
            status, seconds, expected = stop(words, folder, took * moment / (MOMENTS + 1), moment)
            problem = flaw(folder, status, whole, old)
            if problem is None and status not in expected:
                problem = f"exit {status}"
            if problem is not None or seconds <= LIMIT:
                break
        else:
            problem = f"ended after {seconds:.2f} s"
        if problem:
            lost += 1
            print(f"{' '.join(words[:2])} at {moment}/{MOMENTS + 1}: {problem}", file=sys.stderr)
    return lost


def by_signal(words, folder, delay, moment):
    number = signal.SIGINT if moment % 2 else signal.SIGTERM
    process = start(words, folder)
    time.sleep(delay)
    then = time.monotonic()
    process.send_signal(number)
    status = process.wait()
    # Before the tool has looked at anything, the system ends it.
    return status, time.monotonic() - then, (130, 0, -number)


def by_limit(words, folder, delay, moment):
    then = time.monotonic()
    process = start([*words, "--timeout", f"{max(delay, 0.001):.3f}"], folder)
    status = process.wait()
    return status, time.monotonic() - then - delay, (130, 0)


def by_kill(words, folder, delay, moment):
    process = start(words, folder)
    time.sleep(delay)
    process.kill()
    return process.wait(), 0, (0, -signal.SIGKILL)


def by_kill_and_again(words, folder, delay, moment):
    """Killed; then the same command, and an eviction, which remove what was left, and nothing of a name that a user gives."""
    status, _, expected = by_kill(words, folder, delay, moment)
    for attempt in (words, ["cache", "gc", "--cache", "cache"]):
        if attempt is words or (folder / "cache").exists():
            if start(attempt, folder).wait() != 0:
                return "then not 0", 0, (0,)
    left = [str(path) for path in folder.rglob(".*.partial")]
    return (f"then left {left[:3]}", 0, (0,)) if left else (status, 0, expected)


INPUT.mkdir()
subprocess.run([ACCELC, *bert, "--compress", "palette:bits=4,group=16", "--no-cache", "-o", package], check=True)
shutil.copytree(package, INPUT / "old.accelpkg")  # verify keeps its report in the package
for name, words, in_short in PHASES:
    if SHORT and not in_short:
        continue
    folder = fresh("whole")
    old = files(folder)
    then = time.monotonic()
    if start(words, folder).wait() != 0:
        sys.exit(f"{' '.join(words)} fails when nothing disturbs it")
    took = time.monotonic() - then
    whole = files(folder)
    for stop, title in ((by_signal, "interrupted"), (by_limit, "out of time")):
        lost = sweep(words, stop, whole, old, took)
        print(f"{title} in {name}: 130 within 1 s, nothing left", MOMENTS, MOMENTS - lost, lost, sep="\t", flush=True)
    if words[0] in ("convert", "export", "decompress"):
        lost = sweep(words, by_kill_and_again, whole, old, took)
        print(f"killed in {name}, and run again: nothing left", MOMENTS, MOMENTS - lost, lost, sep="\t", flush=True)
    if name == "exact k-means":
        lost = sweep(words, by_kill, whole, old, took)
        print("control: killed instead, which leaves what is temporary", MOMENTS, MOMENTS - lost, lost, sep="\t", flush=True)

# Several at once over one cache, some of which are interrupted: the others are not disturbed.
generator = random.Random(1)
tried, lost = (4, 0) if SHORT else (24, 0)
expected = SCRATCH / "expected.accelpkg"
shared = [*digits, "--compress", "palette:bits=4,group=16"]
then = time.monotonic()
subprocess.run([ACCELC, *shared, "--no-cache", "-o", expected], check=True)
took = time.monotonic() - then
for group in range(tried // 4):
    folder = fresh("parallel")
    processes = [start([*shared, "--cache", str(folder / "cache"), "-o", f"{index}.accelpkg"], folder) for index in range(4)]
    for process in processes[:2]:
        time.sleep(generator.uniform(0, took))
        process.send_signal(signal.SIGINT)
    for index, process in enumerate(processes):
        status, made = process.wait(), folder / f"{index}.accelpkg"
        sound = made.exists() and files(made) == files(expected)
        if not (status == 0 and sound or index < 2 and status in (130, -signal.SIGINT) and (sound or not made.exists())):
            lost += 1
            print(f"group {group}, process {index}: exit {status}, {'sound' if sound else 'not sound'}", file=sys.stderr)
    left = [str(path) for path in folder.rglob(".*.partial")]
    if left or subprocess.run([ACCELC, "cache", "fsck", "--cache", folder / "cache"], stdout=subprocess.DEVNULL).returncode != 0:
        lost += 1
        print(f"group {group}: the cache is damaged, or left: {left[:3]}", file=sys.stderr)
print("four at once over one cache, two interrupted: the same bytes", tried, tried - lost, lost, sep="\t")
