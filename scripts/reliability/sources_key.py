#!/usr/bin/env python3
"""Every file of a model that is opened is in the key: touched one by one, each gives a miss, and a hit once it is as it was."""

import json
import os
import pathlib
import re
import shutil

from common import ACCELC, SCRATCH, SHORT, Row, fresh, has_strace, run, skip

FIXTURES = pathlib.Path("Tests/Fixtures")
SHAPE = ["--shape", "batch=1,sequence=8"]


def sentence_model(folder):
    """A sentence encoder whose folders have names of their own."""
    fresh(folder, FIXTURES / "bert_sentence_mean")
    shutil.rmtree(folder / "1_Pooling")
    modules = [{"type": f"a.{kind}", "path": path} for kind, path in (("Transformer", ""), ("Pooling", "pool/last"), ("Normalize", "norm"))]
    files = {"modules.json": json.dumps(modules), "pool/last/config.json": '{"pooling_mode_max_tokens": true}', "norm/config.json": "{}",
             "tokenizer.json": "{}", "vocab.txt": "a\n", "sentence_bert_config.json": "{}", "README.md": "# not read\n"}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder, [folder, *SHAPE]


def sharded_model(folder):
    return fresh(folder, FIXTURES / "bert_sharded"), [folder, *SHAPE]


def single_file(folder):
    """One file, with its configuration elsewhere, and samples."""
    fresh(folder, FIXTURES / "bert_base")
    shutil.move(folder / "config.json", folder / "elsewhere.json")
    words = [folder / "model.safetensors", "--config", folder / "elsewhere.json", "--calibrate", folder / "golden.safetensors",
             "--compress", "int8:method=weighted", *SHAPE]
    return folder, words


def sources(package):
    return {s["name"] for s in json.loads((package / "manifest.json").read_text())["provenance"]["sources"]}


def is_hit(words, cache):
    result = run(ACCELC, "cache", "get", *words, "--cache", cache)
    if result.returncode not in (0, 3):
        raise SystemExit(f"cache get {words} ends with {result.returncode}: {result.stderr[-300:]}")
    return result.returncode == 0


def touched(path):
    """The same file with one byte more, or another: of weights the last one, of text a space at the end."""
    content = path.read_bytes()
    return content[:-1] + bytes([content[-1] ^ 0x10]) if path.suffix == ".safetensors" else content + b" "


def touch_all(name, make, row, control, opened):
    folder, words = make(SCRATCH / name)
    cache, package = SCRATCH / f"{name}.cache", SCRATCH / f"{name}.accelpkg"
    log = SCRATCH / f"{name}.strace"
    prefix = ["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", log] if opened else []
    made = run(ACCELC, "convert", *words, "--cache", cache, "-o", package, prefix=prefix)
    if made.returncode:
        raise SystemExit(f"convert {words} ends with {made.returncode}: {made.stderr[-300:]}")
    known = sources(package) | {"golden.safetensors"} | ({"elsewhere.json"} if name == "single" else set())
    if opened:
        for path in re.findall(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]+)", O_RDONLY', log.read_text(errors="replace")):
            file = pathlib.Path(path)
            if file.is_file() and folder.resolve() in file.resolve().parents:
                inner = str(file.resolve().relative_to(folder.resolve()))
                opened.tell(inner in known, f"{name}: {inner} is opened and is no source")
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        inner = str(path.relative_to(folder))
        is_control = inner in ("README.md", "case.json")
        if not is_control and inner not in known or inner == "golden.safetensors" and name != "single":
            continue
        before = path.read_bytes()
        path.write_bytes(touched(path))
        try:
            missed = not is_hit(words, cache)
        except SystemExit:
            missed = True  # not even a model any more
        path.write_bytes(before)
        (control if is_control else row).tell(missed, f"{name}: {inner} can change without a miss")
        if not is_control:
            row.tell(is_hit(words, cache), f"{name}: {inner} is as it was, and yet it is a miss")


def main():
    row, control = Row("sources: each file of a model touched, and put back"), Row("control: sources, a file that is not read")
    opened = Row("sources: each file that is opened is in the key") if has_strace() else None
    for name, make in [("sentence", sentence_model), ("sharded", sharded_model), ("single", single_file)][: 2 if SHORT else 3]:
        touch_all(name, make, row, control, opened)
    row.print()
    control.print()
    if opened:
        opened.print()
    else:
        skip("sources: each file that is opened is in the key", "strace is not installed")


if __name__ == "__main__":
    main()
