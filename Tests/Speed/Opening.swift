import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension Speed {
    /// Opening a package: its manifest, graph and tables are read, checked and planned; no byte of a weight is.
    static func open(_ package: String, decoder: String) throws {
        try report(package, "open", atMost: 5)
        let folder = try TemporaryFolder(beside: package)
        let path = "\(folder.path)/decoder.accelpkg"
        try PackageWriter.write(
            try contents(ofDecoder: decoder, layers: 32, configuration: "\(folder.path)/config.json"), to: path)
        try report(path, "open a decoder of 32 layers", atMost: 20)
    }

    private static func report(_ path: String, _ what: String, atMost limit: Double) throws {
        let nodes = try AcceleratorPackage(at: path).graph.functions.map(\.program.nodes.count)
        var seconds = Double.infinity
        for _ in 0..<20 {
            let start = processorSeconds()
            _ = try AcceleratorPackage(at: path)
            seconds = min(seconds, processorSeconds() - start)
        }
        line(
            what, "\(text(seconds * 1000, 2)) ms", "\(nodes.map(String.init).joined(separator: " + ")) nodes",
            "<= \(text(limit, 0)) ms", seconds * 1000 <= limit)
        try reportPreparing(path, what)
    }

    /// Choosing kernels, and decoding the small weights that stay decoded, beside a copy of as many bytes.
    private static func reportPreparing(_ path: String, _ what: String) throws {
        let program = try AcceleratorPackage(at: path).graph.planned()
        let rounds = try (0..<20).map { _ in try Executor(program, threads: 2).preparation }
        let (whole, decoding) = (rounds.map(\.duration).min() ?? .zero, rounds.map(\.decoding).min() ?? .zero)
        let bytes = rounds[0].decodedBytes
        let (from, to) = (ByteBuffer(count: bytes), ByteBuffer(count: bytes))
        let copying = best(200, [{ to.bytes.copyMemory(from: UnsafeRawBufferPointer(from.bytes)) }])[0]
        line(
            "\(what), then prepare", "\(text(whole / .milliseconds(1), 2)) ms",
            "kernels of \(program.functions[0].calls.count) calls", "", nil)
        line(
            "  of it to decode \(bytes >> 10) KiB", "\(text(decoding / .milliseconds(1), 3)) ms",
            "memcpy \(text(copying * 1000, 3)) ms", "<= 2.00", decoding / .seconds(1) <= 2 * copying)
    }

    /// A prefill and a step function; zeros stand for the weights that the fixture does not have.
    private static func contents(
        ofDecoder model: String, layers: Int, configuration path: String
    ) throws -> PackageContents {
        guard case .object(var members) = try JSON.read("\(model)/config.json") else {
            throw RequestError("\(model) has no configuration")
        }
        let changes: [String: JSON] = [
            "num_hidden_layers": .integer(Int64(layers)), "max_position_embeddings": 4096,
            "layer_types": .array([JSON](repeating: "full_attention", count: layers)),
        ]
        members = members.map { JSON.Member($0.key, changes[$0.key] ?? $0.value) }
        var file = try AtomicFile(replacing: path, as: .internal)
        try file.write(JSON.object(members).text())
        try file.commit()
        let checkpoint = try Checkpoint(model: model, configuration: path)
        let programs = try Families.matching(checkpoint.configuration)
            .model(for: checkpoint, standsInForMissing: true).programs
        let functions = try programs.freezing(
            ["batch=1,tokens=128,cache=512", "batch=1,tokens=1,cache=512"].map { try ShapeBindings(parsing: $0) })
        let recipe = Recipe(default: try Codecs.codec("int4"))
        let compressed = try recipe.compressing(functions, threads: 2)
        return PackageContents(
            graph: try compressed.graph(), coverage: compressed.weights.map(CoverageEntry.init),
            provenance: Provenance(sources: [], family: "decoder", recipe: recipe.json, shapes: []))
    }
}
