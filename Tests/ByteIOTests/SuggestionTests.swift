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

    @Test("of types, only those with the same numbers and first letter are suggested")
    func types() {
        let types = ["float16", "float32", "int4", "int8", "q4_0", "q4_1", "q4_k", "q5_0", "q8_0", "tq2_0"]
        for (name, near) in [
            ("q3_0", []), ("q2_0", []), ("q4_2", []), ("iq4_k", []), ("tq4_0", []), ("int5", []), ("int16", []),
            ("float64", []), ("uint8", []), ("itn8", ["int8"]), ("flaot16", ["float16"]), ("q4-0", ["q4_0"]),
            ("q4_kk", ["q4_k"]),
        ] {
            #expect(equallyNearTypes(to: name, among: types) == near, "\(name)")
        }
        // By spelling alone there would be some.
        #expect(equallyNearNames(to: "q3_0", among: types).contains("q4_0"))
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
