"""Stands in for the program of a runtime in tests: gives the outputs of a golden, with a fault that FAKE names. Standard library only.

GOLDEN is the golden file. Each request has one run for each row of its inputs.
"""

import json
import os
import struct
import sys
import time

FAULT, FOLDER = os.environ.get("FAKE", ""), sys.argv[1]


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    (count,) = struct.unpack("<Q", data[:8])
    start = 8 + count
    return {
        name: (entry["shape"], data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]])
        for name, entry in json.loads(data[8:start]).items() if name != "__metadata__"
    }


def save(path, tensors):
    header, offset = {}, 0
    for name, (shape, content) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + len(content)]}
        offset += len(content)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(content for _, content in tensors.values()))


def faulty(shape, content):
    numbers = list(struct.unpack(f"<{len(content) // 4}f", content))
    if FAULT == "noise":
        numbers = [number * 1.05 for number in numbers]
    elif FAULT == "nan":
        numbers[-1] = float("nan")
    elif FAULT == "shape":
        shape = [shape[0], shape[2], shape[1]]
    return shape, struct.pack(f"<{len(numbers)}f", *numbers)


if FAULT == "crash":
    os.abort()
elif FAULT == "refuse":
    sys.exit("it does not like the model")
elif FAULT == "hang":
    time.sleep(100)
elif FAULT == "missing":
    print("the stand-in cannot run, since it is missing: pip install stand-in", file=sys.stderr)
    sys.exit(3)
elif FAULT == "silent":
    sys.exit(0)

with open(f"{FOLDER}/request.json") as file:
    request = json.load(file)
golden, made, missing = load(os.environ["GOLDEN"]), {}, {}
for number, run in enumerate(request["runs"]):
    count = load(f"{FOLDER}/inputs.safetensors")[f"{number}.input_ids"][0][1]
    for output in run["outputs"]:
        name = output["name"]
        if FAULT == "unable" or FAULT == "some" and output["kind"] == "pooled":
            missing[f"{number}.{name}"] = "the stand-in does not know it"
            continue
        if FAULT == "none":
            continue
        key = next((key for key in (f"out.{name}", f"out.{name}_full") if key in golden), None)
        if key is None:
            missing[f"{number}.{name}"] = "the golden does not have it"
            continue
        (rows, *shape), content = golden[key]
        size = len(content) // rows
        own = content[number * size:(number + 1) * size]
        if len(shape) == 2:
            own, shape = own[:count * shape[1] * 4], [count, shape[1]]
        made[f"{number}.{name}"] = faulty([1, *shape], own)
save(f"{FOLDER}/outputs.safetensors", made)
with open(f"{FOLDER}/answer.json", "w") as file:
    json.dump({"runtime": f"stand-in 1, {request['threads'] > 0}", "missing": missing}, file)
