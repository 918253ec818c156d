import TestSupport
import Testing

@testable import AccelByteIO

private func parse(_ text: String, limits: JSON.Limits = JSON.Limits()) throws(FormatError) -> JSON {
    try JSON.parse(ByteView(Array(text.utf8)), file: "x.json", origin: 100, limits: limits)
}

@Suite("JSON")
struct JSONTests {
    @Test(
        "values are read exactly",
        arguments: [
            ("null", JSON.null), (" true\n", true), ("false", false), ("0", 0), ("-0", .number(-0.0)), ("-12", -12),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .number(9223372036854775808)), ("1.0", 1.0), ("1e2", 100.0), ("1E-2", 0.01),
            ("0.1", 0.1), ("5e-324", .number(.leastNonzeroMagnitude)), ("[]", []), ("{}", [:]),
            ("[1,[2,{}]]", [1, [2, [:]]]),
            (#"{"b":1,"a":{"c":null}}"#, ["b": 1, "a": ["c": nil]]),
            (#""\u00e9\n\/\"\\\b\f\r\t""#, "é\n/\"\\\u{8}\u{C}\r\t"),
            (#""\ud83d\ude00x""#, "😀x"), ("\"é😀\"", "é😀"), (#""\u0000""#, "\0"), (#""""#, ""),
        ] as [(String, JSON)])
    func values(text: String, value: JSON) throws {
        #expect(try parse(text) == value)
    }

    @Test(
        "what is not strict JSON is rejected at its place",
        arguments: [
            ("", 0, "is empty"), ("{", 1, "ends too early"), ("[1,]", 3, "a JSON value"),
            ("[1 2]", 3, "',' or ']'"),
            ("{\"a\":1,}", 7, "a member's name"), ("{a:1}", 1, "a member's name"), ("{\"a\" 1}", 5, "':'"),
            ("nul", 0, "a JSON value"),
            ("NaN", 0, "a JSON value"), ("Infinity", 0, "a JSON value"), ("-", 0, "a JSON value"),
            ("01", 0, "starts with 0"),
            ("+1", 0, "a JSON value"), ("1.", 0, "after its point"), (".5", 0, "a JSON value"), ("1e", 0, "exponent"),
            ("1e999", 0, "too large"), ("1 2", 2, "the end"), ("'a'", 0, "a JSON value"),
            ("\"a", 0, "no closing quote"),
            ("\"a\nb\"", 2, "control character"), (#""\x""#, 1, "unknown escape"),
            (#""\u12g4""#, 1, "four hexadecimal"),
            (#""\ud800""#, 1, "surrogate"), (#""\udc00""#, 1, "surrogate"), (#""\ud800\u0041""#, 1, "surrogate"),
            (#"{"a":1,"a":1}"#, 7, "\"a\" occurs twice"), (#"{"a":1,"\u0061":1}"#, 7, "occurs twice"),
            ("// c\n1", 0, "a JSON value"),
            ("\u{FEFF}1", 0, "byte order mark"), ("\"a\\", 3, "ends in a string"), ("\"\\u12", 3, "ends in a string"),
        ] as [(String, Int, String)])
    func rejected(text: String, offset: Int, words: String) {
        let error = #expect(throws: FormatError.self) { try parse(text) }
        #expect(
            error?.file == "x.json" && error?.location == .offset(UInt64(100 + offset)), "\(String(describing: error))")
        #expect(error?.reason.contains(words) == true, "\(String(describing: error))")
    }

    @Test(
        "text that is not UTF-8 is rejected",
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(throws: FormatError.self) { try JSON.parse(ByteView([quote] + bytes + [quote]), file: "x") }
    }

    @Test(
        "UTF-16 is named as that, with a mark and without one",
        arguments: [[0xFF, 0xFE, 0x7B, 0], [0xFE, 0xFF, 0, 0x7B], [0x7B, 0, 0x7D, 0], [0, 0x7B, 0, 0x7D]] as [[UInt8]])
    func otherEncoding(bytes: [UInt8]) {
        let error = #expect(throws: FormatError.self) { try JSON.parse(ByteView(bytes), file: "x") }
        #expect(error?.location == .offset(0) && error?.reason.hasPrefix("this is UTF-16 text") == true)
    }

    @Test("limits hold for depth, values and bytes")
    func limits() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(throws: Never.self) { try parse(nested(64)) }
        #expect(throws: FormatError.self) { try parse(nested(65)) }
        #expect(throws: FormatError.self) { try parse(String(repeating: "{\"a\":", count: 100_000)) }
        #expect(throws: FormatError.self) { try parse("[1,2,3]", limits: JSON.Limits(values: 3)) }
        #expect(throws: Never.self) { try parse("[1,2,3]", limits: JSON.Limits(values: 4)) }
        #expect(throws: FormatError.self) { try parse("[1,2,3]", limits: JSON.Limits(bytes: 6)) }
    }

    @Test("an object of very many members is read in linear time, and its last duplicate found")
    func manyMembers() throws {
        let members = (0..<20_000).map { "\"key\($0)\":\($0)" }.joined(separator: ",")
        guard case .object(let read) = try parse("{\(members)}") else {
            Issue.record("no object")
            return
        }
        #expect(read.count == 20_000 && read[19_999] == JSON.Member("key19999", 19999))
        #expect(throws: FormatError.self) { try parse("{\(members),\"key19999\":0}") }
    }

    @Test("seeded values read back equal, compact and pretty", arguments: 0..<200)
    func roundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let value = randomValue(&generator, depth: 4)
        #expect(try parse(value.text()) == value)
        #expect(try parse(value.text(pretty: true)) == value)
    }

    private func randomValue(_ generator: inout SeededGenerator, depth: Int) -> JSON {
        switch UInt64.random(in: 0..<(depth > 0 ? 7 : 5), using: &generator) {
        case 0: return [.null, true, false].randomElement(using: &generator) ?? .null
        case 1: return .integer(Int64(bitPattern: generator.next()))
        case 2, 3:
            let number = Double(bitPattern: generator.next())
            return .number(number.isFinite ? number : -0.0)
        case 4: return .string(randomText(&generator))
        case 5: return .array((0..<generator.next() % 5).map { _ in randomValue(&generator, depth: depth - 1) })
        default:
            return .object(
                (0..<generator.next() % 5).map {
                    JSON.Member("\($0)\(randomText(&generator))", randomValue(&generator, depth: depth - 1))
                })
        }
    }

    private func randomText(_ generator: inout SeededGenerator) -> String {
        var text = ""
        for _ in 0..<generator.next() % 8 {
            text.unicodeScalars.append(Unicode.Scalar(UInt32(generator.next() % 0x3000)) ?? "\u{7F}")
        }
        return text
    }

    @Test("the written form is fixed")
    func form() {
        let value: JSON = ["b": [1, 2.5, "x\n\u{1}"], "a": [["c": .null]], "e": [], "o": [:], "n": .number(.nan)]
        #expect(value.text() == #"{"b":[1,2.5,"x\n\u0001"],"a":[{"c":null}],"e":[],"o":{},"n":null}"#)
        let pretty = """
            {
              "b": [1, 2.5, "x\\n\\u0001"],
              "a": [
                {
                  "c": null
                }
              ],
              "e": [],
              "o": {},
              "n": null
            }

            """
        #expect(value.text(pretty: true) == pretty)
    }

    @Test("a field tells file and path of what is wrong with it")
    func fields() throws {
        let document = JSONField(try parse(#"{"a":[{"n":5,"s":"x"}],"big":1e3}"#), file: "f.json")
        let element = try #require(try document["a"].array().first)
        #expect(try element["n"].int(in: 1...5) == 5)
        #expect(try document["big"].double() == 1000)
        let errors: [(FormatError?, String, String)] = [
            (#expect(throws: FormatError.self) { try element["n"].int(in: 6...9) }, "a[0].n", "5 is outside of 6...9"),
            (
                #expect(throws: FormatError.self) { try element["s"].int() }, "a[0].s",
                "expected an integer, found a string"
            ),
            (#expect(throws: FormatError.self) { try element["t"].string() }, "a[0].t", "found nothing"),
            (
                #expect(throws: FormatError.self) { try document.rejectMembers(otherThan: ["a", "bit"]) }, "big",
                "did you mean \"bit\"?"
            ),
        ]
        for (error, path, words) in errors {
            #expect(error?.location == .field(path) && error?.reason.contains(words) == true)
        }
    }
}
