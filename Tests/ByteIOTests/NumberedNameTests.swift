import Testing

@testable import AccelByteIO

@Suite("Names with numbers")
struct NumberedNameTests {
    private func folded(_ names: [String], kinds: [String: Int] = [:]) -> [String] {
        FoldedNames.all(names, name: { $0 }, kind: { kinds[$0] ?? 0 }).map(\.name)
    }

    @Test("Numbers sort as numbers, and names by their texts first")
    func order() {
        let sorted = ["a", "a.01", "a.0.x", "a.0.y", "a.2", "a.2.b", "a.10", "a.b", "b1", "b02"]
        #expect(
            sorted.shuffled().sortedByNumbers() == [
                "a", "a.0.x", "a.0.y", "a.2", "a.2.b", "a.10", "a.01", "a.b", "b1", "b02",
            ])
        // A run of digits that is no number of nine digits is text, so that different names are never equal.
        for name in ["", "7", "a.999999999", "a.9999999999", "00", "a.0", "ä.1.é", "1\u{301}"] {
            let parts = NumberedName(name)
            let numbers = parts.numbers.map { "\($0)" } + [""]
            #expect(zip(parts.texts, numbers).map { $0 + $1 }.joined() == name)
        }
    }

    @Test("Names that differ in consecutive numbers share a line")
    func folding() {
        #expect(folded((0..<24).flatMap { ["k.\($0)", "v.\($0)"] }) == ["k.0 to k.23", "v.0 to v.23"])
        #expect(folded(["h.0.w", "h.1.w", "h.3.w", "h.2.b"]) == ["h.0.w to h.1.w", "h.3.w", "h.2.b"])
        #expect(folded(["k.0", "k.1", "k.2"], kinds: ["k.1": 1]) == ["k.0", "k.1", "k.2"])
        #expect(folded(["k.0"]) == ["k.0"])
        // Both numbers of a grid change.
        let grid = (0..<3).flatMap { layer in (0..<2).map { "h.\(layer).experts.\($0).w" } }
        #expect(folded(grid) == ["h.0.experts.0.w to h.2.experts.1.w"])
        #expect(FoldedNames.all(grid, name: { $0 }, kind: { _ in 0 }).map(\.shortName) == ["h.0…2.experts.0…1.w"])
        // Sizes in brackets are not counted through.
        #expect(folded(["f[tokens=1] k.0", "f[tokens=2] k.0"]) == ["f[tokens=1] k.0", "f[tokens=2] k.0"])
        #expect(folded(["f[tokens=2] k.0", "f[tokens=2] k.1"]) == ["f[tokens=2] k.0 to f[tokens=2] k.1"])
    }

    @Test("Folding keeps every element once, whatever their order and however often a name comes")
    func complete() {
        let names = (0..<6).flatMap { ["a.\($0).b.\($0 % 2)", "a.\($0)", "a.0"] } + ["c"]
        for _ in 0..<20 {
            let groups = FoldedNames.all(names.shuffled(), name: { $0 }, kind: { _ in 0 })
            #expect(groups.flatMap(\.elements).sorted() == names.sorted())
        }
    }
}

@Suite("Text of limited width")
struct TextLayoutTests {
    private var table: TextTable {
        var table = TextTable([.init("tensor"), .init("stored as"), .init("bits", number: true)])
        table.add(["encoder.layer.0.attention.self.query.weight", "palette:bits=4,group=16", "4.07"])
        table.add(["pooler.bias", "stored", "32.00"])
        return table
    }

    @Test("Lines break at blanks, and in long words between their parts")
    func wrapping() {
        #expect(TextLayout.wrapped("one two three", width: 8) == ["one two", "three"])
        #expect(TextLayout.wrapped("  in x", width: 40) == ["  in x"])
        #expect(TextLayout.wrapped("  one two", width: 6, hanging: 4) == ["  one", "   two"])
        #expect(TextLayout.wrapped("encoder.layer.10.query", width: 10) == ["encoder.", "layer.10.", "query"])
        #expect(TextLayout.wrapped("0123456789abcdef", width: 10) == ["0123456789abcdef"])
        #expect(TextLayout.wrapped("\u{1B}[31mred\u{1B}[0m one", width: 7) == ["\u{1B}[31mred\u{1B}[0m one"])
    }

    @Test("A table without a limit has one line a row")
    func plain() {
        #expect(
            table.lines(width: nil) == [
                "  tensor                                       stored as                 bits",
                "  encoder.layer.0.attention.self.query.weight  palette:bits=4,group=16   4.07",
                "  pooler.bias                                  stored                   32.00",
            ])
    }

    @Test("A table keeps to every width that its words fit into", arguments: 24...90)
    func narrow(width: Int) {
        let lines = table.lines(width: width)
        #expect(lines.allSatisfy { $0.count <= width }, "\(lines.joined(separator: "\n"))")
        let text = lines.joined().filter { $0 != " " }
        for word in [
            "encoder", "layer.0", "attention", "query", "weight", "palette", "bits=4", "group=16", "stored", "32.00",
        ] {
            #expect(text.contains(word), "\(lines.joined(separator: "\n"))")
        }
    }
}
