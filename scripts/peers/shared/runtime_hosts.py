"""The programs of scripts/runtimes as processes that stay: each imports its runtime once, and answers a request in a fork of itself.

A table with hundreds of rows would import the same runtime hundreds of times. `Hosts` makes a folder with a small program for each
runtime, for `accelc verify --runtimes FOLDER`; it hands the request to the runtime's process, and ends as the fork of that process ends.
The fork runs the very program of scripts/runtimes.
"""

import os
import pathlib
import runpy
import socket
import subprocess
import sys
import tempfile
import time

RUNTIMES = pathlib.Path(__file__).resolve().parent.parent.parent / "runtimes"
# What each program imports; the runtime's own work begins in the fork.
IMPORTED = {
    "llama": ["ctypes"], "mlx": ["mlx.core", "mlx.nn", "mlx_lm.utils"], "ctranslate2": ["ctranslate2"],
    "coreai": ["coreai.authoring", "coreai.runtime"],
}
CLIENT = """import os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect({address!r})
socket.send_fds(link, [os.fsencode(sys.argv[1])], [1, 2])
sys.exit(int(link.recv(16) or 1))
"""


class Hosts:
    """A context: `folder` has the programs and their sockets until its end."""

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder, self.processes = pathlib.Path(self.temporary.name), {}
        for name in IMPORTED:
            (self.folder / f"{name}.py").write_text(CLIENT.format(address=str(self.folder / f"{name}.socket")))
        return self

    def start(self, name):
        """Starts the process of a runtime, once; the program in the folder can be called when this returns."""
        if name in self.processes:
            return
        address = self.folder / f"{name}.socket"
        self.processes[name] = process = subprocess.Popen([sys.executable, __file__, name, str(address)])
        while not address.exists() and process.poll() is None:
            time.sleep(0.01)

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.temporary.cleanup()


def answer(program, link):
    """One request: a fork runs the program; its exit status, or 1 after a signal, goes back."""
    folder, files, _, _ = socket.recv_fds(link, 4096, 2)
    child = os.fork()
    if child == 0:
        for number, file in zip((1, 2), files):
            os.dup2(file, number)
        sys.argv = [str(program), os.fsdecode(folder)]
        status = 1
        try:
            runpy.run_path(str(program), run_name="__main__")
            status = 0
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    for file in files:
        os.close(file)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        print(f"{program.name}: ended by signal {-status}", file=sys.stderr, flush=True)
    link.sendall(str(status if status >= 0 else 1).encode())


def serve(name, address):
    # The programs' folder and this one have files with the names of packages.
    sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != pathlib.Path(__file__).resolve().parent]
    import numpy  # noqa: F401
    import safetensors.numpy  # noqa: F401
    for module in IMPORTED[name]:
        try:
            __import__(module)
        except ImportError:
            pass  # The program says what is missing, and how to install it.
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{address}.new")
    listener.listen()
    os.rename(f"{address}.new", address)
    while True:
        link, _ = listener.accept()
        with link:
            answer(RUNTIMES / f"{name}.py", link)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
