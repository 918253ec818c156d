import AccelFormats
import AccelTensors

/// Matches weights of a Core ML package with tensors of a checkpoint: by the tensor that accelc recorded, by the names
/// that converters derive, or else by shape and elements.
struct CoreMLWeightMatcher {
    struct Match {
        let source: StoredTensor
        /// The package holds the matrix with its axes exchanged.
        var isTransposed = false
        /// The rows of the source that the weight holds; nil for all.
        var rows: Range<Int>?
    }
    private let sources: [StoredTensor]
    private let byName: [String: StoredTensor]

    init(_ sources: [StoredTensor]) {
        self.sources = sources.sorted { $0.name < $1.name }
        byName = Dictionary(sources.map { (Self.identifier($0.name), $0) }) { first, _ in first }
    }

    /// Returns a name in lower case, with underscores for all characters that are not ASCII letters or digits.
    static func identifier(_ name: String) -> String {
        String(name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// Returns values by the identifiers of their names.
    static func identified<Value>(_ values: some Sequence<(key: String, value: Value)>) -> [String: Value] {
        Dictionary(values.map { (identifier($0.key), $0.value) }) { first, _ in first }
    }

    /// Returns names by their identifiers.
    static func identified(_ names: some Sequence<String>) -> [String: String] {
        Dictionary(names.map { (identifier($0), $0) }) { first, _ in first }
    }

    /// Returns the identifier of an output, without the suffix that separates it from a state of the same name. A name that ends so
    /// by itself, as that of a pooler's output does, stays whole.
    /// - Parameter states: the names of the function's states.
    static func output(_ name: String, besides states: some Sequence<String>) -> String {
        let suffix = CoreMLModel.outputSuffix
        let short = identifier(name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name)
        return states.contains { identifier($0) == short } ? short : identifier(name)
    }

    /// The suffixes that converters add to a tensor's name.
    private static let endings = [
        "_to_fp16", "_to_fp32", "_palettized", "_quantized", "_sparsified", "_pcs", "_promoted", "_cast_fp16",
    ]

    /// Returns the name of a weight without the suffixes that converters add.
    private static func base(_ name: String) -> String {
        var name = identifier(name)
        while let ending = endings.first(where: name.hasSuffix) { name = String(name.dropLast(ending.count)) }
        return name
    }

    /// Returns the match that the package records; if there is one, names are not compared.
    func bySaying(_ weight: CoreMLWeight, _ held: TensorRows) -> Match? {
        guard let source = sources.first(where: { $0.name == held.tensor }), let count = source.shape.dimensions.first,
            held.rows.upperBound <= count
        else { return nil }
        let own = [held.rows.count] + source.shape.dimensions.dropFirst()
        guard own.filter({ $0 != 1 }) == weight.shape.dimensions.filter({ $0 != 1 }) else { return nil }
        return Match(source: source, rows: held.rows.count == count ? nil : held.rows)
    }

    /// Returns the match that the package records, or else a match by name: an equal name, or one with the same ending
    /// (`model_encoder_...` for `encoder_...`).
    func byName(_ weight: CoreMLWeight) -> Match? {
        if let held = weight.holds { return bySaying(weight, held) }
        if let source = byName[Self.base(weight.name)], let match = Self.match(weight.shape, source) { return match }
        let fitting = alike(weight).compactMap { Self.match(weight.shape, $0) }
        return fitting.max { $0.source.name.count < $1.source.name.count }
    }

    /// Returns the tensors whose names end with the weight's name, or whose whole name the weight's name ends with.
    private func alike(_ weight: CoreMLWeight) -> [StoredTensor] {
        let name = Self.base(weight.name)
        return sources.filter { source in
            let other = Self.identifier(source.name)
            return name.hasSuffix("_\(other)") || other.hasSuffix("_\(name)")
        }
    }

    /// Returns the reason that no tensor of the model matches a weight.
    func failureReason(for weight: CoreMLWeight) -> String {
        if let held = weight.holds {
            return "tensor \"\(held.tensor)\" has no rows \(held.rows)"
        }
        let named = byName[Self.base(weight.name)] ?? alike(weight).max { $0.name.count < $1.name.count }
        if let named {
            return "the package has it as \(weight.shape), but \"\(named.name)\" of the model is \(named.shape)"
        }
        return "no tensor of the model has its name, or its shape \(weight.shape) and elements like it"
    }

    /// Returns the match by elements: of the tensors with a fitting shape that are not in `taken`, the one with the
    /// highest correlation, if it is high enough.
    func byElements(_ weight: CoreMLWeight, _ elements: [Float], excluding taken: Set<String>) -> Match? {
        guard weight.shape.count >= 16, weight.holds == nil else { return nil }
        var best: (match: Match, correlation: Double)?
        for source in sources where !taken.contains(source.name) {
            guard let plain = Self.match(weight.shape, source) else { continue }
            let isSquare = weight.shape.rank == 2 && weight.shape.dimensions[0] == weight.shape.dimensions[1]
            for match in [plain] + (isSquare ? [Match(source: source, isTransposed: true)] : []) {
                let correlation = Self.correlation(elements, match, weight.shape)
                if correlation > max(best?.correlation ?? 0, Self.leastCorrelation) { best = (match, correlation) }
            }
        }
        return best?.match
    }

    /// The lowest correlation of a match. Weights of two bits correlate by 0.9 and more with their source; weights of
    /// different layers hardly correlate.
    private static let leastCorrelation = 0.5

    /// Returns nil if the shapes differ by more than axes of size 1 or the exchange of two axes.
    private static func match(_ shape: Shape, _ source: StoredTensor) -> Match? {
        let (own, other) = (shape.dimensions.filter { $0 != 1 }, source.shape.dimensions.filter { $0 != 1 })
        if own == other { return Match(source: source) }
        return own.count == 2 && own == other.reversed() ? Match(source: source, isTransposed: true) : nil
    }

    /// Returns the correlation of a sample of elements: 4,096 to 8,191 of them, or all if there are fewer.
    private static func correlation(_ elements: [Float], _ match: Match, _ shape: Shape) -> Double {
        let reference = match.floats(as: shape)
        let step = max(1, elements.count / 4096)
        var (product, left, right) = (0.0, 0.0, 0.0)
        for index in stride(from: 0, to: min(elements.count, reference.count), by: step) {
            let (x, y) = (Double(elements[index]), Double(reference[index]))
            product += x * y
            left += x * x
            right += y * y
        }
        return left > 0 && right > 0 ? product / (left * right).squareRoot() : 0
    }
}

extension CoreMLWeightMatcher.Match {
    /// Returns the source's elements in the order of the package's weight of shape `shape`.
    func floats(as shape: Shape) -> [Float] {
        let floats = source.floats()
        if let rows {
            let width = source.shape.dimensions.dropFirst().reduce(1, *)
            return Array(floats[rows.lowerBound * width..<rows.upperBound * width])
        }
        guard isTransposed else { return floats }
        let sizes = shape.dimensions.filter { $0 != 1 }
        guard sizes.count == 2 else { return floats }
        let (rows, columns) = (sizes[0], sizes[1])
        return (0..<rows * columns).map { floats[$0 % columns * rows + $0 / columns] }
    }
}
