import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport

extension FuzzTarget {
    static let manifest = FuzzTarget(name: "manifest", seeds: [SamplePackage.linear?.manifest].compactMap(\.self)) {
        bytes in
        let document = JSONField(try JSON.parse(bytes, file: "fuzz"), file: "fuzz")
        let manifest = try Manifest(parsing: document, digest: SHA256.digest(of: bytes))
        guard var again = try? Manifest(ByteView(Array(manifest.text.utf8)), file: "fuzz") else {
            // A later minor version may list what this one may not write.
            precondition(manifest.minor > PackageFormat.minor, "a written manifest does not read back")
            return
        }
        again.digest = manifest.digest
        precondition(again == manifest, "a written manifest does not read back equal")
    }

    /// source-map.json of a package whose sections are known.
    static let sourceMap = FuzzTarget(name: "source-map", seeds: [SamplePackage.linear?.sourceMap].compactMap(\.self)) {
        bytes in
        try SamplePackage.linear?.tables()?.check(sourceMap: bytes, file: "fuzz")
    }

    /// graph.bin: what is read is written again in the same bytes; what can be planned is run.
    static let graph = FuzzTarget(
        name: "graph", seeds: (SamplePackage.operators + [SamplePackage.linear].compactMap(\.self)).map(\.graph)
    ) { bytes in
        for tables in [SamplePackage.operators.first?.tables(), SamplePackage.linear?.tables()].compactMap(\.self) {
            guard let graph = try? tables.graph(bytes, file: "fuzz") else { continue }
            let again = try? graph.encoded()
            precondition(again == bytes, "a graph has two encodings")
            guard let program = try? graph.planned() else { continue }
            if let violation = PlanCheck.violation(of: program) { preconditionFailure(violation) }
            for (index, function) in program.functions.enumerated() where isSmall(function) {
                let inputs = function.inputs.map { port in
                    StoredTensor(
                        name: port.name, elementType: port.elementType, shape: port.shape,
                        bytes: ByteView(ByteBuffer(count: port.shape.count * port.elementType.byteCount)))
                }
                let executor = try Executor(program, function: index, threads: 1)
                _ = try executor.run(Dictionary(inputs.map { ($0.name, $0) }) { first, _ in first })
            }
        }
    }

    /// weights.bin beside a graph: what is read is written again in the same bytes.
    static let weightIndex = FuzzTarget(name: "weight-index", seeds: [SamplePackage.linear?.weights].compactMap(\.self))
    {
        bytes in
        guard let linear = SamplePackage.linear else { return }
        let tables = try PackageTables(weights: bytes, blobs: linear.blobs, file: "fuzz")
        precondition(tables.encoded == bytes, "a table of weights has two encodings")
        _ = try tables.graph(ByteView(linear.graph), file: "fuzz")
    }

    private static func isSmall(_ function: FunctionPlan) -> Bool {
        let operands = function.calls.flatMap { $0.inputs + $0.outputs } + function.outputs.map(\.operand)
        let shapes = function.inputs.map(\.shape) + operands.map(\.shape)
        return function.arenaBytes <= 1 << 20 && function.calls.count <= 32
            && shapes.allSatisfy { $0.count <= 1 << 14 }
    }

    static let cacheRecord = FuzzTarget(name: "cache-record", seeds: [SamplePackage.record].compactMap(\.self)) {
        bytes in
        var writer = ByteWriter()
        writer.append(bytes)
        writer.append(UInt64(bytes.count))
        writer.append(bytes.crc32)
        writer.append("ACR1")
        let record = try CacheRecord(ByteView(writer.bytes), file: "fuzz")
        guard let again = try? CacheRecord(record.encoded, file: "fuzz") else {
            preconditionFailure("a written record does not read back")
        }
        precondition(again == record, "a written record does not read back equal")
    }
}

/// A small sound package, as its files.
private struct SamplePackage: Sendable {
    let manifest: [UInt8]
    let graph: [UInt8]
    let weights: [UInt8]
    let sourceMap: [UInt8]
    let blobs: [ByteView]

    static let linear = try? SamplePackage { builder in
        let weight = StoredTensor(name: "w", floats: (0..<256).map { Float($0 % 16) }, shape: [16, 16])
        let table = StoredTensor(name: "t", floats: (0..<128).map(Float.init), shape: [8, 16])
        let ids = builder.input("ids", TensorType(.int64, [2, 3]))
        let rows = try builder.apply(Gather(), [builder.constant(table, isWeight: true), ids])
        let product = try builder.apply(Linear(), [rows, builder.constant(weight, isWeight: true)])
        builder.output("y", try builder.apply(Transpose([0, 2, 1]), [try builder.apply(Softmax(), [product])]))
    }

    /// One for each operator alone.
    static let operators = OperatorSample.all.compactMap { sample in
        try? SamplePackage { builder in
            let inputs = try sample.portInputs().enumerated().map { index, tensor in
                builder.input("x\(index)", tensor.type)
            }
            builder.output("y", try sample.applied(to: inputs, in: &builder)[0])
        }
    }

    static let record: [UInt8]? = {
        let key = CacheKey(
            sources: [.init(name: "model.safetensors", byteCount: 4, digest: SHA256.digest(of: "w"))], parts: [],
            shapes: ["batch=1"], recipe: ["default": "float16"])
        return try? withTemporaryFolder { folder in
            let cache = Cache(root: "\(folder)/cache")
            guard let contents = try linear?.makeContents() else { return nil }
            try PackageWriter.write(contents, to: "\(folder)/p") {
                cache.store(packageAt: $0, for: key, model: "sample")
            }
            let bytes = try cache.package(for: key).get().encoded
            return bytes.withBytes { Array($0.dropLast(16)) }
        }
    }()

    func tables() -> PackageTables? { try? PackageTables(weights: ByteView(weights), blobs: blobs, file: "fuzz") }

    private let makeContents: @Sendable () throws -> PackageContents

    init(_ build: @escaping @Sendable (inout ProgramBuilder) throws -> Void) throws {
        makeContents = {
            var builder = ProgramBuilder(name: "model")
            try build(&builder)
            let frozen = try builder.finish().freezing(ShapeBindings())
            let recipe = Recipe(default: try Codecs.codec("palette:bits=4,group=8"))
            let compressed = try recipe.compressing([frozen], threads: 1)
            return PackageContents(
                graph: try compressed.graph(), coverage: compressed.weights.map(CoverageEntry.init),
                provenance: Provenance(sources: [], family: "sample", recipe: recipe.json, shapes: []))
        }
        let contents = try makeContents()
        (manifest, graph, weights, sourceMap, blobs) = try withTemporaryFolder { folder in
            try PackageWriter.write(contents, to: "\(folder)/p")
            func read(_ name: String) throws -> ByteView { try MappedFile("\(folder)/p/\(name)").bytes }
            let names = try Files.list("\(folder)/p").filter { $0.hasPrefix("weights-") }
            return (
                try read("manifest.json").withBytes { Array($0) }, try read("graph.bin").withBytes { Array($0) },
                try read("weights.bin").withBytes { Array($0) }, try read("source-map.json").withBytes { Array($0) },
                try names.map(read)
            )
        }
    }
}
