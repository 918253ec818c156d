public import AccelByteIO

/// The files of a model, and the only way to open one. Each that is opened is a source from then on: it is in the cache's key,
/// in the provenance, and, unless it holds weights, in the package. (`SourceLawTests` hold this module and ModelFamilies to it.)
///
/// Files beside the weights are read once, into memory of their own: what is parsed is what is digested and what is passed
/// through. Weights are mapped; only their header is in memory of its own.
public final class ModelFiles: Sendable {
    /// A file of the model that was opened.
    public struct Source: Sendable {
        public enum Role: Sendable {
            /// A safetensors file.
            case weights
            /// What says which shard holds which tensor. A package has no use for it.
            case index
            /// Passed through to the package: configuration, tokenizer.
            case asset
        }
        /// Relative to the model's folder, with `/` between its parts, e.g. `1_Pooling/config.json`.
        public let name: String
        public let path: String
        public let role: Role
        /// As it was before it was read.
        public let identity: FileIdentity?
        /// Of weights, those before the first tensor; of other files all. In memory of its own.
        public let content: ByteView
        /// Of weights, in the order of their bytes.
        public let tensors: [StoredTensor]

        public init(
            name: String, path: String, role: Role, identity: FileIdentity?, content: ByteView,
            tensors: [StoredTensor] = []
        ) {
            (self.name, self.path, self.role, self.identity) = (name, path, role, identity)
            (self.content, self.tensors) = (content, tensors)
        }

        /// Of the whole file.
        public var byteCount: Int { content.count + tensors.reduce(0) { $0 + $1.bytes.count } }
    }

    /// The largest tokenizers that are known have 40 MB.
    private static let mostBytes = 256 << 20
    /// The model's folder.
    public let folder: String
    /// By name, files from elsewhere that take the place of the folder's.
    private let substitutes: [String: String]
    private let opened = Locked<[String: Source]>([:])

    /// - Parameter substitutes: by name, paths of files that take the place of the folder's.
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

    /// Every file that was opened so far, sorted by name.
    public var sources: [Source] { opened.withLock { $0.values.sorted { $0.name < $1.name } } }

    /// Where a file of the model is.
    func path(of name: String) -> String { substitutes[name] ?? "\(folder)/\(name)" }

    /// Whether there is a file, or anything else, of this name.
    func has(_ name: String) -> Bool { substitutes[name] != nil || Files.kind(of: path(of: name)) != nil }

    /// The names in the folder, sorted. What is there decides which files are opened, and counts by those.
    func names() throws -> [String] { try Files.list(folder) }

    /// Opens a file that is no weights, once.
    /// - Throws: `FormatError` when it is too large or no regular file, or when `name`, which may come from another file of
    ///   the model, leads out of the folder.
    func open(_ name: String, as role: Source.Role = .asset) throws -> Source {
        guard isRelativeInside(name) else {
            throw FormatError(file: folder, reason: "the path \(quoted(name)) leads out of the model's folder")
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

    /// Opens a JSON document; nil when there is none.
    func document(_ name: String, as role: Source.Role = .asset) throws -> JSONField? {
        if isRelativeInside(name), !has(name) { return nil }
        let source = try open(name, as: role)
        return JSONField(try JSON.parse(source.content, file: source.path), file: source.path)
    }

    /// Opens a file of weights.
    /// - Parameter path: where it is, if not in the folder.
    func weights(_ name: String, at path: String? = nil) throws -> SafetensorsFile {
        let path = path ?? self.path(of: name)
        let file: SafetensorsFile
        do {
            file = try SafetensorsFile(path)
        } catch let error as FormatError where isPickleName(path) {
            throw FormatError(
                file: path, place: error.place,
                reason: foreignFormat(try MappedFile(path).bytes) != nil
                    ? error.reason : "files of this name are Python pickles, which are never read; \(conversionAdvice)")
        }
        _ = keep(
            Source(
                name: name, path: path, role: .weights, identity: file.identity, content: file.header,
                tensors: file.tensors))
        return file
    }

    /// The first one of a name stays, so that all who ask see the same bytes.
    private func keep(_ source: Source) -> Source {
        opened.withLock { opened in
            let kept = opened[source.name] ?? source
            opened[source.name] = kept
            return kept
        }
    }
}
