"""Makes Tests/Fixtures/speech: a tiny seeded Whisper with windows of one second and a tokenizer, a sound, and the sound's transcripts.

usage: fixtures_speech.py        (wants numpy, safetensors, tokenizers and transformers; torch is not needed)
The transcripts (transcripts.json) are those of the forward pass and of the decoding rules below, in float64: the rules of OpenAI's Whisper
with greedy tokens, and none of the package's code. The mel filters are those of transformers.
"""

import json
import pathlib
import shutil
import wave
import zlib

import numpy
import safetensors.numpy
import tokenizers
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "speech"
RATE, HOP, FRAME, BANDS, FRAMES, STATES, POSITIONS = 16000, 160, 400, 12, 100, 50, 32
WIDTH, HEADS, HIDDEN, LAYERS = 16, 2, 24, 2
WORDS = [" the", " sky", " is", " blue", " and", " a", " model", " of", " speech", " hears", " words", ".", ",", " Anna", " Bob", "s"]
SPECIAL = ["endoftext", "startoftranscript", "en", "de", "fr", "translate", "transcribe", "startoflm", "startofprev", "nocaptions", "notimestamps"]


def vocabulary():
    """The characters of the words, the words, the special tokens and the times."""
    words = [word.replace(" ", "Ġ") for word in WORDS]
    letters = sorted(set("".join(words)))
    pieces, merges = list(letters), []
    for word in words:
        made = word[0]
        for letter in word[1:]:
            if made + letter not in pieces:
                merges.append((made, letter))
                pieces.append(made + letter)
            made += letter
    return pieces, merges


PIECES, MERGES = vocabulary()
IDS = {name: len(PIECES) + index for index, name in enumerate(SPECIAL)}
FIRST = IDS["notimestamps"] + 1
COUNT = FIRST + STATES + 1
SUPPRESSED = [0, 3] + [IDS[name] for name in ("startoftranscript", "translate", "transcribe", "startoflm", "startofprev", "nocaptions")]
BLANK = PIECES.index("Ġ")
ALIGNMENT = [[0, 1], [1, 0], [1, 1]]


def weights(seed):
    random = numpy.random.default_rng(seed)
    tensors = {}

    def matrix(name, rows, columns, gain=1.6, bias=True):
        tensors[name + ".weight"] = (gain * random.standard_normal((rows, columns)) / columns**0.5).astype(numpy.float32)
        if bias:
            tensors[name + ".bias"] = (0.3 * random.standard_normal(rows)).astype(numpy.float32)

    def norm(name):
        tensors[name + ".weight"] = (1 + 0.2 * random.standard_normal(WIDTH)).astype(numpy.float32)
        tensors[name + ".bias"] = (0.2 * random.standard_normal(WIDTH)).astype(numpy.float32)

    def attention(name):
        for part in "qkv":
            matrix(f"{name}.{part}_proj", WIDTH, WIDTH, bias=part != "k")
        matrix(name + ".out_proj", WIDTH, WIDTH)
        norm(name + "_layer_norm")

    for name, inputs in (("conv1", BANDS), ("conv2", WIDTH)):
        tensors[f"model.encoder.{name}.weight"] = (random.standard_normal((WIDTH, inputs, 3)) / (3 * inputs) ** 0.5 * 2).astype(numpy.float32)
        tensors[f"model.encoder.{name}.bias"] = (0.2 * random.standard_normal(WIDTH)).astype(numpy.float32)
    tensors["model.encoder.embed_positions.weight"] = (0.5 * random.standard_normal((STATES, WIDTH))).astype(numpy.float32)
    tensors["model.decoder.embed_positions.weight"] = random.standard_normal((POSITIONS, WIDTH)).astype(numpy.float32)
    tensors["model.decoder.embed_tokens.weight"] = (0.8 * random.standard_normal((COUNT, WIDTH))).astype(numpy.float32)
    for side in ("encoder", "decoder"):
        for layer in range(LAYERS):
            name = f"model.{side}.layers.{layer}"
            attention(name + ".self_attn")
            if side == "decoder":
                attention(name + ".encoder_attn")
            matrix(name + ".fc1", HIDDEN, WIDTH)
            matrix(name + ".fc2", WIDTH, HIDDEN)
            norm(name + ".final_layer_norm")
        norm(f"model.{side}.layer_norm")
    return tensors


class Network:
    """The forward pass of Whisper in float64."""

    def __init__(self, tensors):
        self.tensors = {name: tensor.astype(numpy.float64) for name, tensor in tensors.items()}
        # The last scores of each attention, before the softmax.
        self.scores = {}

    def linear(self, name, x):
        return x @ self.tensors[name + ".weight"].T + self.tensors.get(name + ".bias", 0)

    def norm(self, name, x):
        centred = x - x.mean(-1, keepdims=True)
        return centred / numpy.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    @staticmethod
    def gelu(x):
        from math import erf

        return 0.5 * x * (1 + numpy.vectorize(erf)(x / 2**0.5))

    def convolved(self, name, x, stride):
        weight, padded = self.tensors[name + ".weight"], numpy.pad(x, ((0, 0), (1, 1)))
        count = (x.shape[1] - 1) // stride + 1
        columns = numpy.stack([padded[:, i * stride : i * stride + 3].ravel() for i in range(count)])
        return self.gelu((columns @ weight.reshape(len(weight), -1).T + self.tensors[name + ".bias"]).T)

    def attend(self, name, x, states, causal=False):
        def split(part, y):
            return self.linear(f"{name}.{part}_proj", y).reshape(len(y), HEADS, -1).transpose(1, 0, 2)

        query, key, value = split("q", x), split("k", states), split("v", states)
        scores = query @ key.transpose(0, 2, 1) / query.shape[-1] ** 0.5
        self.scores[name] = scores
        if causal:
            scores = scores + numpy.triu(numpy.full(scores.shape[1:], -1e30), 1)
        shares = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = shares / shares.sum(-1, keepdims=True) @ value
        return self.linear(name + ".out_proj", mixed.transpose(1, 0, 2).reshape(len(x), -1))

    def layer(self, name, x, states=None):
        y = self.norm(name + ".self_attn_layer_norm", x)
        x = x + self.attend(name + ".self_attn", y, y, causal=states is not None)
        if states is not None:
            x = x + self.attend(name + ".encoder_attn", self.norm(name + ".encoder_attn_layer_norm", x), states)
        y = self.gelu(self.linear(name + ".fc1", self.norm(name + ".final_layer_norm", x)))
        return x + self.linear(name + ".fc2", y)

    def encode(self, features):
        x = self.convolved("model.encoder.conv2", self.convolved("model.encoder.conv1", features, 1), 2).T
        x = x + self.tensors["model.encoder.embed_positions.weight"]
        for layer in range(LAYERS):
            x = self.layer(f"model.encoder.layers.{layer}", x)
        return self.norm("model.encoder.layer_norm", x)

    def logits(self, tokens, states):
        """The logits after the last token."""
        words = self.tensors["model.decoder.embed_tokens.weight"]
        x = words[tokens] + self.tensors["model.decoder.embed_positions.weight"][: len(tokens)]
        for layer in range(LAYERS):
            x = self.layer(f"model.decoder.layers.{layer}", x, states)
        return self.norm("model.decoder.layer_norm", x)[-1] @ words.T


def word_times(network, states, texts, language, task, length, tokenizer):
    """The words of the texts of a window with their times, by dynamic time warping over the shares of the alignment heads."""
    text = [token for tokens, _ in texts for token in tokens]
    if not text:
        return [[] for _ in texts]
    before = [IDS["startoftranscript"], IDS[language], IDS[task]]
    network.logits(before + [IDS["notimestamps"]] + text + [IDS["endoftext"]], states)
    count = (length + 1) // 2
    scores = numpy.stack([network.scores[f"model.decoder.layers.{layer}.encoder_attn"][head] for layer, head in ALIGNMENT])[:, :, :count]
    shares = numpy.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    shares = (shares - shares.mean(1, keepdims=True)) / shares.std(1, keepdims=True)
    padded = numpy.pad(shares, ((0, 0), (0, 0), (3, 3)), mode="reflect")
    smooth = numpy.median(numpy.lib.stride_tricks.sliding_window_view(padded, 7, axis=2), axis=-1)
    starts = path(-smooth.mean(0)[len(before) : -1])
    first, words = 0, []
    for tokens, chances in texts:
        own = []
        for word, places in split(tokens, "en" if task == "translate" else language, tokenizer):
            own.append({
                "text": word, "start": starts[first + places[0]] / 50, "end": starts[first + places[-1] + 1] / 50,
                "probability": float(numpy.mean([chances[place] for place in places]))})
        words.append(own)
        first += len(tokens)
    shorten(words)
    return [joined(own) for own in words]


def path(costs):
    """The first column of each row on the cheapest path from corner to corner."""
    rows, columns = costs.shape
    sums = numpy.full((rows + 1, columns + 1), numpy.inf)
    sums[0, 0] = 0
    for row in range(rows):
        for column in range(columns):
            sums[row + 1, column + 1] = costs[row, column] + min(sums[row, column], sums[row, column + 1], sums[row + 1, column])
    row, column, starts = rows, columns, [0] * rows
    while row > 0 and column > 0:
        starts[row - 1] = column - 1
        choices = {(row - 1, column - 1): sums[row - 1, column - 1], (row - 1, column): sums[row - 1, column], (row, column - 1): sums[row, column - 1]}
        row, column = min(choices, key=choices.get)
    return starts


def split(tokens, language, tokenizer):
    """Words begin with a space, and marks are words. All tokens of this vocabulary are whole characters."""
    words = []
    for place, token in enumerate(tokens):
        piece = tokenizer.decode([token])
        if not words or piece.startswith(" ") or piece.strip() in (".", ","):
            words.append([piece, [place]])
        else:
            words[-1][0] += piece
            words[-1][1].append(place)
    return words


def shorten(parts):
    words = [word for part in parts for word in part]
    lengths = [word["end"] - word["start"] for word in words if word["end"] > word["start"]]
    longest = 2 * min(0.7, float(numpy.median(lengths))) if lengths else 0
    for before, word in zip(words, words[1:]):
        if longest and word["end"] - word["start"] > longest:
            if word["text"] == ".":
                word["end"] = word["start"] + longest
            elif before["text"] == ".":
                word["start"] = word["end"] - longest


def joined(words):
    """Marks belong to the word before."""
    made = []
    for word in words:
        if made and word["text"] in (".", ","):
            made[-1]["text"] += word["text"]
        else:
            made.append(dict(word))
    return made


def features(samples):
    """The log-mel features of a sound that silence follows, a frame for each hop."""
    filters = transformers.WhisperFeatureExtractor(feature_size=BANDS, chunk_length=1).mel_filters
    count = len(samples) // HOP
    padded = numpy.pad(numpy.concatenate([samples, numpy.zeros(RATE)]), FRAME // 2, mode="reflect")
    window = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(FRAME) / FRAME)
    frames = numpy.stack([padded[i * HOP : i * HOP + FRAME] * window for i in range(count)])
    energies = numpy.abs(numpy.fft.rfft(frames)) ** 2 @ filters
    decibels = numpy.log10(numpy.maximum(energies, 1e-10))
    return ((numpy.maximum(decibels, decibels.max() - 8) + 4) / 4).T


def masked(logits, tokens):
    """The logits that the rules allow after the tokens of a window."""
    logits = logits.copy()
    logits[SUPPRESSED + [IDS["notimestamps"]]] = -numpy.inf
    if not tokens:
        logits[[BLANK, IDS["endoftext"]]] = -numpy.inf
        logits[:FIRST] = -numpy.inf
        logits[FIRST + 50 + 1 :] = -numpy.inf
    times = [token for token in tokens if token >= FIRST]
    if tokens and tokens[-1] >= FIRST:
        if len(tokens) == 1 or tokens[-2] >= FIRST:
            logits[FIRST:] = -numpy.inf
        else:
            logits[: IDS["endoftext"]] = -numpy.inf
            logits[FIRST : times[-1]] = -numpy.inf
    if times and not (tokens[-1] >= FIRST and len(tokens) > 1 and tokens[-2] < FIRST):
        logits[FIRST : times[-1] + 1] = -numpy.inf
    if logsum(logits[FIRST:]) > logits[:FIRST].max():
        logits[:FIRST] = -numpy.inf
    return logits


def logsum(values):
    largest = values.max()
    return largest if largest == -numpy.inf else largest + numpy.log(numpy.exp(values - largest).sum())


def transcript(network, mel, tokenizer, language=None, task="transcribe"):
    position, previous, segments, gap, windows = 0, [], [], numpy.inf, []
    while position < mel.shape[1]:
        length = min(FRAMES, mel.shape[1] - position)
        window = numpy.zeros((BANDS, FRAMES))
        window[:, :length] = mel[:, position : position + length]
        states = network.encode(window)
        before = [IDS["startofprev"]] + previous[-(POSITIONS // 2 - 1) :] if previous else []
        start = network.logits(before + [IDS["startoftranscript"]], states)
        silence = numpy.exp(start[IDS["nocaptions"]] - logsum(start))
        if language is None:
            order = sorted(("en", "de", "fr"), key=lambda code: -start[IDS[code]])
            language, gap = order[0], min(gap, start[IDS[order[0]]] - start[IDS[order[1]]])
        prompt = before + [IDS["startoftranscript"], IDS[language], IDS[task]]
        tokens, total, chances = [], 0.0, []
        for _ in range(POSITIONS // 2):
            if len(prompt) + len(tokens) > POSITIONS:
                break
            allowed = masked(network.logits(prompt + tokens, states), tokens)
            order = numpy.sort(allowed)
            gap = min(gap, order[-1] - order[-2])
            token = int(allowed.argmax())
            chance = allowed[token] - logsum(allowed)
            total += chance
            if token == IDS["endoftext"]:
                break
            tokens.append(token)
            chances.append(numpy.exp(chance))
        mean = total / (len(tokens) + 1)
        text = tokenizer.decode([token for token in tokens if token < IDS["endoftext"]])
        ratio = len(text.strip().encode()) / len(zlib.compress(text.strip().encode()))
        windows.append(len(tokens))
        times = [token >= FIRST for token in tokens]
        cuts = [i for i in range(1, len(tokens)) if times[i] and times[i - 1]]
        step, parts = length, []
        if cuts:
            if times[-2:] == [False, True]:
                cuts.append(len(tokens))
            else:
                step = 2 * (tokens[cuts[-1] - 1] - FIRST)
            for first, last in zip([0] + cuts, cuts):
                part = tokens[first:last]
                parts.append((2 * (part[0] - FIRST), 2 * (part[-1] - FIRST), part))
        else:
            marks = [token for token in tokens if token >= FIRST]
            parts.append((0, 2 * (marks[-1] - FIRST) if marks and marks[-1] > FIRST else length, tokens))
        texts, place = [], 0
        for _, _, part in parts:
            own = [(token, chances[place + i]) for i, token in enumerate(part) if token < IDS["endoftext"]]
            texts.append(([token for token, _ in own], [chance for _, chance in own]))
            place += len(part)
        words = word_times(network, states, texts, language, task, length, tokenizer)
        for (first, last, part), own in zip(parts, words):
            text = tokenizer.decode([token for token in part if token < IDS["endoftext"]])
            if first == last or not text.strip():
                continue
            begin, end = position + first, position + last
            if begin < mel.shape[1]:
                end = min(end, mel.shape[1])
            segments.append({
                "start": begin * HOP / RATE, "end": end * HOP / RATE, "text": text, "tokens": part,
                "mean_log_probability": mean, "compression_ratio": ratio, "no_speech_probability": silence,
                "words": [word | {edge: word[edge] + position * HOP / RATE for edge in ("start", "end")} for word in own],
            })
            previous += part
        position += step
    return {"language": language, "segments": segments}, gap, windows


def sound():
    """Chirps with pauses, as WAVE of 8 bits."""
    random = numpy.random.default_rng(3)
    time = numpy.arange(int(2.75 * RATE)) / RATE
    wanted = sum(numpy.sin(2 * numpy.pi * (low * time + rise * time**2)) for low, rise in ((220, 90), (700, -60), (1500, 300)))
    wanted *= 0.2 * (numpy.sin(2 * numpy.pi * 1.3 * time) > -0.6)
    wanted += 0.01 * random.standard_normal(len(time))
    return (128 + 127 * wanted.clip(-1, 1)).round().astype(numpy.uint8)


def tokenizer():
    pieces = {piece: index for index, piece in enumerate(PIECES)}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=pieces, merges=MERGES))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens([f"<|{name}|>" for name in SPECIAL])
    return made


# Of the seeds up to 1200 the one with the most varied segments, and no two likeliest logits closer than 0.01.
SEED = 1132


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    model = FOLDER / "whisper"
    model.mkdir(parents=True)
    words = tokenizer()
    words.save(str(model / "tokenizer.json"))
    write = lambda name, value: (FOLDER / name).write_text(json.dumps(value, indent=2) + "\n")
    end, start = IDS["endoftext"], IDS["startoftranscript"]
    write("whisper/config.json", {
        "architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper", "activation_function": "gelu", "d_model": WIDTH,
        "encoder_layers": LAYERS, "decoder_layers": LAYERS, "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": HIDDEN, "decoder_ffn_dim": HIDDEN, "vocab_size": COUNT, "num_mel_bins": BANDS, "max_source_positions": STATES,
        "max_target_positions": POSITIONS, "bos_token_id": end, "eos_token_id": end, "pad_token_id": end, "decoder_start_token_id": start,
    })
    write("whisper/generation_config.json", {
        "is_multilingual": True, "lang_to_id": {f"<|{code}|>": IDS[code] for code in ("en", "de", "fr")},
        "task_to_id": {task: IDS[task] for task in ("transcribe", "translate")}, "no_timestamps_token_id": IDS["notimestamps"],
        "prev_sot_token_id": IDS["startofprev"], "decoder_start_token_id": start, "eos_token_id": end, "suppress_tokens": [0, 3],
        "begin_suppress_tokens": [BLANK, end], "max_initial_timestamp_index": 50, "alignment_heads": ALIGNMENT,
    })
    write("whisper/preprocessor_config.json", {
        "feature_extractor_type": "WhisperFeatureExtractor", "feature_size": BANDS, "chunk_length": 1, "hop_length": HOP, "n_fft": FRAME,
        "sampling_rate": RATE,
    })
    tensors = weights(SEED)
    safetensors.numpy.save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    samples = sound()
    with wave.open(str(FOLDER / "talk.wav"), "wb") as file:
        file.setparams((1, 1, RATE, 0, "NONE", "not compressed"))
        file.writeframes(samples.tobytes())
    mel, network = features((samples.astype(numpy.float64) - 128) / 128), Network(tensors)
    made = {}
    for name, arguments in (("detected", {}), ("german", {"language": "de"}), ("translated", {"task": "translate"})):
        made[name], gap, windows = transcript(network, mel, words, **arguments)
        print(name, "gap", gap, "tokens of windows", windows)
    write("transcripts.json", made)


if __name__ == "__main__":
    main()
