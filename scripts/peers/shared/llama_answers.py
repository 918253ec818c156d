"""What libllama computes for many files, by a process of its own: libllama aborts its process on files that it does not expect."""

import pathlib
import pickle
import subprocess
import sys

if __name__ == "__main__":
    # Jobs come as a pickled list, and answers go out one by one.
    sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

import llama_library  # noqa: E402  (the path above)


def answer(path, tokens, isEncoder, pools):
    """The logits of all tokens, or hidden states, and the pooled embedding."""
    try:
        loaded = llama_library.Loaded(path)
    except RuntimeError:
        return None
    try:
        found = {"rows": loaded.run(tokens, embeddings=isEncoder)}
        if pools:
            found["pooled"] = loaded.pooled(tokens)
        return found
    except (RuntimeError, ValueError):
        return None
    finally:
        loaded.close()


def answers(jobs, scratch):
    """The answers by path; None where libllama rejects the file, or aborts."""
    import gguf_cases
    rest, found = [], {}
    for path, case in jobs:
        pooling = case.keys.get("pooling_type", (None, 0))[1]
        rest.append((str(path), gguf_cases.tokens(case.tokens), case.architecture == "bert",
                     case.architecture == "bert" and pooling in (1, 2, 3) and not str(path).endswith("-base.gguf")))
    while rest:
        store = scratch / "answers"
        store.write_bytes(b"")
        subprocess.run([sys.executable, __file__, store], input=pickle.dumps(rest), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        count = 0
        with store.open("rb") as stream:
            while True:
                try:
                    path, one = pickle.load(stream)
                except EOFError:
                    break
                found[path] = one
                count += 1
        if count < len(rest):
            found[rest[count][0]] = None
        rest = rest[count + 1:]
    return found


if __name__ == "__main__":
    work = pickle.loads(sys.stdin.buffer.read())
    with open(sys.argv[1], "ab") as stream:
        for path, tokens, isEncoder, pools in work:
            stream.write(pickle.dumps((path, answer(path, tokens, isEncoder, pools))))
            stream.flush()
