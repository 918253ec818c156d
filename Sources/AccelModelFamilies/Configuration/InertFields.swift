import AccelByteIO

/// Fields of a configuration that change no output of the programs that a family builds, and why.
public struct InertFields: Sendable {
    public let reason: String
    /// Paths as errors print them, e.g. `text_config.dropout`; a `*` at the end stands for anything.
    public let names: [String]

    init(_ reason: String, _ names: [String]) { (self.reason, self.names) = (reason, names) }

    /// Whether a field, or one that it lies in, is listed.
    public func contains(_ path: String) -> Bool {
        names.contains { name in
            name.hasSuffix("*")
                ? path.hasPrefix(name.dropLast())
                : path == name || path.hasPrefix("\(name).") || path.hasPrefix("\(name)[")
        }
    }

    /// The same fields of the objects that stand at `path`.
    func under(_ path: String) -> InertFields { InertFields(reason, names.map { "\(path).\($0)" }) }
}

extension [InertFields] {
    func under(_ path: String) -> [InertFields] { map { $0.under(path) } }
}

extension JSONField {
    /// Refuses fields that nothing has asked for since `recording()`, unless they are listed: one of them may change what
    /// the model computes.
    /// - Parameter wayOut: what a user can do who knows better, for the field at a path.
    /// - Throws: `RequestError` (unavailable) for the first.
    func refuseUnread(_ listed: [InertFields], wayOut: (String) -> String) throws {
        guard let field = unreadMembers().first(where: { field in !listed.contains { $0.contains(field.path) } }) else {
            return
        }
        // Asked for, and of its members too.
        if pathsRead.contains(field.path) { _ = try field.object() }
        let hint = nearestBeside(field, listed).map { "; did you mean \"\($0)\"?" } ?? ""
        throw RequestError(
            "\(file), field \(field.path): unknown, so it may change what the model computes\(hint) "
                + "(\(wayOut(field.path)))", status: .unavailable)
    }

    /// The path that is most like that of `field`, of what was asked for in the object that it is a member of, or is listed
    /// there.
    private func nearestBeside(_ field: JSONField, _ listed: [InertFields]) -> String? {
        let parent = Self.parent(field.path)
        let known = pathsRead.union(listed.flatMap(\.names)).filter { !$0.hasSuffix("*") && Self.parent($0) == parent }
        let near = nearestName(
            to: String(field.path.dropFirst(parent.count)), among: known.map { String($0.dropFirst(parent.count)) })
        return near.map { parent + $0 }
    }

    /// What stands before the name of a member, with the dot.
    private static func parent(_ path: String) -> String {
        path.lastIndex(of: ".").map { String(path[...$0]) } ?? ""
    }
}
