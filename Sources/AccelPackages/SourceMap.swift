import AccelByteIO
public import AccelTensors
import AccelWeightCompression

/// The content of source-map.json: the encoding of each tensor of the checkpoint. It is not needed to run a package.
public struct SourceMap: Sendable {
    /// The encodings in the order of writing.
    public var coverage: [CoverageEntry]
    /// The tensors that no function reads.
    public var unusedTensors: [UnusedTensor]
    /// The tensors from which tables were computed, in float32.
    public var keptTensors: [StoredTensor]

    static let limits = JSON.Limits(bytes: 256 << 20, depth: 8)

    /// - Parameter sections: the sections of each entry.
    static func text(_ contents: PackageContents, sections: [[Section]]) -> String {
        var members: [JSON.Member] = [
            .init("tensors", .array(zip(contents.coverage, sections).map(json))),
            .init(
                "unused",
                .array(contents.unusedTensors.map { ["name": .string($0.name), "reason": .string($0.reason)] })),
        ]
        if !contents.keptTensors.isEmpty { members.append(.init(kept, .array(contents.keptTensors.map(\.kept)))) }
        return JSON.object(members).text()
    }

    private static func json(_ entry: CoverageEntry, _ sections: [Section]) -> JSON {
        var members: [JSON.Member] = [
            .init("name", .string(entry.tensor.name)),
            .init("type", .string(entry.tensor.elementType.rawValue)),
            .init("shape", .array(entry.tensor.shape.dimensions.map(integer))),
            .init("codec", .string(entry.tensor.codec.specification)),
            .init("sections", .array(sections.map { .array([$0.blob, $0.offset, $0.byteCount].map(integer)) })),
            .init("readers", .array(entry.readers.map(JSON.string))),
            .init("energy", .number(entry.distortion.energy)),
        ]
        if entry.distortion.squaredError != 0 || entry.distortion.maximumError != 0 {
            members.append(.init("squaredError", .number(entry.distortion.squaredError)))
            members.append(.init("maximumError", .number(entry.distortion.maximumError)))
        }
        for (name, exponents) in [(scaledRows, entry.scaling?.rows), (scaledColumns, entry.scaling?.columns)] {
            if let exponents, !exponents.isEmpty { members.append(.init(name, .array(exponents.map(integer)))) }
        }
        members += entry.origins
        if let reason = entry.reason { members.append(.init("reason", .string(reason))) }
        return .object(members)
    }

    private static let (scaledRows, scaledColumns) = ("scaledRows", "scaledColumns")

    /// - Returns: Nil if the tensor was not scaled.
    private static func scaling(_ field: JSONField, of shape: Shape) throws -> ChannelScaling? {
        func exponents(_ name: String, _ count: Int) throws -> [Int] {
            guard field[name].exists else { return [] }
            let exponents = try field[name].array().map { try $0.int(in: ChannelScaling.exponents) }
            guard exponents.count == count else {
                throw field[name].error(
                    "expected \(count) exponents for a tensor of \(shape), found \(exponents.count)")
            }
            return exponents
        }
        let scaling = ChannelScaling(
            rows: try exponents(scaledRows, shape.rows), columns: try exponents(scaledColumns, shape.columns))
        return scaling == ChannelScaling() ? nil : scaling
    }

    private static func integer(_ number: Int) -> JSON { .integer(Int64(number)) }

    private static let kept = "kept"

    /// - Parameters:
    ///   - known: the sections of weights.bin; others are rejected.
    ///   - content: returns the bytes of a section.
    init(_ bytes: ByteView, file: String, known: [Section], content: (Section) -> ByteView) throws {
        let document = JSONField(try JSON.parse(bytes, file: file, limits: Self.limits), file: file)
        let byRange = Dictionary(known.map { ([$0.blob, $0.offset, $0.byteCount], $0) }) { first, _ in first }
        coverage = try document["tensors"].array().map { field in
            let name = try field["name"].string()
            let shape = Shape(try field["shape"].array().map { try $0.int(in: 0...PackageFormat.maximumElements) })
            let sections = try field["sections"].array().map { part in
                guard let section = byRange[try part.array().map { try $0.int() }] else {
                    throw part.error("weights.bin has no section [blob, offset, bytes] like this")
                }
                return section
            }
            let tensor = try StoredEncoding(
                name: name, elementType: try field["type"].elementType(), shape: shape,
                codec: try field["codec"].string()
            ).tensor(sections: sections.map(content), file: file)
            var distortion = Distortion()
            distortion.count = shape.count
            distortion.energy = try field["energy"].double()
            if field["squaredError"].exists { distortion.squaredError = try field["squaredError"].double() }
            if field["maximumError"].exists { distortion.maximumError = try field["maximumError"].double() }
            var entry = CoverageEntry(
                tensor: tensor, distortion: distortion,
                reason: field["reason"].exists ? try field["reason"].string() : nil,
                readers: try field["readers"].array().map { try $0.string() },
                scaling: try Self.scaling(field, of: shape))
            try entry.readOrigins(field)
            return entry
        }
        guard Set(coverage.map(\.tensor.name)).count == coverage.count else {
            throw document["tensors"].error("a tensor is listed twice")
        }
        keptTensors =
            document[Self.kept].exists ? try document[Self.kept].array().map(StoredTensor.init(kept:)) : []
        unusedTensors = try document["unused"].array().map {
            UnusedTensor(name: try $0["name"].string(), reason: try $0["reason"].string())
        }
        let names = originals.map(\.name)
        guard Set(names).count == names.count else {
            throw document["tensors"].error("a tensor of the checkpoint is listed twice")
        }
    }
}

/// The description of an encoded tensor in a file, before it is checked.
struct StoredEncoding {
    var name: String
    var elementType: ElementType
    var shape: Shape
    /// The codec's specification.
    var codec: String

    /// - Throws: `FormatError` if the codec is unknown, does not support such a tensor, or has other sections for it.
    func tensor(sections: [ByteView], file: String) throws -> CompressedTensor {
        try tensor(parsedCodec(file: file), sections: sections, file: file)
    }

    /// Returns the tensor for a codec that is parsed already.
    func tensor(_ codec: any WeightCodec, sections: [ByteView], file: String) throws -> CompressedTensor {
        guard PackageFormat.fits(shape) else { throw error("shape \(shape) is too large", file) }
        return try CompressedTensor(
            name: name, elementType: elementType, shape: shape, codec: codec, sections: sections, file: file)
    }

    /// - Throws: `FormatError` for an unknown codec.
    func parsedCodec(file: String) throws -> any WeightCodec {
        do {
            return try Codecs.codec(codec)
        } catch let unknown as RequestError {
            throw error("\(unknown.description); accelc \(Tool.version) does not read it", file)
        }
    }

    private func error(_ reason: String, _ file: String) -> FormatError {
        FormatError(file: file, location: .tensor(name, index: nil), reason: reason)
    }
}
