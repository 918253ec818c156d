#!/usr/bin/env python3
"""What stands where a command writes: unrelated things stay, at whatever moment they appear; of several runs with one output the
last one wins, whole; nothing half-written is left where files may only be so large; nothing has its name before its bytes are on
the disk."""
import json, os, pathlib, random, resource, shutil, subprocess, sys, time

import common
from common import ACCELC, SCRATCH, SHORT, Row

FIXTURES = pathlib.Path("Tests/Fixtures").resolve()
DIGITS, BERT = FIXTURES / "digits", FIXTURES / "bert_base"
INPUT = SCRATCH / "input"
PACKAGE, CORE_ML = INPUT / "p.accelpkg", INPUT / "x.mlpackage"
digits = ["convert", DIGITS, "--no-cache", "-q", "--compress", "int8", "--shape"]
# What writes an output, and whether it is a folder.
COMMANDS = {
    "convert": ([*digits, "batch=1,sequence=65", "-o"], True),
    "convert --zip": ([*digits, "batch=1,sequence=65", "--zip", "-o"], False),
    "export": (["export", DIGITS, "--format", "coreml", "--no-cache", "-q", "--shape", "batch=1,sequence=65", "-o"], True),
    "verify record": (["verify", "record", CORE_ML, "-q", "-o"], True),
    "verify --report": (["verify", PACKAGE, "--golden", BERT / "golden.safetensors", "-q", "--report"], False),
    "run --outputs": (["run", PACKAGE, "--inputs", BERT / "golden.safetensors", "-q", "--outputs"], False),
    "run --trace": (["run", PACKAGE, "--inputs", BERT / "golden.safetensors", "-q", "--trace"], False),
    "decompress": (["decompress", PACKAGE, "-q", "-o"], False),
}
IN_SHORT = ["convert", "export", "decompress"]


def tree(path):
    """Everything below a path, with contents and what links lead to."""
    path = pathlib.Path(path)
    if path.is_symlink() or not path.is_dir():
        return os.readlink(path) if path.is_symlink() else path.read_bytes() if path.exists() else None
    return {entry.name: tree(entry) for entry in path.iterdir()}


def result(name, path):
    """What a command has written. A trace has the times of its run, which are left out."""
    if name != "run --trace":
        return tree(path)
    trace = json.loads(path.read_text())
    for event in trace["traceEvents"]:
        del event["ts"], event["dur"]
    return trace


def run(name, output, **further):
    return common.run(ACCELC, *COMMANDS[name][0], output, **further)


def naive(name, output):
    """A writer that replaces whatever stands there."""
    if os.path.isdir(output) and not os.path.islink(output):
        shutil.rmtree(output)
    elif os.path.lexists(output):
        os.unlink(output)
    pathlib.Path(output).write_text("new")
    return subprocess.CompletedProcess([], 0, "", "")


def occupants(folder, name):
    """Things that an output must not replace, by their paths."""
    fresh = common.fresh(folder)
    fresh.mkdir()
    (fresh / "notes.txt").write_text("mine")
    (fresh / "empty").mkdir()
    (fresh / "things/deep").mkdir(parents=True)
    (fresh / "things/deep/notes.txt").write_text("mine")
    shutil.copytree(DIGITS, fresh / "model")
    shutil.copytree(PACKAGE, fresh / "package")
    (fresh / "package/notes.txt").write_text("mine")
    shutil.copytree(PACKAGE, fresh / "damaged")
    (fresh / "damaged/manifest.json").write_text((PACKAGE / "manifest.json").read_text()[:-9])
    (fresh / "link").symlink_to("things")
    for other in COMMANDS:
        if other.split()[0] != name.split()[0]:
            shutil.copytree(INPUT / other, fresh / other) if COMMANDS[other][1] else shutil.copy(INPUT / other, fresh / other)
    return sorted(fresh.iterdir())


def foreign(names):
    row, control = Row("outputs: what is not an earlier output of the kind stays"), Row("control: a writer that asks nothing")
    for name in names:
        for writer, table in [(run, row), (naive, control)]:
            for path in occupants(SCRATCH / "foreign", name):
                before = tree(SCRATCH / "foreign")
                status = writer(name, path).returncode
                table.tell(status == 2 and tree(SCRATCH / "foreign") == before, f"{name} to {path.name}: exit {status}")
                if table is control:
                    break
    row.print()
    control.print()


def appearing(names, moments):
    row = Row("outputs: what appears while a command works stays")
    for name in names:
        folder = common.fresh(SCRATCH / "appearing")
        folder.mkdir()
        then = time.monotonic()
        run(name, folder / "out")
        took = time.monotonic() - then
        for moment in range(moments):
            shutil.rmtree(folder)
            (folder / "mine").mkdir(parents=True)
            (folder / "mine/notes.txt").write_text("mine")
            process = subprocess.Popen(
                [ACCELC, *map(str, COMMANDS[name][0]), folder / "out"], stderr=subprocess.PIPE, text=True)
            time.sleep(took * moment / moments)
            try:
                # A rename of a folder replaces nothing but an empty one.
                isThere = not (folder / "out").exists()
                if isThere:
                    os.rename(folder / "mine", folder / "out")
            except OSError:
                isThere = False
            errors = process.communicate()[1]
            left = [path.name for path in folder.iterdir() if path.name not in ("out", "mine")]
            good = process.returncode == (2 if isThere else 0) and not left
            good = good and (tree(folder / "out") == {"notes.txt": b"mine"}) == isThere
            row.tell(good, f"{name} at {moment}/{moments}: exit {process.returncode}, left {left}: {errors[-200:]}")
    row.print()


def at_once(names, rounds):
    """Processes that write one output: each succeeds, and what is there is one of their results."""
    row, control = Row("outputs: several runs with one output at once"), Row("control: a rename over what appeared meanwhile")
    shapes = ["batch=1,sequence=65", "batch=2,sequence=65", "batch=3,sequence=65"]
    for name in names:
        folder = common.fresh(SCRATCH / "once")
        folder.mkdir()
        isPlain = name != "convert"
        lines = [COMMANDS[name][0]] * 3 if isPlain else [[*digits, shape, "-o"] for shape in shapes]
        wholes = []
        for index, words in enumerate(lines):
            common.run(ACCELC, *words, folder / f"whole{index}")
            wholes.append(result(name, folder / f"whole{index}"))
        for number in range(rounds):
            processes = [
                subprocess.Popen([ACCELC, *map(str, words), folder / f"{number % 2}"], stderr=subprocess.PIPE, text=True)
                for words in lines
            ]
            for process in processes:
                errors = process.communicate()[1]
                row.tell(process.returncode == 0, f"{name}: exit {process.returncode}: {errors[-200:]}")
            row.tell(result(name, folder / f"{number % 2}") in wholes, f"{name}: what is there is none of the results")
            row.tell(not list(folder.glob(".*")), f"{name}: left {list(folder.glob('.*'))}")
    for number in range(2):
        draft, out = SCRATCH / f"draft{number}", SCRATCH / "naive"
        draft.mkdir()
        (draft / "file").write_text("new")
        try:
            os.rename(draft, out)
            control.tell(True)
        except OSError:
            control.tell(False)
    row.print()
    control.print()


def limits(names, sizes):
    row, control = Row("outputs: files may only be so large: exit 3, nothing left"), Row("control: ended by the system instead")
    for name in names:
        folder = common.fresh(SCRATCH / "limits")
        folder.mkdir()
        run(name, folder / "out")
        files = [path for path in [folder / "out", *(folder / "out").rglob("*")] if path.is_file()]
        largest = max(path.stat().st_size for path in files)
        whole = tree(folder / "out")
        for part in range(sizes):
            size = largest * part // sizes
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            for out, before in [("new", None), ("out", whole)]:
                result = subprocess.run(
                    [ACCELC, *map(str, COMMANDS[name][0]), folder / out], preexec_fn=limit, capture_output=True, text=True)
                good = result.returncode == 3 and "File too large" in result.stderr and tree(folder / out) == before
                good = good and sorted(path.name for path in folder.iterdir()) == ["out"]
                row.tell(good, f"{name}, {size} of {largest} bytes: exit {result.returncode}: {result.stderr[-200:]}")
    target = SCRATCH / "half"
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    with open(target, "wb") as file:
        status = subprocess.run(["head", "-c", "100000", "/dev/zero"], stdout=file, stderr=subprocess.DEVNULL, preexec_fn=limit).returncode
    control.tell(status == 3 and not target.stat().st_size)
    row.print()
    control.print()


def unsynced(calls):
    """What gets its name before its bytes, and the names of its folders, are on the disk; or is done before its name is."""
    known, synced, open_folders, broken = set(), set(), set(), []
    for name, path, more in calls:
        path = path.replace(" (deleted)", "")
        if name == "open" and more == "new" or name == "mkdir":
            known.add(path)
        if name in ("open", "write", "mkdir", "unlink"):
            synced.discard(path)
            synced.discard(os.path.dirname(path) if name != "write" else path)
        elif name == "fsync":
            synced.add(path)
            open_folders.discard(path)
        elif name in ("rename", "exchange"):
            inside = lambda p, top: p == top or p.startswith(top + "/")
            isInDraft = ".partial/" in more
            if not isInDraft:
                broken += [p for p in known if inside(p, path) and p not in synced]
                open_folders.add(os.path.dirname(more))
            moved = {p: more + p[len(path):] for p in known if inside(p, path)}
            known = {moved.get(p, p) for p in known}
            synced = {moved.get(p, p) for p in synced}
            for folder in (os.path.dirname(path), os.path.dirname(more)):
                synced.discard(folder)
    return broken + sorted(open_folders)


def power_cuts(names):
    library, reason = common.shim()
    if not library:
        common.skip("outputs: power cuts", reason)
        return
    row, control = Row("outputs: nothing has its name before it is on the disk"), Row("control: the same without syncs")
    for name in names:
        folder, log = common.fresh(SCRATCH / "cut"), SCRATCH / "calls.log"
        folder.mkdir()
        for _ in range(2):  # in a free place, and in place of the first
            log.unlink(missing_ok=True)
            result = run(name, folder / "out", env=common.shim_environment(library, str(folder), log=log))
            calls = [line.split("\t") for line in log.read_text().splitlines()]
            published = [call for call in calls if call[0] in ("rename", "exchange") and call[2] == str(folder / "out")]
            broken = unsynced(calls)
            row.tell(result.returncode == 0 and len(published) == 1 and not broken, f"{name}: {len(published)} published, {broken[:3]}")
            control.tell(not unsynced([call for call in calls if call[0] != "fsync"]))
    row.print()
    control.print()


def main():
    INPUT.mkdir()
    for words in (
        ["convert", BERT, "--shape-from", BERT / "golden.safetensors", "--compress", "float32", "--no-cache", "-q", "-o", PACKAGE],
        [*COMMANDS["export"][0], CORE_ML],
    ):
        subprocess.run([ACCELC, *map(str, words)], check=True)
    for name in COMMANDS:
        if run(name, INPUT / name).returncode != 0:
            sys.exit(f"{name} fails when nothing disturbs it")
    names = IN_SHORT if SHORT else list(COMMANDS)
    foreign(names)
    appearing(["convert"] if SHORT else names, 6 if SHORT else 40)
    at_once(["convert"] if SHORT else names, 4 if SHORT else 30)
    limits(names, 2 if SHORT else 12)
    power_cuts(names)


main()
