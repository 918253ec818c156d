"""The reference safetensors library against ours: it reads what we write, and it accepts every file that we accept.

usage: safetensors_reference.py ACCELC MINILM
"""

import pathlib
import struct
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


def file(header, data=b"", length=None):
    header = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def tensor(shape="[1]", offsets="[0,4]", dtype='"F32"', more=""):
    return f'{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}{more}}}'


def attacks():
    """Malformed and odd files by name: what a parser has been known to get wrong."""
    a, word = f'"a":{tensor()}', b"\0\0\0\0"
    yield "empty file", b""
    yield "seven bytes", b"\0" * 7
    yield "header of no bytes", file("")
    for name, length in {"2^63": 2**63, "2^64-1": 2**64 - 1, "over 100 MB": 100_000_001, "more than the file": 50}.items():
        yield f"header length {name}", file("{}", length=length)
    for name, header in {
        "not UTF-8": b'{"\xff\xfe":1}', "not JSON": "hello", "an array": "[]", "leading space": " {}", "trailing spaces": "{}   ",
        "trailing NULs": "{}\0\0", "duplicate field": "{" + '"a":' + tensor(more=',"dtype":"F32"') + "}",
        "duplicate metadata": '{"__metadata__":{},"__metadata__":{}}', "duplicate key in metadata": '{"__metadata__":{"k":"1","k":"2"}}',
        "metadata that is no text": '{"__metadata__":{"k":1}}', "nested 200,000 deep": "[" * 200_000,
    }.items():
        yield name, file(header, word if '"a"' in str(header) else b"")
    yield "duplicate key", file("{" + a + "," + f'"a":{tensor(offsets="[4,8]")}' + "}", word * 2)
    yield "duplicate key, same range", file("{" + a + "," + a + "}", word)
    for name, (first, second, size) in {
        "overlap": ("[0,4]", "[2,6]", 6), "same range twice": ("[0,4]", "[0,4]", 4), "hole": ("[0,4]", "[8,12]", 12),
    }.items():
        yield name, file(f'{{"a":{tensor(offsets=first)},"b":{tensor(offsets=second)}}}', b"\0" * size)
    for name, one in {
        "starts at 4": tensor(offsets="[4,8]"), "begin after end": tensor(offsets="[4,0]"), "end after the file": tensor("[4]", "[0,16]"),
        "negative offset": tensor(offsets="[-4,0]"), "offset 2^64": tensor(offsets="[0,18446744073709551616]"),
        "fractional offset": tensor(offsets="[0,4.0]"), "shape that does not fit": tensor("[3]"),
        "shape 2^63": tensor("[9223372036854775808,4]"), "shape 2^63 with a zero": tensor("[9223372036854775808,4,0]", "[0,0]"),
        "negative dimension": tensor("[-1]"), "unknown type": tensor(dtype='"Q7"'), "unknown field": tensor(more=',"extra":1'),
        "missing shape": '{"dtype":"F32","data_offsets":[0,4]}', "65 dimensions": tensor("[" + ",".join(["1"] * 65) + "]"),
        "half a byte": tensor("[1]", "[0,1]", '"F4"'), "boolean offsets": tensor(offsets="[false,true]"), "null shape": tensor("null"),
    }.items():
        yield name, file(f'{{"a":{one}}}', word * 2 if name == "starts at 4" else word)
    yield "trailing bytes", file("{" + a + "}", word * 2)
    yield "a zip behind it", file("{" + a + "}", word + b"PK\5\6" + b"\0" * 18)
    yield "no elements", file(f'{{"a":{tensor("[0,3]", "[0,0]")}}}')
    yield "scalar", file(f'{{"a":{tensor("[]")}}}', word)
    for name, key in {"leaves its folder": "../../x", "NUL": "a\\u0000b", "empty": "", "600 bytes": "n" * 600, "lone surrogate": "\\ud800"}.items():
        yield f"name: {name}", file(f'{{"{key}":{tensor()}}}', word)


def verdicts_agree(accelc):
    """Ours may be stricter, never laxer; and what we reject is rejected with exit code 4 and a sentence with the file's name."""
    failures = stricter = count = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in attacks():
            count += 1
            path = pathlib.Path(scratch) / f"{count}.safetensors"
            path.write_bytes(content)
            ours = subprocess.run([accelc, "inspect", path], capture_output=True, text=True, timeout=60)
            reference = accepts(path)
            good = (ours.returncode == 0 and reference) or (ours.returncode == 4 and path.name in ours.stderr)
            stricter += reference and ours.returncode == 4
            failures += not good
            if not good:
                print(f"  FAIL {name}: exit {ours.returncode}, the reference {'accepts' if reference else 'rejects'} it: {ours.stderr.strip()}")
    print(f"  {count} malformed or odd files, {failures} verdicts wrong, {stricter} stricter than the reference")
    return failures


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    failed = written_files_are_read(sys.argv[1])
    sys.exit(1 if verdicts_agree(sys.argv[1]) or failed else 0)
