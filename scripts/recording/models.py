"""Every model of the fixtures: keys, digests and reports."""
import hashlib
import pathlib
import re
import shutil

from . import safetensors
from .reports import verified

# Options of exports, one of each a model, in turn.
VARIANTS = {
    "coreml": [["--layout", "ane"], ["--target", "iOS16"], ["--precision", "float32"], ["--target", "iOS17"], ["--target", "iOS26"]],
    "coreai": [["--composites", "no"], ["--precision", "float32"]],
    "ctranslate2": [["--quantization", name] for name in (
        "int8", "float32", "int8_float16", "int16", "int8_bfloat16", "bfloat16", "int8_float32", "float16")] + [["--better-scales", "--quantization", "int8"]],
}
# The options of conversions, in turn.
CONVERSIONS = [
    ["--activations", "int8"], ["--activations", "bfloat16"], ["--states", "int8"], ["--states", "float16"], ["--logits", "last"],
    ["--probe"], ["--zip"],
]
READ = ("coreml", "gguf", "mlx", "whisper.cpp")
RUNTIMES = {"gguf": "llama", "mlx": "mlx", "ctranslate2": "ctranslate2", "coreai": "coreai"}
# A golden file of more bytes has inputs that would take minutes in every stage.
LARGE = 200_000
TEXT = "The sky is blue, and the sea is deep.\nWhy is the sky blue?\nIt is [MASK] that counts.\nLong lines of text are cut.\n" * 4


def sources(fixtures):
    """Models in folders and files below the fixtures, by their relative paths."""
    found = []
    for path in sorted(fixtures.rglob("*")):
        relative = path.relative_to(fixtures)
        if any(part.endswith(".mlpackage") or part.endswith(".aimodel") for part in relative.parts[:-1]):
            continue
        if path.suffix in (".gguf", ".mlpackage", ".aimodel") or path.name == "ggml-model.bin" or relative.parent.name == "packages":
            found.append(relative)
        elif path.is_dir() and (path / "config.json").exists() and not re.match(r"\d_|assets$", path.name):
            found.append(relative)
    return found


def golden(fixtures, source):
    path = fixtures / source
    candidates = [path / "golden.safetensors", path.parent / f"{path.stem}.golden.safetensors", path.parent / f"{path.stem}.safetensors"]
    return next((each for each in candidates if each.exists()), None)


def jobs(tool, tests):
    fixtures = tests / "Fixtures"
    result = []
    for number, source in enumerate(sources(fixtures)):
        result.append((f"model {source}", lambda source=source, number=number: Model(tool, fixtures, source, number).record()))
    return result + [(f"adapter {name}", lambda name=name, base=base: adapted(tool, fixtures, name, base)) for name, base in adapters(fixtures)]


def copy(source, target):
    shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)


class Model:
    def __init__(self, tool, fixtures, source, number):
        self.tool, self.fixtures, self.source, self.number = tool, fixtures, source, number
        self.formats = tool.formats()

    def turn(self, values):
        return values[self.number % len(values)]

    def record(self):
        with self.tool.folder() as folder:
            self.folder = folder
            self.name = pathlib.Path(self.source).name
            copy(self.fixtures / self.source, folder.path / self.name)
            file = golden(self.fixtures, self.source)
            self.shape, self.golden = [], None
            if file:
                copy(file, folder.path / "golden.safetensors")
                inputs = {name[3:]: value for name, value in safetensors.read(file).items() if name.startswith("in.")}
                safetensors.write(folder.path / "inputs.safetensors", inputs)
                self.golden, self.shape = "golden.safetensors", ["--shape-from", "golden.safetensors"]
            record = {"conversions": self.conversions(), "exports": self.exports()}
            record["reports"] = self.reports()
            record["runs"] = self.runs()
            record["keys"] = folder.new_keys()
            return record

    def convert(self, words, output):
        """The record of a conversion; without the golden's shapes where they do not fit."""
        made = self.folder.made(["convert", self.name, *self.shape, *words], output)
        if self.shape and "digest" not in made:
            without = self.folder.made(["convert", self.name, *words], output)
            if "digest" in without:
                self.shape = []
                return without
        return made

    def conversions(self):
        result = {}

        def add(words, output):
            result[" ".join(words) or "default"] = made = self.convert(words, output)
            if "digest" in made:
                made |= self.folder.new_keys()

        add(["--compress", "float32"], "float32.accelpkg")
        add([], "default.accelpkg")
        add(["--compress", "int8"], "int8.accelpkg")
        schemes = self.formats["accelpkg"]["compress"]
        for step in (0, len(schemes) // 2):
            add(["--compress", schemes[(self.number + step) % len(schemes)]], f"turn{step}.accelpkg")
        add(self.turn(CONVERSIONS), "option.zip" if self.turn(CONVERSIONS) == ["--zip"] else "option.accelpkg")
        if self.golden and self.number % 4 == 0:
            inputs = ["--calibrate", "inputs.safetensors"]
            result["plan"] = self.convert(["--target-bits", "6", *inputs, "--plan", "plan"], "plan.accelpkg")
            if (self.folder.path / "plan/recipe.json").exists():
                result["plan"]["recipe"] = self.folder.digest("plan/recipe.json")
            add(["--compress", "int4:method=gptq", *inputs], "gptq.accelpkg")
        return result

    def exports(self):
        result = {}
        for format, writes in self.formats.items():
            if format == "accelpkg":
                continue

            def add(source, words, output):
                words = ["--format", format, *words]
                shape = [] if source.endswith(".accelpkg") else self.shape
                result[" ".join([source.replace(self.name, "model"), *words])] = self.folder.made(["export", source, *shape, *words], output)

            add(self.name, [], f"plain.{format}")
            if "digest" not in result[f"model --format {format}"]:
                continue
            for package in ("float32.accelpkg", "int8.accelpkg"):
                add(package, [], f"{package}.{format}")
            add(self.name, ["--allow-fallback"] * (format in ("coreml", "coreai", "mlx", "gguf")) + ["--compress", self.turn(writes["compress"])], f"turn.{format}")
            if format in VARIANTS:
                add(self.name, self.turn(VARIANTS[format]), f"variant.{format}")
        return result

    def reports(self):
        result = {}

        def add(subject, words):
            result[" ".join([subject, *words]).replace(self.name, "model")] = verified(self.folder, [subject, *words])

        against = ["--against", self.name]
        if self.golden:
            add("float32.accelpkg", ["--golden", self.golden])
            if (self.folder.path / self.golden).stat().st_size > LARGE:
                return result
            add("int8.accelpkg", [*against, "--inputs", "inputs.safetensors"])
        if self.number % 3 == 0:
            # As long as all other verifications of a model.
            add("float32.accelpkg", [*against, "--self-test"])
        add("default.accelpkg", [*against, "--seed", "7"])
        add("turn0.accelpkg", against)
        add("option.accelpkg", against)
        if pathlib.Path(self.source).parts[0] == "text":
            (self.folder.path / "lines.txt").write_text(TEXT)
            add("int8.accelpkg", [*against, "--text", "lines.txt", "--context", "16"])
            add("int8.accelpkg", [*against, "--inputs", "lines.txt", "--sample-length", "16"])
        for format in self.formats:
            if not (self.folder.path / f"plain.{format}").exists():
                continue
            if format in READ:
                # A suffix tells formats apart.
                name = "plain.mlpackage" if format == "coreml" else f"plain.{format}"
                if format == "coreml":
                    (self.folder.path / "plain.coreml").rename(self.folder.path / name)
                add(name, against)
                if self.golden and format == "coreml":
                    add(name, ["--golden", self.golden])
            if format in RUNTIMES and self.tool.python:
                words = [*against, "--runtime", RUNTIMES[format], "--python", self.tool.python]
                values = verified(self.folder, [f"plain.{format}", *words])
                if isinstance(values, dict) and values["status"] != 3:
                    result[f"{format} --runtime"] = values
        return result

    def runs(self):
        """The outputs of the float32 package, and what texts give."""
        result = {}
        if self.golden and (self.folder.path / "float32.accelpkg").exists():
            words = ["run", "float32.accelpkg", "--inputs", self.golden, "--outputs", "outputs.safetensors"]
            status, text, _ = self.folder.run([*words, "--json"])
            result["inputs"] = {"digest": self.folder.digest("outputs.safetensors")} if status == 0 else self.folder.failure(status, text)
        if pathlib.Path(self.source).parts[0] == "text":
            (self.folder.path / "lines.txt").write_text(TEXT)
            for words in (["--text", "lines.txt"], ["--prompt", "The sky is", "--generate", "12"]):
                status, text, _ = self.folder.run(["run", "float32.accelpkg", *words])
                result[words[0]] = {"digest": hashlib.sha256(text).hexdigest()} if status == 0 else {"status": status}
        return result


def adapters(fixtures):
    """The adapters of the fixtures, each with its model."""
    bases = {"bert": "bert_base", "gpt2": "gpt2_small", "vit": "vit_tall", "whisper": "whisper_small"}
    folders = sorted(path.name for path in (fixtures / "adapters").glob("*") if path.is_dir())
    return [(name, bases.get(name.split("_")[0], "llama_llama3")) for name in folders]


def adapted(tool, fixtures, name, base):
    with tool.folder() as folder:
        copy(fixtures / "adapters" / name, folder.path / "adapter")
        copy(fixtures / base, folder.path / "base")
        record = {}
        # Adapters with more than LoRA merge with the weight 1 only.
        for adapter in ("adapter", "adapter:0.5"):
            made = folder.made(["convert", "base", "--adapter", adapter, "--compress", "float32"], "p.accelpkg")
            record[adapter] = {"conversion": made | folder.new_keys()}
            if "digest" in made:
                record[adapter]["report"] = verified(folder, ["p.accelpkg", "--against", "base", "--adapter", adapter])
        return record
