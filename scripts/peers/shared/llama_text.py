"""Texts in llama.cpp: tokens, logits of chunks, and greedy generation. The import fails with `ImportError` as llama_library does."""

import ctypes

import numpy
from llama_library import Loaded, llama


class TextModel(Loaded):
    """A language model in libllama, with a context of its own in float32: no flash attention, and a cache that is not rounded."""

    positions = 512

    def __init__(self, path):
        super().__init__(path)
        settings = llama.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = self.positions
        settings.n_threads = settings.n_threads_batch = self.threads
        settings.type_k = settings.type_v = 0
        settings.flash_attn_type = 0
        self.context = llama.llama_init_from_model(self.model, settings)
        if not self.context:
            raise RuntimeError("llama.cpp makes no context")
        self.width = llama.llama_vocab_n_tokens(self.vocabulary)
        self.position = 0

    def close(self):
        llama.llama_free(self.context)
        super().close()

    def tokens(self, text, special):
        """The tokens of a text. special: names of special tokens in it become these tokens."""
        words = text.encode()
        numbers = (llama.llama_token * (len(words) + 8))()
        count = llama.llama_tokenize(self.vocabulary, words, len(words), numbers, len(numbers), True, special)
        if count < 0:
            raise RuntimeError("llama.cpp makes no tokens of the text")
        return list(numbers[:count])

    def text(self, tokens):
        """The text of tokens without special ones, without a character at its end of which bytes are missing."""
        room, pieces = ctypes.create_string_buffer(256), b""
        for token in tokens:
            count = llama.llama_token_to_piece(self.vocabulary, token, room, len(room), 0, False)
            pieces += room.raw[:max(count, 0)]
        return pieces.decode(errors="replace").rstrip("\ufffd")

    def clear(self):
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)
        self.position = 0

    def decode(self, tokens, first):
        """Goes on with tokens. Returns the logits from the token with the index first on, [positions, vocabulary]; valid until the next call."""
        batch = llama.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index], batch.pos[index], batch.n_seq_id[index] = int(token), self.position + index, 1
            batch.seq_id[index][0], batch.logits[index] = 0, index >= first
        code = llama.llama_decode(self.context, batch)
        llama.llama_batch_free(batch)
        if code != 0:
            raise RuntimeError(f"llama.cpp fails with {code}")
        self.position += len(tokens)
        rows = llama.llama_get_logits_ith(self.context, first)
        return numpy.ctypeslib.as_array(rows, (len(tokens) - first, self.width))

    def chunks(self, text, count):
        """The chunks of llama.cpp's perplexity tool: the tokens of the whole text, in which names of special tokens are plain text, and of each
        chunk the first one replaced by that of a text's beginning where the model has one."""
        tokens = self.tokens(text, False)
        for start in range(0, min(count, len(tokens) // self.positions) * self.positions, self.positions):
            chunk = tokens[start:start + self.positions]
            if llama.llama_vocab_get_add_bos(self.vocabulary):
                chunk[0] = llama.llama_vocab_bos(self.vocabulary)
            yield chunk

    def scored(self, chunk):
        """The logits of the second half of a chunk, but for the last token, after which nothing is known."""
        self.clear()
        return self.decode(chunk, self.positions // 2)[:-1]

    def greedy(self, prompt, count):
        """The likeliest tokens after a prompt, up to an end token, which is left out."""
        self.clear()
        row, generated = self.decode(prompt, len(prompt) - 1)[0], []
        while len(generated) < count:
            token = int(row.argmax())
            if llama.llama_vocab_is_eog(self.vocabulary, token):
                break
            generated.append(token)
            row = self.decode([token], 0)[0]
        return generated

    def last(self, tokens):
        """The logits after a sequence."""
        self.clear()
        return self.decode(tokens, len(tokens) - 1)[0].copy()
