"""What libllama computes for many files, by a process of its own: libllama aborts its process on files that it does not expect."""

import os
import pathlib
import pickle
import subprocess
import sys

if __name__ == "__main__":
    # Jobs come as a pickled list, and answers go to a file in their order.
    sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

import llama_library  # noqa: E402  (the path above)


def answer(path, tokens, isEncoder, pools):
    """The logits of all tokens, or hidden states, and the pooled embedding."""
    try:
        loaded = llama_library.Loaded(path)
    except RuntimeError:
        return None
    # More threads wait for each other longer than they compute.
    loaded.threads = 1
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
    store = scratch / "answers"
    store.write_bytes(b"")
    subprocess.run([sys.executable, __file__, store], input=pickle.dumps(rest), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with store.open("rb") as stream:
        for path, *_ in rest:
            found[path] = pickle.load(stream)
    return found


def main():
    """Answers each job in a fork, whose end by an abort is the answer None."""
    for job in pickle.loads(sys.stdin.buffer.read()):
        before = os.path.getsize(sys.argv[1])
        process = os.fork()
        if process == 0:
            with open(sys.argv[1], "ab") as stream:
                stream.write(pickle.dumps(answer(*job)))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if status != 0:
            os.truncate(sys.argv[1], before)
            with open(sys.argv[1], "ab") as stream:
                stream.write(pickle.dumps(None))


if __name__ == "__main__":
    main()
