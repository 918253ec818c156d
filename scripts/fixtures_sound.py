"""Makes Tests/Fixtures/sound: sound files of Python's and scipy's writers, and goldens of torch, scipy and transformers.

usage: fixtures_sound.py       (wants numpy, scipy, torch, transformers, safetensors, and a Python before 3.13, which has aifc)
- `*.wav`, `*.aiff`, `*.aifc`: the same 9 frames of two channels in each encoding; `samples.safetensors` has them as floats.
- `spectra.safetensors`: squared magnitudes of torch.stft, centred and with a periodic Hann window of float32, for odd sizes too.
- `resampled.safetensors`: the formula of torchaudio's `sinc_interp_kaiser` with the parameters of "kaiser_best", in float64.
- `features.safetensors`: WhisperFeatureExtractor's of a sound in 30 s, the beginning and the rest, which is the same everywhere;
  Wav2Vec2FeatureExtractor's values; and ParakeetFeatureExtractor's of the sound, frame by frame.
"""

import aifc
import math
import pathlib
import wave
import warnings

import numpy
import safetensors.numpy
import scipy.io.wavfile
import scipy.signal
import torch
from transformers import ParakeetFeatureExtractor, Wav2Vec2FeatureExtractor, WhisperFeatureExtractor

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "sound"
RATE = 16000


def sound(count):
    """Integers of 16 bits: a chirp with a noise, loud and then quiet."""
    time = numpy.arange(count) / RATE
    noise = numpy.random.default_rng(7).standard_normal(count)
    signal = 0.4 * numpy.sin(2 * math.pi * (200 * time + 2500 * time**2)) + 0.1 * noise
    signal[count // 2 :] *= 0.01
    return numpy.clip(numpy.round(signal * 32768), -32768, 32767).astype(numpy.int16)


def files():
    frames = numpy.array(
        [[0, 1], [-1, 127], [-128, 2000], [32767, -32768], [12345, -12345], [255, -256], [3, -3], [100, 200], [-32768, 32767]],
        dtype=numpy.int64)
    scale = frames / 32768
    tensors = {"frames": scale.astype(numpy.float32)}
    save = lambda name, values: scipy.io.wavfile.write(FOLDER / name, 44100, values)
    eight = ((frames >> 8) + 128).astype(numpy.uint8)
    tensors["frames8"] = ((eight.astype(numpy.float32)) - 128) / 128
    save("uint8.wav", eight)
    save("int16.wav", frames.astype(numpy.int16))
    save("int32.wav", (frames << 16).astype(numpy.int32))
    save("float32.wav", scale.astype(numpy.float32))
    save("float64.wav", scale.astype(numpy.float64))
    three = b"".join(int(value << 8).to_bytes(3, "little", signed=True) for value in frames.reshape(-1))
    with wave.open(str(FOLDER / "int24.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(3)
        file.setframerate(44100)
        file.writeframes(three)
    for name, width in (("int8", 1), ("int16", 2), ("int24", 3), ("int32", 4)):
        shift = 8 * width - 16
        values = (frames << shift if shift >= 0 else frames >> -shift).reshape(-1)
        data = b"".join(int(value).to_bytes(width, "big", signed=True) for value in values)
        for ending, kind in (("aiff", None), ("aifc", b"NONE")):
            with aifc.open(str(FOLDER / f"{name}.{ending}"), "wb") as file:
                file.aifc() if kind else file.aiff()
                file.setnchannels(2)
                file.setsampwidth(width)
                file.setframerate(44100)
                file.writeframes(data)
    safetensors.numpy.save_file(tensors, FOLDER / "samples.safetensors")


def spectra():
    signal = torch.from_numpy(sound(700).astype(numpy.float32) / 32768)
    tensors = {"signal": signal.numpy()}
    # Powers of two, 400, odd and prime sizes, and one with a factor above 31.
    for size in (1, 2, 16, 20, 25, 33, 97, 128, 254, 400, 480, 512):
        hop = max(1, size // 4, 700 // 12)
        made = torch.stft(
            signal, size, hop, window=torch.hann_window(size), center=True, pad_mode="reflect", return_complex=True)
        tensors[f"{size}.{hop}"] = (made.abs() ** 2).T.contiguous().numpy()
    safetensors.numpy.save_file(tensors, FOLDER / "spectra.safetensors")


def kaiser_best(waveform, source, target):
    """torchaudio.functional.resample of 2.x, written out."""
    divisor = math.gcd(source, target)
    source, target = source // divisor, target // divisor
    width_of_filter, rolloff, beta = 64, 0.9475937167399596, 14.769656459379492
    base = min(source, target) * rolloff
    width = math.ceil(width_of_filter * source / base)
    index = numpy.arange(-width, width + source)[None] / source
    time = numpy.clip((numpy.arange(0, -target, -1)[:, None] / target + index) * base, -width_of_filter, width_of_filter)
    window = numpy.i0(beta * numpy.sqrt(1 - (time / width_of_filter) ** 2)) / numpy.i0(beta)
    kernels = numpy.sinc(time) * window * (base / source)
    padded = numpy.pad(waveform, (width, width + source))
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, kernels.shape[1])[::source]
    return (frames @ kernels.T).reshape(-1)[: math.ceil(target * len(waveform) / source)]


def resampled():
    signal = sound(900).astype(numpy.float64) / 32768
    tensors = {"signal": signal.astype(numpy.float32)}
    for source, target in ((44100, 16000), (48000, 16000), (8000, 16000), (16000, 24000), (22050, 16000), (16000, 44100)):
        tensors[f"{source}.{target}"] = kaiser_best(signal, source, target).astype(numpy.float32)
    safetensors.numpy.save_file(tensors, FOLDER / "resampled.safetensors")


def features():
    signal = sound(9600).astype(numpy.float32) / 32768
    tensors = {"signal": (signal * 32768).astype(numpy.int16)}
    for bands in (80, 128):
        made = WhisperFeatureExtractor(feature_size=bands)(signal, sampling_rate=RATE, return_tensors="np").input_features[0]
        assert made.shape == (bands, 3000) and numpy.all(made[:, 80:] == made[0, 80])
        tensors[f"whisper{bands}"] = numpy.ascontiguousarray(made[:, :80])
    for name, normal in (("plain", False), ("normal", True)):
        extractor = Wav2Vec2FeatureExtractor(do_normalize=normal)
        tensors[f"wav2vec2.{name}"] = extractor(signal[:1600], sampling_rate=RATE, return_tensors="np").input_values[0]
    # A length that no hop divides; the last frame is padding.
    for bands, count in ((16, 4000), (80, 9600), (128, 9475)):
        made = ParakeetFeatureExtractor(feature_size=bands)(signal[:count], sampling_rate=RATE, return_tensors="np")
        assert made.attention_mask[0].tolist() == [True] * (count // 160) + [False]
        tensors[f"parakeet{bands}"] = numpy.ascontiguousarray(made.input_features[0][:-1])
    safetensors.numpy.save_file(tensors, FOLDER / "features.safetensors")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    for part in (files, spectra, resampled, features):
        part()
