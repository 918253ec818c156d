import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// S1: decodes every stored tensor from the written bytes and compares it with the checkpoint's, a block of rows at a
/// time on several threads.
struct WeightStage {
    let program: ModelPlan
    let model: ReferenceModel
    let budget: Budget?
    let threads: Int
    /// The recorded error of each weight when the package was written.
    var recorded: [String: Distortion] = [:]
    /// The codecs whose version differs between this tool and the one that made the package, so that codes may differ.
    var otherCodecs: Set<String> = []
    /// The package was made from another model: element types may differ, and codes do not have to equal those of a
    /// conversion of this model. Limits still apply.
    var isOfAnother = false
    /// The weights that the model's files have encoded, by name.
    var encoded: [String: EncodedWeight] = [:]
    /// The weights whose codes another search may have made than the one of their scheme. They are equal to a new compression, or held to
    /// error bounds.
    var freeCodes: Set<String> = []
    /// Compresses each weight again to compare its bytes; else only its values are compared.
    var provesCodes = true
    /// The number of elements in a block. The sums of a tensor depend on it, so it does not depend on the number of
    /// threads.
    private static let blockElements = 1 << 20
    /// The number of elements of a block that are decoded at once: they stay in the second cache level.
    private static let elementsAtOnce = 1 << 15

    /// The share of their energy that the stored weights lose.
    private var loss: Double { RowBound.loss(of: program.weights) }

    struct Result {
        var weights: [WeightFinding] = []
        /// All weights together, without tables.
        var metrics = Metrics()
        /// Sentences about weights that the model has and the package lacks, and the other way round.
        var misfits: [String] = []
    }

    func run(progress: (Double) -> Void = { _ in }) throws -> Result {
        var result = Result()
        for (index, weight) in program.weights.enumerated() {
            progress(Double(index) / Double(program.weights.count))
            guard let (finding, metrics) = try finding(weight) else { continue }
            result.weights.append(finding)
            if !finding.isTable { result.metrics.merge(metrics) }
        }
        result.misfits = misfits()
        return result
    }

    /// Returns sentences about weights that only one side has, or whose shapes or types differ.
    func misfits() -> [String] {
        let ofPackage = program.weights.compactMap { weight -> String? in
            guard source(for: weight) == nil else { return nil }
            guard let first = model.sources(of: weight.name).first else {
                return "the package stores \"\(weight.name)\", which the model does not have"
            }
            return "\"\(weight.name)\" is stored as \(weight.elementType.rawValue)\(weight.shape), "
                + "but the model has \(first.elementType.rawValue)\(first.shape)"
        }
        let stored = Set(program.weights.map(\.name))
        let ofModel = model.weights.keys.sorted().filter { !stored.contains($0) }
        return ofPackage + ofModel.map { "the model's weight \"\($0)\" is missing in the package" }
    }

    /// Returns the model's tensor for a stored one; of several tables of one name, the equal one if there is one. A table has the name of
    /// its node, which another version of the family may call otherwise: any equal table stands for it.
    private func source(for weight: CompressedTensor) -> StoredTensor? {
        let sources = model.sources(of: weight.name)
        if sources.isEmpty { return model.table(equalTo: weight) }
        let fitting = sources.filter {
            $0.shape == weight.shape && (isOfAnother || $0.elementType == weight.elementType)
        }
        return fitting.first { weight.sections == [$0.bytes] } ?? fitting.first
    }

    /// Returns nil if the model has no such weight.
    func finding(_ weight: CompressedTensor) throws -> (finding: WeightFinding, metrics: Metrics)? {
        guard let source = source(for: weight) else { return nil }
        let ranges = blocks(of: weight.shape)
        let blocks = try Parallel.map(ranges.count, threads: threads) { compare(ranges[$0], of: weight, source) }
        var metrics = Metrics()
        for block in blocks { metrics.merge(block.metrics) }
        // Kept codes are the file's, wherever another quantizer would put them.
        let isFree = isKept(weight) || freeCodes.contains(weight.name)
        let violation = isFree ? nil : blocks.lazy.compactMap(\.violation).first
        let isTable = model.weights[weight.name] == nil
        let limit = budget?.tolerance(forWeight: weight.name)
        // A proof of the bytes says that they are right, whatever the scheme loses on this weight.
        let isProved = !isOfAnother && provesCodes
        let tolerance: Tolerance =
            isTable
            ? .exact(origin: "a table is stored as it is")
            : limit ?? (isProved ? Tolerance(origin: "the stored bytes are proved") : .scheme(ofWeight: weight))
        var wrong = violation.map { "element \($0.index): \($0.reason)" }
        if wrong == nil, !isProved, !isTable { wrong = Tolerance.scheme(ofWeight: weight).failureReason(for: metrics) }
        var failure = limit == nil || violation != nil ? wrong : nil
        failure = failure ?? tolerance.failureReason(for: metrics)
        var bound: RowBound.Finding?
        if failure == nil, isProved {
            (bound, failure) = try storage(of: weight, source, metrics)
            wrong = failure
        }
        let finding = WeightFinding(
            name: weight.name, shape: weight.shape, codec: weight.codec.specification, byteCount: weight.byteCount,
            sourceByteCount: source.bytes.count, isTable: isTable, metrics: metrics.summarized, tolerance: tolerance,
            bound: bound, failure: failure, isWrong: wrong != nil)
        return (finding, metrics)
    }

    /// Whether a weight has to have the codes of the model's files.
    private func isKept(_ weight: CompressedTensor) -> Bool {
        model.scalings.isEmpty && encoded[weight.name]?.codec.values == weight.codec.values
    }

    /// Requires that compressing the checkpoint's tensor again gives the same bytes and the errors that the package
    /// recorded. If that cannot prove the stored bytes, the rows are held to error bounds.
    private func storage(
        of weight: CompressedTensor, _ source: StoredTensor, _ metrics: Metrics
    ) throws -> (bound: RowBound.Finding?, failure: String?) {
        if let encoded = encoded[weight.name], isKept(weight) {
            return (nil, Self.difference(of: weight, from: try encoded.tensor()))
        }
        let again = try Recompression(of: source, as: weight.codec, threads: threads)
        let difference = again?.failureReason(for: weight)
        if difference != nil, freeCodes.contains(weight.name) {
            let (bound, failureReason) = try bounded(weight, source, ChannelScaling(), because: .search)
            return (bound, failureReason)
        }
        if let again, otherCodecs.isDisjoint(with: weight.codec.values.layers.map(\.codec)) {
            if let difference { return (nil, difference) }
            if let found = recorded[weight.name], !found.isSame(as: again.distortion) {
                return (
                    nil,
                    "the package recorded \(Self.words(found)), but compressing the checkpoint's tensor again gives "
                        + Self.words(again.distortion)
                )
            }
        } else if let failureReason = recordFailure(to: metrics, of: weight.name) {
            return (nil, failureReason)
        }
        // Smoothing trades the error of weights for that of activations: the scheme is held to its error on the scaled tensor.
        let scaling = model.isSmoothed ? nil : model.scalings[weight.name]
        let isEqual = again != nil && difference == nil
        // A scaled weight without loss equals the checkpoint's tensor.
        guard !isEqual || scaling != nil && !metrics.isExact else { return (nil, nil) }
        let reason: RowBound.Reason = again == nil ? .calibration : isEqual ? .scaling : .version
        let (bound, failureReason) = try bounded(weight, source, scaling ?? ChannelScaling(), because: reason)
        return (bound, failureReason)
    }

    /// Returns the first difference of a stored weight from the encoding of the checkpoint as text; nil if they are equal.
    private static func difference(of weight: CompressedTensor, from encoded: CompressedTensor) -> String? {
        let names = weight.codec.sections(elementType: weight.elementType, shape: weight.shape).map(\.name)
        for (name, (found, wanted)) in zip(names, zip(weight.sections, encoded.sections)) {
            if let index = found.firstDifference(from: wanted) {
                return "\(name): byte \(index) of \(wanted.count) is not that of the checkpoint's own codes"
            }
        }
        return nil
    }

    /// Holds each row to the error of the same scheme on the checkpoint's own tensor.
    private func bounded(
        _ weight: CompressedTensor, _ source: StoredTensor, _ scaling: ChannelScaling, because reason: RowBound.Reason
    ) throws -> (finding: RowBound.Finding?, failureReason: String?) {
        let back = scaling.inverse
        guard let own = scaling == ChannelScaling() ? source : source.scaled(by: back) else {
            return (nil, "its channels cannot be scaled back")
        }
        let bound = try RowBound(of: own, as: weight.codec, among: loss, threads: threads)
        let blocks = blocks(of: weight.shape)
        let sums = try Parallel.map(blocks.count, threads: threads) { index in
            var stored = weight.floats(ofRows: blocks[index])
            stored.withUnsafeMutableBufferPointer { back.apply(to: $0, rows: blocks[index]) }
            return bound.sums(blocks[index], stored: stored, source: own.floats(ofRows: blocks[index]))
        }
        return bound.verdict(sums, because: reason)
    }

    private static func words(_ distortion: Distortion) -> String {
        "a squared error of \(distortion.squaredError), an energy of \(distortion.energy) and a largest error of "
            + "\(distortion.maximumError)"
    }

    /// The stored bytes must have the error that was recorded when they were written. The tolerance is above the
    /// difference of sums in another order.
    private func recordFailure(to metrics: Metrics, of name: String) -> String? {
        guard let distortion = recorded[name] else { return nil }
        let figures = [
            ("squared error", metrics.squaredError, distortion.squaredError),
            ("energy", metrics.referenceEnergy, distortion.energy),
            ("largest error", metrics.maximumError, distortion.maximumError),
        ]
        let wrong = figures.first { abs($0.1 - $0.2) > 1e-4 * max($0.1, $0.2) }
        return wrong.map { "has a \($0) of \($1), but the package recorded \($2) when it was written" }
    }

    private func compare(
        _ rows: Range<Int>, of weight: CompressedTensor, _ source: StoredTensor
    ) -> (metrics: Metrics, violation: (index: Int, reason: String)?) {
        var metrics = Metrics()
        let columns = weight.shape.columns
        let parts = Self.parts(of: rows, columns: columns, elements: Self.elementsAtOnce)
        let most = (parts.first?.count ?? 0) * columns
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 2 * most + 1) { floats in
            for part in parts {
                let count = part.count * columns
                let stored = UnsafeMutableBufferPointer(rebasing: floats[..<count])
                let wanted = UnsafeMutableBufferPointer(rebasing: floats[most..<most + count])
                weight.codec.decode(part, of: weight, into: stored)
                source.readFloats(part.lowerBound * columns..<part.upperBound * columns, into: wanted)
                metrics.record(UnsafeBufferPointer(stored), against: UnsafeBufferPointer(wanted))
            }
        }
        return (metrics, weight.codec.violation(rows, of: weight, source: source))
    }

    /// Returns all rows, divided into blocks.
    private func blocks(of shape: Shape) -> [Range<Int>] {
        Self.parts(of: 0..<shape.rows, columns: shape.columns, elements: Self.blockElements)
    }

    private static func parts(of rows: Range<Int>, columns: Int, elements: Int) -> [Range<Int>] {
        let step = max(1, elements / max(columns, 1))
        return stride(from: rows.lowerBound, to: rows.upperBound, by: step).map {
            $0..<min($0 + step, rows.upperBound)
        }
    }
}

extension CompressedTensor {
    /// Returns some rows, decoded.
    func floats(ofRows rows: Range<Int>) -> [Float] {
        let count = rows.count * shape.columns
        return [Float](unsafeUninitializedCapacity: count) { target, written in
            target.initialize(repeating: 0)
            codec.decode(rows, of: self, into: target)
            written = count
        }
    }
}

extension StoredTensor {
    /// Returns some rows, converted to float32.
    func floats(ofRows rows: Range<Int>) -> [Float] {
        let count = rows.count * shape.columns
        return [Float](unsafeUninitializedCapacity: count) { target, written in
            target.initialize(repeating: 0)
            readFloats(rows.lowerBound * shape.columns..<rows.upperBound * shape.columns, into: target)
            written = count
        }
    }
}
