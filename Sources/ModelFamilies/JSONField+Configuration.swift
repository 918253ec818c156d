import ByteIO

/// What families ask of a config.json.
extension JSONField {
    /// The class of the original framework that config.json names; `other` where it names none.
    /// - Throws: `RequestError` (unavailable) for one that is not among the cases.
    func architecture<Architecture: RawRepresentable<String> & CaseIterable>(
        default other: Architecture
    ) throws -> Architecture {
        guard self["architectures"].exists, let first = try self["architectures"].array().first else { return other }
        let name = try first.string()
        guard let architecture = Architecture(rawValue: name) else {
            throw RequestError(
                "\(file), field \(first.path): the architecture \"\(name)\" is not supported "
                    + "(supported: \(Architecture.allCases.map(\.rawValue).joined(separator: ", ")))",
                status: .unavailable)
        }
        return architecture
    }

    /// - Throws: `RequestError` (unavailable) for the first field of the configuration that asks for what is not built.
    func refuse(_ refusals: [(field: String, isAsked: Bool, what: String)]) throws {
        for refusal in refusals where refusal.isAsked {
            throw RequestError(
                "\(file), field \(refusal.field): \(refusal.what) is not supported", status: .unavailable)
        }
    }
}
