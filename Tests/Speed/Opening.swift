import AccelByteIO
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
