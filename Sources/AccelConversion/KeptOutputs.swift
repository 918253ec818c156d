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
        func figure(_ value: Double) -> JSON { value.isFinite ? .number(value) : .null }
        return [.init("sqnr", figure(sqnr))]
            + (heldOut.map {
                [.init("held_out", figure($0)), .init("held_out_samples", .integer(Int64(heldOutCount)))]
            } ?? []) + [
                .init("outputs", .array(outputs.map { ["name": .string($0.name), "sqnr": figure($0.sqnr)] }))
            ]
    }

    /// Reads the members of a document.
    /// - Throws: `FormatError` if one is missing.
    init(_ document: JSONField) throws {
        func figure(_ field: JSONField) throws -> Double { field.value == .null ? .infinity : try field.double() }
        let hasHeldOut = document["held_out"].exists
        self.init(
            sqnr: try figure(document["sqnr"]),
            heldOut: hasHeldOut ? try figure(document["held_out"]) : nil,
            heldOutCount: hasHeldOut ? try document["held_out_samples"].int(in: 1...Int.max) : 0,
            outputs: try document["outputs"].array().map {
                Output(name: try $0["name"].string(), sqnr: try figure($0["sqnr"]))
            })
    }
}
