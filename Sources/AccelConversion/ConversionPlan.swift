import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// What a conversion would make, known before any weight is compressed.
public struct ConversionPlan: Sendable {
    /// How one weight will be stored.
    public struct Weight: Sendable {
        public let name: String
        /// e.g. `palette:bits=4,group=16`
        public let scheme: String
        /// As the model has it, and as the package will.
        public let sourceBytes: Int
        public let storedBytes: Int
        /// Why it is not stored as the recipe's scheme would; nil when it is.
        public let reason: String?
    }
    /// The functions with their shapes, e.g. `model[batch=1,sequence=128]`.
    public let functions: [String]
    /// Sorted by name.
    public let weights: [Weight]
    /// What is worth knowing of the model's files and of the request.
    public let remarks: [String]

    /// Bytes of all stored weights.
    public var storedBytes: Int { weights.reduce(0) { $0 + $1.storedBytes } }
}

extension Conversion {
    /// Reads the model's configuration and the headers of its weights, and writes nothing.
    /// - Throws: `RequestError` with a target, whose schemes are chosen by a run over the samples; else as a conversion.
    public func plan() throws -> ConversionPlan {
        guard target == nil else {
            throw RequestError("a target chooses schemes by a run over the samples: there is no plan before that")
        }
        let model = try RequestedModel(self, writing: nil, ConversionSettings())
        let weights = model.plan.map { weight in
            ConversionPlan.Weight(
                name: weight.source.name, scheme: weight.choice.codec.values.request,
                sourceBytes: weight.source.bytes.count, storedBytes: weight.storedBytes, reason: weight.choice.reason)
        }
        return ConversionPlan(
            functions: model.functions.map(\.functionName), weights: weights, remarks: model.warnings)
    }
}

extension PlannedWeight {
    /// Bytes of its sections, as it will be stored.
    var storedBytes: Int {
        choice.codec.sections(elementType: source.elementType, shape: source.shape).reduce(0) { $0 + $1.byteCount }
    }
}
