/// The small files of a model by name, such as `tokenizer.json`: those of a folder, or the assets of a package.
public struct NamedFiles: Sendable {
    /// The folder or package, for errors.
    public let place: String
    private let content: @Sendable (_ name: String) throws -> ByteView?
    private let list: @Sendable () throws -> [String]

    /// The files of a folder, and of its folders.
    public init(folder: String) {
        let folder = Files.trimmingSlashes(folder)
        place = folder
        content = { name in
            let path = "\(folder)/\(name)"
            return Files.kind(of: path) == .file ? try MappedFile(path).bytes : nil
        }
        list = {
            try Files.list(folder).flatMap { name in
                let path = "\(folder)/\(name)"
                return Files.kind(of: path) == .folder ? try Files.list(path).map { "\(name)/\($0)" } : [name]
            }
        }
    }

    /// Files with a list of their names.
    /// - Parameter content: returns the bytes of a listed file.
    public init(in place: String, names: [String], content: @escaping @Sendable (_ name: String) throws -> ByteView?) {
        self.place = place
        self.content = { names.contains($0) ? try content($0) : nil }
        list = { names }
    }

    /// The names, with those of folders as in `1_Pooling/config.json`.
    public var names: [String] { get throws { try list() } }

    /// The path of a file, for errors.
    public func path(of name: String) -> String { "\(place)/\(name)" }

    /// Returns whether there is a file of this name.
    public func has(_ name: String) throws -> Bool { try content(name) != nil }

    /// Returns the bytes of a file; nil if there is none.
    public func bytes(_ name: String) throws -> ByteView? { try content(name) }

    /// Returns the text of a file; nil if there is none.
    /// - Throws: `FormatError` if it is not UTF-8.
    public func text(_ name: String) throws -> String? {
        guard let bytes = try content(name) else { return nil }
        guard let text = bytes.withBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw FormatError(file: path(of: name), reason: "the text is not UTF-8")
        }
        return text
    }

    /// Returns the root of a JSON file; a missing field if there is no such file.
    /// - Throws: `FormatError` if it is not JSON.
    public func document(_ name: String) throws -> JSONField {
        let file = path(of: name)
        return JSONField(try content(name).map { try JSON.parse($0, file: file) }, file: file)
    }
}
