import AccelByteIO
import AccelTensors
import Foundation
import TestSupport
import Testing

/// A checkpoint of the Hub without its data: the configuration, the files beside it, and the names and shapes of its tensors
/// (Tests/Fixtures/released, made by scripts/fixtures_released.py).
struct ReleasedModel: CustomTestStringConvertible, Sendable {
    struct Tensor {
        let name: String
        let type: String
        let shape: [Int]
    }
    let testDescription: String
    let configuration: JSON
    /// The small files, by name.
    let files: [String: JSON]
    let tensors: [Tensor]
    /// The tensors of files in folders, by the folder.
    let folders: [String: [Tensor]]
    /// The words by which the model is rejected; nil if it is accepted.
    let rejected: String?

    static let all: [ReleasedModel] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: Fixtures.path("released"))) ?? []
        return names.sorted().compactMap { try? ReleasedModel(Fixtures.path("released/\($0)")) }
    }()

    init(_ path: String) throws {
        let document = JSONField(try JSON.read(path), file: path)
        testDescription = try document["name"].string()
        configuration = document["config"].value ?? .null
        files = try document["files"].members().reduce(into: [:]) { $0[$1.key] = $1.field.value }
        tensors = try Tensor.list(document["tensors"])
        folders = try document["folders"].members().reduce(into: [:]) { $0[$1.key] = try Tensor.list($1.field) }
        rejected = document["rejected"].exists ? try document["rejected"].string() : nil
    }

    /// Writes the checkpoint, with holes for data, and opens it.
    func withCheckpoint<Result>(_ body: (Checkpoint) throws -> Result) throws -> Result {
        try withTemporaryFolder { folder in
            for (name, content) in files.merging(["config.json": configuration], uniquingKeysWith: { $1 }) {
                let file = URL(filePath: folder).appending(path: name)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(content.text().utf8).write(to: file)
            }
            try Self.write(tensors, to: "\(folder)/model.safetensors")
            for (name, tensors) in folders { try Self.write(tensors, to: "\(folder)/\(name)/model.safetensors") }
            return try body(try Checkpoint(model: folder))
        }
    }

    /// Writes a header, and a number at the begin of each tensor, so that no two are equal.
    private static func write(_ tensors: [Tensor], to path: String) throws {
        var (entries, offsets, end): ([JSON.Member], [UInt64], Int) = ([], [], 0)
        for tensor in tensors.sorted(by: { $0.width > $1.width }) {
            let begin = end
            end += tensor.width * tensor.shape.reduce(1, *)
            offsets.append(UInt64(begin))
            entries.append(
                JSON.Member(
                    tensor.name,
                    [
                        "dtype": .string(tensor.type), "shape": .array(tensor.shape.map { .integer(Int64($0)) }),
                        "data_offsets": [.integer(Int64(begin)), .integer(Int64(end))],
                    ]))
        }
        var header = Data(JSON.object(entries).text().utf8)
        header.append(Data(repeating: UInt8(ascii: " "), count: -header.count & 7))
        let length = withUnsafeBytes(of: UInt64(header.count).littleEndian) { Data($0) }
        try (length + header).write(to: URL(filePath: path))
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        let begin = UInt64(8 + header.count)
        try file.truncate(atOffset: begin + UInt64(end))
        for (index, offset) in offsets.enumerated() where offset + 4 <= UInt64(end) {
            try file.seek(toOffset: begin + offset)
            try file.write(contentsOf: withUnsafeBytes(of: UInt32(index).littleEndian) { Data($0) })
        }
        try file.close()
    }
}

extension ReleasedModel.Tensor {
    /// The bytes of an element.
    var width: Int { ["F32": 4, "I32": 4, "U32": 4, "I64": 8, "F16": 2, "BF16": 2][type] ?? 1 }

    static func list(_ lines: JSONField) throws -> [Self] { try lines.array().flatMap { try list($0.string()) } }

    /// The tensors of a line: a name with a star for the number of the layer, a type, a shape and the number of layers.
    private static func list(_ line: String) throws -> [Self] {
        let words = line.split(separator: " ").map(String.init)
        let shape = words[2] == "-" ? [] : words[2].split(separator: ",").compactMap { Int($0) }
        guard words.count > 3, let count = Int(words[3]) else {
            return [Self(name: words[0], type: words[1], shape: shape)]
        }
        return (0..<count).map {
            Self(name: words[0].replacing("*", with: "\($0)", maxReplacements: 1), type: words[1], shape: shape)
        }
    }
}
