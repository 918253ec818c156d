"""Python's json and zipfile, and coremltools, against our readers: what ours accept, they accept, and read as the same.

usage: hostile_input.py ACCELC MINILM

safetensors_reference.py does so for safetensors. Files are made by hand, and by seeded changes of single bytes of sound ones.
"""

import io
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

FIXTURES = pathlib.Path(__file__).resolve().parent.parent.parent / "Tests" / "Fixtures"
ACCELC = sys.argv[1] if len(sys.argv) == 3 else sys.exit(__doc__)


class Verdicts:
    """Ours may be stricter, never laxer; what is rejected is rejected with a known exit status and one line."""

    def __init__(self, what):
        self.what, self.count, self.accepted, self.stricter, self.failures = what, 0, 0, 0, 0

    def judge(self, name, words, reference):
        """reference: returns None when it reads the file as we do, else what is wrong. Gets our standard output."""
        ours = subprocess.run([ACCELC, *map(str, words)], capture_output=True, text=True, timeout=60)
        flaw = None
        if ours.returncode not in (0, 3, 4) or ours.returncode and (ours.stdout or ours.stderr.count("\n") != 1):
            flaw = f"exit {ours.returncode}: {ours.stderr[-300:]}"
        theirs = reference(ours.stdout if ours.returncode == 0 else None)
        if flaw is None and ours.returncode == 0 and theirs is not None:
            flaw = f"accepted, but {theirs}"
        self.count += 1
        self.accepted += ours.returncode == 0
        self.stricter += ours.returncode != 0 and theirs is None
        if flaw:
            self.failures += 1
            print(f"  FAIL {self.what}, {name}: {flaw}")

    def print(self):
        print(f"  {self.what}: {self.count} files, {self.accepted} accepted, {self.stricter} stricter than the reference, "
              f"{self.failures} verdicts wrong")
        return self.failures


def flips(content, count, seed):
    """Copies of a file with one to three bytes changed, some cut or longer."""
    generator = random.Random(seed)
    for number in range(count):
        changed = bytearray(content)
        for _ in range(generator.randint(1, 3)):
            index = generator.randrange(len(changed))
            changed[index] = generator.choice([changed[index] ^ 1 << generator.randrange(8), generator.randrange(256), 0, 255])
        if number % 10 == 8:
            changed = changed[:generator.randrange(len(changed))]
        if number % 10 == 9:
            changed += bytes(generator.randrange(1, 9))
        yield f"change {number}", bytes(changed)


def configurations(scratch):
    sound = json.dumps({"model_type": "bert", "hidden_size": 36, "num_hidden_layers": 2, "num_attention_heads": 3,
                        "intermediate_size": 100, "vocab_size": 131, "max_position_embeddings": 40})

    def strange(value):
        return sound[:-1] + ', "x": ' + value + "}"

    values = ["1", "-0", "0.5e-3", "1e400", "01", "+1", ".5", "1.", "NaN", "Infinity", "-Infinity", "0x10", "1_000", "9" * 400, "9" * 5000,
              "'a'", "undefined", "True", '"\\x41"', '"\\u12"', '"\\ud800"', '"\\ud83d\\ude00"', '"\t"', '"\x7f"', "/* */ 1", "[1,]",
              "[,1]", "[1 2]", '{"a" 1}', '{"a":1,}', "{1:2}", '{"a":1,"a":2}', "[" * 60 + "]" * 60, "[" * 5000 + "]" * 5000, "nul", "", " "]
    files = [(f"value {value[:20]!r}", strange(value).encode()) for value in values]
    files += [("as it is", sound.encode()), ("BOM", b"\xef\xbb\xbf" + sound.encode()), ("UTF-16", sound.encode("utf-16")),
              ("Latin-1", strange('"é"').encode("latin-1")), ("overlong", strange('"@"').encode().replace(b"@", b"\xc0\x80")),
              ("surrogate", strange('"@"').encode().replace(b"@", b"\xed\xa0\x80")), ("NUL behind", sound.encode() + b"\0"),
              ("two", sound.encode() * 2), ("empty", b""), ("array", b"[]")]
    files += list(flips(sound.encode(), 250, 1))
    verdicts = Verdicts("config.json")
    for name, content in files:
        path = scratch / "config.json"
        path.write_bytes(content)

        def reference(_):
            def reject(word):
                raise ValueError(f"{word} is not JSON")
            try:
                json.loads(content.decode("utf-8"), parse_constant=reject)
            except (ValueError, RecursionError) as error:
                return f"Python's json says: {error}"

        verdicts.judge(name, ["inspect", FIXTURES / "bert_base" / "model.safetensors", "--config", path], reference)
    return verdicts.print()


def archives(scratch):
    package = scratch / "p.zip"
    subprocess.run([ACCELC, "convert", FIXTURES / "bert_base", "--shape", "batch=1,sequence=8", "--compress", "int4", "--no-cache", "--zip",
                    "--quiet", "-o", package], check=True)
    sound = package.read_bytes()
    with zipfile.ZipFile(package) as archive:
        members = [(entry, archive.read(entry)) for entry in archive.infolist()]

    def rewritten(change):
        """The archive written anew by zipfile; `change` may do something to each entry and name more."""
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for entry, content in members:
                info = zipfile.ZipInfo(entry.filename)
                info.external_attr, info.create_system = 0o100644 << 16, 3
                # zipfile cannot align what a package needs aligned; the content of an entry of its own does not matter.
                archive.writestr(info, content)
            change(archive)
        return stream.getvalue()

    def more(name, content=b"x", mode=0o100644, extra=b"", compress=zipfile.ZIP_STORED):
        def change(archive):
            info = zipfile.ZipInfo("placeholder")
            info.filename, info.external_attr, info.create_system, info.extra = name, mode << 16, 3, extra
            info.compress_type = compress
            archive.writestr(info, content)
        return change

    def patched(signature, offset, value):
        """A field of the first header of a kind."""
        at = sound.rindex(signature) + offset
        return sound[:at] + value + sound[at + len(value):]

    central, local, end = b"PK\1\2", b"PK\3\4", b"PK\5\6"
    files = [("as it is", sound), ("by zipfile", rewritten(lambda _: None)), ("empty", b""), ("twice", sound * 2), ("something before", b"x" * 64 + sound),
             ("a comment", sound[:-2] + b"\3\0abc"), ("an archive as the comment", sound[:-2] + struct.pack("<H", 22) + end + bytes(18))]
    for name in ("../a", "/a", "a/../../b", "C:a", "..\\a", "a\0b", "", "manifest.json", "MANIFEST.JSON", "assets/e\u0301", "n" * 300,
                 "assets/x", "graph.bin/x", "assets"):
        files.append((f"an entry called {name[:20]!r}", rewritten(more(name))))
    files += [("a symbolic link", rewritten(more("assets/l", b"/etc/passwd", 0o120777))), ("a pipe", rewritten(more("assets/l", b"", 0o010644))),
              ("a hard link", rewritten(more("assets/l", b"", extra=struct.pack("<HH12x", 0x0D, 18) + b"target"))),
              ("an old hard link", rewritten(more("assets/l", b"", extra=struct.pack("<HH14x", 0x756E, 20) + b"target"))),
              ("a bomb", rewritten(more("assets/b", bytes(200 << 20), compress=zipfile.ZIP_DEFLATED))),
              ("bzip2", rewritten(more("assets/b", b"x" * 100, compress=zipfile.ZIP_BZIP2)))]
    files += [("encrypted", patched(central, 8, b"\1\x08")), ("another method", patched(central, 10, b"\x63\0")),
              ("another checksum", patched(central, 16, b"\0\0\0\0")), ("another size", patched(central, 24, b"\xff\xff\xff\x7f")),
              ("another offset", patched(central, 42, b"\0\0\0\0")), ("a name longer than its header", patched(central, 28, b"\xff\xff")),
              ("another name in its header", patched(local, 30, b"X")), ("more entries", patched(end, 10, b"\xff\x7f")),
              ("fewer entries", patched(end, 8, b"\1\0\1\0")), ("zip64 without its record", patched(end, 16, b"\xff\xff\xff\xff"))]
    files += list(flips(sound, 200, 2))
    # Half of the changes in what tells where things are: the directory is at the end.
    tail = len(sound) - int.from_bytes(sound[-6:-2], "little")
    files += [(f"directory, {name}", sound[:-tail] + changed) for name, changed in flips(sound[-tail:], 200, 3)]
    verdicts = Verdicts("archives")
    for name, content in files:
        path = scratch / "changed.zip"
        path.write_bytes(content)

        def reference(output):
            try:
                with zipfile.ZipFile(path) as archive:
                    if bad := archive.testzip():
                        return f"zipfile finds {bad} damaged"
                    names = sorted(archive.namelist())
                    found = {entry.filename: entry.file_size for entry in archive.infolist()}
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeError, zlib.error, EOFError, OSError, ValueError, struct.error) as error:
                return f"zipfile says: {error}"
            if output is not None:
                files = {file["name"]: file["bytes"] for file in json.loads(output)["files"]}
                if names != sorted([*files, "manifest.json"]) or any(found[name] != size for name, size in files.items()):
                    return f"zipfile finds other files: {names}"

        verdicts.judge(name, ["inspect", "--check", "--json", path], reference)
    return verdicts.print()


def core_ml(scratch):
    try:
        import coremltools
    except ImportError:
        print("  Core ML packages: skipped, coremltools is not installed")
        return 0
    verdicts = Verdicts("Core ML packages")
    sound = FIXTURES / "coreml" / "functions.mlpackage"
    path = scratch / "changed.mlpackage"

    def judge(name, change):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(sound, path)
        change(path)

        def reference(output):
            try:
                spec = coremltools.utils.load_spec(str(path))
            except Exception as error:  # whatever it raises, it is a rejection
                return f"coremltools says: {str(error)[:200]}"
            if output is not None and spec.WhichOneof("Type") != "mlProgram":
                return f"coremltools finds a {spec.WhichOneof('Type')}"

        verdicts.judge(name, ["inspect", path], reference)

    def manifest(old, new):
        def change(path):
            text = (path / "Manifest.json").read_text()
            assert old in text
            (path / "Manifest.json").write_text(text.replace(old, new, 1))
        return change

    def written(name, content):
        return lambda path: (path / name).write_bytes(content)

    def link(name):
        def change(path):
            (path / name).rename(path / "aside")
            (path / name).symlink_to(path / "aside")
        return change

    model = "Data/com.apple.CoreML/model.mlmodel"
    item = "com.apple.CoreML/model.mlmodel"
    judge("as it is", lambda _: None)
    for name in ("../../x", "/etc/passwd", "missing", "com.apple.CoreML", ""):
        judge(f"the path {name!r}", manifest(item.replace("/", "\\/") if item.replace("/", "\\/") in (sound / "Manifest.json").read_text() else item, name))
    judge("another format", manifest('"1.0.0"', '"2.0.0"'))
    judge("another root", manifest('"rootModelIdentifier"', '"rootModelIdentifiers"'))
    judge("no items", written("Manifest.json", b'{"fileFormatVersion":"1.0.0","rootModelIdentifier":"A","itemInfoEntries":{}}'))
    judge("no manifest", lambda path: (path / "Manifest.json").unlink())
    judge("no model", lambda path: (path / model).unlink())
    judge("an empty model", written(model, b""))
    judge("the model is a link", link(model))
    judge("the manifest is a link", link("Manifest.json"))
    for name, content in flips((sound / "Manifest.json").read_bytes(), 60, 4):
        judge(f"manifest, {name}", written("Manifest.json", content))
    for name, content in flips((sound / model).read_bytes(), 200, 5):
        judge(f"model, {name}", written(model, content))
    return verdicts.print()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        failed = sum([part(pathlib.Path(folder)) for part in (configurations, archives, core_ml)])
    sys.exit(1 if failed else 0)
