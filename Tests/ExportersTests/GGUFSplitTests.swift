import AccelByteIO
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// Models in several GGUF files whose keys lie about each other.
@Suite("Models in several GGUF files")
struct GGUFSplitTests {
    private typealias Pairs = [(key: String, value: GGUFValue)]

    private static func split(_ number: UInt16, of count: GGUFValue, _ tensors: Int32 = 2) -> Pairs {
        [
            (GGUFFolder.split.number, .uint16(number)), (GGUFFolder.split.count, count),
            (GGUFFolder.split.tensors, .int32(tensors)),
        ]
    }

    /// Files by their numbers with their keys and the name of a tensor, and what the rejection says.
    private static let cases: [(name: String, files: [Int: (Pairs, String)], words: String)] = [
        ("sound", [1: (split(0, of: .uint16(2)), "a"), 2: (split(1, of: .uint16(2)), "b")], "general.architecture"),
        ("a file is missing", [1: (split(0, of: .uint16(2)), "a")], "00002-of-00002"),
        ("the first is not the first", [1: (split(1, of: .uint16(2)), "a")], "name the first"),
        (
            "a count of another type", [1: (split(0, of: .uint32(2)), "a"), 2: (split(1, of: .uint16(2)), "b")],
            "expected a number of type u16"
        ),
        ("a count beyond the files", [1: (split(0, of: .uint16(65535)), "a")], "name the first"),
        (
            "numbers that are out of order", [1: (split(0, of: .uint16(2)), "a"), 2: (split(0, of: .uint16(2)), "b")],
            "expected 1"
        ),
        (
            "another count in the second", [1: (split(0, of: .uint16(2)), "a"), 2: (split(1, of: .uint16(3)), "b")],
            "expected 2"
        ),
        (
            "too few tensors", [1: (split(0, of: .uint16(2), 3), "a"), 2: (split(1, of: .uint16(2)), "b")],
            "the model has 3 tensors, but its files have 2"
        ),
        (
            "a tensor twice", [1: (split(0, of: .uint16(2)), "a"), 2: (split(1, of: .uint16(2)), "a")],
            "a tensor is in two files"
        ),
    ]

    @Test("Each lie is rejected with the file or the key", arguments: cases.indices)
    func rejected(index: Int) throws {
        let (name, files, words) = Self.cases[index]
        try withTemporaryFolder { folder in
            for (number, (pairs, tensor)) in files {
                try GGUFWriter.write(
                    pairs,
                    [
                        GGUFTensor(
                            name: tensor, type: .float32, shape: [8], bytes: ByteView([Float](repeating: 1, count: 8)))
                    ],
                    to: "\(folder)/\(GGUFFolder.name(ofShard: number, of: 2))")
            }
            for path in [folder, "\(folder)/model-00001-of-00002.gguf"] {
                do {
                    _ = try GGUFSource(path)
                    Issue.record("\(name): accepted")
                } catch let error as any ReportedError {
                    #expect(error.description.contains(words), "\(name): \(error)")
                }
            }
        }
    }
}
