"""What the parts of reliability.sh share: rows of the table, runs of the tools, and the faults of faults.c and strace."""

import errno
import os
import pathlib
import re
import shutil
import subprocess
import sys

ACCELC = os.environ["ACCELC"]
TOOL = os.path.join(os.environ["BUILD"], "CacheTool")
SHORT = os.environ["MODE"] == "short"
SCRATCH = pathlib.Path(os.environ["SCRATCH"])
COUNT = 70_000  # numbers in a result: 280 kB, more than one buffer
CALLS = ["openat", "write", "fsync", "close", "rename", "link", "unlink", "mkdir"]
ERRORS = {name: getattr(errno, name) for name in ("ENOSPC", "EIO", "EDQUOT")}


class Row:
    """A line of the table. Each fault is told to it once."""

    def __init__(self, name):
        self.name, self.tried, self.lost = name, 0, 0

    def tell(self, survived, remark=""):
        self.tried += 1
        if not survived:
            self.lost += 1
            if not self.name.startswith("control:") and self.lost < 20:
                print(f"{self.name}: {remark}", file=sys.stderr)

    def print(self):
        print(self.name, self.tried, self.tried - self.lost, self.lost, sep="\t", flush=True)


def skip(name, reason):
    print(name, "skipped", reason, sep="\t", flush=True)


def run(*words, env=None, prefix=(), timeout=120):
    return subprocess.run(
        [*prefix, *map(str, words)], env={**os.environ, **(env or {})}, timeout=timeout, capture_output=True, text=True)


def put(root, seed, *options, naively=False, count=COUNT, **further):
    return run(TOOL, "put-naively" if naively else "put", root, seed, count, *options, **further)


def check(root, seeds, trusting=False, count=COUNT):
    """hits, misses, wrong, damaged"""
    result = run(TOOL, "check-trusting" if trusting else "check", root, seeds, count)
    if result.returncode != 0:
        raise SystemExit(f"check ends with {result.returncode}: {result.stderr[-300:]}")
    return tuple(map(int, result.stdout.split()))


def fresh(path, source=None):
    """An empty place, or a copy of a folder."""
    shutil.rmtree(path, ignore_errors=True)
    if source and os.path.exists(source):
        shutil.copytree(source, path, symlinks=True)
    return path


def shim():
    """Builds faults.c; None and the reason where that cannot be."""
    if sys.platform != "linux":
        return None, "faults.c is for Linux"
    compiler = shutil.which("clang") or shutil.which("cc")
    if not compiler:
        return None, "no C compiler is installed"
    target = SCRATCH / "faults.so"
    source = pathlib.Path(__file__).with_name("faults.c")
    built = run(compiler, "-shared", "-fPIC", "-O1", "-o", target, source, "-ldl")
    return (target, None) if built.returncode == 0 else (None, built.stderr[-300:])


def shim_environment(library, root, **settings):
    return {"LD_PRELOAD": str(library), "FAULT_ROOT": str(root), **{f"FAULT_{k.upper()}": str(v) for k, v in settings.items()}}


def strace_points(command, root):
    """The calls by which a command changes files below root: (name, number of it among the process's calls)."""
    log = SCRATCH / "strace.log"
    run(*command, prefix=["strace", "-f", "-y", "-e", "trace=" + ",".join(CALLS), "-o", log])
    counts, points, main = {}, [], None
    for line in log.read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\((.*)", line)
        if not match:
            continue
        main = main or match[1]
        name, rest = match[2], match[3]
        key = (match[1], name)
        counts[key] = counts.get(key, 0) + 1
        if match[1] != main or str(root) not in rest or name == "openat" and "O_CREAT" not in rest:
            continue
        points.append((name, counts[key]))
    return points


def strace_prefix(name, number, kind):
    how = "signal=SIGKILL" if kind == "kill" else f"error={kind}"
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:{how}:when={number}"]


def has_strace():
    return shutil.which("strace") and run("true", prefix=["strace", "-qq", "-o", "/dev/null"]).returncode == 0
