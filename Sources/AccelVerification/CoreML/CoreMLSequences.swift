import AccelByteIO
import AccelCPURuntime
import AccelCalibration
import AccelFormats
import AccelPrograms
import AccelTensors

extension CoreMLPackage {
    /// The package's functions as programs, in their order, and as a plan that says which takes what.
    private func outlined() throws -> (functions: [FrozenProgram], plan: ModelPlan) {
        let functions = try model.interfaces.map { try program(function: $0.function) }
        let outlines = try functions.map { function in
            function.outline(part: try part(of: function.program.name) ?? function.program.name)
        }
        return (
            functions, ModelPlan(of: ModelGraph(functions: functions, tensors: []), functions: outlines)
        )
    }

    /// Returns the comparison of the blocks in which the functions process the tokens of a decoder's golden.
    /// - Throws: `RequestError` when no function takes the golden's blocks.
    func decoding(
        of golden: Golden, _ programs: [Program], stored: [String: StoredTensor], limits: CoreMLLimits
    ) throws -> CoreMLDecoding {
        let (functions, plan) = try outlined()
        let sequences = try GoldenDecoding(plan, golden: golden).sequences
        return CoreMLDecoding(
            package: self, sequences: sequences.map { .init(blocks: $0, lengths: nil) }, functions: functions,
            golden: golden, programs: programs, stored: stored, limits: limits)
    }

    /// Returns the comparison of the blocks in which the functions process the tokens of samples; nil if no function takes blocks of
    /// them, or if the package does not say so.
    /// - Throws: `RequestError` for more tokens than a cache has positions, and for tokens of another model.
    func decoding(
        of samples: SampleInputs, _ programs: [Program], stored: [String: StoredTensor], limits: CoreMLLimits
    ) throws -> CoreMLDecoding? {
        guard model.interfaces.allSatisfy({ $0.shapeCount == 1 }),
            model.interfaces.contains(where: { !$0.states.isEmpty })
        else { return nil }
        let (functions, plan) = try outlined()
        guard let decoding = try SampleDecoding(plan, samples) else { return nil }
        return CoreMLDecoding(
            package: self, sequences: decoding.sequences, functions: functions, golden: nil, programs: programs,
            stored: stored, limits: limits)
    }
}
