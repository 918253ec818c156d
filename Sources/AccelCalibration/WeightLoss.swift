public import AccelByteIO
import AccelPlatform
import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// The cost of one weight's compression for the outputs, if every other weight is as in the model. A weight by `method=gptq` makes up for
/// the errors of others too, so that its stored codes alone say nothing: its cost is that of its scheme by gptq on these samples alone.
///
/// `verify`, the solver of targets and their reports rank weights by it.
public struct WeightLoss: Sendable {
    /// The weight's name.
    public let name: String
    /// The scheme of the weight, e.g. `palette:bits=4,group=16`.
    public let scheme: String
    /// The bytes of the stored weight.
    public let bytes: Int
    /// The SQNR of the outputs in dB, the mean over them; infinite if nothing is lost. Of a model of several parts, the outputs of `part`.
    public let sqnr: Double
    /// The part of the model whose outputs were measured; nil for an estimate.
    public let part: String?
    /// The SQNR is not that of the outputs, but of the call that reads the weight.
    public let isEstimated: Bool
    /// A scheme that would lose less; nil if none was tried, or none was found.
    public fileprivate(set) var remedy: Remedy?

    /// A scheme that loses less.
    public struct Remedy: Sendable {
        fileprivate let codec: any WeightCodec
        /// The scheme, e.g. `int8`.
        public var scheme: String { codec.values.request }
        /// The bytes of the weight by this scheme.
        public let bytes: Int
        /// The SQNR in dB, as for the weight; nil if it was not measured.
        public let sqnr: Double?

        init(codec: any WeightCodec, bytes: Int, sqnr: Double?) {
            (self.codec, self.bytes, self.sqnr) = (codec, bytes, sqnr)
        }
    }

    /// - Parameter error: of the outputs, squared error over energy.
    init(_ name: String, _ scheme: String, bytes: Int, error: Double, in part: String? = nil, remedy: Remedy? = nil) {
        (self.name, self.scheme, self.bytes, self.part, isEstimated) = (name, scheme, bytes, part, false)
        sqnr = Self.decibels(error)
        self.remedy = remedy
    }

    /// Creates an estimate: the loss of the call that reads the weight, and as a remedy the solver's next larger scheme.
    /// - Parameters:
    ///   - scheme: what made the codes where the encoding's codec does not tell it; nil for the codec.
    ///   - sqnr: in dB, of the call's result with the stored weight against that with the original one.
    ///   - isAllowed: what the file of the weight can have; nil for no limit.
    public init(
        estimating tensor: CompressedTensor, madeBy scheme: (any WeightCodec)? = nil, of source: StoredTensor,
        sqnr: Double, where isAllowed: SchemeFilter? = nil
    ) {
        let codec = scheme ?? tensor.codec
        (name, self.scheme, bytes) = (tensor.name, codec.values.request, tensor.byteCount)
        (self.sqnr, part, isEstimated) = (sqnr, nil, true)
        let larger = try? CandidateSchemes.codecs(for: source, like: codec, where: isAllowed).lazy
            .filter { $0.bytes > tensor.byteCount }
            .map { Remedy(codec: Remedy.advised($0.codec, for: codec), bytes: $0.bytes, sqnr: nil) }.first
        remedy = larger ?? nil
    }

    /// Reads a loss from a document that `json` has written.
    /// - Throws: `FormatError` for anything else.
    public init(_ document: JSONField) throws {
        func figure(_ field: JSONField) throws -> Double { field.value == .null ? .infinity : try field.double() }
        name = try document["name"].string()
        scheme = try document["compress"].string()
        bytes = try document["bytes"].int(in: 0...Int.max)
        sqnr = try figure(document["sqnr"])
        isEstimated = try document["estimated"].bool()
        part = document["part"].exists ? try document["part"].string() : nil
        let field = document["remedy"]
        guard field.value != .null else { return }
        remedy = Remedy(
            codec: try Codecs.codec(try field["compress"].string()),
            bytes: try field["bytes"].int(in: 0...Int.max), sqnr: try figure(field["sqnr"]))
    }

    /// - Parameter error: squared error over energy.
    package static func decibels(_ error: Double) -> Double { error > 0 ? -10 * log10(error) : .infinity }

    /// Returns squared error over energy, of an SQNR in dB.
    private static func error(_ decibels: Double) -> Double { pow(10, -decibels / 10) }

    /// The error of the outputs, squared error over energy.
    package var error: Double { Self.error(sqnr) }

    /// The error that the remedy saves; nil if that was not measured.
    package var saving: Double? { remedy?.sqnr.map { error - Self.error($0) } }

    /// The bytes that the remedy adds; 0 without one.
    package var addition: Int { remedy.map { $0.bytes - bytes } ?? 0 }

    /// The rule that gives the weight its remedy, as a line of a recipe's rules; nil without a remedy.
    public var rule: String? {
        guard let remedy, let rule = try? Recipe.Rule(weight: name, codec: remedy.codec) else { return nil }
        return rule.json.text()
    }

    /// The members of reports: `name`, `compress`, `bytes`, `sqnr`, `estimated`, `part`, and `remedy` with its rule.
    /// - Parameter figure: returns a number in the form of the report.
    public func json(figure: (Double) -> JSON) -> JSON {
        [
            "name": .string(name), "compress": .string(scheme), "bytes": .integer(Int64(bytes)), "sqnr": figure(sqnr),
            "estimated": .bool(isEstimated), "part": part.map(JSON.string) ?? .null,
            "remedy": remedy.map { remedy in
                [
                    "compress": .string(remedy.scheme), "bytes": .integer(Int64(remedy.bytes)),
                    "sqnr": remedy.sqnr.map(figure) ?? .null, "rule": rule.map(JSON.string) ?? .null,
                ]
            } ?? .null,
        ]
    }
}

extension [WeightLoss] {
    /// The weights in the order of their loss, the largest first.
    public var ranked: [WeightLoss] { sorted { ($0.sqnr, $0.name) < ($1.sqnr, $1.name) } }

    /// Measures the loss of weights over samples, and looks for remedies for those that lose most.
    /// - Parameters:
    ///   - stored: the encodings; those that the part does not read are left out.
    ///   - schemes: the schemes that made the codes of encodings whose codecs do not tell it.
    ///   - samples: samples of the part with its original weights.
    ///   - isAllowed: the schemes that a remedy may have; nil for no limit.
    /// - Returns: the weights in the order of their loss.
    public init(
        of stored: [CompressedTensor], madeBy schemes: [String: any WeightCodec] = [:],
        over samples: CalibrationSamples, where isAllowed: SchemeFilter? = nil,
        threads: Int
    ) throws {
        let constants = samples.part.constants.filter(\.isWeight).compactMap(\.tensor)
        let sources = Dictionary(constants.map { ($0.name, $0) }) { first, _ in first }
        let read = stored.filter { sources[$0.name]?.shape == $0.shape }
        let encoded = Dictionary(read.map { ($0.name, $0) }) { first, _ in first }
        guard !encoded.isEmpty else {
            self = []
            return
        }
        let runs = try IsolatedRuns(samples, threads: threads)
        let codecs = encoded.mapValues { schemes[$0.name] ?? $0.codec }
        let wantsStatistics = codecs.values.contains { $0.method.usesStatistics }
        var losses: [WeightLoss] = []
        try runs.forEach(of: read.compactMap { sources[$0.name] }, wantsStatistics: wantsStatistics) {
            source, statistics, error in
            guard let tensor = encoded[source.name], let codec = codecs[source.name] else { return }
            let alone =
                tensor.codec.method == .gptq
                ? try CompressedTensor.compressing(source, with: tensor.codec, given: statistics, threads: threads)
                    .tensor : tensor
            losses.append(
                WeightLoss(
                    tensor.name, codec.values.request, bytes: tensor.byteCount, error: try error(alone),
                    in: samples.part.name))
        }
        losses = losses.ranked
        let worst = losses.prefix(WeightLoss.treated).filter { $0.sqnr.isFinite }
        try runs.forEach(of: worst.compactMap { sources[$0.name] }, wantsStatistics: wantsStatistics) {
            source, statistics, error in
            guard let index = losses.firstIndex(where: { $0.name == source.name }) else { return }
            losses[index].remedy = try WeightLoss.Remedy.finding(
                for: source, codecs[source.name], losses[index], statistics, error, where: isAllowed,
                threads: threads)
        }
        self = losses
    }
}

extension WeightLoss {
    /// The number of weights for which remedies are looked for.
    static let treated = 12
    /// A remedy has at most this share of the error: 6 dB less.
    private static let remedyShare = 0.25
}

extension WeightLoss.Remedy {
    /// Returns the smallest scheme of the solver's, or of the kind of the weight's codec, that clearly loses less than a weight's own,
    /// else the best one; nil if none does.
    fileprivate static func finding(
        for source: StoredTensor, _ own: (any WeightCodec)?, _ loss: WeightLoss, _ statistics: ActivationStatistics?,
        _ error: (CompressedTensor) throws -> Double, where isAllowed: SchemeFilter?, threads: Int
    ) throws -> WeightLoss.Remedy? {
        var best: WeightLoss.Remedy?
        for (codec, bytes) in try CandidateSchemes.codecs(for: source, like: own, where: isAllowed)
        where bytes > loss.bytes {
            let advised = advised(codec, for: own)
            let tensor = try CompressedTensor.compressing(
                source, with: advised, given: advised.method.usesStatistics ? statistics : nil, threads: threads
            ).tensor
            let sqnr = WeightLoss.decibels(try error(tensor))
            if sqnr > best?.sqnr ?? loss.sqnr { best = WeightLoss.Remedy(codec: advised, bytes: bytes, sqnr: sqnr) }
            if sqnr >= loss.sqnr - 10 * log10(WeightLoss.remedyShare) { break }
        }
        return best
    }

    /// Returns a scheme as it is advised for a weight: by the method of the weight's, if the scheme knows it.
    static func advised(
        _ codec: any WeightCodec, for own: (any WeightCodec)?
    ) -> any WeightCodec {
        guard let method = own?.method, method.usesStatistics, !codec.values["method"].isEmpty else {
            return codec
        }
        return (try? Codecs.codec(codec.values.replacing("method", by: method.rawValue).fullSpecification)) ?? codec
    }
}
