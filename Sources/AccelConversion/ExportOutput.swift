import AccelByteIO
import AccelFormats
import AccelPackages

/// The destination of an export: makes, stores and publishes it.
struct ExportOutput: CachedResult {
    let format: any Exporter.Type
    let path: String
    /// The model's name in listings of the cache.
    let model: String

    /// A finished export in a private folder. The folder is removed with the draft unless `commit()` publishes it.
    final class Draft {
        let path: String
        private var folder: AtomicFolder?
        let report: ExportReport
        /// The compression plan, published with the export; nil without a target.
        let plan: PlanFolder?

        init(_ folder: consuming AtomicFolder, _ report: ExportReport, _ plan: PlanFolder?) {
            path = folder.path
            (self.report, self.plan) = (report, plan)
            self.folder = consume folder
        }

        func commit() throws {
            guard let folder = folder.take() else { return }
            try folder.commit()
        }
    }

    func find(_ key: CacheKey, in cache: Cache) throws -> ExportReport? {
        let kept = try cache.place(exported: key, at: path, as: format.output, provenance: format.provenance)
        guard let document = cache.found(kept) else { return nil }
        return try ExportReport(document, file: path)
    }

    func store(_ draft: Draft, as key: CacheKey, in cache: Cache) {
        cache.store(exportAt: draft.path, report: draft.report.document, for: key, model: model)
    }
}
