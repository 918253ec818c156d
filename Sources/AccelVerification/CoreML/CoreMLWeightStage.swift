import AccelByteIO
import AccelFormats
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// S1 for a Core ML package: compares every decompressed weight with its tensor of the checkpoint. Weights that hold
/// rows of one tensor are one comparison, which has to cover all rows of the tensor.
struct CoreMLWeightStage {
    let package: CoreMLPackage
    let sources: [StoredTensor]
    let budget: Budget?
    let threads: Int
    /// Each code has to be the nearest one, because no other comparison proves the codes.
    var asksForNearest = false
    /// Returns whether a weight of the package or of the model needs no comparison here: the repeated export compared
    /// it exactly, or the outputs of functions check it.
    var isProved: (String) -> Bool = { _ in false }
    /// The schemes that plain numbers may have been decoded from, by the model's names.
    var schemes: [String: SchemeTolerance] = [:]
    /// The error bounds of weights whose codes cannot be proved, by the model's names.
    var bounds: [String: RowBound] = [:]

    struct Result {
        var weights: [WeightFinding] = []
        var metrics = Metrics()
        var notCompared: [NotCompared] = []
        /// Compressed weights whose encoding does not determine which code is nearer.
        var unproved: [String] = []
        /// The package's elements in the checkpoint's order, by the checkpoint's name.
        var stored: [String: StoredTensor] = [:]
    }

    func run(_ weights: [CoreMLWeight], progress: (Double) -> Void) throws -> Result {
        var result = Result()
        let matcher = CoreMLWeightMatcher(sources)
        var matches = weights.map(matcher.byName)
        var taken = Set(matches.compactMap { $0?.source.name })
        var joined: [String: JoinedTensor] = [:]
        for (index, weight) in weights.enumerated() {
            progress(Double(index) / Double(weights.count))
            // A scalar or a vector of one number without a name of the model is a constant of the converter.
            guard weight.shape.count > 1 || weight.holds != nil || matches[index] != nil else { continue }
            let tensor = try package.tensor(of: weight)
            let elements = tensor.floats()
            if matches[index] == nil {
                matches[index] = matcher.byElements(weight, elements, excluding: taken)
                if let match = matches[index] { taken.insert(match.source.name) }
            }
            guard let match = matches[index] else {
                guard !isProved(weight.name) else { continue }
                result.notCompared.append(
                    NotCompared(
                        stage: .weights, name: weight.name, reason: matcher.failureReason(for: weight), isRequired: true
                    ))
                continue
            }
            let original = match.floats(as: weight.shape)
            let metrics = Metrics(elements, against: original)
            result.metrics.merge(metrics)
            let tolerance =
                budget?.tolerance(forWeight: match.source.name)
                ?? .scheme(of: weight, decodedFrom: schemes[match.source.name])
            var failure = tolerance.failureReason(for: metrics)
            if !weight.isCompressed, schemes[match.source.name] == nil,
                budget?.tolerance(forWeight: match.source.name) == nil
            {
                failure = failure ?? Self.changedNumber(elements, original)
            }
            if asksForNearest, weight.isCompressed {
                if let codes = try package.nearestCodes(of: weight, for: original) {
                    let isAllowed = budget?.tolerance(forWeight: match.source.name) != nil
                    failure = failure ?? (isAllowed ? nil : codes.failureReason)
                } else {
                    result.unproved.append(weight.name)
                    if !match.isTransposed { failure = failure ?? Self.lostRow(of: weight, elements, original) }
                }
            }
            let floats = match.isTransposed ? Self.transposed(elements, match.source.shape) : elements
            let verdict = bounds[match.source.name].map { bound in
                let rows = match.rows ?? 0..<match.source.shape.rows
                let sums = bound.sums(rows, stored: floats, source: match.source.floats(ofRows: rows))
                return bound.verdict([sums], because: .calibration)
            }
            failure = failure ?? verdict?.failureReason
            if let rows = match.rows {
                joined[match.source.name, default: JoinedTensor(source: match.source)]
                    .add(rows, weight, elements, metrics, tolerance, verdict)
                continue
            }
            // A constant that reads the bytes of its tensor's earlier one is checked, and is no weight more.
            let isListed = result.stored[match.source.name] != nil
            guard weight.repeats == nil || failure != nil || !isListed else { continue }
            result.weights.append(
                WeightFinding(
                    name: match.source.name, shape: match.source.shape, codec: weight.codec,
                    byteCount: (weight.storedBits + 7) / 8, sourceByteCount: match.source.bytes.count, isTable: false,
                    metrics: metrics.summarized, tolerance: tolerance, bound: verdict?.finding, failure: failure))
            result.stored[match.source.name] = StoredTensor(
                name: match.source.name, floats: floats, shape: match.source.shape)
        }
        for (name, tensor) in joined.sorted(by: { $0.key < $1.key }) {
            result.weights += [tensor.finding].compactMap(\.self)
            if tensor.missing == nil, result.stored[name] == nil { result.stored[name] = tensor.stored }
        }
        for source in sources where !taken.contains(source.name) && !isProved(source.name) {
            result.notCompared.append(
                NotCompared(
                    stage: .weights, name: source.name, reason: "no weight of the package stands for it",
                    isRequired: true))
        }
        return result
    }

    /// Returns a failure if a number is not the checkpoint's, or that as float16. Rounding to float16 changes a number by at most 2^-11 of
    /// it, and by 2^-25 where it is below the smallest normal number of float16; converters that cut bits off change it by twice as much.
    private static func changedNumber(_ elements: [Float], _ original: [Float]) -> String? {
        let index = elements.indices.first { index in
            let (found, wanted) = (elements[index], original[index])
            return !(abs(found - wanted) <= max(abs(wanted) * 0x1p-10, 0x1p-24))
        }
        return index.map {
            "element \($0): \(elements[$0]) is neither the checkpoint's \(original[$0]) nor that as float16"
        }
    }

    /// Returns a failure if a row is zeros although the checkpoint's row is not. With scales over code tables only a
    /// row of zeros becomes zeros, apart from elements that float16 rounds to zero. Vector tables and sparse encodings
    /// are exempt, because they may drop a small row.
    private static func lostRow(of weight: CoreMLWeight, _ elements: [Float], _ original: [Float]) -> String? {
        let width = weight.shape.columns
        guard !weight.isSparse, !weight.isOfVectors, width > 1 else { return nil }
        let row = stride(from: 0, to: elements.count, by: width).first { start in
            elements[start..<start + width].allSatisfy { $0 == 0 }
                && original[start..<start + width].contains { abs($0) > leastRow }
        }
        return row.map { "row \($0 / width): all is zero, and the checkpoint's is not" }
    }
    /// The largest element of a row that may become zeros: in float16, the scales of 8-bit codes for smaller elements
    /// are zeros.
    private static let leastRow: Float = 0x1p-16

    /// Returns the elements of a matrix [columns, rows] in the order of `shape` = [rows, columns], which may have
    /// additional axes of size 1.
    private static func transposed(_ elements: [Float], _ shape: Shape) -> [Float] {
        let sizes = shape.dimensions.filter { $0 != 1 }
        let (rows, columns) = (sizes[0], sizes[1])
        return (0..<rows * columns).map { elements[$0 % columns * rows + $0 / columns] }
    }
}

extension CoreMLWeight {
    /// The group of the weight in reports, e.g. `palette, 4 bits`.
    var codec: String { form.split(separator: ",").prefix(2).joined(separator: ",") }
}

extension SchemeTolerance {
    /// Returns the line for a weight of a Core ML package, by the bits of its codes. Sparse encodings may lose as much
    /// as one bit does.
    /// - Parameter scheme: that of the conversion; an export may store a weight whose scheme Core ML lacks as plain numbers.
    static func line(for weight: CoreMLWeight, decodedFrom scheme: SchemeTolerance? = nil) -> SchemeTolerance {
        guard weight.isCompressed else {
            // Converters may round uncompressed numbers before they write them in a wider type.
            let plain = table.first { $0.scheme == "float16" } ?? table[0]
            return [plain, scheme].compactMap(\.self).min { $0.weight < $1.weight } ?? plain
        }
        return table.first { $0.bits <= min(weight.isSparse ? 0 : weight.codeBits, 8) } ?? table[0]
    }
}

extension Tolerance {
    fileprivate static func scheme(of weight: CoreMLWeight, decodedFrom scheme: SchemeTolerance?) -> Tolerance {
        let line = SchemeTolerance.line(for: weight, decodedFrom: scheme)
        return Tolerance(sqnr: line.weight, origin: "the default for \(line.scheme)")
    }
}
