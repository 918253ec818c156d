import AccelByteIO
import AccelPackages

/// The SQNR of a package's outputs over samples, which the cache keeps: a conversion that finds its package there runs nothing.
struct OutputSQNR {
    private static let member = "sqnr"
    private let key: CacheKey
    private let model: String
    private let cache: Cache?

    init(of package: Digest, samples: Digest, model: String, in cache: Cache?) {
        key = CacheKey(outputsOf: package, samples: samples)
        (self.model, self.cache) = (model, cache)
    }

    /// The figure of an earlier run, in dB; nil if there is none.
    var found: Double? {
        guard let content = try? cache?.statistics(for: key).get(),
            let document = try? JSON.parse(content, file: "outputs \(key.digest)")
        else { return nil }
        // JSON has no infinity.
        let field = JSONField(document, file: "outputs")[Self.member]
        return field.value == .null ? .infinity : try? field.double()
    }

    /// Keeps a figure, and returns it.
    func keeping(_ sqnr: Double) -> Double {
        let document: JSON = .object([.init(Self.member, sqnr.isFinite ? .number(sqnr) : .null)])
        let record = cache?.put(statistics: [ByteView(Array(document.text().utf8))], for: key, model: model)
        if let record { cache?.publish(record) }
        return sqnr
    }
}
