"""Exports to other formats beside the formats' own converters, and beside `cat` and `dd` of the same bytes, in the same run.

usage: export_speed.py ACCELC FOLDER [GIGABYTES [ROUNDS]]       (wants what scripts/peers/doors.py wants)
Makes a Llama of random bfloat16 weights in FOLDER (0.5 GB unless told; kept for the next run). Each line: the seconds of `accelc export`, a
whole process; those of the format's own converter in this process, without imports; and those of reading the checkpoint and writing and
syncing as many bytes as the export has. llama.cpp's is its quantizer alone, which starts from a file of float32 that accelc wrote. Exits 1
where accelc is neither 20 times as fast as the converter nor within 0.8 of the speed of the bytes.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "peers/shared"), str(HERE)]
import convert_speed  # noqa: E402
import converters  # noqa: E402
import small_models  # noqa: E402

# The words of accelc for each format: the scheme, as doors.py has it.
ROWS = [("gguf", ("--compress", kind)) for kind in ("float16", "q8_0", "q4_0", "q4_k", "q6_k", "iq4_nl")]
ROWS += [("mlx", ("--compress", kind)) for kind in ("bfloat16", "affine:bits=4,block=64,scales=weight,fit=mlx", "affine:bits=8,block=64,scales=weight,fit=mlx")]
ROWS += [("ctranslate2", words) for words in (("--quantization", "float16"), ("--quantization", "int8"), ("--quantization", "bfloat16"))]


def size(path):
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else path.stat().st_size


def main(accelc, folder, gigabytes=0.5, rounds=2):
    folder = pathlib.Path(folder)
    source = folder / "llama-export"
    checkpoint = convert_speed.make(source, gigabytes)
    small_models.words(source, json.loads((source / "config.json").read_text()))
    out, copied, slow = folder / "export", folder / "export.bin", False
    for kind, words in ROWS:
        ours, theirs, bytes_ = [], [], []
        for _ in range(rounds):
            shutil.rmtree(out, ignore_errors=True)
            start = time.perf_counter()
            subprocess.run([accelc, "export", source, "--format", kind, *words, "--no-cache", "--quiet", "-o", out], check=True)
            ours.append(time.perf_counter() - start)
            count = size(out)
            start = time.perf_counter()
            subprocess.run(["sh", "-c", f"cat '{checkpoint}' > /dev/null && dd if=/dev/zero of='{copied}' bs=1M count={count >> 20} conv=fdatasync"],
                           check=True, stderr=subprocess.DEVNULL)
            bytes_.append(time.perf_counter() - start)
            copied.unlink()
            try:
                found = converters.seconds(kind, "llama", source, words, folder)
            except Exception as problem:
                print(f"{kind} {words[-1]}: their converter fails: {type(problem).__name__}: {str(problem)[:160]}")
                found = None
            theirs += [] if found is None else [found]
            shutil.rmtree(folder / "theirs", ignore_errors=True)
        seconds, limit = min(ours), min(bytes_)
        faster = min(theirs) / seconds if theirs else 0
        good = faster >= 20 or limit / seconds >= 0.8
        slow |= not good
        print(f"{kind:12} {words[-1]:44} {seconds:7.2f} s   theirs {min(theirs) if theirs else float('nan'):7.2f} s, {faster:5.1f} x   "
              f"bytes {limit:6.2f} s, {limit / seconds:4.2f} of their speed   {'met' if good else 'MISSED'}", flush=True)
    shutil.rmtree(out, ignore_errors=True)
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:3], *map(float, sys.argv[3:4]), *map(int, sys.argv[4:5]))
