#!/usr/bin/env python3
"""Cache servers that fail: wrong bytes, cut-off answers, errors, slow links. And real ones: nginx, and bazel-remote where there is one."""

import array
import filecmp
import http.server
import json
import math
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import threading
import time

import common
from common import ACCELC, SCRATCH, SHORT, Row, fresh

MODEL = ["convert", "Tests/Fixtures/digits", "--shape", "batch=1,sequence=65", "--compress", "palette:bits=4,group=16"]
SECRET = "Bearer do-not-tell"


class Server(http.server.BaseHTTPRequestHandler):
    """A cache in memory that answers with a fault."""
    protocol_version = "HTTP/1.1"
    stored, fault, log, authorizations = {}, None, [], set()

    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_one(self):
        kind, fault = self.path.split("/")[-2], Server.fault
        Server.log.append((self.command, kind))
        Server.authorizations.add(self.headers.get("Authorization"))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if fault == "500":
            return self.answer(500)
        if fault == "hangs up":
            self.close_connection = True
            return
        if fault == "slow":
            time.sleep(60)
        if fault == "rejects":
            return self.answer(403)
        if self.command == "PUT":
            Server.stored[self.path] = body
            return self.answer(500 if fault == "500 to PUT" else 204)
        found = Server.stored.get(self.path)
        if found is None or fault == "forgets contents" and kind == "cas":
            return self.answer(404)
        if fault == "wrong bytes" and found and kind == "cas":
            found = found[:-1] + bytes([found[-1] ^ 1])
        if fault == "wrong records" and kind == "ac":
            found = found[:40] + bytes([found[40] ^ 1]) + found[41:]
        if fault == "another's record" and kind == "ac":
            found = next(b for p, b in Server.stored.items() if "/ac/" in p and p != self.path)
        if fault == "zeros":
            found = bytes(len(found))
        if fault == "a page of words":
            found = b"<html>log in here</html>"
        if fault == "too much":
            found = found + bytes(100_000)
        if fault == "cut off":
            self.answer(200, found[:len(found) // 2], len(found))
            self.close_connection = True
            return
        if fault == "without end":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                for _ in range(2_000):
                    self.wfile.write(bytes(1 << 16))
            except OSError:
                pass
            return
        self.answer(200, found)

    do_GET = do_HEAD = do_PUT = handle_one


def convert(address, *options, name="out"):
    """Makes the package with an empty local cache: (right, what is said, the cache is sound)."""
    output, cache = fresh(SCRATCH / f"{name}.accelpkg"), fresh(SCRATCH / "local")
    result = common.run(
        ACCELC, *MODEL, "-o", output, "--cache", cache, "--remote-cache", address, *options,
        env={"ACCELC_REMOTE_AUTHORIZATION": SECRET})
    right = result.returncode == 0 and same(SCRATCH / "expected.accelpkg", output)
    sound = common.run(ACCELC, "cache", "fsck", "--cache", cache).returncode == 0
    leftovers = [p for p in cache.rglob("*") if p.is_file() and (".partial" in str(p) or "/tmp/" in str(p.relative_to(cache)))]
    hit = any(words in result.stdout for words in ("cache hit", "cache server hit"))
    return right and sound and not leftovers and SECRET[7:] not in result.stderr, hit, result.stdout[:200] + result.stderr


def same(left, right):
    names = sorted(os.path.relpath(os.path.join(f, n), left) for f, _, ns in os.walk(left) for n in ns)
    return names and all(os.path.exists(f"{right}/{n}") and filecmp.cmp(f"{left}/{n}", f"{right}/{n}", False) for n in names)


def faulty():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://user:secret@127.0.0.1:{server.server_port}/accelc/"
    row = Row("remote: what is sent is what the next one finds")
    right, hit, said = convert(address)
    row.tell(right and not hit and Server.stored, said)
    row.tell(Server.authorizations == {SECRET}, f"sent {Server.authorizations}")
    right, hit, said = convert(address)
    row.tell(right and hit, said)
    # The read-only mode tells the server nothing.
    before, Server.log = dict(Server.stored), []
    Server.stored.clear()
    right, hit, said = convert(address, "--remote-read-only")
    row.tell(right and not hit and not any(c in ("PUT", "HEAD") for c, _ in Server.log), said)
    row.print()

    shares(address)
    Server.stored = dict(before)

    row = Row("remote: a faulty server never spoils a package or the cache")
    faults = ["500", "500 to PUT", "hangs up", "rejects", "forgets contents", "wrong bytes", "wrong records", "another's record",
              "zeros", "a page of words", "too much", "cut off", "without end", "slow"]
    if SHORT:
        faults = ["500", "forgets contents", "wrong bytes", "cut off"]
    for Server.fault in faults:
        Server.stored = {} if Server.fault == "500 to PUT" else dict(before)
        right, hit, said = convert(address)
        row.tell(right and not hit and "secret" not in said, f"{Server.fault}: hit {hit}, {said}")
    row.print()
    server.shutdown()


def large_model(folder, hidden=256, inner=1024, vocabulary=2048, positions=512):
    """A BERT whose matrices are large enough to be fetched from a server one by one; the number of those."""
    vector, square = [hidden], [hidden, hidden]
    shapes = {"embeddings.word_embeddings": [vocabulary, hidden], "embeddings.position_embeddings": [positions, hidden],
              "embeddings.token_type_embeddings": [2, hidden], "embeddings.LayerNorm": vector, "pooler.dense": square}
    layer = {"attention.self.query": square, "attention.self.key": square, "attention.self.value": square,
             "attention.output.dense": square, "attention.output.LayerNorm": vector, "intermediate.dense": [inner, hidden],
             "output.dense": [hidden, inner], "output.LayerNorm": vector}
    shapes.update({f"encoder.layer.0.{name}": shape for name, shape in layer.items()})
    tensors = {f"{name}.weight": shape for name, shape in shapes.items()}
    tensors.update({f"{name}.bias": shape[:1] for name, shape in shapes.items() if "_embeddings" not in name})
    header, values, source = {}, array.array("f"), random.Random(7)
    for name, shape in tensors.items():
        start = 4 * len(values)
        values.extend(source.gauss(0, 0.05) for _ in range(math.prod(shape)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, 4 * len(values)]}
    text = json.dumps(header).encode()
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + values.tobytes())
    configuration = {
        "model_type": "bert", "architectures": ["BertModel"], "hidden_size": hidden, "intermediate_size": inner,
        "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": vocabulary, "max_position_embeddings": positions,
        "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12}
    (folder / "config.json").write_text(json.dumps(configuration))
    return sum(4 * math.prod(shape) >= 1 << 18 for shape in tensors.values())


def shares(address):
    """Machines that share a conversion have nothing in common but the server."""
    row = Row("remote: shares from machines of their own are one package")
    model = fresh(SCRATCH / "large")
    large = large_model(model)
    command = [ACCELC, "convert", model, "--shape", "batch=1,sequence=8", "--compress", "int8"]
    expected = fresh(SCRATCH / "one.accelpkg")
    row.tell(common.run(*command, "--no-cache", "-o", expected).returncode == 0)
    Server.stored.clear()
    for share in range(1, 4):
        local = fresh(SCRATCH / "local")
        result = common.run(*command, "--shard", f"{share}/3", "--cache", local, "--remote-cache", address)
        row.tell(result.returncode == 0, result.stderr)
    # The server loses a result: that one is made again.
    for lost in (0, 1):
        if lost:
            del Server.stored[max(Server.stored, key=lambda path: len(Server.stored[path]))]
        output, local = fresh(SCRATCH / "shares.accelpkg"), fresh(SCRATCH / "local")
        result = common.run(
            *command, "--json", "--remote-read-only", "-o", output, "--cache", local, "--remote-cache", address)
        found = json.loads(result.stdout)["weights"]["found"] if result.returncode == 0 else None
        row.tell(found == large - lost and same(expected, output), f"{found} of {large} found; {result.stderr}")
    row.print()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.1)
    return False


def real(name, address):
    row = Row(name)
    right, hit, said = convert(address)
    row.tell(right and not hit, said)
    right, hit, said = convert(address)
    row.tell(right and hit, said)
    row.print()


def serve(name, port, folder, *command):
    """Runs a server, and the checks against what it has below a folder."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if wait_for(port):
            real(name, f"http://127.0.0.1:{port}{folder}")
        else:
            common.skip(name, f"{pathlib.Path(command[0]).name} does not start here")
    finally:
        process.terminate()
        process.wait()


def nginx():
    name = "remote: nginx with WebDAV keeps and gives back"
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not program:
        common.skip(name, "nginx is not installed (Debian: nginx-light)")
        return
    port, home = free_port(), SCRATCH / "nginx"
    (home / "files").mkdir(parents=True)
    temporary = "".join(f"{k}_temp_path {home}/{k}; " for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = f"user {os.environ.get('USER', 'root')};" if os.geteuid() == 0 else ""
    (home / "nginx.conf").write_text(f"""
        daemon off; pid {home}/pid; error_log {home}/errors; {user} events {{}}
        http {{ access_log {home}/access; client_max_body_size 0; {temporary}
            server {{ listen 127.0.0.1:{port}; root {home}/files;
                location / {{ dav_methods PUT; create_full_put_path on; }} }} }}""")
    serve(name, port, "/cache", program, "-c", home / "nginx.conf")


def bazel_remote():
    name = "remote: bazel-remote keeps, checks and gives back"
    program = os.environ.get("BAZEL_REMOTE") or shutil.which("bazel-remote")
    if not program:
        common.skip(name, "bazel-remote is not installed (or named by $BAZEL_REMOTE)")
        return
    port = free_port()
    serve(name, port, "", program, "--dir", SCRATCH / "bazel", "--max_size", "1", "--http_address", f"127.0.0.1:{port}",
          "--grpc_address", "none")


if not shutil.which("curl"):
    common.skip("remote: cache servers", "curl is not installed")
else:
    made = common.run(ACCELC, *MODEL, "-o", SCRATCH / "expected.accelpkg", "--no-cache")
    if made.returncode != 0:
        raise SystemExit(made.stderr)
    faulty()
    nginx()
    bazel_remote()
