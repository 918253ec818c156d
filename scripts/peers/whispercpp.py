"""Files of accelc for whisper.cpp, in whisper.cpp itself.

usage: whispercpp.py ACCELC [FOLDER]      (wants numpy, safetensors, torch, transformers, and whisper.cpp, which scripts/bench/whisper.sh builds;
exits 3 with the command that installs them when one is missing)
Every type: the logits of libwhisper after each token are those of transformers for the weights that the file has, which accelc decodes.
Exits 1 on a difference.
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "shared"))
ROOT = HERE.parent.parent
try:
    import numpy
    import safetensors.numpy
    import torch
    import transformers
    from checks import accelc, apart, check, finish
except ImportError as error:
    print(f"whispercpp: skipped, since {error.name} is missing: pip install safetensors torch transformers", file=sys.stderr)
    sys.exit(3)
if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
built = subprocess.run(["bash", ROOT / "scripts/bench/whisper.sh"], stdout=subprocess.PIPE, text=True)
if built.returncode != 0:
    print("whispercpp: skipped, since scripts/bench/whisper.sh could not build whisper.cpp", file=sys.stderr)
    sys.exit(3)
PROGRAM = built.stdout.strip()
SHAPE = dict(
    vocab_size=83, num_mel_bins=80, d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=1024, decoder_ffn_dim=1024, max_source_positions=50, max_target_positions=24, pad_token_id=0, bos_token_id=1,
    eos_token_id=2, decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None)
# whisper.cpp reads gelu from a table of float16, keeps keys and values in float16, and rounds what types of few bits multiply.
LIMITS = {"float16": 0.02}
ROUNDED = 0.15
# whisper.cpp aborts with convolutions of float32.
TYPES = ("float16", "q8_0", "q5_0", "q5_1", "q4_0", "q4_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k")
TOKENS = [3, 10, 77, 5, 41, 8]


def main(scratch):
    torch.manual_seed(31)
    network = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**SHAPE)).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(0.05 * torch.randn_like(parameter))
    source = scratch / "model"
    network.save_pretrained(source)
    spectrogram = torch.randn(1, 80, 100)
    (scratch / "mel").write_bytes(spectrogram.numpy().tobytes())
    for kind in TYPES:
        folder, plain = scratch / kind, scratch / f"{kind}.safetensors"
        code, error = accelc("export", source, "--format", "whisper.cpp", "--compress", kind, "--no-cache", "-o", folder)
        if code == 0:
            code, error = accelc("decompress", folder, "-o", plain)
        if code != 0:
            check(f"{kind}: {error}", False)
            continue
        own = safetensors.numpy.load_file(plain)
        state = {name: torch.tensor(values.astype(numpy.float32)) for name, values in own.items()}
        missing, unexpected = network.load_state_dict(state, strict=False)
        with torch.no_grad():
            expected = network(input_features=spectrogram, decoder_input_ids=torch.tensor([TOKENS])).logits.numpy()[0]
        done = subprocess.run(
            [PROGRAM, folder / "ggml-model.bin", scratch / "mel", "80", "100", *map(str, TOKENS)], capture_output=True)
        if done.returncode != 0:
            check(f"{kind}: whisper.cpp exits {done.returncode}: {done.stderr.decode()}", False)
            continue
        found = numpy.frombuffer(done.stdout, numpy.float32).reshape(len(TOKENS), -1)
        distance = apart(found, expected)
        check(f"{kind}: logits of libwhisper and of transformers {distance:.1e} apart",
              distance < LIMITS.get(kind, ROUNDED) and set(missing) <= {"proj_out.weight"} and not unexpected)


with tempfile.TemporaryDirectory() as folder:
    main(pathlib.Path(folder))
finish("whispercpp")
