/// Which members of a value in a JSON document were asked for, and of those in turn. All fields that stem from one
/// `JSONField.recording()` share the tree of these notes.
public final class JSONReads: Sendable {
    private struct Notes {
        var members: [String: JSONReads] = [:]
        var elements: [Int: JSONReads] = [:]
        /// Nobody has to ask for what is below.
        var isWhole = false
    }
    private let notes = Locked(Notes())

    init() {}

    /// The notes of a member, which counts as asked for from now on.
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
    /// The same field with notes of its own, which begin empty.
    public func recording() -> JSONField { JSONField(value, file: file, path: path, reads: JSONReads()) }

    /// Counts members, and everything in them, as asked for.
    public func disregard(_ names: String...) {
        for name in names { reads?.member(name).markWhole() }
    }

    /// The paths of members at any depth that were asked for, whether they exist or not; empty where nothing is recorded.
    public var pathsRead: Set<String> {
        var found: Set<String> = []
        for (key, noted) in reads?.members ?? [:] {
            let member = JSONField(value?[key], file: file, path: memberPath(key), reads: noted)
            found.formUnion(member.pathsRead.union([member.path]))
        }
        return found
    }

    /// The members at any depth that nobody has asked for, and those of whose members somebody has asked, although they
    /// are no objects; in the order of the document. A member that is null is no request.
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

    /// The document without the member at a path as errors print it; nil where there is none.
    public func removing(_ path: String) -> JSONField? {
        Self.removing(path, from: value, at: self.path, in: self).map { JSONField($0, file: file, path: self.path) }
    }

    private static func removing(_ path: String, from value: JSON?, at place: String, in root: JSONField) -> JSON? {
        guard case .object(var members)? = value else { return nil }
        let parent = JSONField(value, file: root.file, path: place)
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
