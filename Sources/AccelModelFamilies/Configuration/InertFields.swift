package import AccelByteIO

/// Fields of a configuration that have no effect on a family's programs, with the reason.
public struct InertFields: Sendable {
    /// Why the fields have no effect.
    public let reason: String
    /// The paths in the notation of errors, such as `text_config.dropout`; a `*` at the end matches any suffix.
    public let names: [String]

    package init(_ reason: String, _ names: [String]) { (self.reason, self.names) = (reason, names) }

    /// Returns whether a field, or an object that contains it, is listed.
    public func contains(_ path: String) -> Bool {
        names.contains { name in
            name.hasSuffix("*")
                ? path.hasPrefix(name.dropLast())
                : path == name || path.hasPrefix("\(name).") || path.hasPrefix("\(name)[")
        }
    }

    /// Returns the same fields within the objects at `path`.
    package func under(_ path: String) -> InertFields { InertFields(reason, names.map { "\(path).\($0)" }) }
}

extension Diagnostic.Code {
    /// A field of a configuration that nothing reads, and that is not known to have no effect. The subject is its name among ignored
    /// fields.
    package static let unreadField: Self = "unread-field"
}

extension [InertFields] {
    package func under(_ path: String) -> [InertFields] { map { $0.under(path) } }
}

extension JSONField {
    /// Rejects fields that were not read since `recording()` and are not listed, because they may change what the model
    /// computes.
    /// - Parameter ignoredName: returns the name of the field at a path among ignored fields; nil if it cannot be ignored.
    /// - Throws: `RequestError` (unavailable) for the first such field.
    package func rejectUnread(_ listed: [InertFields], ignoredName: (String) -> String? = { $0 }) throws {
        guard let field = try unread(listed).first else { return }
        throw unknown(field, nearestBeside(field, listed), ignoredName)
    }

    /// Returns the paths of the fields that were not read, are not listed, and that a class does not define, and so ignores.
    /// - Throws: `RequestError` (unavailable) for the first field that it defines, unless it has the default.
    func undefinedFields(_ listed: [InertFields], of known: ConfigurationClass) throws -> [String] {
        let fields = try unread(listed)
        for field in fields where known.defines(field.path) && !known.isDefault(field) {
            throw unread("\(file), field \(field.path): this value is not supported", field.path)
        }
        return fields.map(\.path).filter { !known.defines($0) }
    }

    /// Rejects the first unread field whose name is nearly that of one which was read and is not there: with the default in its place the
    /// model fits nothing.
    /// - Throws: `RequestError` (unavailable) for the field.
    func rejectMisspelt(_ listed: [InertFields]) throws {
        for field in unreadMembers() where !listed.contains(where: { $0.contains(field.path) }) {
            // Members of objects are read together, and the error may have come before.
            guard let near = nearestBeside(field, []), !near.contains("."), !self[near].exists else { continue }
            throw unknown(field, near, { $0 })
        }
    }

    private func unread(_ listed: [InertFields]) throws -> [JSONField] {
        let fields = unreadMembers().filter { field in !listed.contains { $0.contains(field.path) } }
        // Read as a whole, and also member by member.
        for field in fields where pathsRead.contains(field.path) { _ = try field.object() }
        return fields
    }

    private func unknown(_ field: JSONField, _ near: String?, _ ignoredName: (String) -> String?) -> RequestError {
        unread(
            "\(file), field \(field.path): unknown, so it may change what the model computes\(suggestion(near))",
            ignoredName(field.path))
    }

    private func unread(_ sentence: String, _ ignoredName: String?) -> RequestError {
        RequestError(
            Diagnostic(sentence, code: ignoredName == nil ? nil : .unreadField, subject: ignoredName),
            status: .unavailable)
    }

    /// Returns the path most similar to that of `field` among the fields of the same object that were read or are
    /// listed.
    private func nearestBeside(_ field: JSONField, _ listed: [InertFields]) -> String? {
        let parent = Self.parent(field.path)
        let known = pathsRead.union(listed.flatMap(\.names)).filter { !$0.hasSuffix("*") && Self.parent($0) == parent }
        let near = nearestName(
            to: String(field.path.dropFirst(parent.count)), among: known.map { String($0.dropFirst(parent.count)) })
        return near.map { parent + $0 }
    }

    /// Returns the path of the object that contains a field, with a dot at the end.
    private static func parent(_ path: String) -> String {
        path.lastIndex(of: ".").map { String(path[...$0]) } ?? ""
    }
}
