public import AccelByteIO
import AccelTensors

/// A Core AI model (`.aimodel`), open for reading. Supports models of accelc, and those of other tools with the same operations.
public struct CoreAIPackage: Sendable {
    /// The path of the folder, for errors.
    public let path: String
    let module: CoreAIModule
    /// The entries of the creator in `metadata.json`.
    let entries: [String: String]
    private let bytes: ByteView
    /// The content of `main.hash`; nil if there is none.
    private let hash: ByteView?

    /// Opens a model, and decodes its program.
    /// - Throws: `FormatError` if a file is corrupt.
    public init(at path: String) throws {
        func content(_ name: String) throws -> ByteView? {
            guard Files.kind(of: "\(path)/\(name)") == .file else { return nil }
            return try MappedFile(name, inside: path).bytes
        }
        guard let module = try content(CoreAIFolder.moduleName) else {
            throw FormatError(file: path, reason: "it has no \(CoreAIFolder.moduleName)")
        }
        try self.init(
            module: module, metadata: content(CoreAIFolder.metadataName), hash: content(CoreAIFolder.hashName),
            path: path)
    }

    /// A model in memory.
    /// - Parameters:
    ///   - module: the bytes of `main.mlirb`.
    ///   - metadata: the bytes of `metadata.json`; nil if there is none.
    ///   - hash: the bytes of `main.hash`; nil if there is none.
    ///   - path: the name of the model in errors.
    /// - Throws: `FormatError` if a file is corrupt.
    public init(module: ByteView, metadata: ByteView?, hash: ByteView?, path: String) throws {
        (self.path, bytes, self.hash) = (path, module, hash)
        self.module = try CoreAIDecoder.module(module, file: "\(path)/\(CoreAIFolder.moduleName)")
        entries =
            try metadata.map { try CoreAIMetadata.entries(in: $0, file: "\(path)/\(CoreAIFolder.metadataName)") } ?? [:]
    }

    /// The program in accelc's encoding, with its resources.
    public var encodedModule: [UInt8] {
        CoreAIEncoder(module).encoded().parts.reduce(into: [UInt8]()) { all, part in
            part.withBytes { all.append(contentsOf: $0) }
        }
    }

    /// The functions that applications call, in the order of the file.
    public var functionNames: [String] { functions.filter(\.isPublic).map(\.name) }

    /// All functions, in the order of the file; only other functions call those that are not public.
    var functions: [(name: String, isPublic: Bool, graph: CoreAIOperation)] {
        graphs.compactMap { graph in
            guard graph.properties.count == 9, case .string(let name)? = graph.properties[5].attribute else {
                return nil
            }
            let isPublic = if case .integer(0, _, _)? = graph.properties[4].attribute { true } else { false }
            return (name, isPublic, graph)
        }
    }

    /// The names of the functions with the model's parts and shapes that they were made of, such as
    /// `model[batch=1,sequence=128]`; empty for models of other tools.
    /// - Throws: `FormatError` if the record is corrupt.
    public var functionShapes: [(name: String, shape: String)] {
        get throws {
            let names = try note(CoreAIMetadata.interfaceKey)?.array().map { try $0["function"].string() } ?? []
            let shapes = (entries["accelc.shapes"] ?? "").split(separator: " ").map(String.init)
            guard names.count == shapes.count else {
                throw FormatError(
                    file: "\(path)/\(CoreAIFolder.metadataName)",
                    reason: "accelc.shapes has \(shapes.count) functions, and accelc.interface \(names.count)")
            }
            return zip(names, shapes).map { ($0, $1) }
        }
    }

    /// The provenance that accelc recorded in the export, by the keys of `ExportedModel.provenance`.
    public var provenance: [String: String] { entries.filter { $0.key.hasPrefix("accelc.") } }

    /// Whether activations are float16; true for models of other tools, where it is not known.
    public var computesInFloat16: Bool { !(entries[CoreAIMetadata.exporterKey] ?? "").contains("precision=float32") }

    /// All functions.
    var graphs: [CoreAIOperation] {
        module.root.regions.flatMap(\.operations).filter { $0.name == CoreAIOperation.graph }
    }

    /// Compares the program with its digest.
    /// - Returns: whether the model has a digest.
    /// - Throws: `FormatError` if they differ.
    @discardableResult
    public func check() throws -> Bool {
        guard let hash else { return false }
        guard hash == ByteView(SHA256.digest(of: bytes).bytes) else {
            throw FormatError(
                file: "\(path)/\(CoreAIFolder.moduleName)",
                reason: "its SHA-256 is not that of \(CoreAIFolder.hashName): one of them was changed")
        }
        return true
    }

    /// The file of the program, as a source of a conversion.
    var bytesOfModule: ByteView { bytes }

    private func note(_ key: String) throws -> JSONField? {
        guard let text = entries[key] else { return nil }
        let file = "\(path)/\(CoreAIFolder.metadataName), \(key)"
        return JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: file), file: file)
    }

    /// The checkpoint's names and shapes of weights; empty for models of other tools.
    var checkpointShapes: [String: Shape] {
        get throws {
            let members = try note(CoreAIMetadata.weightsKey)?.members() ?? []
            let shapes = try members.map { member in
                (member.key, Shape(try member.field.array().map { try $0.int(in: 0...1 << 48) }))
            }
            return Dictionary(shapes) { first, _ in first }
        }
    }

    /// The factors by which rows and columns of weights were multiplied before encoding.
    var scalings: [String: ChannelScaling] {
        get throws {
            try note(CoreAIMetadata.scalingsKey)?.members().reduce(into: [:]) { scalings, member in
                func exponents(_ name: String) throws -> [Int] {
                    try member.field[name].array().map { try $0.int(in: ChannelScaling.exponents) }
                }
                scalings[member.key] = ChannelScaling(rows: try exponents("rows"), columns: try exponents("columns"))
            } ?? [:]
        }
    }
}
