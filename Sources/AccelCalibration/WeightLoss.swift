public import AccelByteIO
import AccelPlatform
import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// The cost of one weight's compression for the outputs: if every other weight is as in the model, or, for weights that make up for the
/// errors of others (`method=gptq`), what the outputs gain if this weight is as in the model.
///
/// `verify`, the solver of targets and their reports rank weights by it.
public struct WeightLoss: Sendable {
    /// The weight's name.
    public let name: String
    /// The scheme of the weight, e.g. `palette:bits=4,group=16`.
    public let scheme: String
    /// The bytes of the stored weight.
    public let bytes: Int
    /// The SQNR of the outputs in dB, the mean over them; infinite if nothing is lost.
    public let sqnr: Double
    /// The SQNR is not that of the outputs, but of the call that reads the weight.
    public let isEstimated: Bool
    /// The SQNR of the outputs with all weights compressed, if `sqnr` is theirs with this one as in the model; nil if it is theirs with
    /// only this one compressed.
    public let whole: Double?
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

    /// - Parameters:
    ///   - error: of the outputs, squared error over energy.
    ///   - whole: the error with all weights compressed, if `error` is that with this one as in the model.
    init(_ name: String, _ scheme: String, bytes: Int, error: Double, whole: Double? = nil, remedy: Remedy? = nil) {
        (self.name, self.scheme, self.bytes, isEstimated) = (name, scheme, bytes, false)
        sqnr = Self.decibels(error)
        self.whole = whole.map(Self.decibels)
        self.remedy = remedy
    }

    /// Whether the compression of the weight costs anything that is known.
    public var isCostly: Bool { whole.map { sqnr > $0 } ?? sqnr.isFinite }

    /// Creates an estimate: the loss of the call that reads the weight, and as a remedy the solver's next larger scheme.
    /// - Parameters:
    ///   - sqnr: in dB, of the call's result with the stored weight against that with the original one.
    ///   - isAllowed: what the file of the weight can have; nil for no limit.
    public init(
        estimating tensor: CompressedTensor, of source: StoredTensor, sqnr: Double, where isAllowed: SchemeFilter? = nil
    ) {
        (name, scheme, bytes) = (tensor.name, tensor.codec.values.request, tensor.byteCount)
        (self.sqnr, isEstimated, whole) = (sqnr, true, nil)
        let larger = try? CandidateSchemes.codecs(for: source, like: tensor.codec, where: isAllowed).lazy
            .filter { $0.bytes > tensor.byteCount }
            .map { codec, bytes in
                Remedy(codec: Remedy.advised(codec, for: tensor.codec), bytes: bytes, sqnr: nil)
            }.first
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
        whole = document["whole"].exists ? try figure(document["whole"]) : nil
        let field = document["remedy"]
        guard field.value != .null else { return }
        remedy = Remedy(
            codec: try Codecs.codec(try field["compress"].string()),
            bytes: try field["bytes"].int(in: 0...Int.max), sqnr: try figure(field["sqnr"]))
    }

    /// - Parameter error: squared error over energy.
    package static func decibels(_ error: Double) -> Double { error > 0 ? -10 * log10(error) : .infinity }

    /// The rule that gives the weight its remedy, as a line of a recipe's rules; nil without a remedy.
    public var rule: String? {
        guard let remedy, let rule = try? Recipe.Rule(weight: name, codec: remedy.codec) else { return nil }
        return rule.json.text()
    }

    /// The recipe's rule that stores the weight as it is stored now, as JSON; nil if no rule does.
    package var keepingRule: String? {
        (try? Recipe.Rule(weight: name, codec: Codecs.codec(scheme)))?.json.text()
    }

    /// The members of reports: `name`, `compress`, `bytes`, `sqnr`, `estimated`, and `remedy` with its rule.
    /// - Parameter figure: returns a number in the form of the report.
    public func json(figure: (Double) -> JSON) -> JSON {
        [
            "name": .string(name), "compress": .string(scheme), "bytes": .integer(Int64(bytes)), "sqnr": figure(sqnr),
            "estimated": .bool(isEstimated), "whole": whole.map(figure) ?? .null,
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
    public var ranked: [WeightLoss] {
        func key(_ loss: WeightLoss) -> Double { loss.whole == nil ? loss.sqnr : -loss.sqnr }
        return sorted { (key($0), $0.name) < (key($1), $1.name) }
    }

    /// Measures the loss of weights over samples, and looks for remedies for those that lose most.
    /// - Parameters:
    ///   - stored: the encodings; those that the part does not read are left out.
    ///   - samples: samples of the part with its original weights.
    ///   - isAllowed: the schemes that a remedy may have; nil for no limit.
    /// - Returns: the weights in the order of their loss.
    public init(
        of stored: [CompressedTensor], over samples: CalibrationSamples, where isAllowed: SchemeFilter? = nil,
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
        // What a weight by gptq loses alone, others make up for.
        let isJoint = read.contains { $0.codec.method == .gptq }
        let runs = try IsolatedRuns(samples, among: isJoint ? read : [], threads: threads)
        let whole = isJoint ? runs.error : nil
        var losses: [WeightLoss] = []
        try runs.forEach(of: read.compactMap { sources[$0.name] }) { source, _, error in
            guard let tensor = encoded[source.name] else { return }
            let replacement =
                isJoint
                ? try CompressedTensor.compressing(source, with: Codecs.codec("stored"), threads: threads).tensor
                : tensor
            losses.append(
                WeightLoss(
                    tensor.name, tensor.codec.values.request, bytes: tensor.byteCount, error: try error(replacement),
                    whole: whole))
        }
        losses = losses.ranked
        let worst = losses.prefix(WeightLoss.treated).filter(\.isCostly)
        try runs.forEach(of: worst.compactMap { sources[$0.name] }) { source, _, error in
            guard let index = losses.firstIndex(where: { $0.name == source.name }) else { return }
            losses[index].remedy = try WeightLoss.Remedy.finding(
                for: source, encoded[source.name]?.codec, losses[index], error, where: isAllowed, threads: threads)
        }
        self = losses
    }
}

extension WeightLoss {
    /// The number of weights for which remedies are looked for.
    static let treated = 5
    /// A remedy has at most this share of the error: 6 dB less.
    private static let remedyShare = 0.25

    /// Whether a remedy leaves at most `remedyShare` of the error that the weight's compression makes.
    fileprivate func isEnough(_ remedied: Double) -> Bool {
        func error(_ decibels: Double) -> Double { pow(10, -decibels / 10) }
        // The errors of all other weights stay.
        let rest = whole == nil ? 0 : error(sqnr)
        return error(remedied) - rest <= Self.remedyShare * (error(whole ?? sqnr) - rest)
    }
}

extension WeightLoss.Remedy {
    /// Returns the smallest scheme of the solver's, or of the kind of the weight's codec, that clearly loses less than a weight's own,
    /// else the best one; nil if none does.
    fileprivate static func finding(
        for source: StoredTensor, _ own: (any WeightCodec)?, _ loss: WeightLoss,
        _ error: (CompressedTensor) throws -> Double, where isAllowed: SchemeFilter?, threads: Int
    ) throws -> WeightLoss.Remedy? {
        var best: WeightLoss.Remedy?
        for (codec, bytes) in try CandidateSchemes.codecs(for: source, like: own, where: isAllowed)
        where bytes > loss.bytes {
            let tensor = try CompressedTensor.compressing(source, with: codec, threads: threads).tensor
            let sqnr = WeightLoss.decibels(try error(tensor))
            if sqnr > best?.sqnr ?? loss.whole ?? loss.sqnr {
                best = WeightLoss.Remedy(codec: advised(codec, for: own), bytes: bytes, sqnr: sqnr)
            }
            if loss.isEnough(sqnr) { break }
        }
        return best
    }

    /// Returns a scheme as it is advised for a weight: by gptq, if the weight's is, and the scheme knows that method.
    static func advised(
        _ codec: any WeightCodec, for own: (any WeightCodec)?
    ) -> any WeightCodec {
        guard own?.method == .gptq, !codec.values["method"].isEmpty else { return codec }
        return (try? Codecs.codec(codec.values.replacing("method", by: "gptq").fullSpecification)) ?? codec
    }
}
