import AccelByteIO

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

    /// Which of `count` layers see a window only: by `layer_types`, else by `otherwise`.
    func slidingLayers(_ count: Int, otherwise: (Int) -> Bool) throws -> [Bool] {
        let field = self["layer_types"]
        guard field.exists else { return (0..<count).map(otherwise) }
        let types = try field.array()
        guard types.count == count else { throw field.error("expected \(count) layers, found \(types.count)") }
        return try types.map { type in
            switch try type.string() {
            // The second is the old name.
            case "full_attention", "attention": false
            case "sliding_attention": true
            case let name:
                throw RequestError(
                    "\(type.file), field \(type.path): layers of type \(quoted(name)) are not supported (supported: "
                        + "full_attention, sliding_attention)", status: .unavailable)
            }
        }
    }

    /// The field, which is an object, missing, or null.
    func objectIfAny() throws -> JSONField { exists ? try object() : self }

    /// Refuses a second name of a field, where the two have different values.
    func requireEqual(_ name: String, to field: String) throws {
        let (first, second) = (self[field], self[name])
        guard second.exists, first.value != second.value else { return }
        throw second.error("differs from \(field), of which it is another name: remove one")
    }

    /// - Throws: `RequestError` (unavailable) for the first field of the configuration that asks for what is not built.
    func refuse(_ refusals: [(field: String, isAsked: Bool, what: String)]) throws {
        for refusal in refusals where refusal.isAsked {
            throw RequestError(
                "\(file), field \(refusal.field): \(refusal.what) is not supported", status: .unavailable)
        }
    }
}
