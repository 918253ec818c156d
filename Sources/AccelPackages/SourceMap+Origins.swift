import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// The derivations of a package's tensors from the checkpoint's, in source-map.json.
extension CoverageEntry {
    private static let (derivationName, copiesName) = ("derivation", "copies")

    /// The members for derivation and copies; empty for a tensor of the checkpoint without copies.
    var origins: [JSON.Member] {
        var members: [JSON.Member] = []
        if let derivation {
            let sources = derivation.sources.map { source -> JSON in
                [
                    "name": .string(source.name), "type": .string(source.elementType.rawValue),
                    "shape": .array(source.shape.dimensions.map { .integer(Int64($0)) }),
                ]
            }
            members.append(
                .init(
                    Self.derivationName, ["rule": .string(derivation.rule.rawValue), "sources": .array(sources)]))
        }
        if !copies.isEmpty { members.append(.init(Self.copiesName, .array(copies.map(JSON.string)))) }
        return members
    }

    mutating func readOrigins(_ field: JSONField) throws {
        if field[Self.copiesName].exists { copies = try field[Self.copiesName].array().map { try $0.string() } }
        let field = field[Self.derivationName]
        guard field.exists else { return }
        let name = try field["rule"].string()
        guard let rule = Derivation.Rule(rawValue: name) else {
            throw field["rule"].error("\(quoted(name)) is not known to accelc \(Tool.version)")
        }
        let derivation = Derivation(
            rule: rule,
            sources: try field["sources"].array().map { source in
                let shape = Shape(
                    try source["shape"].array().map { try $0.int(in: 0...PackageFormat.maximumElements) })
                guard PackageFormat.fits(shape) else { throw source["shape"].error("\(shape) is too large") }
                return Derivation.Source(
                    name: try source["name"].string(), elementType: try source["type"].elementType(), shape: shape)
            })
        if let flaw = derivation.flaw(for: tensor.shape) { throw field["sources"].error(flaw) }
        self.derivation = derivation
    }
}

extension PackageContents {
    /// The source map has derivations, copies, or kept tensors.
    var hasOrigins: Bool {
        !keptTensors.isEmpty || coverage.contains { $0.derivation != nil || !$0.copies.isEmpty }
    }
}

extension StoredTensor {
    /// The tensor as JSON, with its numbers.
    var kept: JSON {
        [
            "name": .string(name), "type": .string(elementType.rawValue),
            "shape": .array(shape.dimensions.map { .integer(Int64($0)) }),
            "values": .array(floats().map { .number(Double($0)) }),
        ]
    }

    init(kept field: JSONField) throws {
        let shape = Shape(try field["shape"].array().map { try $0.int(in: 0...PackageFormat.maximumElements) })
        let values = try field["values"].array().map { Float(try $0.double()) }
        guard shape.checkedCount == values.count else {
            throw field["values"].error("expected the numbers of a tensor of \(shape), found \(values.count)")
        }
        _ = try field["type"].elementType()
        self.init(name: try field["name"].string(), floats: values, shape: shape)
    }
}

extension SourceMap {
    /// The tensors of the checkpoint that can be restored from stored ones: the sources and copies of each, then the
    /// kept tensors.
    var originals: [(name: String, shape: Shape)] {
        coverage.flatMap { entry in
            let tensor = entry.tensor
            let made = entry.derivation.map { $0.sources.map { ($0.name, $0.shape) } } ?? [(tensor.name, tensor.shape)]
            return made + entry.copies.map { ($0, tensor.shape) }
        } + keptTensors.map { ($0.name, $0.shape) }
    }
}
