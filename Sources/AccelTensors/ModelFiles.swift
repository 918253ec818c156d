public import AccelByteIO

/// The files of a model, and the only way to open them. Every opened file is recorded as a source: it is part of the
/// cache key and the provenance, and, except for weights, of the package. (`SourceLawTests` checks that AccelTensors
/// and AccelModelFamilies open files in no other way.)
///
/// Files other than weights are read once into private memory, so that the parsed, the digested and the passed-through
/// content are the same. Weights are mapped; only their header is in private memory.
public final class ModelFiles: Sendable {
    /// A file of the model that was opened.
    public struct Source: Sendable {
        /// The use of a file.
        public enum Role: Sendable {
            /// A safetensors file.
            case weights
            /// The assignment of tensors to shards; packages do not contain it.
            case index
            /// The description of an adapter that is merged into the weights; packages do not contain it.
            case adapter
            /// Passed through to packages: configurations, tokenizers.
            case asset
        }
        /// The path relative to the model's folder, with `/` as the separator, such as `1_Pooling/config.json`.
        public let name: String
        /// The path on this machine.
        public let path: String
        /// The use of the file.
        public let role: Role
        /// The file's identity before it was read; nil for a model in memory.
        public let identity: FileIdentity?
        /// The whole content in private memory; of weights, only the bytes before the first tensor.
        public let content: ByteView
        /// The tensors of a weight file, in the order of their bytes; empty for other files.
        public let tensors: [StoredTensor]

        /// A file that a format has opened.
        /// - Parameters:
        ///   - content: the whole file; of weights, only the bytes before the first tensor.
        ///   - tensors: of weights, in the order of their bytes.
        public init(
            name: String, path: String, role: Role, identity: FileIdentity?, content: ByteView,
            tensors: [StoredTensor] = []
        ) {
            (self.name, self.path, self.role, self.identity) = (name, path, role, identity)
            (self.content, self.tensors) = (content, tensors)
        }

        /// The size of the whole file, with what is between its tensors.
        public var byteCount: Int {
            identity.map { Int(clamping: $0.size) } ?? content.count + tensors.reduce(0) { $0 + $1.bytes.count }
        }
    }

    /// The limit for files other than weights. The largest known tokenizers have 40 MB.
    private static let mostBytes = 256 << 20
    /// The model's folder.
    public let folder: String
    /// Paths of files outside of the folder that replace those of the same name.
    private let substitutes: [String: String]
    private let opened = Locked<[String: Source]>([:])

    /// - Parameter substitutes: paths of files that replace those of the folder, by name.
    init(in folder: String, substitutes: [String: String] = [:]) {
        (self.folder, self.substitutes) = (folder, substitutes)
    }

    /// The files of a model whose format opens them itself.
    /// - Parameter sources: what was opened.
    public init(in folder: String, holding sources: [Source]) {
        (self.folder, substitutes) = (folder, [:])
        opened.withLock { opened in
            for source in sources { opened[source.name] = source }
        }
    }

    /// Every opened file, sorted by name.
    public var sources: [Source] { opened.withLock { $0.values.sorted { $0.name < $1.name } } }

    /// Returns the path of a file of the model.
    func path(of name: String) -> String { substitutes[name] ?? "\(folder)/\(name)" }

    /// Returns whether a file or folder of this name exists.
    func has(_ name: String) -> Bool { substitutes[name] != nil || Files.kind(of: path(of: name)) != nil }

    /// Returns the names in the folder, sorted. Only files that are opened become sources.
    func names() throws -> [String] { try Files.list(folder) }

    /// Returns the paths, from this folder on, of what a folder within it has; none if there is no such folder.
    func paths(in name: String) -> [String] { ((try? Files.list("\(folder)/\(name)")) ?? []).map { "\(name)/\($0)" } }

    /// Opens a file other than weights; a second call returns the same source.
    /// - Throws: `FormatError` if it is too large or not a regular file, or if `name`, which may come from another file
    ///   of the model, points outside of the folder.
    package func open(_ name: String, as role: Source.Role = .asset) throws -> Source {
        guard isRelativeInside(name) else {
            throw FormatError(file: folder, reason: "the path \(quoted(name)) points outside of the model's folder")
        }
        if let known = opened.withLock({ $0[name] }) { return known }
        let path = path(of: name)
        if let size = Files.identity(of: path)?.size, size > Self.mostBytes {
            throw FormatError(
                file: path,
                reason:
                    "has \(size) bytes; of a file beside the weights at most \(Self.mostBytes) are taken into a package"
            )
        }
        let file = try FileContent(path, atMost: Self.mostBytes)
        return keep(
            Source(name: name, path: path, role: role, identity: file.identity, content: file.bytes))
    }

    /// Opens a JSON document; nil if the file does not exist.
    package func document(_ name: String, as role: Source.Role = .asset) throws -> JSONField? {
        if isRelativeInside(name), !has(name) { return nil }
        let source = try open(name, as: role)
        return JSONField(try JSON.parse(source.content, file: source.path), file: source.path)
    }

    /// Opens a weight file.
    /// - Parameters:
    ///   - path: its location; nil for the folder.
    ///   - prefix: the start of its tensors' names as a source.
    func weights(_ name: String, at path: String? = nil, prefix: String = "") throws -> SafetensorsFile {
        let path = path ?? self.path(of: name)
        let file: SafetensorsFile
        do {
            file = try SafetensorsFile(path)
        } catch let error as FormatError where isPickleName(path) {
            let start = try MappedFile(path).bytes
            let format = ForeignFormat(start[0..<min(start.count, 64)].withBytes { Array($0) })
            throw FormatError(
                file: path, location: error.location,
                reason: format != nil && format != .text
                    ? error.reason : "files of this name are Python pickles, which are never read",
                code: .pickledWeights)
        }
        _ = keep(
            Source(
                name: name, path: path, role: .weights, identity: file.identity, content: file.header,
                tensors: prefix.isEmpty ? file.tensors : file.tensors.map { $0.renamed(prefix + $0.name) }))
        return file
    }

    /// Records a source. The first one of each name is kept, so that all readers see the same bytes.
    private func keep(_ source: Source) -> Source {
        opened.withLock { opened in
            let kept = opened[source.name] ?? source
            opened[source.name] = kept
            return kept
        }
    }
}
