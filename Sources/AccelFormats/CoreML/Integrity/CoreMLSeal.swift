import AccelByteIO

/// The digests in the metadata of accelc's Core ML packages: of every entry of the blob file, and of the model's functions
/// and interface. They stay valid when another tool loads and saves the package without a change, also with another
/// description, author or license.
struct CoreMLSeal: Equatable, Sendable {
    /// The metadata entry with the digests of the blob file: `OFFSET:DIGEST` for each entry, in the order of the file.
    static let weightsKey = "accelc.sha256.weights"
    /// The metadata entry with the digest of the model.
    static let modelKey = "accelc.sha256.model"

    let model: String
    /// The digest of each entry, by the offset of its description in the blob file.
    let entries: [Int: Digest]

    /// The digests of a package; nil if it has none.
    /// - Throws: `FormatError` if the seal is incomplete.
    init?(of model: CoreMLModel, file: String) throws {
        func text(_ key: String) -> String? { model.metadata.other.first { $0.name == key }?.content }
        func error(_ reason: String) -> FormatError {
            FormatError(file: file, location: .field("metadata"), reason: reason)
        }
        let (own, weights) = (text(Self.modelKey), text(Self.weightsKey))
        let isSealed = own != nil || weights != nil || text(CoreMLExporter.metadataKey) != nil
        guard isSealed else { return nil }
        guard let own, let weights else {
            throw error("has no \(own == nil ? Self.modelKey : Self.weightsKey) beside the other entries of accelc's")
        }
        var entries: [Int: Digest] = [:]
        for word in weights.split(separator: " ") {
            let parts = word.split(separator: ":")
            guard parts.count == 2, let offset = Int(parts[0]), let digest = Digest(hexadecimal: String(parts[1])),
                entries.updateValue(digest, forKey: offset) == nil
            else { throw error("\(Self.weightsKey) holds \(quoted(String(word))), which is no offset with a digest") }
        }
        (self.model, self.entries) = (own, entries)
    }
}

extension CoreMLModel {
    /// Adds the digests of a package to its metadata.
    /// - Parameter entries: the entries of the blob file, in order.
    mutating func seal(_ entries: [(offset: Int, digest: Digest)]) {
        let digests = entries.map { "\($0.offset):\($0.digest)" }.joined(separator: " ")
        metadata.other.removeAll { [CoreMLSeal.weightsKey, CoreMLSeal.modelKey].contains($0.name) }
        metadata.other.append(MILNamed(CoreMLSeal.weightsKey, digests))
        metadata.other.append(MILNamed(CoreMLSeal.modelKey, digest.description))
        metadata.other.sort { $0.name < $1.name }
    }

    /// The SHA-256 of the version, the interfaces, the program, and the metadata entries `accelc.*` except this digest. Maps are
    /// sorted by key first, so that their order in the file does not matter.
    var digest: Digest {
        var canonical = self
        canonical.metadata = Metadata(
            other: metadata.other.filter { $0.name.hasPrefix("accelc.") && $0.name != CoreMLSeal.modelKey }
                .sorted { ($0.name, $0.content) < ($1.name, $1.content) })
        canonical.interfaces = Array(interfaces.prefix(1)) + interfaces.dropFirst().sorted { $0.function < $1.function }
        canonical.program = program.canonical
        return SHA256.digest(of: ByteView(canonical.encoded))
    }
}

extension MILProgram {
    /// The program with its maps sorted by key.
    var canonical: MILProgram {
        MILProgram(
            functions: functions.sorted { $0.name < $1.name }.map { function in
                var function = function
                for index in function.operations.indices {
                    function.operations[index].inputs.sort { $0.name < $1.name }
                    function.operations[index].attributes.sort { $0.name < $1.name }
                }
                return function
            })
    }
}
