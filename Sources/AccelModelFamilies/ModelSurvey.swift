import AccelByteIO
public import AccelPrograms
public import AccelTensors

/// An overview of a checkpoint without a conversion: parts, sizes, work, and tensors that do not fit.
public struct ModelSurvey: Sendable {
    /// The work of a part for one choice of its dimensions.
    public struct Work: Sendable {
        /// The numbers of the free dimensions.
        public let bindings: ShapeBindings
        /// The number of multiply-adds of one run.
        public let multiplyAdds: Int
        /// Effects of the numbers beyond shapes.
        public let remarks: [String]
    }
    /// One part of the model.
    public struct Part: Sendable {
        /// The program with free dimensions.
        public let program: Program
        /// The part is built if a request names no parts.
        public let isDefault: Bool
        /// The weights that the part reads.
        public let parameters: Parameters
        /// The work for each choice of dimensions.
        public let work: [Work]
    }
    /// The size of weights in the checkpoint's encoding.
    public struct Parameters: Sendable {
        /// The number of elements.
        public var count = 0
        /// The size in bytes.
        public var bytes = 0
    }
    /// All parts that the family can build.
    public let parts: [Part]
    /// The weights of all parts; shared ones count once.
    public let parameters: Parameters
    /// The tensors that no part reads.
    public let unused: [UnusedTensor]
    /// The tensors that the configuration requires, but that are missing or have another shape.
    public let missing: [FamilyModel.MissingTensor]
    /// Sentences for the user about how the checkpoint was read.
    public let remarks: [String]

    /// Surveys a checkpoint.
    /// - Parameter shapes: numbers for free dimensions; other dimensions take each of their usual numbers.
    /// - Throws: `FormatError` for a configuration that does not fit; `RequestError` for unsupported models, and for a
    ///   dimension that no part has; `ShapeError` for numbers that an operator does not support.
    public init(of checkpoint: Checkpoint, by family: any ModelFamily, shapes: [ShapeBindings] = []) throws {
        let model = try family.model(for: checkpoint, parts: family.parts, standsInForMissing: true)
        try model.programs.requireKnown(shapes)
        parts = try model.programs.map { program in
            Part(
                program: program, isDefault: family.defaultParts.contains(program.name),
                parameters: Parameters([program]),
                work: try program.choices(shapes).map { bindings in
                    let frozen = try program.freezing(bindings)
                    return Work(
                        bindings: bindings, multiplyAdds: frozen.program.multiplyAdds, remarks: frozen.remarks)
                })
        }
        parameters = Parameters(model.programs)
        (unused, missing, remarks) = (model.unused, model.missing, model.remarks)
    }
}

extension ModelSurvey.Parameters {
    init(_ programs: [Program]) {
        var seen: Set<String> = []
        for constant in programs.flatMap(\.constants) where constant.isWeight {
            guard seen.insert(constant.name).inserted else { continue }
            count += constant.shape.count
            bytes += constant.shape.count * constant.elementType.byteCount
        }
    }
}

extension Program {
    /// Returns numbers for all dimensions: those given, and each usual number of the others.
    fileprivate func choices(_ shapes: [ShapeBindings]) -> [ShapeBindings] {
        let names = Set(dimensions.map(\.name))
        let given = shapes.map { $0.numbers.filter { names.contains($0.key) } }.filter { !$0.isEmpty }
        let all = (given.isEmpty ? [[:]] : given).flatMap { numbers in
            dimensions.reduce([numbers]) { partial, dimension in
                guard numbers[dimension.name] == nil else { return partial }
                return partial.flatMap { numbers in
                    dimension.usual.map { numbers.merging([dimension.name: $0]) { _, new in new } }
                }
            }
        }
        return all.map { ShapeBindings($0) }.distinct
    }
}
