/// A record of the members of a JSON value that were read, and recursively of their members. All fields that stem from
/// one `JSONField.recording()` share it.
public final class JSONReads: Sendable {
    private struct Notes {
        var members: [String: JSONReads] = [:]
        var elements: [Int: JSONReads] = [:]
        /// All members count as read.
        var isWhole = false
    }
    private let notes = Locked(Notes())

    init() {}

    /// Returns the record of a member, which counts as read from now on.
    func member(_ key: String) -> JSONReads {
        notes.withLock { notes in
            if let known = notes.members[key] { return known }
            let new = JSONReads()
            notes.members[key] = new
            return new
        }
    }

    func element(_ index: Int) -> JSONReads {
        notes.withLock { notes in
            if let known = notes.elements[index] { return known }
            let new = JSONReads()
            notes.elements[index] = new
            return new
        }
    }

    func markWhole() { notes.withLock { $0.isWhole = true } }

    fileprivate var isWhole: Bool { notes.withLock { $0.isWhole } }
    fileprivate var members: [String: JSONReads] { notes.withLock { $0.members } }
    fileprivate func noted(_ index: Int) -> JSONReads { notes.withLock { $0.elements[index] } ?? JSONReads() }
}

extension JSONField {
    /// Returns the same field with a new, empty record of reads.
    public func recording() -> JSONField { JSONField(value, file: file, path: path, reads: JSONReads()) }

    /// Marks members, with all their content, as read.
    public func disregard(_ names: String...) {
        for name in names { reads?.member(name).markWhole() }
    }

    /// The paths of all members that were read, at any depth, whether they exist or not; empty without a record.
    public var pathsRead: Set<String> {
        var found: Set<String> = []
        for (key, noted) in reads?.members ?? [:] {
            let member = JSONField(value?[key], file: file, path: memberPath(key), reads: noted)
            found.formUnion(member.pathsRead.union([member.path]))
        }
        return found
    }

    /// Returns the members at any depth that were not read, and members that were read as objects but are not. In the
    /// order of the document; members that are null are ignored.
    public func unreadMembers() -> [JSONField] {
        guard let reads, !reads.isWhole else { return [] }
        switch value {
        case .object(let members)?:
            return members.filter { $0.value != .null }.flatMap { member in
                let noted = reads.members[member.key]
                let field = JSONField(
                    member.value, file: file, path: memberPath(member.key), reads: noted ?? JSONReads())
                return noted == nil ? [field] : field.unreadMembers()
            }
        case .array(let elements)? where reads.members.isEmpty:
            return elements.enumerated().flatMap { index, element in
                JSONField(element, file: file, path: "\(path)[\(index)]", reads: reads.noted(index)).unreadMembers()
            }
        default: return value == nil || value == .null || reads.members.isEmpty ? [] : [self]
        }
    }

    /// Returns the document without the member at a path, in the notation of errors; nil if there is no such member.
    public func removing(_ path: String) -> JSONField? {
        Self.removing(path, from: value, at: self.path, in: self).map { JSONField($0, file: file, path: self.path) }
    }

    private static func removing(_ path: String, from value: JSON?, at location: String, in root: JSONField) -> JSON? {
        guard case .object(var members)? = value else { return nil }
        let parent = JSONField(value, file: root.file, path: location)
        for index in members.indices {
            let name = parent.memberPath(members[index].key)
            if name == path {
                members.remove(at: index)
                return .object(members)
            }
            guard path.hasPrefix("\(name)."), let rest = removing(path, from: members[index].value, at: name, in: root)
            else { continue }
            members[index].value = rest
            return .object(members)
        }
        return nil
    }
}
