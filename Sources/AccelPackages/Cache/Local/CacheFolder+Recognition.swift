package import AccelByteIO

/// The marks of a cache folder: our `CACHEDIR.TAG` and `v1/format.json`. The tag is written first and the format last,
/// both synced, so that an interruption or a power failure leaves a recognisable, incomplete cache.
extension Diagnostic.Code {
    /// A folder for the cache is that of another program.
    package static let foreignCacheFolder: Self = "foreign-cache-folder"
    /// Other users may determine what the cache holds.
    package static let sharedCache: Self = "shared-cache"
}

extension CacheFolder {
    enum Standing: Equatable {
        case absent
        case cache
        /// An empty folder, or only files that this tool creates: it can become a cache.
        case unfinished
        /// The folder of another program, with the reason.
        case foreign(Diagnostic)
    }

    var standing: Standing {
        switch Files.kind(of: root) {
        case nil: return .absent
        case .folder?: break
        case let kind?: return .foreign("there is \(kind) of that name")
        }
        if isTagged, minimumReader != nil, Files.kindWithoutFollowing(top) == .folder { return .cache }
        guard let stranger = (isTagged ? foreignInTop : foreign).first else { return .unfinished }
        return .foreign(
            Diagnostic("accelc has not made this folder, or not all of it (\(stranger))", code: .foreignCacheFolder))
    }

    /// The folder has the tag of an accelc cache.
    var isTagged: Bool { Files.holds(Self.tagText, at: tagPath) }

    /// Returns why this tool must not use the folder; nil if it may.
    func unusableReason() -> Diagnostic? {
        if case .foreign(let reason) = standing { return reason }
        if let minimum = minimumReader, minimum > 1 {
            return "\(formatPath) asks for a newer accelc; the cache is left alone"
        }
        return trustsOthers ? nil : distrust
    }

    /// Why other users may determine the content of the cache; nil if they may not.
    private var distrust: Diagnostic? {
        for path in [root, top] {
            guard let access = Files.access(of: path), let reason = Self.distrust(of: access) else { continue }
            return Diagnostic("\(path) \(reason)", code: .sharedCache, subject: path)
        }
        return nil
    }

    /// Removes others' access to an own cache, because an earlier version created it with the permissions of the umask.
    func close() {
        guard !trustsOthers, let access = Files.access(of: top), access.owner == Files.user else { return }
        if access.mode & 0o077 != 0 { Files.setMode(0o700, of: top) }
    }

    /// Creates the marks for this tool, for people and for backup programs.
    func prepare() throws {
        if standing == .cache {
            // An earlier version was interrupted before its last file.
            if !foreignInRoot.contains(readmePath) { try write(Self.readmeText, to: readmePath) }
            return
        }
        if let unusableReason = unusableReason() { throw RequestError(unusableReason, status: .unavailable) }
        if let parent = Files.parentFolder(of: root) { try Files.makeFolder(parent) }
        try makeFolder(root)
        try write(Self.tagText, to: tagPath)
        try write(Self.readmeText, to: readmePath)
        try makeFolder(top)
        if minimumReader == nil { try write(Self.formatText, to: formatPath) }
    }

    private func write(_ text: String, to path: String) throws {
        guard !Files.holds(text, at: path) else { return }
        try AtomicFile.write(text, to: path, as: .internal)
    }

    private var tagPath: String { "\(root)/CACHEDIR.TAG" }
    private var readmePath: String { "\(root)/README" }
    var formatPath: String { "\(top)/format.json" }

    private static let formatText = #"{"layout":\#(layout),"min_reader":1}"# + "\n"
    private static let tagText = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This file marks a cache folder of accelc: see https://bford.info/cachedir/

        """
    private static let readmeText = """
        accelc keeps here what conversions can use again. All of it can be removed at any time, best with
        `accelc cache clear`; `accelc cache gc` removes what has not been used for long. \(layoutName)/ is the layout
        of this version: cas/ holds contents by their SHA-256, ac/ says which conversion had which contents.

        """

    /// The marks in the cache's folder, by name, each with a test whether it is ours. A mark of an earlier version may
    /// be empty or zeroed after a power failure.
    var marks: [String: (isOurs: (String) -> Bool, text: String)] {
        func isOurs(_ text: String) -> (String) -> Bool {
            { path in
                Files.holds(text, at: path)
                    || (try? MappedFile(path).bytes.withBytes { $0.count < 4096 && $0.allSatisfy { $0 == 0 } }) == true
            }
        }
        return [
            "CACHEDIR.TAG": (isOurs(Self.tagText), Self.tagText), "README": (isOurs(Self.readmeText), Self.readmeText),
        ]
    }

    /// The oldest version that can read the layout; nil if the file is empty, as after a power failure.
    private var minimumReader: Int? {
        guard Files.kindWithoutFollowing(formatPath) == .file else { return nil }
        return try? JSONField(JSON.read(formatPath), file: formatPath)["min_reader"].int()
    }

    /// Returns whether a folder has the layout of another version.
    static func isLayout(_ number: Int, at path: String) -> Bool {
        guard Files.kindWithoutFollowing(path) == .folder else { return false }
        let format = "\(path)/format.json"
        return (try? JSONField(JSON.read(format), file: format)["layout"].int()) == number
    }
}
