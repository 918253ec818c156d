import TestSupport
import Testing

@testable import AccelByteIO

@Suite("Suggestions for misspelled names")
struct SuggestionTests {
    @Test("a letter added, left out, replaced or exchanged with the next one is one edit, either way")
    func distances() {
        let edits = [
            ("model", "model", 0), ("model", "modell", 1), ("model", "mode", 1), ("model", "modal", 1),
            ("model", "modle", 1), ("", "abc", 3), ("ab", "ba", 1), ("abcd", "badc", 2), ("kitten", "sitting", 3),
        ]
        for (left, right, distance) in edits {
            #expect(editDistance(left, right) == distance, "\(left) \(right)")
            #expect(editDistance(right, left) == distance, "\(right) \(left)")
        }
    }

    @Test("a name is suggested within a third of its letters, the nearest first")
    func nearest() {
        #expect(nearestName(to: "modle", among: ["decoder", "model", "nodes"]) == "model")
        #expect(nearestName(to: "xyz", among: ["decoder", "model"]) == nil)
        #expect(nearestName(to: String(repeating: "a", count: 300), among: [String(repeating: "a", count: 299)]) == nil)
    }

    @Test("only names with the same numbers are suggested")
    func numbers() {
        let types = ["float16", "float32", "int4", "int8", "q4_0", "q4_1", "q4_k", "q5_0", "q8_0", "tq2_0"]
        for (name, near) in [
            ("q3_0", nil), ("q4_2", nil), ("int5", nil), ("int16", nil), ("float64", nil), ("itn8", "int8"),
            ("flaot16", "float16"), ("q4-0", "q4_0"), ("q4_kk", "q4_k"),
        ] {
            #expect(nearestName(to: name, among: types) == near, "\(name)")
        }
    }

    @Test("a path is suggested beside the first part that is missing, and whole where it is there")
    func paths() throws {
        try withTemporaryFolder { folder in
            try Files.makeFolder("\(folder)/models")
            try Files.makeFolder("\(folder)/models/minilm")
            func hint(_ path: String) -> String {
                Files.suggestion(for: "\(folder)/\(path)").replacing("\(folder)/", with: "")
            }
            #expect(hint("models/minilmm") == "; did you mean \"models/minilm\"?")
            #expect(hint("model/minilm/") == "; did you mean \"models/minilm\"?")
            #expect(hint("model/bert") == "; did you mean \"models\"?")
            #expect(hint("models/min") == "; did you mean \"models/minilm\"?")
            #expect(hint("other/minilm").isEmpty && hint("models/minilm").isEmpty)
        }
    }
}
