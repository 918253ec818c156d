import AccelByteIO
import AccelCalibration
import AccelPackages

/// The outputs of a package or an export over samples, which the cache keeps: a run that finds its result there measures nothing.
struct KeptOutputs {
    private let key: CacheKey
    private let model: String
    private let cache: Cache?

    /// - Parameter result: the digest of a package, or that of an export's key.
    init(of result: Digest, samples: Digest, model: String, in cache: Cache?) {
        key = CacheKey(outputsOf: result, samples: samples)
        (self.model, self.cache) = (model, cache)
    }

    /// The figures of an earlier run; nil if there are none.
    var found: SampledOutputs? {
        guard let content = cache.flatMap({ $0.found($0.statistics(for: key)) }),
            let document = try? JSON.parse(content, file: "outputs \(key.digest)")
        else { return nil }
        return try? SampledOutputs(JSONField(document, file: "outputs"))
    }

    /// Keeps the figures.
    func keep(_ outputs: SampledOutputs) {
        let text = JSON.object(outputs.members).text()
        let record = cache?.put(statistics: [ByteView(Array(text.utf8))], for: key, model: model)
        if let record { cache?.publish(record) }
    }
}

extension SampledOutputs {
    /// The members of documents: `sqnr`, `held_out` and the number of its samples where there are some, and `outputs` with that
    /// of each. JSON has no infinity: null stands for it.
    package var members: [JSON.Member] {
        [.init("sqnr", .sqnr(sqnr))]
            + (heldOut.map {
                [.init("held_out", .sqnr($0)), .init("held_out_samples", .integer(Int64(heldOutCount)))]
            } ?? []) + [
                .init("outputs", .array(outputs.map { ["name": .string($0.name), "sqnr": .sqnr($0.sqnr)] }))
            ]
    }

    /// Reads the members of a document.
    /// - Throws: `FormatError` if one is missing.
    init(_ document: JSONField) throws {
        let hasHeldOut = document["held_out"].exists
        self.init(
            sqnr: try document["sqnr"].sqnr(),
            heldOut: hasHeldOut ? try document["held_out"].sqnr() : nil,
            heldOutCount: hasHeldOut ? try document["held_out_samples"].int(in: 1...Int.max) : 0,
            outputs: try document["outputs"].array().map {
                Output(name: try $0["name"].string(), sqnr: try $0["sqnr"].sqnr())
            })
    }
}

extension JSON {
    /// A signal-to-noise ratio in dB. JSON has no infinity: null stands for a result without error.
    static func sqnr(_ value: Double) -> JSON { value.isFinite ? .number(value) : .null }
}

extension JSONField {
    /// Returns a ratio that `JSON.sqnr` has written.
    func sqnr() throws -> Double { value == .null ? .infinity : try double() }
}
