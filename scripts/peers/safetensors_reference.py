"""The reference safetensors library against ours: it reads what we write, and it accepts every file that we accept.

usage: safetensors_reference.py ACCELC MINILM
"""

import pathlib
import subprocess
import sys
import tempfile

import safetensors
from safetensors.torch import load_file

FIXTURES = pathlib.Path(__file__).resolve().parent.parent.parent / "Tests" / "Fixtures"


def accepts(path):
    try:
        safetensors.deserialize(path.read_bytes())
        return True
    except safetensors.SafetensorError:
        return False


def written_files_are_read(accelc):
    """A lossless package decompressed: every tensor comes back under its name, with its shape and its bits."""
    failures = 0
    for name in ("bert_base", "bert_old_names", "bert_prefixed", "bert_sharded", "digits"):
        folder = FIXTURES / name
        source = {n: t for shard in sorted(folder.glob("model*.safetensors")) for n, t in load_file(shard).items()}
        with tempfile.TemporaryDirectory() as scratch:
            package, weights = f"{scratch}/a.accelpkg", pathlib.Path(scratch) / "weights.safetensors"
            subprocess.run([accelc, "convert", folder, "--shape", "batch=1,sequence=8", "--compress", "float32", "--no-cache",
                            "--quiet", "-o", package], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([accelc, "decompress", package, "-o", weights], check=True, stdout=subprocess.DEVNULL)
            found = load_file(weights)
        strange = [n for n in found if n not in source or found[n].shape != source[n].shape or not found[n].equal(source[n])]
        print(f"  {'FAIL' if strange else 'ok  '} {name}: {len(found)} of {len(source)} tensors written and read back {strange or ''}")
        failures += bool(strange) or not found
    return failures


def verdicts_agree(accelc):
    """Ours may be stricter, never laxer; and what we refuse is refused with exit code 4 and the file's name."""
    failures = stricter = count = 0
    for path in sorted((FIXTURES / "attacks").rglob("*.safetensors")):
        count += 1
        ours = subprocess.run([accelc, "inspect", path], capture_output=True, text=True, timeout=60)
        reference = accepts(path)
        good = (ours.returncode == 0 and reference) or (ours.returncode == 4 and path.name in ours.stderr)
        stricter += reference and ours.returncode == 4
        failures += not good
        if not good:
            print(f"  FAIL {path.name}: exit {ours.returncode}, the reference {'accepts' if reference else 'rejects'} it: {ours.stderr.strip()}")
    print(f"  {count} malformed or odd files, {failures} verdicts wrong, {stricter} stricter than the reference")
    return failures or count == 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    failed = written_files_are_read(sys.argv[1])
    sys.exit(1 if verdicts_agree(sys.argv[1]) or failed else 0)
