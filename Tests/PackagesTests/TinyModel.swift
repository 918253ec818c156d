import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport

/// A model of a few operators: an embedding table, two linear layers of equal weights, a transpose.
struct TinyModel {
    var width = 32
    var rows = 48
    var compress = "float16"
    var shapes = ["sequence=4"]
    var seed: UInt64 = 1

    /// The tensors of the checkpoint.
    var tensors: [StoredTensor] {
        var generator = SeededGenerator(seed: seed)
        func floats(_ count: Int) -> [Float] {
            (0..<count).map { _ in Float.random(in: -1...1, using: &generator) }
        }
        let square = floats(width * width)
        return [
            StoredTensor(name: "embeddings.weight", floats: floats(rows * width), shape: [rows, width]),
            StoredTensor(name: "first.bias", floats: floats(width), shape: [width]),
            StoredTensor(name: "first.weight", floats: square, shape: [width, width]),
            StoredTensor(name: "second.weight", floats: square, shape: [width, width]),
        ]
    }

    func program() throws -> Program {
        let tensors = tensors
        var builder = ProgramBuilder(
            name: "model", dimensions: [.init("sequence", usual: [4], maximum: 16)], role: .encode)
        let ids = builder.input("input_ids", TensorType(.int64, [1, "sequence"]), .tokens(vocabulary: rows))
        let table = builder.constant(tensors[0], isWeight: true)
        let x = try builder.apply(Gather(), [table, ids])
        let first = try builder.apply(
            Linear(),
            [x, builder.constant(tensors[2], isWeight: true), builder.constant(tensors[1], isWeight: true)])
        let active = try builder.apply(Gelu(.erf), [first])
        let second = try builder.apply(Linear(), [active, builder.constant(tensors[3], isWeight: true)])
        builder.output("last_hidden_state", second, .hiddenStates)
        builder.output("transposed", try builder.apply(Transpose([0, 2, 1]), [second]))
        return try builder.finish()
    }

    func contents(threads: Int = 2) throws -> PackageContents {
        let program = try program()
        let recipe = Recipe(default: try Codecs.codec(compress))
        let frozen = try shapes.map { try program.freezing(ShapeBindings(parsing: $0)) }
        let compressed = try recipe.compressing(frozen, threads: threads)
        return PackageContents(
            graph: try compressed.graph(), coverage: compressed.weights.map(CoverageEntry.init),
            unusedTensors: [UnusedTensor(name: "embeddings.position_ids", reason: "a buffer, not a weight")],
            provenance: Provenance(
                sources: tensors.map {
                    .init(name: $0.name, byteCount: $0.bytes.count, digest: TreeDigest.digest(of: $0.bytes))
                },
                family: "tiny", recipe: recipe.json, shapes: shapes),
            assets: [
                Asset(name: "config.json", content: ByteView(Array(#"{"width":32}"#.utf8))),
                Asset(name: "1_Pooling/config.json", content: ByteView(Array("{}".utf8))),
            ])
    }
}

extension CacheKey {
    /// The key of a conversion that makes these contents.
    init(of contents: PackageContents) {
        self.init(
            sources: contents.provenance.sources, parts: [], shapes: contents.graph.functions.map(\.functionName),
            recipe: contents.provenance.recipe)
    }
}

/// Every file below `folder` with its bytes.
func files(in folder: String, prefix: String = "") throws -> [String: ByteView] {
    var found: [String: ByteView] = [:]
    for name in try Files.list("\(folder)/\(prefix)") {
        let path = "\(folder)/\(prefix)\(name)"
        if Files.kind(of: path) == .folder {
            found.merge(try files(in: folder, prefix: "\(prefix)\(name)/")) { first, _ in first }
        } else {
            found[prefix + name] = try MappedFile(path).bytes
        }
    }
    return found
}

func write(_ bytes: [UInt8], to path: String) throws {
    var file = try AtomicFile(replacing: path, as: .internal)
    try file.write(ByteView(bytes))
    try file.commit()
}

extension ByteView {
    var array: [UInt8] { withBytes { Array($0) } }
}
