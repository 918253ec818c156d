#!/usr/bin/env python3
"""Makes a wheel, so that "pip install accelc" puts the tool on PATH. No Python enters the product: a wheel is a zip with a list.

usage: wheel.py TREE VERSION TAG FOLDER
  TREE   a folder with bin/accelc and share
  TAG    the platform: manylinux_2_17_x86_64, manylinux_2_17_aarch64, macosx_15_0_arm64; several are joined by dots
  FOLDER gets accelc-VERSION-py3-none-TAG.whl, whose bytes depend on the arguments and on SOURCE_DATE_EPOCH only
"""
import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

METADATA = """Metadata-Version: 2.1
Name: accelc
Version: {version}
Summary: Compiles models for accelerators: checkpoints in, compressed packages out
License: Apache-2.0
Description-Content-Type: text/markdown

`accelc` turns a model as Hugging Face ships it into one compressed package that a CPU or an accelerator runs, and verifies it.
It also writes Core ML, Core AI, MLX, CTranslate2 and GGUF models. It is one program that needs no Python and no other library:

    accelc convert MODEL
    accelc help
"""


def files(folder):
    """Returns the paths of the files below a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def write_zip(path, entries):
    """Writes a zip of (name, bytes, is executable) in their order, with equal bytes for equal entries."""
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]  # zip begins in 1980
    with zipfile.ZipFile(path, "w") as archive:
        for name, content, executable in entries:
            entry = zipfile.ZipInfo(name, date)
            entry.create_system = 3  # Unix, whatever the machine
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def record(entries, name):
    """Returns the wheel's list of files: name, digest, size; without digest and size for the list itself."""
    lines = []
    for path, content, _ in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{name},,\n"


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    tree, version, tag, folder = Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in tag.split("."))
    data, info = f"accelc-{version}.data", f"accelc-{version}.dist-info"

    entries = [(f"{data}/scripts/accelc", (tree / "bin/accelc").read_bytes(), True)]
    for path in files(tree / "share"):
        entries.append((f"{data}/data/{path.relative_to(tree)}", path.read_bytes(), False))
    wheel = f"Wheel-Version: 1.0\nGenerator: accelc\nRoot-Is-Purelib: false\n{tags}"
    entries.append((f"{info}/METADATA", METADATA.format(version=version).encode(), False))
    entries.append((f"{info}/WHEEL", wheel.encode(), False))
    entries.append((f"{info}/RECORD", record(entries, f"{info}/RECORD").encode(), False))
    write_zip(folder / f"accelc-{version}-py3-none-{tag}.whl", entries)


if __name__ == "__main__":
    main()
