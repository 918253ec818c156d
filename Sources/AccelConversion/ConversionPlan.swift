import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The functions and weights that a conversion would make, known before any weight is compressed.
public struct ConversionPlan: Sendable {
    /// How one weight will be stored.
    public struct Weight: Sendable {
        /// The weight's name in the package.
        public let name: String
        /// e.g. `palette:bits=4,group=16`
        public let scheme: String
        /// Bytes of the weight in the model's files.
        public let sourceBytes: Int
        /// Bytes of the weight in the package.
        public let storedBytes: Int
        /// The reason why the recipe's scheme does not apply; nil if it does.
        public let reason: String?
    }
    /// The functions with their shapes, e.g. `model[batch=1,sequence=128]`.
    public let functions: [String]
    /// Sorted by name.
    public let weights: [Weight]
    /// Remarks on the model's files and warnings on the request, a sentence each.
    public let remarks: [String]

    /// Bytes of all stored weights.
    public var storedBytes: Int { weights.reduce(0) { $0 + $1.storedBytes } }
}

extension Conversion {
    /// Plans the conversion: reads the model's configuration and the headers of its weights, and writes nothing.
    /// - Throws: `RequestError` with a target, which needs a run over the samples to choose schemes; else as a conversion.
    public func plan() throws -> ConversionPlan {
        guard target == nil else {
            throw RequestError("a target chooses schemes by a run over the samples: there is no plan before that")
        }
        let model = try planned(ConversionSettings())
        let weights = model.plan.map { weight in
            ConversionPlan.Weight(
                name: weight.source.name, scheme: weight.choice.codec.values.request,
                sourceBytes: weight.source.bytes.count, storedBytes: weight.storedBytes, reason: weight.choice.reason)
        }
        return ConversionPlan(
            functions: model.functions.map(\.functionName), weights: weights,
            remarks: try model.warnings().map(\.text))
    }
}

extension PlannedWeight {
    /// Bytes of the weight's stored sections.
    var storedBytes: Int {
        choice.codec.sections(elementType: source.elementType, shape: source.shape).reduce(0) { $0 + $1.byteCount }
    }
}
