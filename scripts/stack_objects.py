#!/usr/bin/env python3
"""Looks in an optimised program for objects that end without having begun.

The compiler puts a small object on the stack where nobody else keeps it. Release builds of Swift 6.3.1 left out the beginning
of such an object (swift_initStackObject) and kept its end (swift_deallocClassInstance), which then reads what an earlier call
left on the stack: the program crashes, seldom and anywhere. No sanitizer of the toolchain finds that.

usage: stack_objects.py PROGRAM...     needs objdump, and a program for x86-64 that is not stripped
"""

import re
import subprocess
import sys

BEGIN, END = "swift_initStackObject", "swift_deallocClassInstance"
# The argument that is the object's address: the second of BEGIN, the first of END.
ARGUMENT = {BEGIN: "rsi", END: "rdi"}


def address(code: list[str], call: int, register: str) -> str:
    """How the register was set before a call: an address on the stack, or something else."""
    for line in reversed(code[max(0, call - 25) : call]):
        found = re.search(rf"\b(lea|mov)\s+(\S+),%{register}$", line)
        if found:
            return " ".join(found.groups())
    return ""


def offences(code: list[str]) -> list[str]:
    """The addresses on the stack of objects that a function ends and never begins."""
    found = {BEGIN: set(), END: set()}
    for index, line in enumerate(code):
        for name, register in ARGUMENT.items():
            if f"<{name}" in line:
                found[name].add(address(code, index, register))
    ended = {place for place in found[END] if place.startswith("lea") and re.search(r"\(%r[bs]p\)", place)}
    return sorted(ended - found[BEGIN])


def functions(lines):
    """The functions of a program with their code."""
    name, code = "", []
    for line in lines:
        head = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
        if head:
            yield name, code
            name, code = head.group(1), []
        elif "\t" in line:
            code.append(line.rstrip().split("\t", 1)[1])
    yield name, code


def self_test() -> None:
    """The search finds the fault, and nothing in sound code."""
    sound = ["lea    -0x40(%rbp),%rsi", f"call   1 <{BEGIN}@plt>", "lea    -0x40(%rbp),%rdi", f"call   2 <{END}@plt>"]
    heap = ["mov    %rbx,%rdi", f"call   2 <{END}@plt>"]
    assert offences(sound) == [] and offences(heap) == []
    assert offences(sound[2:]) == ["lea -0x40(%rbp)"]


def main() -> None:
    self_test()
    failed = False
    for program in sys.argv[1:]:
        ends = 0
        dump = ["objdump", "-d", "--no-show-raw-insn", program]
        with subprocess.Popen(dump, stdout=subprocess.PIPE, text=True) as process:
            for name, code in functions(process.stdout):
                ends += sum(f"<{END}" in line for line in code)
                for place in offences(code):
                    failed = True
                    print(f"stack_objects: {program}: {name} ends an object at {place} that it does not begin")
        if process.returncode != 0 or ends == 0:
            sys.exit(f"stack_objects: {program}: objdump failed, or found no end of an object")
        print(f"stack_objects: {program}: {ends} ends of objects")
    if failed:
        sys.exit("stack_objects: make the class a struct that is not copyable, or keep its objects off the stack")


if __name__ == "__main__":
    main()
