import AccelByteIO
public import AccelPrograms
public import AccelTensors

/// What a checkpoint is to its family, without converting it: parts, sizes, work, and which tensors do not fit.
public struct ModelSurvey: Sendable {
    /// The work of a part with numbers for all of its dimensions.
    public struct Work: Sendable {
        public let bindings: ShapeBindings
        public let multiplyAdds: Int
        /// What the numbers decide beyond shapes.
        public let remarks: [String]
    }
    public struct Part: Sendable {
        public let program: Program
        /// It is built when no part is asked for.
        public let isDefault: Bool
        public let parameters: Parameters
        public let work: [Work]
    }
    /// Weights, as the checkpoint stores them.
    public struct Parameters: Sendable {
        public var count = 0
        public var bytes = 0
    }
    public let parts: [Part]
    /// Of all parts, those that they share counted once.
    public let parameters: Parameters
    public let unused: [FamilyModel.UnusedTensor]
    public let missing: [FamilyModel.MissingTensor]
    /// What a user should know of how the checkpoint was read, in sentences.
    public let remarks: [String]

    /// - Parameter shapes: numbers for free dimensions; the others take each of their usual numbers.
    /// - Throws: `FormatError` for a configuration that does not fit, `RequestError` for what the family does not support
    ///   or a dimension that no part has, `ShapeError` for numbers that an operator cannot have.
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
    /// Numbers for all dimensions: the ones given, and every usual one for the others.
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
        return all.map { ShapeBindings($0) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}
