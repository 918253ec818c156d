import AccelByteIO
import AccelModelFamilies

/// The keys of a GGUF file, with a record of those that were read.
struct GGUFMetadata {
    let file: GGUFFile
    /// The value of `general.architecture`, which is the prefix of the architecture's keys.
    let architecture: String
    private let document: JSONField

    init(_ file: GGUFFile, architecture: String) {
        (self.file, self.architecture) = (file, architecture)
        let members = file.metadata.filter { !GGUFKeys.isForeign($0.key) }.map { key, value in
            JSON.Member(key, Self.json(key, value))
        }
        document = JSONField(.object(members), file: file.path).recording()
    }

    /// The value as JSON. Lists of tokenizers are long, and their elements change nothing here.
    private static func json(_ key: String, _ value: GGUFValue) -> JSON {
        if case .array = value, key.hasPrefix("tokenizer.") { return [] }
        return value.json
    }

    /// The paths of all keys that were read.
    var keysRead: Set<String> { document.pathsRead }

    /// A key of the architecture.
    subscript(key: String) -> JSONField { document["\(architecture).\(key)"] }

    /// A key by its whole name.
    func global(_ key: String) -> JSONField { document[key] }

    /// The value of an integer that some files state for each layer.
    /// - Throws: `RequestError` (unavailable) if it differs between layers.
    func shared(_ key: String, in range: ClosedRange<Int>, layers: Int) throws -> Int {
        let field = self[key]
        guard case .array? = field.value else { return try field.int(in: range) }
        let numbers = try field.array().map { try $0.int() }
        guard numbers.count == layers, let first = numbers.first else {
            throw field.error("expected \(layers) numbers, found \(numbers.count)")
        }
        guard numbers.allSatisfy({ $0 == first }) else { throw unsupported(field, "layers of different sizes") }
        return try field.array()[0].int(in: range)
    }

    /// Returns the error for a value that the family's graph does not compute.
    func unsupported(_ field: JSONField, _ reason: String) -> RequestError {
        let text = field.value?.text() ?? "nothing"
        let value = text.utf8.count > 60 ? "\(text.prefix(57))..." : text
        return RequestError(
            "\(file.path), field \(field.path): \(value) is not supported: \(reason)", status: .unavailable)
    }

    /// Rejects keys that were not read and are not listed, because they may change what the model computes.
    /// - Throws: `RequestError` (unavailable) for the first such key.
    func rejectUnread() throws {
        for entry in GGUFKeys.constants(of: architecture) {
            let field = document[entry.key]
            guard field.exists, !entry.values.contains(where: { field.equals($0) }) else { continue }
            throw unsupported(field, entry.meaning)
        }
        let listed = GGUFKeys.inert(in: architecture)
        guard
            let field = document.unreadMembers().first(where: { field in !listed.contains { $0.contains(field.path) } })
        else { return }
        throw unsupported(field, "the key is unknown")
    }
}

extension JSONField {
    /// Returns whether the field has a value; numbers are compared as numbers, of whatever type.
    fileprivate func equals(_ other: JSON) -> Bool {
        if let number = try? double(), let wanted = try? JSONField(other, file: file).double() {
            return number == wanted
        }
        return value == other
    }
}
