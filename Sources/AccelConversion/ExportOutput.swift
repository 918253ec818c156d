import AccelByteIO
import AccelFormats
import AccelPackages

/// Where an export is made, stored and published.
struct ExportOutput: CachedResult {
    let format: any Exporter.Type
    let path: String
    /// What lists of the cache call the model.
    let model: String

    /// An export that is whole, in a folder that nobody else knows. The folder goes with the draft unless it is committed.
    final class Draft {
        let path: String
        private var folder: AtomicFolder?
        let report: ExportReport
        /// The choice of schemes, to be published with it.
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
        guard case .success(let document) = kept else { return nil }
        return try ExportReport(document, file: path)
    }

    func store(_ draft: Draft, as key: CacheKey, in cache: Cache) {
        cache.store(exportAt: draft.path, report: draft.report.document, for: key, model: model)
    }
}
