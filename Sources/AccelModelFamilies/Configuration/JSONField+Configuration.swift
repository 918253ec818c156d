import AccelByteIO

/// Typed access to config.json for families.
extension JSONField {
    /// Returns the class that `architectures` names, or for a class that is not `known` the bare model of that kind: of
    /// `BertForMultipleChoice`, `BertModel`. If the field is missing, `other`, or else the first known class.
    /// - Throws: `RequestError` (unavailable) for a class of another kind.
    func architecture(among known: [String], default other: String? = nil) throws -> String {
        guard self["architectures"].exists, let first = try self["architectures"].array().first else {
            return other ?? known.first ?? ""
        }
        let name = try first.string()
        if known.contains(name) { return name }
        guard let kind = name.firstRange(of: "For").map({ name[..<$0.lowerBound] }), known.contains("\(kind)Model")
        else {
            throw RequestError(
                "\(file), field \(first.path): the architecture \"\(name)\" is not supported "
                    + "(supported: \(known.joined(separator: ", ")))", status: .unavailable)
        }
        return "\(kind)Model"
    }

    /// Returns the class that `architectures` names; `other` if the field is missing.
    /// - Throws: `RequestError` (unavailable) for an unknown class.
    func architecture<Architecture: RawRepresentable<String> & CaseIterable>(
        default other: Architecture
    ) throws -> Architecture {
        let name = try architecture(among: Architecture.allCases.map(\.rawValue), default: other.rawValue)
        return Architecture(rawValue: name) ?? other
    }

    /// Returns which of `count` layers use a sliding window: by `layer_types`, or else by `otherwise`.
    func slidingLayers(_ count: Int, otherwise: (Int) -> Bool) throws -> [Bool] {
        let field = self["layer_types"]
        guard field.exists else { return (0..<count).map(otherwise) }
        let types = try field.array()
        guard types.count == count else { throw field.error("expected \(count) layers, found \(types.count)") }
        return try types.map { type in
            switch try type.string() {
            // "attention" is the name in earlier versions.
            case "full_attention", "attention": false
            case "sliding_attention": true
            case let name:
                throw RequestError(
                    "\(type.file), field \(type.path): layers of type \(quoted(name)) are not supported (supported: "
                        + "full_attention, sliding_attention)", status: .unavailable)
            }
        }
    }

    /// Returns the field, which may be an object, null or missing.
    func objectIfAny() throws -> JSONField { exists ? try object() : self }

    /// Checks that a field and its second name do not have different values.
    func requireEqual(_ name: String, to field: String) throws {
        let (first, second) = (self[field], self[name])
        guard second.exists, first.value != second.value else { return }
        throw second.error("differs from \(field), which is another name for it: remove one")
    }

    /// Rejects unsupported features.
    /// - Throws: `RequestError` (unavailable) for the first field that requests one.
    func reject(_ rejections: [(field: String, isAsked: Bool, what: String)]) throws {
        for rejection in rejections where rejection.isAsked {
            throw RequestError(
                "\(file), field \(rejection.field): \(rejection.what) is not supported", status: .unavailable)
        }
    }
}
