"""What the programs of runtimes share: the request, and the answer (README.md describes both)."""

import json
import pathlib
import sys

# The programs beside this file have the names of the packages that they import.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]


class Run:
    """One call: tensors by name, and the outputs that are asked for."""

    def __init__(self, number, item, tensors):
        self.number, self.function, self.sequence = number, item["function"], item["sequence"]
        self.kinds = {port["name"]: port["kind"] for port in item["inputs"]}
        # Outputs of earlier runs of the sequence that are inputs here.
        self.carried = {port["name"]: port["from"] for port in item["inputs"] if "from" in port}
        self.inputs = {name: tensors[f"{number}.{name}"] for name in self.kinds if name not in self.carried}
        self.states = {name: tensors[f"{number}.state.{name}"] for name in item["states"]}
        self.outputs = {port["name"]: port["kind"] for port in item["outputs"]}
        self.changed_states = item["changedStates"]

    def input(self, kind):
        """The input of a kind; None if there is none."""
        return next((self.inputs[name] for name, own in self.kinds.items() if own == kind), None)


class Request:
    """The request in a folder."""

    def __init__(self, folder):
        import safetensors.numpy
        document = json.loads((folder / "request.json").read_text())
        if document["version"] != 1:
            sys.exit(f"the request has version {document['version']}; this program knows 1")
        self.model, self.threads = pathlib.Path(document["model"]), document["threads"]
        self.keeps_activations = document["activations"] == "float32"
        tensors = safetensors.numpy.load_file(folder / "inputs.safetensors")
        self.runs = [Run(number, item, tensors) for number, item in enumerate(document["runs"])]


class Unable(Exception):
    """The runtime has no such function or output; the message says why."""


def serve(title, installation, start):
    """Answers the request in the folder that the command line names.

    start: a function of the request that imports the runtime, opens the model, and returns the runtime's name with its version,
    and a function of a run that returns arrays by output, `state.NAME` for states. An array may be an `Unable` instead.
    """
    if len(sys.argv) != 2:
        sys.exit(f"usage: {pathlib.Path(sys.argv[0]).name} FOLDER      (with request.json and inputs.safetensors)")
    folder = pathlib.Path(sys.argv[1])
    try:
        import numpy
        import safetensors.numpy
        request = Request(folder)
        version, call = start(request)
    except ImportError as error:
        print(f"{title} cannot run, since {error.name or error} is missing in {sys.executable} (--python names another): {installation} numpy safetensors", file=sys.stderr)
        sys.exit(3)
    made, missing = {}, {}
    for run in request.runs:
        names = list(run.outputs) + [f"state.{name}" for name in run.changed_states]
        try:
            found = call(run)
        except Unable as reason:
            found = {name: reason for name in names}
        for name in names:
            value = found.get(name)
            if isinstance(value, Unable):
                missing[f"{run.number}.{name}"] = str(value)
            elif value is not None:
                kind = numpy.int64 if numpy.issubdtype(value.dtype, numpy.integer) else numpy.float32
                made[f"{run.number}.{name}"] = numpy.ascontiguousarray(value, kind)
    safetensors.numpy.save_file(made, folder / "outputs.safetensors")
    (folder / "answer.json").write_text(json.dumps({"runtime": version, "missing": missing}))
