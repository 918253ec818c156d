#!/usr/bin/env python3
"""Checks that the Hub's cache is that of Hugging Face's own library, in both directions, against a local server.

usage: hub_layout.py HUBTOOL      the program HubTool of the tests; this Python has huggingface_hub
"""

import contextlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

os.environ.update(HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_XET="1", HF_HUB_DISABLE_PROGRESS_BARS="1")
for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_HOME", "HF_HUB_CACHE", "HF_ENDPOINT"):
    os.environ.pop(name, None)

import filelock
import huggingface_hub as hub

TOOL = os.path.abspath(sys.argv[1])
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TAKEN = [
    "1_Pooling/config.json", "config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
    "model.safetensors.index.json", "modules.json", "tokenizer.json",
]


def write_model(folder, byte_count):
    """Writes a model of two shards, and files that are not taken."""

    def shard(name, seed):
        header = {name: {"dtype": "U8", "shape": [byte_count], "data_offsets": [0, byte_count]}}
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + bytes((seed + 7 * i >> 2) & 255 for i in range(byte_count))

    index = {"weight_map": {"a": TAKEN[2], "b": TAKEN[3]}}
    contents = {
        "config.json": b'{"model_type": "bert"}', "tokenizer.json": b'{"version": "1.0"}', "README.md": b"# A model",
        "modules.json": b"[]", "1_Pooling/config.json": b"{}", "pytorch_model.bin": b"pickle",
        "model.safetensors.index.json": json.dumps(index).encode(), TAKEN[2]: shard("a", 1), TAKEN[3]: shard("b", 2),
    }
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class Server:
    def __init__(self, repository, folder):
        self.process = subprocess.Popen(
            [TOOL, "serve", repository, COMMIT, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.endpoint = self.process.stdout.readline().strip()

    def requests(self):
        """Returns the requests since the last call: method, path, range, bytes."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [line.split() for line in iter(lambda: self.process.stdout.readline().strip(), ".")]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def fetch(server, cache, reference, *options):
    """Downloads with the tool and returns the folder of the snapshot."""
    environment = dict(os.environ, HF_ENDPOINT=server.endpoint, HF_HUB_CACHE=str(cache))
    result = subprocess.run([TOOL, "fetch", reference, *options], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    folder, commit, _ = result.stdout.splitlines()
    assert commit == COMMIT
    return folder


def files(folder):
    root = pathlib.Path(folder)
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def check_ours(server, repository, model, cache):
    """What the tool has downloaded, the library finds."""
    folder = fetch(server, cache, f"hf:{repository}")
    assert sorted(files(folder)) == sorted(TAKEN), files(folder).keys()
    assert all(content == (model / name).read_bytes() for name, content in files(folder).items())
    found = hub.snapshot_download(repository, cache_dir=cache, local_files_only=True)
    assert os.path.samefile(found, folder), (found, folder)
    for name in TAKEN:
        path = hub.try_to_load_from_cache(repository, name, cache_dir=cache)
        assert path is not None and os.path.samefile(path, f"{folder}/{name}"), name
        assert hub.hf_hub_download(repository, name, cache_dir=cache, local_files_only=True) == path
    scan = hub.scan_cache_dir(cache)
    assert not scan.warnings, scan.warnings
    (repo,) = scan.repos
    (revision,) = repo.revisions
    assert (repo.repo_id, revision.commit_hash, set(revision.refs)) == (repository, COMMIT, {"main"})
    assert {file.file_name for file in revision.files} == {os.path.basename(name) for name in TAKEN}

    # The library completes the snapshot with what the tool does not take, and nothing else.
    server.requests()
    hub.snapshot_download(repository, cache_dir=cache, endpoint=server.endpoint)
    got = {path.rsplit("/", 1)[-1] for method, path, _, count in server.requests() if method == "GET" and "/api/" not in path}
    contents = [path for path in got if len(path) == 64]
    assert got - set(contents) == {"README.md", "pytorch_model.bin"} and not contents, got
    assert sorted(files(folder)) == sorted(files(model))


def check_theirs(server, repository, model, cache):
    """What the library has downloaded, the tool finds without a request."""
    folder = hub.snapshot_download(repository, cache_dir=cache, endpoint=server.endpoint)
    server.requests()
    assert os.path.samefile(fetch(server, cache, f"hf:{repository}", "--offline"), folder)
    assert os.path.samefile(fetch(server, cache, f"hf:{repository}@{COMMIT}", "--offline"), folder)
    has_record = os.path.exists(f"{folder}/../../trees/{COMMIT}.json")
    assert os.path.samefile(fetch(server, cache, f"hf:{repository}"), folder)
    requests = server.requests()
    # Older versions of the library record no listing: then the tool asks for it once.
    assert len(requests) == (0 if has_record else 1), requests
    fetch(server, cache, f"hf:{repository}")
    assert not server.requests()
    return has_record


def check_parts(server, repository, cache):
    """The tool gets only what single downloads of the library have left out."""
    for name in ("config.json", TAKEN[2]):
        hub.hf_hub_download(repository, name, cache_dir=cache, endpoint=server.endpoint)
    server.requests()
    folder = fetch(server, cache, f"hf:{repository}")
    assert sorted(files(folder)) == sorted(TAKEN)
    got = sorted(path.split(f"{COMMIT}/")[-1] for _, path, _, _ in server.requests() if "/resolve/" in path)
    expected = ["1_Pooling/config.json", TAKEN[3], TAKEN[3], *TAKEN[4:]]
    assert got == expected, (got, expected)


def check_lock(server, repository, cache):
    """The tool waits for the library's lock of a blob."""
    fetch(server, cache, f"hf:{repository}")
    snapshot = cache / f"models--{repository.replace('/', '--')}/snapshots/{COMMIT}/tokenizer.json"
    blob = snapshot.resolve()
    snapshot.unlink()
    blob.unlink()
    server.requests()
    with filelock.FileLock(cache / ".locks" / blob.parent.parent.name / f"{blob.name}.lock"):
        waiting = threading.Thread(target=fetch, args=(server, cache, f"hf:{repository}"))
        waiting.start()
        time.sleep(0.5)
        assert not server.requests()
    waiting.join()
    assert len(server.requests()) == 1 and snapshot.exists()


def check_interruption(server, repository, model, cache):
    """Ctrl-C leaves the incomplete file, and the next download continues it."""
    environment = dict(os.environ, HF_ENDPOINT=server.endpoint, HF_HUB_CACHE=str(cache))
    process = subprocess.Popen(
        [TOOL, "fetch", f"hf:{repository}", "--progress"], env=environment, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if int(line.split()[0]) > 200_000:
            break
    process.send_signal(signal.SIGINT)
    process.wait()
    blobs = cache / f"models--{repository.replace('/', '--')}/blobs"
    left = {path.name.removesuffix(".incomplete"): path.stat().st_size for path in blobs.glob("*.incomplete")}
    assert len(left) == 2 and sum(left.values()) >= 180_000, left
    server.requests()
    folder = fetch(server, cache, f"hf:{repository}")
    assert all(content == (model / name).read_bytes() for name, content in files(folder).items())
    ranges = {path.rsplit("/", 1)[-1]: bounds for _, path, bounds, _ in server.requests() if "/content/" in path}
    starts = {name: int(bounds.removeprefix("bytes=").split("-")[0]) for name, bounds in ranges.items()}
    assert starts == left, (starts, left)


def main():
    with contextlib.ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = root / "model"
        write_model(model, 400_000)
        (repository, slow) = ("owner/model", "owner/model-slow")
        server, slow_server = Server(repository, model), Server(slow, model)
        stack.callback(server.close)
        stack.callback(slow_server.close)
        check_ours(server, repository, model, root / "ours")
        has_record = check_theirs(server, repository, model, root / "theirs")
        check_parts(server, repository, root / "parts")
        check_lock(server, repository, root / "locked")
        check_interruption(slow_server, slow, model, root / "slow")
        record = "records listings" if has_record else "records no listings"
        print(f"huggingface_hub {hub.__version__} ({record}): the layout is the same in both directions")


main()
