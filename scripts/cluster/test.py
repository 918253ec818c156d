"""Tries scripts/cluster with a model: packages of one process and of shares are equal, whatever is killed.

usage: test.py ACCELC MODEL
"""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ACCELC, MODEL = sys.argv[1:3]
COMMON = ["--shape", "batch=1,sequence=16", "--threads", "1", "--quiet"]
PLAIN = [*COMMON, "--compress", "palette:bits=4,group=16"]
failures = []


def calibrated(scratch):
    """Options of a conversion with calibration by lines of the documents."""
    text = scratch / "lines.txt"
    documents = sorted((HERE.parent.parent / "Sources").rglob("*.md"))
    lines = [line for path in documents for line in path.read_text().splitlines() if len(line) > 100]
    text.write_text("\n".join(lines[:256]) + "\n")
    return [*COMMON, "--compress", "int4:block=32,method=gptq", "--calibrate", str(text), "--samples", "256"]


class Trial:
    """A conversion, and the package that one process makes of it."""

    def __init__(self, name, scratch, options):
        self.name, self.scratch, self.options = name, scratch / name, options
        self.scratch.mkdir()
        one = self.scratch / "one.accelpkg"
        subprocess.run([ACCELC, "convert", MODEL, *options, "--no-cache", "-o", one], check=True)
        self.expected = digest(one)

    def convert(self, output, *options, environment):
        """Starts convert.py; its last command writes output."""
        command = [sys.executable, HERE / "convert.py", *options, "--", ACCELC, "convert", MODEL, *self.options, "-o", output]
        return subprocess.Popen(
            [str(word) for word in command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def check_package(self, label, output):
        check(f"{self.name}, {label}: the package of one process", output.exists() and digest(output) == self.expected)


def check(label, good, detail=""):
    print(f"{'ok  ' if good else 'FAIL'} {label}{': ' + detail if detail else ''}", flush=True)
    if not good:
        failures.append(label)


def digest(package):
    """The names and contents of a package's files."""
    found = hashlib.sha256()
    for path in sorted(path for path in pathlib.Path(package).rglob("*") if path.is_file()):
        found.update(f"{path.relative_to(package)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def finish(process, label):
    printed = process.communicate(timeout=900)[0]
    check(f"{label}: ends with 0", process.returncode == 0, "" if process.returncode == 0 else printed[-1500:])
    return printed


class Cluster:
    """A scheduler and workers in processes of their own. Each worker leads a group, so that a kill takes its share with it."""

    def __init__(self, environment, workers=2):
        self.address, self.environment, self.workers = port(), environment, []
        self.start_scheduler()
        for _ in range(workers):
            self.start_worker()

    def start(self, *words):
        command = [sys.executable, "-m", "distributed.cli." + words[0], *map(str, words[1:])]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def start_scheduler(self):
        self.scheduler = self.start("dask_scheduler", "--host", "127.0.0.1", "--port", self.address, "--no-dashboard")

    def start_worker(self):
        self.workers.append(self.start(
            "dask_worker", self.name, "--no-nanny", "--nthreads", 1, "--no-dashboard", "--death-timeout", 60, "--local-directory",
            tempfile.gettempdir()))

    @property
    def name(self):
        return f"tcp://127.0.0.1:{self.address}"

    def kill(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self):
        for process in [self.scheduler, *self.workers]:
            self.kill(process)


def children(process):
    """The processes that a process has started, by any of its threads: the share of a worker."""
    found = []
    with contextlib.suppress(OSError):
        for path in pathlib.Path(f"/proc/{process.pid}/task").glob("*/children"):
            found += path.read_text().split()
    return found


def wait_for_share(worker):
    for _ in range(3000):
        if children(worker):
            return True
        time.sleep(0.01)
    return False


def environment(cache):
    return os.environ | {"ACCELC_CACHE": str(cache), "DASK_LOGGING__DISTRIBUTED": "error"}


def try_shares(trial):
    for count in (1, 2, 7):
        cache, output = trial.scratch / f"cache-{count}", trial.scratch / f"{count}.accelpkg"
        finish(trial.convert(output, "--shares", count, environment=environment(cache)), f"{count} shares on a cluster of this machine")
        trial.check_package(f"{count} shares", output)


def try_killed_worker(trial):
    cache, output = trial.scratch / "cache-killed", trial.scratch / "killed.accelpkg"
    cluster = Cluster(environment(cache))
    try:
        conversion = trial.convert(output, "--scheduler", cluster.name, "--shares", 6, environment=environment(cache))
        check("a worker begins a share", wait_for_share(cluster.workers[0]))
        cluster.kill(cluster.workers[0])
        finish(conversion, "a worker is killed in its share")
        trial.check_package("a killed worker", output)
    finally:
        cluster.close()


def try_lost_scheduler(trial):
    cache, output = trial.scratch / "cache-lost", trial.scratch / "lost.accelpkg"
    cluster = Cluster(environment(cache))
    try:
        conversion = trial.convert(output, "--scheduler", cluster.name, "--shares", 6, environment=environment(cache))
        check("a worker begins a share", wait_for_share(cluster.workers[0]))
        cluster.close()
        cluster.workers = []
        cluster.start_scheduler()
        cluster.start_worker()
        cluster.start_worker()
        printed = finish(conversion, "the scheduler is killed with its workers, and started again")
        check("a lost scheduler: begun anew", "once more" in printed)
        trial.check_package("a lost scheduler", output)
    finally:
        cluster.close()


def try_server(trial):
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not nginx:
        print("skipped: a cache server, since nginx is not installed")
        return
    folder, address = trial.scratch / "server", port()
    (folder / "cache").mkdir(parents=True)
    (folder / "logs").mkdir()
    settings = (HERE / "nginx.conf").read_text().replace("8080", str(address))
    if os.geteuid() == 0:
        settings = "user root;\n" + settings
    (folder / "nginx.conf").write_text(settings)
    server = subprocess.Popen([nginx, "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", address)):
                break
            time.sleep(0.05)
        # Workers and the last command share nothing but the server.
        for number in (1, 2, 3):
            done = subprocess.run(
                [ACCELC, "convert", MODEL, *trial.options, "--shard", "auto", "--remote-cache", f"http://127.0.0.1:{address}"],
                env=environment(trial.scratch / f"cache-server-{number}") | {"JOB_COMPLETION_INDEX": str(number - 1), "JOB_COMPLETIONS": "3"})
            check(f"share {number} of 3 by a cache server", done.returncode == 0)
        output = trial.scratch / "server.accelpkg"
        done = subprocess.run(
            [ACCELC, "convert", MODEL, *trial.options, "--remote-cache", f"http://127.0.0.1:{address}", "-o", output, "--json"],
            env=environment(trial.scratch / "cache-server-4"), capture_output=True, text=True)
        trial.check_package("a cache server", output)
        if done.returncode == 0:
            weights = json.loads(done.stdout)["weights"]
            # Small weights are made faster than they come.
            check("weights come from the server", weights["received"] > weights["made"] / 3, json.dumps(weights))
    finally:
        server.terminate()
        server.wait()


def try_speed(trial):
    """Two shares at once on two processors beside one process on one: best of three each, in turn."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        print("skipped: the time of two workers, since there is one processor")
        return
    best = [float("inf"), float("inf")]
    for _ in range(3):
        for index, count in enumerate((1, 2)):
            cache = trial.scratch / "cache-speed"
            shutil.rmtree(cache, ignore_errors=True)
            start = time.monotonic()
            runs = [subprocess.Popen(
                ["taskset", "-c", str(processors[number]), ACCELC, "convert", MODEL, *trial.options, "--shard", f"{number + 1}/{count}"],
                env=environment(cache)) for number in range(count)]
            ended = [run.wait() for run in runs]
            check(f"{count} shares at once end with 0", ended == [0] * count)
            best[index] = min(best[index], time.monotonic() - start)
    ratio = best[0] / best[1]
    check(f"{trial.name}: two workers are {ratio:.2f} times as fast as one ({best[0]:.2f} s, {best[1]:.2f} s; bar 1.8)", ratio >= 1.8)


def try_files():
    import botocore.session
    import botocore.validate
    import kubernetes_validate
    import yaml
    document = yaml.safe_load((HERE / "kubernetes.yaml").read_text())
    try:
        kubernetes_validate.validate(document, "1.33", strict=True)
        check("kubernetes.yaml is valid (kubernetes-validate)", True)
    except kubernetes_validate.ValidationError as error:
        check("kubernetes.yaml is valid (kubernetes-validate)", False, str(error))
    batch = json.loads((HERE / "aws_batch.json").read_text())
    model = botocore.session.get_session().get_service_model("batch")
    for part, operation in (("definition", "RegisterJobDefinition"), ("job", "SubmitJob")):
        report = botocore.validate.ParamValidator().validate(batch[part], model.operation_model(operation).input_shape)
        check(f"aws_batch.json: {part} is valid (botocore)", not report.has_errors(), report.generate_report())
    check("slurm.sbatch is a script (bash -n)", subprocess.run(["bash", "-n", HERE / "slurm.sbatch"]).returncode == 0)
    if shutil.which("sbatch") and subprocess.run(["sinfo"], capture_output=True).returncode == 0:
        done = subprocess.run(["sbatch", "--test-only", "--array=1-4", HERE / "slurm.sbatch", MODEL], capture_output=True, text=True)
        check("slurm.sbatch is valid (sbatch --test-only)", done.returncode == 0, done.stderr.strip())
    else:
        print("skipped: slurm.sbatch by sbatch --test-only, since no Slurm controller answers")


def main():
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        try_files()
        for name, options in (("palettes", PLAIN), ("gptq", calibrated(scratch))):
            trial = Trial(name, scratch, options)
            try_shares(trial)
            try_killed_worker(trial)
            try_lost_scheduler(trial)
            try_server(trial)
            try_speed(trial)
    if failures:
        sys.exit(f"cluster: {len(failures)} failed: {', '.join(failures)}")
    print("cluster: passed")


main()
