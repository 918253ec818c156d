public import AccelByteIO
public import AccelTensors

/// Which weight is stored how: the first rule that fits wins, else the default.
public struct Recipe: Sendable {
    public struct Rule: Sendable {
        /// Glob over the tensor's name: `*` any run of characters, `?` one, `[abc]` one of these.
        public let match: String?
        /// Name of an operator that reads the weight, e.g. `linear`, `gather`.
        public let `operator`: String?
        /// Fits tensors of at least so many elements.
        public let atLeast: Int?
        public let codec: any WeightCodec
        /// `match`, parsed.
        package let glob: Glob?

        /// - Throws: `RequestError` when `match` is not a glob.
        public init(
            match: String? = nil, operator: String? = nil, atLeast: Int? = nil, codec: any WeightCodec
        ) throws {
            glob = match.flatMap(Glob.init)
            if let match, glob == nil {
                throw RequestError("\"\(match)\" is no pattern: close its brackets, and order its ranges")
            }
            self.match = match
            self.operator = `operator`
            self.atLeast = atLeast
            self.codec = codec
        }

        /// For one weight alone.
        public init(weight name: String, codec: any WeightCodec) throws {
            try self.init(match: Glob.literal(name), codec: codec)
        }

        package func fits(_ tensor: StoredTensor, readBy operators: [String]) -> Bool {
            glob?.matches(tensor.name) ?? true && `operator`.map(operators.contains) ?? true
                && tensor.shape.count >= atLeast ?? 0
        }
    }

    /// Where the statistics are that codecs with a method are to be given.
    public struct StatisticsReference: Equatable, Sendable {
        /// Seen from the recipe's folder.
        public let file: String
        /// `TreeDigest` of the file.
        public let digest: Digest
        public init(file: String, digest: Digest) {
            (self.file, self.digest) = (file, digest)
        }
    }

    public struct Choice: Sendable {
        public let codec: any WeightCodec
        /// Why the weight is not stored as the recipe's codec would; nil when it is.
        public let reason: String?
        /// The index of the rule that chose; nil for the default.
        public let rule: Int?

        public init(codec: any WeightCodec, reason: String?, rule: Int? = nil) {
            (self.codec, self.reason, self.rule) = (codec, reason, rule)
        }
    }

    public var defaultCodec: any WeightCodec
    public var rules: [Rule]
    /// nil: codecs with a method want samples.
    public var statistics: StatisticsReference?
    /// The weights whose inputs samples tell of. A codec that wants to know a weight's inputs stores other weights as it
    /// does without. nil: not yet known, every codec stands as it was asked for.
    public var calibratedWeights: Set<String>?

    public init(default codec: any WeightCodec, rules: [Rule] = []) {
        self.defaultCodec = codec
        self.rules = rules
        statistics = nil
    }

    /// `{"default": SPEC, "rules": [{"match": ..., "operator": ..., "atLeast": ..., "compress": SPEC}]}`, as
    /// schemas/recipe.schema.json says.
    /// - Throws: `FormatError` naming the field.
    public init(_ document: JSONField) throws {
        func codec(_ field: JSONField) throws -> any WeightCodec {
            do { return try Codecs.codec(try field.string()) } catch let error as RequestError {
                throw field.error(error.description)
            }
        }
        try document.refuseMembers(otherThan: ["default", "rules", "statistics"])
        if document["statistics"].exists {
            let reference = document["statistics"]
            try reference.refuseMembers(otherThan: ["file", "digest"])
            guard let digest = Digest(hexadecimal: try reference["digest"].string()) else {
                throw reference["digest"].error("is no digest of 64 hexadecimal digits")
            }
            statistics = StatisticsReference(file: try reference["file"].string(), digest: digest)
        }
        defaultCodec = try codec(document["default"])
        rules =
            try document["rules"].exists
            ? document["rules"].array().map { rule in
                try rule.refuseMembers(otherThan: ["match", "operator", "atLeast", "compress"])
                do {
                    return try Rule(
                        match: rule["match"].exists ? rule["match"].string() : nil,
                        operator: rule["operator"].exists ? rule["operator"].string() : nil,
                        atLeast: rule["atLeast"].exists ? rule["atLeast"].int(in: 0...Int.max) : nil,
                        codec: codec(rule["compress"]))
                } catch let error as RequestError {
                    throw rule["match"].error(error.description)
                }
            } : []
    }

    /// The whole recipe with every option of its codecs written out; equal recipes give equal bytes.
    public var json: JSON {
        .object(
            [
                .init("default", .string(defaultCodec.values.fullSpecification)),
                .init(
                    "rules",
                    .array(
                        rules.map { rule in
                            .object(
                                [
                                    rule.match.map { .init("match", .string($0)) },
                                    rule.operator.map { .init("operator", .string($0)) },
                                    rule.atLeast.map { .init("atLeast", .integer(Int64($0))) },
                                    .init("compress", .string(rule.codec.values.fullSpecification)),
                                ].compactMap { $0 })
                        })),
            ]
                + (statistics.map {
                    [.init("statistics", ["file": .string($0.file), "digest": .string($0.digest.description)])]
                } ?? []))
    }

    /// Whether a codec wants to know the weights' inputs.
    public var wantsCalibration: Bool { ([defaultCodec] + rules.map(\.codec)).contains { $0.method != .nearest } }

    /// The codec for a weight that `operators` read. A weight that the chosen codec objects to is stored as it is in the
    /// checkpoint, with the reason.
    public func choice(for tensor: StoredTensor, readBy operators: [String]) -> Choice {
        let rule = rules.firstIndex { $0.fits(tensor, readBy: operators) }
        var codec = rule.map { rules[$0].codec } ?? defaultCodec
        if let calibratedWeights, !calibratedWeights.contains(tensor.name) { codec = codec.dataFree }
        guard let objection = codec.objection(elementType: tensor.elementType, shape: tensor.shape) else {
            return Choice(codec: codec, reason: nil, rule: rule)
        }
        return Choice(codec: StoredCodec(), reason: objection, rule: rule)
    }
}
