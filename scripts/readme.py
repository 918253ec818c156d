"""Measures what documents show, and writes it between its markers: the transcript in README.md, the whole report in the article
Verifying, and the tables of compression schemes and of families in the article Accuracy.

usage: readme.py [transcript] [verification] [schemes] [families]        (default: all; after `swift build -c release --product accelc`, on a machine that does nothing else)
The model is all-MiniLM-L6-v2, found by scripts/get_minilm.sh. Wants no packages.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import families_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = ROOT / ".build" / "release" / "accelc"
FIXTURES = ROOT / "Tests" / "Fixtures"
MODEL = "all-MiniLM-L6-v2"
SCHEMES = """float32 float16 bfloat16 int8 int4:block=16 int4:block=32 int4:block=64 nf4 affine:bits=4 palette:bits=8,group=16
    palette:bits=6,group=16 palette:bits=4,group=4 palette:bits=4,group=16 palette:bits=4 palette:bits=3,group=16
    palette:bits=2,group=16 palette:bits=1,group=16 vector:bits=8,size=4 outliers:share=0.005+int4
    sparse:target=0.5+int8 sparse:pattern=2:4+palette:bits=4""".split()
CONVERT = f"convert {MODEL} --shape batch=1,sequence=128 --compress palette:bits=4,group=16 -o minilm.accelpkg"
VERIFY = f"verify minilm.accelpkg --against {MODEL} --report report.json --html report.html"


def run(line):
    environment = dict(os.environ, ACCELC_CACHE="cache", NO_COLOR="1")
    return subprocess.run([TOOL, *line.split()], env=environment, check=True, capture_output=True, text=True).stdout


def shown(line, lines=None):
    output = run(line).rstrip().split("\n")
    if lines:
        output = output[:lines] + ["..."]
    return "\n".join([f"$ accelc {line}", *output])


def headlines(screen):
    """What was typed, the line of each stage, and the last one."""
    typed, *output = screen.split("\n")
    return "\n".join([typed, *(line for line in output if re.match("S[0-9T] ", line)), output[-1]])


def verification():
    run(CONVERT)
    return shown(VERIFY)


def transcript():
    shutil.rmtree("cache", ignore_errors=True)  # it begins with a miss
    return "\n\n".join([
        shown(CONVERT),
        headlines(shown(VERIFY)),
        shown("run minilm.accelpkg --inputs in.safetensors --outputs out.safetensors --repeat 50 --time"),
        shown(CONVERT, lines=1),
    ])


def scheme(specification):
    summary = run(f"convert {MODEL} --shape batch=8,sequence=128 --compress {specification} -o s.accelpkg").split("\n")
    size, bits = re.search(r": ([^,]*), ([0-9.]*) bits", summary[0]).groups()
    rows = [line for line in summary if line.startswith("all ")] or summary[2:3]
    sqnr = rows[0].split()[-1]
    golden = FIXTURES / "minilm_8x128" / "golden.safetensors"
    subprocess.run([TOOL, "verify", "s.accelpkg", "--golden", golden, "--report", "report.json", "--quiet"])
    outputs = json.loads(pathlib.Path("report.json").read_text())["outputs"]
    (figures,) = [o["metrics"] for o in outputs if o["name"] == "sentence_embedding" and o["against"] == "golden"]
    unit = "" if sqnr == "exact" else " dB"
    return f"| `{specification}` | {size} | {bits} | {sqnr}{unit} | {figures['sqnr']:.1f} dB | {figures['cosine']:.4f} |"


def table():
    head = ["scheme", "package", "bits per weight", "SQNR of the weights", "SQNR of the embeddings", "their cosine"]
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *map(scheme, SCHEMES)])


GUIDE = ROOT / "Sources" / "accelc" / "accelc.docc"
# The document that holds a block, and what makes it.
BLOCKS = {
    "transcript": (ROOT / "README.md", lambda: f"```text\n{transcript()}\n```"),
    "verification": (GUIDE / "Verifying.md", lambda: f"```text\n{verification()}\n```"),
    "schemes": (GUIDE / "Accuracy.md", table),
    "families": (GUIDE / "Accuracy.md", families_table.table),
}


def main(names):
    model = subprocess.run([ROOT / "scripts" / "get_minilm.sh"], check=True, capture_output=True, text=True).stdout
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copytree(model.strip(), MODEL)
        shutil.copy(FIXTURES / "minilm_1x128" / "golden.safetensors", "in.safetensors")
        time.sleep(3)  # digests of files that have just changed are not remembered
        for name in names or BLOCKS:
            made[name] = BLOCKS[name][1]()
        os.chdir(ROOT)
    for name, content in made.items():
        document = BLOCKS[name][0]
        block = f"<!-- {name} -->\n\n{content}\n\n<!-- end -->"
        text, count = re.subn(rf"(?s)<!-- {name} -->.*?<!-- end -->", lambda _: block, document.read_text(), count=1)
        if not count:
            sys.exit(f"readme.py: {document} has no place for {name}")
        document.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
