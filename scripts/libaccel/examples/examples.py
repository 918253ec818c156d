"""Embeds tokens, or generates them, by ctypes alone.

usage: examples.py LIBRARY embed PACKAGE FUNCTION OUTPUT TOKEN...   prints the output's numbers, one a line
       examples.py LIBRARY generate PACKAGE COUNT TOKEN...          prints the tokens, one a line, and why they ended
       examples.py LIBRARY again PACKAGE COUNT TOKEN...             the same, three times in a session that goes back
"""
import array
import ctypes as C
import sys


class Error(C.Structure):
    _fields_ = [("struct_size", C.c_uint32), ("code", C.c_int32), ("message", C.c_char * 1024), ("place", C.c_char * 256),
                ("expected", C.c_char * 128), ("found", C.c_char * 128), ("hint", C.c_char * 504)]


class Port(C.Structure):
    _fields_ = [("struct_size", C.c_uint32), ("type", C.c_uint32), ("name", C.c_char_p), ("role", C.c_char_p),
                ("shape", C.POINTER(C.c_int64)), ("rank", C.c_size_t), ("byte_count", C.c_size_t)]


class Tensor(C.Structure):
    _fields_ = [("struct_size", C.c_uint32), ("type", C.c_uint32), ("name", C.c_char_p), ("data", C.c_void_p),
                ("byte_count", C.c_size_t), ("shape", C.POINTER(C.c_int64)), ("rank", C.c_size_t)]


class Options(C.Structure):
    _fields_ = [("struct_size", C.c_uint32), ("preset", C.c_uint32), ("backends", C.c_char_p), ("threads", C.c_int32),
                ("concurrency", C.c_int32), ("memory_limit", C.c_uint64), ("progress", C.c_void_p), ("verify", C.c_void_p),
                ("context", C.c_void_p), ("cancel", C.c_void_p), ("preparation_limit_ms", C.c_int64), ("flags", C.c_uint32),
                ("reserved", C.c_uint32)]


class Generation(C.Structure):
    _fields_ = [("struct_size", C.c_uint32), ("sampling", C.c_uint32), ("tokens", C.POINTER(C.c_int64)),
                ("token_count", C.c_size_t), ("max_tokens", C.c_int64), ("stop_tokens", C.POINTER(C.c_int64)),
                ("stop_token_count", C.c_size_t), ("temperature", C.c_float), ("top_p", C.c_float), ("top_k", C.c_int64),
                ("seed", C.c_uint64), ("time_limit_ms", C.c_int64), ("cancel", C.c_void_p), ("inputs", C.POINTER(Tensor)),
                ("input_count", C.c_size_t)]


class Summary(C.Structure):
    _fields_ = [("struct_size", C.c_uint32), ("reason", C.c_uint32)] + [
        (name, C.c_uint64) for name in ["reused_tokens", "prompt_tokens", "generated_tokens", "prompt_ns", "generation_ns"]]


F32, I64, INPUT, OUTPUT, END = 1, 7, 0, 1, 1


class Library:
    def __init__(self, path):
        self.library = C.CDLL(path)
        self.library.accel_function_port_count.restype = C.c_size_t

    def __getattr__(self, name):
        """A function that raises its error."""
        function = getattr(self.library, "accel_" + name)

        def call(*arguments):
            error = Error(C.sizeof(Error))
            status = function(*arguments, C.byref(error))
            if status not in (0, END):
                raise RuntimeError(f"{error.code}: {error.message.decode()}")
            return status

        return call

    def open(self, path, **options):
        model = C.c_void_p()
        self.model_open(path.encode(), C.byref(Options(C.sizeof(Options), **options)), C.byref(model))
        return model

    def ports(self, function, kind):
        for index in range(self.library.accel_function_port_count(function, C.c_uint32(kind))):
            port = Port(C.sizeof(Port))
            self.function_port(function, C.c_uint32(kind), C.c_size_t(index), C.byref(port))
            yield port


def tensor(name, type, elements):
    """Borrows: the array has to stay as long. A numpy array has its address in a.ctypes.data."""
    return Tensor(C.sizeof(Tensor), type, name, elements.buffer_info()[0], len(elements) * elements.itemsize)


def embed(library, path, name, wanted, tokens):
    model, function = library.open(path), C.c_void_p()
    library.model_function(model, name.encode(), C.byref(function))
    made = {b"tokens": tokens, b"attention-mask": [1] * len(tokens)}
    arrays, inputs = [], []
    for port in library.ports(function, INPUT):
        elements = made.get(port.role, [])
        arrays.append(array.array("q", elements + [0] * (port.byte_count // 8 - len(elements))))
        inputs.append(tensor(port.name, I64, arrays[-1]))
    size = next(port.byte_count for port in library.ports(function, OUTPUT) if port.name == wanted.encode())
    output = array.array("f", [0.0] * (size // 4))
    inputs, outputs = (Tensor * len(inputs))(*inputs), (Tensor * 1)(tensor(wanted.encode(), F32, output))
    library.function_run(function, inputs, C.c_size_t(len(inputs)), outputs, C.c_size_t(1), None)
    for number in output:
        print(f"{number:.9g}")
    library.library.accel_model_release(model)


def generated(library, session, count, tokens):
    stream, token, made = C.c_void_p(), C.c_int64(), []
    prompt = (C.c_int64 * len(tokens))(*tokens)
    options = Generation(C.sizeof(Generation), tokens=prompt, token_count=len(tokens), max_tokens=count)
    library.session_generate(session, C.byref(options), C.byref(stream))
    while library.stream_next(stream, C.byref(token)) != END:
        made.append(token.value)
    summary = Summary(C.sizeof(Summary))
    library.stream_summary(stream, C.byref(summary))
    library.library.accel_stream_release(stream)
    return made, summary


def generate(library, path, count, tokens, goes_back=False):
    model, session, snapshot = library.open(path, preparation_limit_ms=60000), C.c_void_p(), C.c_void_p()
    library.session_create(model, C.byref(session))
    if goes_back:
        generated(library, session, 1, tokens)
        library.session_snapshot(session, C.byref(snapshot))
    made, summary = generated(library, session, count, tokens)
    if goes_back:
        library.session_restore(session, snapshot)
        second, after = generated(library, session, count, tokens)
        library.session_rewind(session, C.c_int64(0))
        third, anew = generated(library, session, count, tokens)
        if not made == second == third or after.prompt_tokens != 1 or anew.reused_tokens != 0:
            sys.exit("the session does not go back")
    for token in made:
        print(token)
    print(f"reason {summary.reason}, {summary.generated_tokens} generated")
    for release, handle in [("snapshot", snapshot), ("session", session), ("model", model)]:
        getattr(library.library, f"accel_{release}_release")(handle)


def main(words):
    if len(words) < 5:
        sys.exit(__doc__)
    library, command = Library(words[0]), words[1]
    if command == "embed":
        embed(library, *words[2:5], [int(word) for word in words[5:]])
    elif command in ("generate", "again"):
        generate(library, words[2], int(words[3]), [int(word) for word in words[4:]], goes_back=command == "again")
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
