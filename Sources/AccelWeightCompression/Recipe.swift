public import AccelByteIO
public import AccelTensors

/// A compression recipe: which codec each weight gets. The first rule that fits decides, else the default.
public struct Recipe: Sendable {
    /// Increases when a recipe chooses another codec for the same weight. 2: vectors with axes of size 1 are vectors.
    package static let choiceVersion = 2

    /// A rule that chooses a codec for some weights. A weight has to meet all conditions that are not nil.
    public struct Rule: Sendable {
        /// A glob over the tensor's name: `*` matches any run of characters, `?` one, `[abc]` one of these.
        public let match: String?
        /// The name of an operator that reads the weight, such as `linear` or `gather`.
        public let `operator`: String?
        /// The smallest number of elements.
        public let atLeast: Int?
        /// The codec of the weights that the rule fits.
        public let codec: any WeightCodec
        /// The rounding of activations that these weights multiply; nil for the recipe's.
        public var activations: ActivationQuantization?
        /// `match`, parsed.
        package let glob: Glob?

        /// Creates a rule.
        /// - Throws: `RequestError` if `match` is not a glob.
        public init(
            match: String? = nil, operator: String? = nil, atLeast: Int? = nil, codec: any WeightCodec
        ) throws {
            glob = match.flatMap(Glob.init)
            if let match, glob == nil {
                throw RequestError("\"\(match)\" is not a valid pattern: close its brackets, and order its ranges")
            }
            self.match = match
            self.operator = `operator`
            self.atLeast = atLeast
            self.codec = codec
        }

        /// Creates a rule for the weight with exactly this name.
        public init(weight name: String, codec: any WeightCodec) throws {
            try self.init(match: Glob.literal(name), codec: codec)
        }

        /// The rule as a recipe has it, with the options of its codec that are not the default; for people to paste.
        public var json: JSON { json(compress: codec.values.request) }

        fileprivate func json(compress: String) -> JSON {
            .object(
                [
                    match.map { .init("match", .string($0)) }, `operator`.map { .init("operator", .string($0)) },
                    atLeast.map { .init("atLeast", .integer(Int64($0))) }, .init("compress", .string(compress)),
                    activations.map { .init("activations", .string($0.specification)) },
                ].compactMap { $0 })
        }

        package func fits(_ tensor: StoredTensor, readBy operators: [String]) -> Bool {
            glob?.matches(tensor.name) ?? true && `operator`.map(operators.contains) ?? true
                && tensor.shape.count >= atLeast ?? 0
        }
    }

    /// A file with activation statistics, for codecs that need calibration.
    public struct StatisticsReference: Equatable, Sendable {
        /// The path, relative to the recipe's folder.
        public let file: String
        /// The `TreeDigest` of the file.
        public let digest: Digest
        /// Creates a reference to a statistics file.
        public init(file: String, digest: Digest) {
            (self.file, self.digest) = (file, digest)
        }

        /// Reads the reference of a recipe; nil if it has none.
        fileprivate init?(_ field: JSONField) throws {
            guard field.exists else { return nil }
            try field.rejectMembers(otherThan: ["file", "digest"])
            guard let digest = Digest(hexadecimal: try field["digest"].string()) else {
                throw field["digest"].error("is not a digest of 64 hexadecimal digits")
            }
            self.init(file: try field["file"].string(), digest: digest)
        }
    }

    /// The codec of one weight, with the rule that chose it.
    public struct Choice: Sendable {
        /// The codec that encodes the weight.
        public let codec: any WeightCodec
        /// Why the recipe's codec does not support the weight, which is then `stored`; nil if it does.
        public let reason: String?
        /// The index of the rule; nil for the default.
        public let rule: Int?

        /// Creates a choice.
        public init(codec: any WeightCodec, reason: String?, rule: Int? = nil) {
            (self.codec, self.reason, self.rule) = (codec, reason, rule)
        }
    }

    /// The codec of weights that no rule fits.
    public var defaultCodec: any WeightCodec
    /// The rules, in order of precedence.
    public var rules: [Rule]
    /// The rounding of activations that weights multiply, if no rule for the weight decides.
    public var activations = ActivationQuantization.none
    /// The activation statistics to use; nil if codecs with calibration need calibration data.
    public var statistics: StatisticsReference?
    /// The weights with activation statistics. For other weights, calibration is switched off. nil while this is not
    /// known: then every codec keeps its method.
    public var calibratedWeights: Set<String>?
    /// The codecs of weights that the model's files have encoded, by name: `stored` leaves these encodings as they are.
    public var encoded: [String: any WeightCodec] = [:]
    /// The mix that decides where no rule fits, until the model's modules are known; `defaultCodec` is its base.
    package var mix: GGMLMix?

    /// Creates a recipe.
    public init(default codec: any WeightCodec, rules: [Rule] = []) {
        self.defaultCodec = codec
        self.rules = rules
        statistics = nil
    }

    /// Reads a recipe file,
    /// `{"default": SPEC, "rules": [{"match": ..., "operator": ..., "atLeast": ..., "compress": SPEC}]}`; see
    /// schemas/recipe.schema.json.
    /// - Throws: `FormatError` naming the field; `ReportedErrors` for several.
    public init(_ document: JSONField) throws {
        func reading<Value>(_ field: JSONField, as read: (String) throws -> Value) throws -> Value {
            do { return try read(try field.string()) } catch let error as RequestError {
                throw field.error(error.description)
            }
        }
        func activations(_ field: JSONField) throws -> ActivationQuantization? {
            field.exists ? try reading(field) { try ActivationQuantization($0) } : nil
        }
        func rule(_ field: JSONField) throws -> Rule {
            try field.rejectMembers(otherThan: ["match", "operator", "atLeast", "compress", "activations"])
            do {
                var rule = try Rule(
                    match: field["match"].exists ? field["match"].string() : nil,
                    operator: field["operator"].exists ? field["operator"].string() : nil,
                    atLeast: field["atLeast"].exists ? field["atLeast"].int(in: 0...Int.max) : nil,
                    codec: reading(field["compress"]) { try Codecs.codec($0) })
                rule.activations = try activations(field["activations"])
                return rule
            } catch let error as RequestError {
                throw field["match"].error(error.description)
            }
        }
        var mistakes = Mistakes()
        try mistakes.collecting {
            try document.rejectMembers(otherThan: ["default", "rules", "statistics", "activations"])
        }
        let whole = try mistakes.collecting { try reading(document["default"]) { try Recipe(scheme: $0) } }
        let rules = try mistakes.collecting { try document["rules"].exists ? document["rules"].array() : [] } ?? []
        let parsed = try rules.compactMap { field in try mistakes.collecting { try rule(field) } }
        let rounding = try mistakes.collecting { try activations(document["activations"]) } ?? nil
        let statistics = try mistakes.collecting { try StatisticsReference(document["statistics"]) } ?? nil
        try mistakes.check()
        self.init(default: whole?.defaultCodec ?? StoredCodec(), rules: parsed)
        (mix, self.statistics) = (whole?.mix, statistics)
        self.activations = rounding ?? .none
    }

    /// The recipe with every option of its codecs spelled out; equal recipes give equal bytes.
    public var json: JSON {
        let base = defaultCodec.values.fullSpecification
        return .object(
            [
                .init("default", .string(mix.map { "\($0.name)\(base.dropFirst($0.base.count))" } ?? base)),
                .init(
                    "rules",
                    .array(
                        rules.map { $0.json(compress: $0.codec.values.fullSpecification) })),
            ]
                + (statistics.map {
                    [.init("statistics", ["file": .string($0.file), "digest": .string($0.digest.description)])]
                } ?? [])
                + (activations == .none ? [] : [.init("activations", .string(activations.specification))]))
    }

    /// Whether the activations of some weights are rounded.
    public var quantizesActivations: Bool { allActivations.contains(where: \.isRounded) }

    /// The roundings that the recipe and its rules name.
    package var allActivations: [ActivationQuantization] { [activations] + rules.compactMap(\.activations) }

    /// Returns the rounding of the activations that a weight multiplies.
    public func activations(for tensor: StoredTensor, readBy operators: [String]) -> ActivationQuantization {
        rules.first { $0.fits(tensor, readBy: operators) }?.activations ?? activations
    }

    /// At least one codec needs calibration.
    public var needsCalibration: Bool { ([defaultCodec] + rules.map(\.codec)).contains { $0.method != .nearest } }

    /// Returns the codec of a rule, by its index, or of the default, as the recipe has it.
    package func asked(by rule: Int?) -> any WeightCodec { rule.map { rules[$0].codec } ?? defaultCodec }

    /// Returns the codec of a weight that `operators` read. If the recipe's codec does not support it, the codec is
    /// `stored`, with the reason.
    public func choice(for tensor: StoredTensor, readBy operators: [String]) -> Choice {
        let rule = rules.firstIndex { $0.fits(tensor, readBy: operators) }
        var codec = asked(by: rule)
        if let calibratedWeights, !calibratedWeights.contains(tensor.name) { codec = codec.dataFree }
        guard let reason = codec.reasonToKeep(tensor) else {
            if codec is StoredCodec, let encoded = encoded[tensor.name] {
                return Choice(codec: encoded, reason: nil, rule: rule)
            }
            return Choice(codec: codec, reason: nil, rule: rule)
        }
        return Choice(codec: StoredCodec(), reason: reason, rule: rule)
    }
}
