"""Times encoding with the PyPI package `tokenizers` on one thread: python tokenizer_bench.py TOKENIZER.json TEXT

Prints the best of five runs over the lines of the text, with offsets (encode) and without (encode_batch_fast of one batch).
"""

import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer

start = time.perf_counter()
tokenizer = Tokenizer.from_file(sys.argv[1])
print(f"load {1000 * (time.perf_counter() - start):.1f} ms")
tokenizer.no_padding()
tokenizer.no_truncation()
rows = [row for row in open(sys.argv[2], encoding="utf-8", newline="\n").read().split("\n") if row]
size = sum(len(row.encode()) for row in rows)
for name, run in (("ids", lambda: tokenizer.encode_batch_fast(rows)), ("with offsets", lambda: tokenizer.encode_batch(rows)),
                  ("with offsets, line by line", lambda: [tokenizer.encode(row) for row in rows])):
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        encodings = run()
        best = min(best, time.perf_counter() - start)
    print(f"{name} {size / best / 1e6:.2f} MB/s, {sum(len(e.ids) for e in encodings)} tokens")
