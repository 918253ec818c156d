#!/usr/bin/env python3
"""A model's file is cut, emptied, grows or is overwritten at many moments of a conversion: exit 0 with the right package when it was
read before, else a sentence and exit 4; never a signal, never a package of mixed bytes, nothing half-written."""
import mmap, os, pathlib, shutil, signal, subprocess, sys, time

ACCELC, SCRATCH = os.environ["ACCELC"], pathlib.Path(os.environ["SCRATCH"])
MOMENTS = 4 if os.environ["MODE"] == "short" else 40
MODEL = pathlib.Path("Tests/Fixtures/digits")


def change(path, how):
    size = path.stat().st_size
    if how == "cut":
        os.truncate(path, size // 2)
    elif how == "emptied":
        os.truncate(path, 0)
    elif how == "longer":
        os.truncate(path, size + 4096)
    else:
        with open(path, "r+b") as file:
            file.seek(size // 2)
            file.write(b"\x3c" * (size // 4))


def convert(folder, out):
    words = [ACCELC, "convert", folder / "digits", "--shape", "batch=1,sequence=65", "--compress", "palette:bits=8", "--no-cache", "-q"]
    return subprocess.Popen([*words, "-o", folder / out], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def trial(how, delay, expected):
    folder = SCRATCH / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copytree(MODEL, folder / "digits")
    process = convert(folder, "a.accelpkg")
    time.sleep(delay)
    change(folder / "digits/model.safetensors", how)
    errors = process.communicate()[1].decode(errors="replace")
    status, made = process.returncode, folder / "a.accelpkg"
    left = [path.name for path in folder.iterdir() if path.name not in ("digits", "a.accelpkg")]
    if left:
        return f"left {left}"
    if status == 0:
        return None if files(made) in expected else "a package of mixed bytes"
    if status == 4 and errors.startswith("accelc: error: ") and not made.exists():
        return None
    return f"exit {status}: {errors[-200:]}"


whole = SCRATCH / "whole"
whole.mkdir()
shutil.copytree(MODEL, whole / "digits")
then = time.monotonic()
if convert(whole, "a.accelpkg").wait() != 0:
    sys.exit("the conversion fails when nothing disturbs it")
took = time.monotonic() - then
before = files(whole / "a.accelpkg")
change(whole / "digits/model.safetensors", "overwritten")
after = convert(whole, "b.accelpkg").wait() == 0 and files(whole / "b.accelpkg")
for how in ("cut", "emptied", "longer", "overwritten"):
    lost = 0
    for moment in range(MOMENTS):
        problem = trial(how, took * moment / MOMENTS, [before, after])
        if problem:
            lost += 1
            print(f"{how} at {moment}/{MOMENTS}: {problem}", file=sys.stderr)
    print(f"a model's file is {how} while it is read", MOMENTS, MOMENTS - lost, lost, sep="\t", flush=True)

child = os.fork()
if child == 0:
    path = whole / "digits/model.safetensors"
    with open(path, "r+b") as file:
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        os.truncate(path, 0)
        os._exit(view[0] & 0)
died = os.waitpid(child, 0)[1]
lost = int(os.WIFSIGNALED(died) and os.WTERMSIG(died) == signal.SIGBUS)
print("control: a reader of maps that does not care dies of SIGBUS", 1, 1 - lost, lost, sep="\t")
