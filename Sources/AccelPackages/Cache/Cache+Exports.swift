public import AccelByteIO

extension Cache {
    /// The name of the exporter's report in a record, beside the exported files.
    private static let reportName = "report.json"
    static let content = "content/"

    /// Reads the provenance of an export, given a function that returns the content of a file.
    public typealias ExportProvenance = (_ file: (_ name: String) throws -> ByteView?) throws -> [String: String]

    /// Restores an earlier export at `path`, completely or not at all.
    /// - Parameters:
    ///   - kind: the kind of entry that it may replace.
    ///   - provenance: reads the provenance of an export in this format. An export that contradicts the key is
    ///     quarantined.
    /// - Returns: The exporter's report, or the cause of the miss.
    /// - Throws: `RequestError` if `path` cannot be written.
    public func place(
        exported key: CacheKey, at path: String, as kind: OutputKind, provenance: ExportProvenance
    ) throws -> Result<JSON, CacheMiss> {
        lease(key.digest)
        if let remote, readingMiss == nil, (try? folder.record(key.digest)) == nil {
            remote.fetch([key.digest], into: self)
        }
        let files: [CacheRecord.File]
        let report: JSON
        do throws(CacheMiss) {
            if let miss = readingMiss { throw miss }
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

    /// Stores the folder of a new export, before it is published.
    /// - Parameters:
    ///   - path: the draft's folder, which no other process uses.
    ///   - model: the name of the model in listings.
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

    /// Returns the files in a folder and its subfolders, sorted by name.
    private static func files(below path: String) throws -> [String] {
        try Files.list(path).sorted().flatMap { name in
            Files.kindWithoutFollowing("\(path)/\(name)") == .folder
                ? try files(below: "\(path)/\(name)").map { "\(name)/\($0)" } : [name]
        }
    }
}

extension CacheFolder {
    /// Returns how an export contradicts the key of its record; nil if it does not.
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
