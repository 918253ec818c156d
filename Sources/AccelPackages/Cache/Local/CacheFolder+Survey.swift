import AccelByteIO

extension CacheFolder {
    /// The folders of the layout. Records come first, because they are removed before the files that they name.
    enum Subfolder: String, CaseIterable {
        case records = "ac", packages, blobs = "cas", memos = "memo", verified, locks = "lock", leases = "lease", work =
            "tmp"
        case quarantine

        /// The test for names of subfolders; nil if there are none.
        fileprivate var isInner: ((String) -> Bool)? {
            switch self {
            case .records, .packages, .blobs, .memos, .locks: CacheNames.isShard
            case .verified: CacheNames.isBoot
            case .leases, .work, .quarantine: nil
            }
        }
    }

    /// The content of one folder of the layout.
    struct Survey {
        /// The digests that are names of entries, sorted.
        var digests: [Digest] = []
        /// The paths of these entries, of leases, and of quarantined and temporary files.
        var entries: [String] = []
        /// Incomplete files of killed processes.
        var partials: [String] = []
        /// The subfolders.
        var inner: [String] = []
        /// Files that this tool did not create.
        var foreign: [String] = []
    }

    func path(_ subfolder: Subfolder) -> String { "\(top)/\(subfolder.rawValue)" }

    func survey(_ subfolder: Subfolder) -> Survey {
        var survey = Survey()
        let folder = path(subfolder)
        guard let kind = Files.kindWithoutFollowing(folder) else { return survey }
        guard kind == .folder else { return Survey(foreign: [folder]) }
        guard let isInner = subfolder.isInner else {
            look(at: folder, subfolder, "", &survey)
            return survey
        }
        for name in (try? Files.list(folder)) ?? [] {
            let path = "\(folder)/\(name)"
            if isInner(name), Files.kindWithoutFollowing(path) == .folder {
                survey.inner.append(path)
                look(at: path, subfolder, name, &survey)
            } else if Files.kindWithoutFollowing(path) != nil {
                survey.foreign.append(path)
            }
        }
        return survey
    }

    private func look(at folder: String, _ subfolder: Subfolder, _ inner: String, _ survey: inout Survey) {
        for name in (try? Files.list(folder)) ?? [] {
            let path = "\(folder)/\(name)"
            switch kind(of: name, at: path, subfolder, inner) {
            case .entry?:
                if let digest = Digest(hexadecimal: name) { survey.digests.append(digest) }
                survey.entries.append(path)
            case .partial?: survey.partials.append(path)
            // Removed in the meantime.
            case nil where Files.kindWithoutFollowing(path) == nil: break
            case nil: survey.foreign.append(path)
            }
        }
    }

    private enum NameKind { case entry, partial }

    /// Returns nil for a foreign name.
    private func kind(of name: String, at path: String, _ subfolder: Subfolder, _ inner: String) -> NameKind? {
        let kind = Files.kindWithoutFollowing(path)
        switch subfolder {
        case .records, .blobs, .memos, .locks, .packages:
            let expected: Files.Kind = subfolder == .packages ? .folder : .file
            guard kind == expected else { return nil }
            if Digest(hexadecimal: name) != nil, name.hasPrefix(inner) { return .entry }
            return CacheNames.isPartial(name, of: CacheNames.isStartOfDigest) ? .partial : nil
        case .verified:
            guard kind == .file else { return nil }
            if Digest(hexadecimal: name) != nil { return .entry }
            return CacheNames.isPartial(name, of: CacheNames.isStartOfDigest) ? .partial : nil
        case .leases:
            guard kind == .file else { return nil }
            if CacheNames.isRandom(name) { return .entry }
            return CacheNames.isLockTrial(name) || CacheNames.isPartial(name, of: CacheNames.isRandom) ? .partial : nil
        case .work: return (kind == .file || kind == .folder) && CacheNames.isWork(name) ? .entry : nil
        case .quarantine:
            guard kind == .file || kind == .folder && !name.hasSuffix(".json") else { return nil }
            if CacheNames.isQuarantined(name) { return .entry }
            let isPartial = CacheNames.isPartial(name, of: CacheNames.isStartOfQuarantined)
            return kind == .file && isPartial ? .partial : nil
        }
    }

    /// Everything in the cache's folder that this tool did not create, sorted. Folders of other versions are not
    /// foreign.
    var foreign: [String] { (foreignInRoot + foreignInTop).sorted() }

    var foreignInRoot: [String] {
        names(in: root).filter { name in
            let path = "\(root)/\(name)"
            if name == Self.layoutName { return false }
            if let number = Int(name.dropFirst()), name == "v\(number)" { return !Self.isLayout(number, at: path) }
            guard let kind = Files.kindWithoutFollowing(path) else { return false }
            guard kind == .file else { return true }
            if let (isOurs, _) = marks[name] { return !isOurs(path) }
            return !CacheNames.isPartial(name) { marks[String($0)] != nil }
        }.map { "\(root)/\($0)" }
    }

    var foreignInTop: [String] {
        guard let kind = Files.kindWithoutFollowing(top) else { return [] }
        guard kind == .folder else { return [top] }
        let subfolders = Set(Subfolder.allCases.map(\.rawValue))
        let here = names(in: top).filter { !subfolders.contains($0) && !isTopFile($0) }.map { "\(top)/\($0)" }
            .filter { Files.kindWithoutFollowing($0) != nil }
        return here
            + Subfolder.allCases.flatMap { subfolder in
                let survey = survey(subfolder)
                return survey.foreign + (subfolder == .packages ? survey.entries.flatMap(foreignFiles(inPackage:)) : [])
            }
    }

    /// The files in the folder of the layout itself, including incomplete ones.
    var topFiles: [String] { names(in: top).filter(isTopFile).map { "\(top)/\($0)" } }
    /// Incomplete marks of killed processes.
    var partialMarks: [String] {
        names(in: root).filter { CacheNames.isPartial($0) { marks[String($0)] != nil } }.map { "\(root)/\($0)" }
            .filter { Files.kindWithoutFollowing($0) == .file }
    }

    private func isTopFile(_ name: String) -> Bool {
        let isKnown = ["format.json", "gate", "tidied"].contains
        return Files.kindWithoutFollowing("\(top)/\(name)") == .file
            && (isKnown(name) || CacheNames.isPartial(name) { isKnown(String($0)) })
    }

    private func names(in folder: String) -> [String] { (try? Files.list(folder)) ?? [] }
}
