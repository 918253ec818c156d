"""Transcribes ten minutes of speech in ten languages with Whisper base: real-time factors, texts and word errors beside peers.

usage: speech.py ACCELC MODEL [WHISPER_CPP]      MODEL is a checkpoint of Hugging Face; WHISPER_CPP the program of scripts/bench/whisper.sh
espeak-ng speaks the sentences of spoken.txt; all programs hear the same samples at 16 kHz, detect the language, and take the likeliest
tokens. Times are those of the transcripts, with the model in memory, on two threads. Word errors are those against the sentences, without case
and punctuation; espeak-ng is not easy to understand, so that the difference between two lines says more than one of them. Times of words are
compared with those of faster-whisper where the texts of segments are equal. whisper.cpp runs no convolutions of float32: its files are float16
beside float32. Exit status 1: accelc is not 1.2 times as fast as the faster peer at float32 or at 8 bits.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
import wave

import faster_whisper
import numpy

SENTENCES = pathlib.Path(__file__).with_name("spoken.txt")
RATE, THREADS, BAR = 16000, 2, 1.2


def words(text):
    """The words of a text without case and punctuation."""
    text = unicodedata.normalize("NFKC", text).lower()
    return re.findall(r"\w+", text)


def errors(found, expected):
    """The least number of words that are changed, added or left out."""
    row = list(range(len(found) + 1))
    for index, word in enumerate(expected, 1):
        last, row[0] = row[0], index
        for column, other in enumerate(found, 1):
            last, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, last + (word != other))
    return row[-1]


def speak(language, text, path):
    voice = {"en": "en-us", "fr": "fr-fr", "pt": "pt-br"}.get(language, language)
    subprocess.run(["espeak-ng", "-v", voice, "-s", "135", "-g", "4", "-w", str(path), text], check=True)
    samples = faster_whisper.decode_audio(str(path), sampling_rate=RATE)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(RATE)
        file.writeframes((samples * 32767).round().astype(numpy.int16).tobytes())
    with wave.open(str(path), "rb") as file:
        return numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16).astype(numpy.float32) / 32768


def best(runs):
    """The shortest time and its texts."""
    return min(runs, key=lambda run: run[0])


def transcript(accelc, package, file):
    command = [accelc, "run", package, "--audio", file, "--json", "-q", "--threads", THREADS]
    return json.loads(subprocess.run([str(word) for word in command], check=True, capture_output=True).stdout)


def by_accelc(accelc, package, files):
    seconds, texts, segments = 0, [], []
    for file in files:
        made = transcript(accelc, package, file)
        seconds += made["transcription_ms"] / 1000
        texts.append(made["text"])
        segments += [(round(part["start"], 2), round(part["end"], 2), part["text"]) for part in made["segments"]]
    return seconds, texts, segments


def by_faster_whisper(model, sounds):
    seconds, texts, segments = 0, [], []
    for sound in sounds:
        start = time.perf_counter()
        found = list(model.transcribe(sound, beam_size=1)[0])
        seconds += time.perf_counter() - start
        texts.append("".join(part.text for part in found))
        segments += [(round(part.start, 2), round(part.end, 2), part.text) for part in found]
    return seconds, texts, segments


def word_times(accelc, package, files, peer, sounds):
    """The distances of beginnings and ends of words, in seconds, and the words that are compared and that there are."""
    apart, count, total = [], 0, 0
    for file, sound in zip(files, sounds):
        ours = {part["text"]: part["words"] for part in transcript(accelc, package, file)["segments"]}
        for part in peer.transcribe(sound, beam_size=1, word_timestamps=True)[0]:
            total += len(part.words)
            own = ours.get(part.text, [])
            if [word["text"] for word in own] == [word.word for word in part.words]:
                count += len(own)
                apart += [abs(word[edge] - getattr(other, edge)) for word, other in zip(own, part.words) for edge in ("start", "end")]
    return sorted(apart), count, total


def by_whisper_cpp(program, model, files):
    lines = subprocess.run([program, str(model), "--samples", *map(str, files)], check=True, capture_output=True, text=True).stdout.splitlines()
    parts = [line.split(" ", 1) for line in lines]
    return sum(float(part[0]) for part in parts), [part[1] for part in parts], []


def main():
    accelc, model, program = sys.argv[1], pathlib.Path(sys.argv[2]), (sys.argv[3:] or [""])[0]
    spoken = {}
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        language, sentence = line.split(" ", 1)
        spoken[language] = spoken.get(language, "") + " " + sentence
    expected = [words(text) for text in spoken.values()]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = [folder / f"{language}.wav" for language in spoken]
        sounds = [speak(language, text, file) for (language, text), file in zip(spoken.items(), files)]
        raw = [file.with_suffix(".f32") for file in files]
        for sound, file in zip(sounds, raw):
            sound.tofile(file)
        total = sum(len(sound) for sound in sounds) / RATE
        print(f"{total:.0f} s of speech in {len(files)} languages: {' '.join(spoken)}")

        def line(name, made):
            wrong = sum(errors(words(text), wanted) for text, wanted in zip(made[1], expected))
            count = sum(map(len, expected))
            print(f"{name:36} {made[0]:7.1f} s   {total / made[0]:5.1f} x real time   word errors {100 * wrong / count:5.2f} %", flush=True)
            return made

        def convert(scheme, name, *options):
            package = folder / f"{name}.accelpkg"
            command = [accelc, "convert", str(model), "--compress", scheme, "-o", str(package), "--no-cache", "-q", *options]
            subprocess.run(command, check=True)
            return package

        subprocess.run([accelc, "export", str(model), "--format", "ctranslate2", "--compress", "float32", "-o", str(folder / "ct2"), "--no-cache", "-q"], check=True)
        for name in ["tokenizer.json", "preprocessor_config.json"]:
            if (model / name).exists() and not (folder / "ct2" / name).exists():
                (folder / "ct2" / name).write_bytes((model / name).read_bytes())
        result = 0
        for ours, theirs, cpp in [("float32", "float32", "float16"), ("int8", "int8", "q8_0")]:
            package = convert(ours, ours)
            peer = faster_whisper.WhisperModel(str(folder / "ct2"), device="cpu", compute_type=theirs, cpu_threads=THREADS, num_workers=1)
            file = folder / cpp / "ggml-model.bin"
            if program:
                subprocess.run([accelc, "export", str(model), "--format", "whisper.cpp", "--compress", cpp, "-o", str(file.parent), "--no-cache", "-q"], check=True)
            rounds = [[], [], []]
            for _ in range(2):
                rounds[0].append(by_accelc(accelc, package, files))
                rounds[1].append(by_faster_whisper(peer, sounds))
                if program:
                    rounds[2].append(by_whisper_cpp(program, file, raw))
            own = line(f"accelc {ours}", best(rounds[0]))
            other = line(f"faster-whisper {theirs}", best(rounds[1]))
            peers = [other[0]]
            if program:
                peers.append(line(f"whisper.cpp {cpp}", best(rounds[2]))[0])
            else:
                print("whisper.cpp: skipped, since scripts/bench/whisper.sh could not build it")
            ratio = min(peers) / own[0]
            result |= ratio < BAR
            equal = len(set(own[2]) & set(other[2]))
            print(f"  {ratio:.2f} x the faster peer (bar {BAR}: {'met' if ratio >= BAR else 'MISSED'}); {equal} of {len(other[2])} segments of faster-whisper "
                  f"are equal, {sum(left == right for left, right in zip(own[1], other[1]))} of {len(files)} texts")
            if ours == "float32":
                apart, count, whole = word_times(accelc, convert(ours, "words", "--part", "all"), files, peer, sounds)
                near = [sum(distance <= limit + 1e-6 for distance in apart) / max(len(apart), 1) for limit in (0.02, 0.1)]
                print(f"  times of {count} of {whole} words: {100 * near[0]:.1f} % within 0.02 s of faster-whisper's, "
                      f"{100 * near[1]:.1f} % within 0.1 s")
        for scheme in ["int4:block=32", "palette:bits=4,group=16"]:
            line(f"accelc {scheme}", by_accelc(accelc, convert(scheme, "small"), files))
        return result


sys.exit(main())
