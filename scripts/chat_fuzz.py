"""Random templates made by a grammar."""

import random

from chat_snippets import VARIABLES

NAMES = list(VARIABLES) + ["missing"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "default('x')", "default(1, true)", "join", "join(',')", "first", "last", "list", "map('string')|list", "map('upper')|join('-')", "map(attribute='name')|list", "select|list", "select('string')|list", "reject('none')|list", "selectattr('name')|list", "selectattr('age', 'gt', 26)|list", "replace('a', 'b')", "string", "int", "float", "abs", "round", "round(1)", "sort", "unique|list", "reverse|list", "items|list", "dictsort", "tojson", "tojson(indent=2)", "indent", "escape", "min", "max", "sum", "batch(2)|list", "slice(2)|list", "wordcount", "center(9)", "truncate(5)", "count", "string|length", "list|length", "urlencode", "safe", "attr('upper')"]
TESTS = ["defined", "none", "string", "number", "mapping", "iterable", "sequence", "boolean", "integer", "float", "odd", "even", "divisibleby 3", "eq 1", "in [1, 'a']", "lt 5", "sameas none", "true", "false", "upper", "lower", "undefined", "callable"]
METHODS = ["upper()", "lower()", "title()", "strip()", "lstrip('H')", "split()", "split(',')", "split('a', 1)", "rsplit(none, 1)", "splitlines()", "startswith('H')", "endswith('d')", "find('o')", "replace('o', '0')", "items()", "keys()", "values()", "get('a')", "get('zz', 3)", "count('a')", "count(1)", "index(1)", "join(ls)", "isdigit()", "zfill(5)", "format(1, a=2)", "partition(' ')", "capitalize()", "swapcase()", "removeprefix('He')"]
ITEMS = ["[0]", "[-1]", "['a']", "['name']", ".a", ".name", ".x", "[1:]", "[:2]", "[::-1]", "[0:3:2]", "[5]", ".items()"]
LITERALS = ["1", "0", "-1", "2.5", "1e20", "'a'", "'Hello'", "''", "\"it's\"", "'é'", "none", "true", "false", "[]", "{}", "()", "[1, 2]", "{'a': 1}", "(1, 'b')", "'%s-%s'", "'{} {}'"]


class Grammar:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.depth = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def expression(self, depth=3):
        if depth <= 0 or self.random.random() < 0.15:
            return self.random.choice(LITERALS) if self.random.random() < 0.45 else self.random.choice(NAMES)
        inner = lambda: self.expression(depth - 1)
        kind = self.random.randrange(13)
        if kind <= 2:
            return f"{inner()} {self.random.choice(BINARY)} {inner()}"
        if kind == 3:
            return f"({inner()})"
        if kind == 4:
            return f"({inner()})|{self.random.choice(FILTERS)}"
        if kind == 5:
            return f"{inner()}|{self.random.choice(FILTERS)}"
        if kind == 6:
            return f"({inner()}) is {self.pick('', 'not ')}{self.random.choice(TESTS)}"
        if kind == 7:
            return f"({inner()}).{self.random.choice(METHODS)}"
        if kind == 8:
            return f"({inner()}){self.random.choice(ITEMS)}"
        if kind == 9:
            return f"{inner()} if {inner()} else {inner()}"
        if kind == 10:
            return f"{self.pick('not ', '-', '+')}{inner()}"
        if kind == 11:
            return f"[{inner()}, {inner()}]"
        return f"{{'k': {inner()}, {inner()}: {inner()}}}"

    def tag(self, content):
        return "{%" + self.pick("", "", "-", "+") + f" {content} " + self.pick("", "", "-") + "%}"

    def text(self):
        return self.pick("", "x", " ", "\n", "  \n", "\n  ", "a b\n", "\t", "é ")

    def body(self, depth):
        return "".join(self.text() + self.statement(depth) for _ in range(self.random.randrange(1, 3))) + self.text()

    def statement(self, depth):
        if depth <= 0 or self.random.random() < 0.3:
            return "{{" + self.pick("", "-") + f" {self.expression(2)} " + self.pick("", "-") + "}}"
        kind = self.random.randrange(9)
        name = self.pick("x", "y", "q")
        body = lambda: self.body(depth - 1)
        if kind == 0:
            return self.tag(f"if {self.expression(2)}") + body() + self.tag("endif")
        if kind == 1:
            return self.tag(f"if {self.expression(1)}") + body() + self.tag(f"elif {self.expression(1)}") + body() + self.tag("else") + body() + self.tag("endif")
        if kind == 2:
            condition = f" if {name}" if self.random.random() < 0.3 else ""
            end = self.pick("", "{{ loop.index }}", "{% if loop.last %}L{% endif %}", "{% if x %}{% break %}{% endif %}", "{% continue %}")
            otherwise = self.tag("else") + body() if self.random.random() < 0.3 else ""
            return self.tag(f"for {name} in {self.expression(1)}{condition}") + body() + end + otherwise + self.tag("endfor")
        if kind == 3:
            return self.tag(f"set {name} = {self.expression(2)}")
        if kind == 4:
            return self.tag(f"set {name}") + body() + self.tag("endset")
        if kind == 5:
            return self.tag(f"macro m({name}, z=1)") + body() + self.tag("endmacro") + "{{ m(" + self.expression(1) + ") }}"
        if kind == 6:
            return self.tag(f"with {name} = {self.expression(1)}") + body() + self.tag("endwith")
        if kind == 7:
            return self.tag("filter " + self.pick("upper", "trim", "replace('a', 'b')")) + body() + self.tag("endfilter")
        return "{#" + self.pick("", "-") + " c " + self.pick("", "-") + "#}" + body()


def templates(rounds, seed):
    """Returns random templates: half of them are one expression."""
    found = []
    for number in range(rounds):
        grammar = Grammar(seed * 1_000_003 + number)
        found.append("{{ " + grammar.expression(4) + " }}" if number % 2 else grammar.body(3))
    return found
