import AccelByteIO
public import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension ModelSource {
    /// Compares this source with another one. Two packages are compared by their manifests; other sources by functions with
    /// ports and nodes, weights with schemes and values, and assets.
    /// - Throws: `FormatError` if a source is corrupt, `RequestError` for a function with an unsupported operation.
    public func difference(from other: any ModelSource) throws -> PackageDiff {
        if let left = self as? PackagedModel, let right = other as? PackagedModel {
            return try PackageDiff(left.package, right.package)
        }
        var (left, right) = (try facts, try other.facts)
        // Exports have some of the files in forms of their own.
        if [self, other].contains(where: { $0.format.exporter != nil && !($0 is PackagedModel) }) {
            (left[.asset], right[.asset]) = (nil, nil)
        }
        return PackageDiff(left, right, things: "models")
    }

    /// The bytes of all files of a package or an export; nil for a checkpoint, whose folder may have others.
    private var fileBytes: Int? {
        get throws {
            if let package = (self as? PackagedModel)?.package { return try package.byteCount }
            return try format.exporter == nil ? nil : Files.byteCount(ofTree: path)
        }
    }

    /// A line of text for each function, weight and asset, by its name.
    var facts: [PackageDiff.Difference.Subject: [String: String]] {
        get throws {
            var facts: [PackageDiff.Difference.Subject: [String: String]] = [:]
            if abilities.contains(.graph) {
                let model = try model()
                let functions =
                    model.functions.map { $0.map { ($0.functionName, $0.program) } }
                    ?? model.programs.map { ($0.name, $0) }
                facts[.function] = Dictionary(functions.map { ($0.0, $0.1.facts) }) { first, _ in first }
            }
            facts[.weight] = Dictionary(
                try weights.map { weight in
                    let tensor = try weight.values()
                    let values = tensor.floats().withUnsafeBytes { SHA256.digest(of: ByteView(Array($0))) }
                    // Packages say only that numbers are stored as they are.
                    let scheme = weight.scheme == StoredCodec.name ? tensor.elementType.rawValue : weight.scheme
                    let bits = Double(weight.storedBits) / Double(max(weight.shape.count, 1))
                    return (
                        weight.name,
                        "\(weight.shape) as \(scheme), \((bits * 1000).rounded() / 1000) bits, \(values.short)"
                    )
                }
            ) { first, _ in first }
            facts[.size] = PackageDiff.sizes(
                weights: try weights.reduce(0) { $0 + ($1.storedBits + 7) / 8 }, files: try fileBytes)
            facts[.asset] = Dictionary(
                try assets.map { ($0.name, "\($0.content.count) bytes, \(SHA256.digest(of: $0.content).short)") }
            ) { first, _ in first }
            return facts
        }
    }
}

extension Digest {
    fileprivate var short: String { String(description.prefix(16)) }
}

extension Program {
    /// Ports, the number of nodes of each operator, and a digest of the nodes.
    fileprivate var facts: String {
        func list(_ ports: [(String, Value)]) -> String {
            ports.map { "\($0.0) \(type(of: $0.1))" }.joined(separator: ", ")
        }
        let counts = Dictionary(grouping: nodes, by: \.operation.name).mapValues(\.count).sorted { $0.key < $1.key }
            .map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let text = ByteView(Array(lines.dropFirst().joined(separator: "\n").utf8))
        return "(\(list(inputs.map { ($0.name, $0.value) }))) -> (\(list(outputs.map { ($0.name, $0.value) }))), "
            + "\(nodes.count) nodes (\(counts)), \(SHA256.digest(of: text).short)"
    }
}
