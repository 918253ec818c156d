import AccelPlatform
import AccelTensors
import AccelWeightCompression

/// The limit on the error of a stored weight whose codes are not determined by the checkpoint and the scheme alone: a
/// multiple of the squared error that the same scheme makes on the checkpoint's own tensor without calibration data.
///
/// The limit holds for each output channel (row), and more tightly for the whole tensor. No row and no input channel
/// (column) may be lost, even if it is small compared with the others. The expected error of a channel is its error
/// without calibration data, or the tensor's share of its energy, whichever is larger. A weight of 8 bits among weights of
/// 4 bits, all by gptq, was measured at 12 times its scheme's own error in all, and at a quarter of what 4 bits lose.
///
/// The largest multiples that were measured for conversions, over all schemes that take calibration data: int4 (blocks,
/// a scale per channel, asymmetric), int8 (a scale per channel, one scale, asymmetric), palettes of 1 to 8 bits,
/// grouped and not. The models are all-MiniLM-L6-v2 with 1,024 and with 6 tokens, seven small models with random
/// weights of other families, and one of these with two channels that are 200 and 300 times as large as the others.
///
/// | method | row | tensor | share of a column's energy |
/// |---|---|---|---|
/// | gptq | 10.1 | 2.6 | 0.51 |
/// | weighted | 14.2 | 2.2 | 0.47 |
/// | awq | 6.9 | 3.2 | 0.14 |
///
/// Codes of another search than the scheme's own have a limit on the gain of the whole tensor, too: the factor by which the stored weight is
/// larger than the checkpoint's, by least squares. Rounding errors do not add up in it, but for codes of the least error, whose gain is
/// smaller than 1 by the share of energy that they lose. So a factor that all weights have is found, even where it is smaller than the
/// errors of single weights.
///
/// Parts of a row have no limit: with few tokens, gptq of a palette was measured to lose several times the energy of 64
/// columns.
struct RowBound {
    static let rowFactor = 32.0
    static let tensorFactor = 8.0
    /// The share of its energy that a lost channel loses, unless the scheme alone loses most of it too.
    private static let lostShare = 0.95

    /// The reason for not comparing codes byte for byte.
    enum Reason: String, CaseIterable, Sendable {
        case calibration = "codes depend on calibration data"
        case scaling = "channels are scaled by calibration data"
        case version = "codes are of another version of the codec"
        case search = "codes are of another search than the scheme's own"
    }

    /// Squared errors of one weight, as multiples of the expected ones.
    struct Finding: Sendable {
        let reason: Reason
        /// The multiple of the worst row.
        let row: Double
        /// The multiple of the whole tensor.
        let tensor: Double

        /// Returns the finding for two parts of a tensor together.
        func joined(with other: Finding) -> Finding {
            Finding(reason: reason, row: max(row, other.row), tensor: max(tensor, other.tensor))
        }
    }

    /// The checkpoint's tensor, compressed with the same scheme and without calibration data.
    let plain: CompressedTensor
    /// The expected error of the whole tensor, as a share of its energy.
    private let share: Double

    /// - Parameters:
    ///   - source: the checkpoint's own tensor, without scaled channels.
    ///   - codec: the codec of the stored weight.
    ///   - others: the share of their energy that the model's weights lose: `loss(of:)`. Codes of method gptq make up for the
    ///     errors of the weights before them, and may lie as far from the checkpoint's tensor as these.
    /// - Throws: `FormatError` if the codec cannot store the tensor.
    init(of source: StoredTensor, as codec: any WeightCodec, among others: Double = 0, threads: Int) throws {
        let (tensor, distortion) = try CompressedTensor.compressing(source, with: codec.dataFree, threads: threads)
        plain = tensor
        let loss = distortion.energy > 0 ? distortion.squaredError / distortion.energy : 0
        share = max(loss, Self.leastShare(of: tensor), codec.method == .gptq ? others : 0)
    }

    /// Returns the share of their energy that weights lose at least, the mean over their elements.
    static func loss(of weights: [CompressedTensor]) -> Double {
        let elements = weights.reduce(0) { $0 + $1.shape.count }
        return weights.reduce(0) { $0 + leastShare(of: $1) * Double($1.shape.count) } / Double(max(elements, 1))
    }

    /// Returns the smallest share of energy that codes lose. Codes of b bits lose at least 2^-2b of the energy of
    /// Gaussian weights (Cover and Thomas, Elements of Information Theory, 10.3.2). A palette may lose less of a tensor
    /// with few elements, but calibrated codes do not have to.
    private static func leastShare(of weight: CompressedTensor) -> Double {
        let layouts = weight.codec.sections(elementType: weight.elementType, shape: weight.shape)
        guard let codes = layouts.first(where: { $0.name == "codes" }), weight.shape.count > 0 else { return 0 }
        return pow(2, -2 * Double(codes.byteCount * 8) / Double(weight.shape.count))
    }

    /// - Parameter count: e.g. `3 weights`
    static func words(_ count: String, because reason: Reason) -> String {
        "\(reason.rawValue): \(count) held to \(FigureText.fixed(rowFactor, digits: 0)) times the squared error without calibration "
            + "in each row, and to \(FigureText.fixed(tensorFactor, digits: 0)) times in all"
    }
}

extension RowBound {
    /// Sums over some rows of a weight.
    struct Sums {
        fileprivate var whole = Channel()
        fileprivate var columns: [Channel]
        /// The largest error of a row, as a multiple of the expected one.
        fileprivate var ratio = 0.0
        /// The first row beyond its limit.
        fileprivate var failureReason: String?

        mutating func merge(_ other: Sums) {
            whole.merge(other.whole)
            for index in columns.indices { columns[index].merge(other.columns[index]) }
            ratio = max(ratio, other.ratio)
            failureReason = failureReason ?? other.failureReason
        }
    }

    /// The energies and errors of one row, one column, or the whole tensor.
    fileprivate struct Channel {
        private(set) var error = 0.0
        private(set) var plainError = 0.0
        private(set) var energy = 0.0
        private(set) var storedEnergy = 0.0
        private(set) var plainEnergy = 0.0
        /// The products of stored elements, and of those without calibration, with the checkpoint's.
        private(set) var product = 0.0
        private(set) var plainProduct = 0.0

        mutating func add(stored: Double, plain: Double, source: Double) {
            error += (stored - source) * (stored - source)
            plainError += (plain - source) * (plain - source)
            energy += source * source
            storedEnergy += stored * stored
            plainEnergy += plain * plain
            product += stored * source
            plainProduct += plain * source
        }

        mutating func merge(_ other: Channel) {
            error += other.error
            plainError += other.plainError
            energy += other.energy
            storedEnergy += other.storedEnergy
            plainEnergy += other.plainEnergy
            product += other.product
            plainProduct += other.plainProduct
        }

        /// - Parameter count: the number of elements.
        func gainFailureReason(count: Int) -> String? {
            guard energy > 0 else { return nil }
            let (gain, plain) = (product / energy, plainProduct / energy)
            let (share, plainShare) = (error / energy, plainError / energy)
            let limit = 2 * (share + plainShare) + 6 * (share / Double(count)).squareRoot()
            if abs(gain - plain) <= limit { return nil }
            let (found, most) = FigureText.apart(abs(gain - plain), limit, FigureText.small)
            return "a gain of \(gain) against the checkpoint's: \(found) > \(most) from the scheme's own \(plain)"
        }

        func expected(_ share: Double) -> Double { max(plainError, energy * share) }

        func ratio(_ share: Double) -> Double { error == 0 ? 0 : error / expected(share) }

        /// - Parameter factor: the limit as a multiple of the expected error; nil if only a lost channel fails.
        func failureReason(expecting expected: Double, factor: Double? = nil) -> String? {
            if storedEnergy == 0, 4 * plainEnergy > energy { return "all is zero, and the checkpoint's is not" }
            let lost = max(lostShare * energy, tensorFactor * expected)
            let limit = expected == 0 ? 0 : min(factor.map { $0 * expected } ?? lost, lost)
            if error <= limit { return nil }
            let (found, most) = FigureText.apart(error, limit, FigureText.small)
            return "a squared error of \(found) > \(most), where the scheme alone makes "
                + "\(FigureText.small(plainError)) of the checkpoint's \(FigureText.small(energy))"
        }
    }

    /// - Parameters:
    ///   - stored: the decoded rows, with the scaling of channels undone.
    ///   - source: the same rows of the checkpoint.
    func sums(_ rows: Range<Int>, stored: [Float], source: [Float]) -> Sums {
        let plain = plain.floats(ofRows: rows)
        let width = self.plain.shape.columns
        var sums = Sums(columns: [Channel](repeating: Channel(), count: width))
        for (index, row) in rows.enumerated() {
            var channel = Channel()
            for column in 0..<width {
                let element = index * width + column
                let (stored, plain, source) = (Double(stored[element]), Double(plain[element]), Double(source[element]))
                channel.add(stored: stored, plain: plain, source: source)
                sums.columns[column].add(stored: stored, plain: plain, source: source)
            }
            sums.whole.merge(channel)
            sums.ratio = max(sums.ratio, channel.ratio(share))
            guard sums.failureReason == nil else { continue }
            let failureReason = channel.failureReason(expecting: channel.expected(share), factor: Self.rowFactor)
            sums.failureReason = failureReason.map { "row \(row): \($0)" }
        }
        return sums
    }

    /// Returns the errors of rows, and the first violation of a limit.
    func verdict(_ parts: [Sums], because reason: Reason) -> (finding: Finding, failureReason: String?) {
        var sums = parts.first ?? Sums(columns: [])
        for part in parts.dropFirst() { sums.merge(part) }
        let failureReason =
            sums.failureReason ?? lostColumn(sums)
            ?? sums.whole.failureReason(expecting: sums.whole.expected(share), factor: Self.tensorFactor)
            .map { "in all: \($0)" }
            ?? (reason == .search ? sums.whole.gainFailureReason(count: plain.shape.count) : nil)
            .map { "in all: \($0)" }
        let finding = Finding(reason: reason, row: sums.ratio, tensor: sums.whole.ratio(share))
        return (finding, failureReason)
    }
    /// The fewest rows for the check of columns: over fewer rows, errors that one column takes over from others do not
    /// average out.
    private static let leastRows = 16

    private func lostColumn(_ sums: Sums) -> String? {
        guard plain.shape.rows >= Self.leastRows else { return nil }
        let average = sums.whole.expected(share) / Double(sums.columns.count)
        return sums.columns.lazy.enumerated().compactMap { index, column in
            column.failureReason(expecting: max(column.expected(share), average)).map { "column \(index): \($0)" }
        }.first
    }
}
