import AccelByteIO
import AccelModelFamilies
import AccelTensors
import Foundation
import TestSupport

@testable import AccelFormats

/// A file of scripts/fixtures_quantized.py: layers of one tool, its configuration, and the values that its library gives them.
struct QuantizedFixture {
    static let names = [
        "awq", "bitsandbytes", "blocks", "float4", "float8", "float8_blocks", "gptq", "gptq_v2", "hqq", "mlx", "packed",
        "quanto",
        "torchao",
    ]

    let layers: [StoredTensor]
    let golden: [StoredTensor]
    /// The members of config.json.
    let configuration: JSON
    /// The rest of the file's metadata.
    let metadata: [(key: String, value: String)]

    init(_ name: String) throws {
        let file = try SafetensorsFile(Fixtures.path("quantized/\(name).safetensors"))
        golden = file.tensors.filter { $0.name.hasPrefix("golden.") }
        layers = file.tensors.filter { !$0.name.hasPrefix("golden.") }
        let text = file.metadata.first { $0.key == "config" }?.value ?? "{}"
        configuration = try JSON.parse(ByteView(Array(text.utf8)), file: name)
        metadata = file.metadata.filter { !["config", "made_by", "format"].contains($0.key) }
    }

    /// The object that states the quantization.
    var block: JSON { configuration["quantization_config"] ?? configuration["quantization"] ?? .null }
    private var key: String { configuration["quantization"] == nil ? "quantization_config" : "quantization" }

    /// Opens a folder with the layers.
    /// - Parameters:
    ///   - tensors: other layers; nil for those of the file.
    ///   - block: another object that states the quantization.
    func opened<Result>(
        _ tensors: [StoredTensor]? = nil, block: JSON? = nil, files: [String: String] = [:],
        _ body: (any ModelSource) throws -> Result
    ) throws -> Result {
        let document = block.map { JSON.object([JSON.Member(key, $0)]) } ?? configuration
        return try Self.opened(
            tensors ?? layers, document.text(pretty: false), metadata: metadata, files: files, body)
    }

    /// Opens a folder with tensors and a config.json.
    static func opened<Result>(
        _ tensors: [StoredTensor], _ document: String, metadata: [(key: String, value: String)] = [],
        files: [String: String] = [:], _ body: (any ModelSource) throws -> Result
    ) throws -> Result {
        try withTemporaryFolder { folder in
            try SafetensorsWriter.write(
                tensors, to: "\(folder)/model.safetensors", as: .part, metadata: metadata)
            for (name, text) in files.merging(["config.json": document], uniquingKeysWith: { own, _ in own }) {
                try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            }
            return try body(ModelFormats.open(folder))
        }
    }

    /// Returns the values of all weights by name.
    func values(_ tensors: [StoredTensor]? = nil, block: JSON? = nil) throws -> [String: [Float]] {
        try opened(tensors, block: block) { source in
            try Dictionary(uniqueKeysWithValues: source.weights.map { ($0.name, try $0.values().floats()) })
        }
    }

    /// Returns the error of opening the folder and reading its weights; nil for none.
    func rejection(_ tensors: [StoredTensor]? = nil, block: JSON? = nil, files: [String: String] = [:]) -> String? {
        do {
            return try opened(tensors, block: block, files: files) { source in
                for weight in try source.weights { _ = try weight.values() }
                return nil
            }
        } catch { return "\(error)" }
    }
}

extension JSON {
    /// Returns the object with a member set, or without it; a path of names separated by `/`.
    func setting(_ path: String, _ value: JSON?) -> JSON {
        guard case .object(var members) = self else { return self }
        let parts = path.split(separator: "/", maxSplits: 1).map(String.init)
        let index = members.firstIndex { $0.key == parts[0] }
        let new = parts.count == 1 ? value : (index.map { members[$0].value } ?? .object([])).setting(parts[1], value)
        if let index { members.remove(at: index) }
        return .object(members + (new.map { [JSON.Member(parts[0], $0)] } ?? []))
    }
}
