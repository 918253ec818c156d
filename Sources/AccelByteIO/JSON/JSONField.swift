/// A value of a JSON document with its location, so that errors name file and field.
///
///     let width = try JSONField(config, file: path)["hidden_size"].int(in: 1...1 << 20)
public struct JSONField: Sendable {
    /// The value; nil if the field is missing.
    public let value: JSON?
    /// The file, for errors.
    public let file: String
    /// The path in the document, such as `functions[0].inputs`; empty for the whole document.
    public let path: String
    /// The record of reads; nil unless `recording()` started one.
    let reads: JSONReads?

    /// Creates a field, by default for a whole document.
    public init(_ value: JSON?, file: String, path: String = "") {
        self.init(value, file: file, path: path, reads: nil)
    }

    init(_ value: JSON?, file: String, path: String, reads: JSONReads?) {
        self.value = value
        self.file = file
        self.path = path
        self.reads = reads
    }

    /// A member of an object. A missing member is an error only when its value is read.
    public subscript(key: String) -> JSONField {
        JSONField(value?[key], file: file, path: memberPath(key), reads: reads?.member(key))
    }

    func memberPath(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// The field is present, and not null.
    public var exists: Bool { value != nil && value != .null }

    /// Returns an error at this field.
    public func error(_ reason: String) -> FormatError {
        FormatError(file: file, location: .field(path), reason: reason)
    }

    /// Returns the value as a string.
    /// - Throws: `FormatError` naming the field, as all typed reads do.
    public func string() throws -> String {
        guard case .string(let text)? = value else { throw mismatch("a string") }
        return text
    }

    /// Returns the value as a boolean.
    public func bool() throws -> Bool {
        guard case .bool(let flag)? = value else { throw mismatch("true or false") }
        return flag
    }

    /// Returns the value as an integer in a range.
    public func int(in range: ClosedRange<Int> = Int.min...Int.max) throws -> Int {
        guard case .integer(let number)? = value else { throw mismatch("an integer") }
        guard let integer = Int(exactly: number), range.contains(integer) else {
            throw error("\(number) is outside of \(range.lowerBound)...\(range.upperBound)")
        }
        return integer
    }

    /// Returns the value as a number; integers are converted.
    public func double() throws -> Double {
        switch value {
        case .number(let number)?: return number
        case .integer(let integer)?: return Double(integer)
        default: throw mismatch("a number")
        }
    }

    /// Returns the elements of an array.
    public func array() throws -> [JSONField] {
        guard case .array(let elements)? = value else { throw mismatch("an array") }
        return elements.enumerated().map {
            JSONField($1, file: file, path: "\(path)[\($0)]", reads: reads?.element($0))
        }
    }

    /// Returns the field itself, if it is an object.
    public func object() throws -> JSONField {
        guard case .object? = value else { throw mismatch("an object") }
        return self
    }

    /// Returns the members of an object, in order.
    public func members() throws -> [(key: String, field: JSONField)] {
        guard case .object(let members)? = value else { throw mismatch("an object") }
        return members.map { member in
            let notes = reads?.member(member.key)
            return (member.key, JSONField(member.value, file: file, path: memberPath(member.key), reads: notes))
        }
    }

    /// Rejects members with unknown names.
    /// - Throws: `FormatError` naming it, with a suggestion and the known names; `ReportedErrors` for several.
    public func rejectMembers(otherThan known: Set<String>) throws {
        let unknown = try members().filter { !known.contains($0.key) }
        // Many unknown members mean a file of another kind: the first one is enough.
        let shown = unknown.count > Self.mostUnknown ? unknown.prefix(1) : unknown[...]
        let others = unknown.count - shown.count
        let rest = others == 0 ? "" : ", as are \(others) others"
        let errors = shown.map { key, field in
            field.error("unknown field\(rest)\(suggestion(for: key, among: known))\(knownNames(nearest: key, known))")
        }
        try Mistakes(errors).check()
    }

    /// The most unknown members that are reported one by one.
    private static let mostUnknown = 4

    func mismatch(_ wanted: String) -> FormatError {
        let found =
            switch value {
            case nil: "nothing"
            case .null?: "null"
            case .bool?: "a boolean"
            case .integer?: "an integer"
            case .number?: "a number"
            case .string?: "a string"
            case .array?: "an array"
            case .object?: "an object"
            }
        return error("expected \(wanted), found \(found)")
    }
}
