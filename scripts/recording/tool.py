"""Runs of the tool in a folder of their own, and what of their results is recorded."""
import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

# Far more than any run takes on a machine that others use, too.
TIMEOUT = 900
# Of an error: what programs branch on, and where it is. Sentences may change.
LOCATION = ("code", "file", "offset", "line", "column", "tensor", "element", "field", "exitStatus")
REMOVED = ("COLUMNS", "NO_COLOR", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME")


class Folder:
    """A folder for runs, with a cache of its own."""

    def __init__(self, tool, path):
        self.tool, self.path, self.seen = tool, pathlib.Path(path), set()

    def environment(self, changes):
        kept = {name: value for name, value in os.environ.items() if name not in REMOVED and not name.startswith("ACCELC_")}
        return kept | {"HOME": str(self.path), "ACCELC_CACHE": f"{self.path}/.cache", "HF_HUB_OFFLINE": "1"} | changes

    def run(self, words, changes=None):
        """The exit status, standard output and standard error."""
        try:
            result = subprocess.run(
                [self.tool.path, *words], cwd=self.path, env=self.environment(changes or {}), stdin=subprocess.DEVNULL,
                capture_output=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return "no end", b"", b""
        return result.returncode, result.stdout, result.stderr

    def error(self, output):
        """The code and the location of the error that a run with --json printed; None if it printed none."""
        try:
            document = json.loads(output)
        except ValueError:
            return None
        if not isinstance(document, dict) or not isinstance(document.get("error"), dict):
            return None
        return self.locations(document["error"])

    def locations(self, error):
        result = {name: error[name] for name in LOCATION if name in error}
        if "file" in result:
            result["file"] = result["file"].replace(str(self.path), "FOLDER")
        if isinstance(error.get("errors"), list):
            result["errors"] = [self.locations(each) for each in error["errors"]]
        return result

    def failure(self, status, output):
        return {"status": status, "error": self.error(output)}

    def made(self, words, output):
        """What a run that writes a file or folder leaves: its digest, or the failure."""
        status, text, _ = self.run([*words, "-o", output, "--json", "--threads", "1"])
        return {"digest": self.digest(output)} if status == 0 else self.failure(status, text)

    def digest(self, name):
        """A digest of a file, or of the names and contents of all files of a folder."""
        path, digest = self.path / name, hashlib.sha256()
        files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
        for file in files:
            if file.name == "verify.json":
                continue
            digest.update(f"{file.relative_to(path)} {file.stat().st_size}\n".encode())
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def new_keys(self):
        """The entries of the cache since the last call: packages with the fields of their keys, and the keys of weights."""
        status, text, _ = self.run(["cache", "list", "--json"])
        if status != 0:
            return self.failure(status, text)
        entries = [entry for entry in json.loads(text) if entry["key"] not in self.seen]
        self.seen.update(entry["key"] for entry in entries)
        packages = [entry for entry in entries if entry["kind"] == "package"]
        return {
            "packages": {entry["key"]: entry["fields"] for entry in packages},
            "weights": sorted(entry["key"] for entry in entries if entry["kind"] != "package"),
        }


class Tool:
    def __init__(self, path, python=None):
        self.path, self.python = str(pathlib.Path(path).resolve()), python

    @contextlib.contextmanager
    def folder(self):
        with tempfile.TemporaryDirectory(prefix="record-") as path:
            yield Folder(self, path)

    def output(self, *words):
        return subprocess.run([self.path, *words], capture_output=True, check=True).stdout

    def formats(self):
        """Formats that are written, with the schemes of each."""
        formats = json.loads(self.output("formats", "--json"))
        return {each["format"]: each["writes"] for each in formats if each["writes"]}
