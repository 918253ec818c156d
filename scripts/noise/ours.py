"""What accelc computes for a case: its packages in float32, and the outputs by the names that golden files have."""

import json
import re
import subprocess

import safetensors.torch


def parts_of(message):
    """The parts that an error lists, which names one that there is not."""
    found = re.search(r"the model has: ([^)]*)\)", message)
    return found.group(1).split(", ") if found else []


class Accelc:
    """A model of a case in float32, run by the executor or by the reference meaning of the operators."""

    def __init__(self, accelc, model, case, scratch, backend="cpu"):
        self.accelc, self.model, self.case, self.scratch = accelc, model, case, scratch
        self.backend = ["--backend", backend]
        self.packages = {}

    def call(self, *words):
        done = subprocess.run([str(self.accelc), *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"accelc {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def package(self, name, *options):
        if name not in self.packages:
            path = self.scratch / f"{name}.accelpkg"
            self.call("convert", self.model, "--compress", "float32", "--no-cache", "--quiet", *options, "-o", path)
            self.packages[name] = path
        return self.packages[name]

    def run(self, package, inputs, *options):
        given, made, kept = (self.scratch / f"{name}.safetensors" for name in ("in", "out", "states"))
        kept.unlink(missing_ok=True)
        safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in inputs.items()}, given)
        self.call("run", package, "--inputs", given, "--outputs", made, "--quiet", *self.backend, *options)
        return safetensors.torch.load_file(made)

    def run_with_states(self, package, inputs):
        made = self.run(package, inputs, "--save-states", self.scratch / "states.safetensors")
        return made, safetensors.torch.load_file(self.scratch / "states.safetensors")

    def functions(self, inputs):
        """Every output of every part whose inputs are given."""
        golden = self.scratch / "shapes.safetensors"
        safetensors.torch.save_file({f"in.{name}": tensor.contiguous() for name, tensor in inputs.items()}, golden)
        done = subprocess.run([str(self.accelc), "convert", str(self.model), "--part", "?", "-o", str(self.scratch / "none.accelpkg")],
                              capture_output=True, text=True)
        outputs = {}
        for part in parts_of(done.stderr):
            try:
                package = self.package(part, "--part", part, "--shape-from", golden)
            except RuntimeError:
                continue  # a part that wants more than the case gives, such as the length of a bucket
            for function in json.loads(self.call("inspect", package, "--json"))["functions"]:
                names = [port["name"] for port in function["inputs"]]
                if set(names) <= set(inputs):
                    outputs |= self.run(package, {name: inputs[name] for name in names})
        return outputs

    def sequence(self, inputs):
        """A decoder: all tokens at once; then a prefill and steps, with the caches behind both."""
        ids = "decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"
        tokens, prefill, cache = inputs[ids], self.case["prefill"], self.case["kv_len"]
        (batch, count), rest = tokens.shape, {name: tensor for name, tensor in inputs.items() if name != ids}
        frames = f",frames={inputs['input_features'].shape[-1]}" if rest else ""

        def shape(tokens, cache):
            return ["--shape", f"batch={batch},tokens={tokens},cache={cache}{frames}"]
        made = self.run(self.package("full", *shape(count, count)), inputs)
        outputs = {"logits_full": made.pop("logits"), **made}
        if "last_hidden_state" in outputs:
            outputs["encoder_hidden"] = outputs.pop("last_hidden_state")
        if prefill == 0:
            return outputs
        package = self.package("steps", *shape(prefill, cache), *shape(1, cache))
        made, states = self.run_with_states(package, rest | {ids: tokens[:, :prefill]})
        outputs["prefill_logits"] = made["logits"]
        outputs |= {f"kv_prefill.{name}": tensor for name, tensor in states.items()}
        made, states = self.run_with_states(package, inputs)
        outputs |= {f"kv_final.{name}": tensor for name, tensor in states.items()}
        return outputs | {f"step{place - prefill}_logits": made["logits"][:, place:place + 1] for place in range(prefill, count)}

    def steps(self, inputs):
        """One step after the other, from the state that the step before made."""
        frames = {name: tensor for name, tensor in inputs.items() if name.startswith("frame.")}
        made, states = self.run_with_states(self.package("steps", "--shape", "batch=1"), frames)
        return made | {f"state.{len(frames) - 1}": states["state"]}

    def outputs(self, inputs):
        if "frame.0" in inputs:
            return self.steps(inputs)
        return self.sequence(inputs) if "prefill" in self.case else self.functions(inputs)
