public import AccelByteIO

extension Cache {
    /// The record's name of what the exporter said, beside the files that it wrote.
    private static let reportName = "report.json"
    static let content = "content/"

    /// Reads what an export says of its origin: a function from the content of each of its files.
    public typealias ExportProvenance = (_ file: (_ name: String) throws -> ByteView?) throws -> [String: String]

    /// Puts the folder of an earlier export at `path`, whole or not at all, as packages are put.
    /// - Parameters:
    ///   - kind: what it may replace.
    ///   - provenance: reads an export of this format. One that contradicts the key goes into quarantine.
    /// - Returns: what the exporter said of it, or why there is none.
    /// - Throws: `RequestError` when `path` cannot be written.
    public func place(
        exported key: CacheKey, at path: String, as kind: OutputKind, provenance: ExportProvenance
    ) throws -> Result<JSON, CacheMiss> {
        lease(key.digest)
        if let remote, readingObjection == nil, (try? folder.record(key.digest)) == nil {
            remote.fetch([key.digest], into: self)
        }
        let files: [CacheRecord.File]
        let report: JSON
        do throws(CacheMiss) {
            if let objection = readingObjection { throw objection }
            let record = try folder.record(key.digest)
            files = record.files
            var said: ByteView?
            for file in files {
                let blob = try folder.verifiedBlob(file)
                if file.path == Self.reportName { said = blob }
            }
            guard let said, let json = try? JSON.parse(said, file: Self.reportName) else {
                throw CacheMiss(.malformedRecord("it is not that of an export"))
            }
            report = json
            if let reason = folder.contradiction(ofExport: record, provenance) { throw folder.wrong(record, reason) }
        } catch {
            return .failure(error)
        }
        let target = try AtomicFolder(replacing: path, as: kind)
        for file in files where file.path.hasPrefix(Self.content) {
            let name = "\(target.path)/\(file.path.dropFirst(Self.content.count))"
            try Files.makeFolder(Files.parentFolder(of: name) ?? target.path)
            if let miss = try put(file, at: name, mayLink: false) { return .failure(miss) }
        }
        try target.commit()
        noteUse(of: key.digest)
        return .success(report)
    }

    /// Keeps the folder that an exporter has just written, before it is published.
    /// - Parameters:
    ///   - path: the draft's folder, which nobody else knows.
    ///   - model: what to call it in lists.
    public func store(exportAt path: String, report: JSON, for key: CacheKey, model: String) {
        _ = writing { folder in
            lease(key.digest)
            var files = try Self.files(below: path).map { name in
                var file = try folder.putFile("\(path)/\(name)")
                file.path = Self.content + name
                return file
            }
            var said = try folder.putBlob([ByteView(Array(report.text().utf8))])
            said.path = Self.reportName
            files.append(said)
            let record = CacheRecord(key: key, files: files, model: model)
            try folder.putRecord(record)
            remote?.add(record)
        }
    }

    /// The files in a folder and its folders, sorted by name.
    private static func files(below path: String) throws -> [String] {
        try Files.list(path).sorted().flatMap { name in
            Files.kindWithoutFollowing("\(path)/\(name)") == .folder
                ? try files(below: "\(path)/\(name)").map { "\(name)/\($0)" } : [name]
        }
    }
}

extension CacheFolder {
    /// Returns what an export says against its being what its record's key asks for; nil when nothing does.
    func contradiction(ofExport record: CacheRecord, _ provenance: Cache.ExportProvenance) -> String? {
        do {
            let found = try provenance { name in
                try record.files.first { $0.path == Cache.content + name }.map { try blob($0) }
            }
            return record.key.contradiction(withExport: found)
        } catch {
            return "\(error)"
        }
    }
}
