import AccelByteIO
import AccelCPURuntime
import AccelFormats
import AccelPrograms

extension CoreMLPackage {
    /// Returns the blocks in which the functions process the tokens of a decoder's golden.
    /// - Parameter functions: the programs of the package's functions, in their order.
    /// - Throws: `RequestError` when no function takes the golden's blocks.
    func decoding(of functions: [FrozenProgram], golden: Golden) throws -> [[GoldenDecoding.Block]] {
        let outlines = try functions.map { function in
            function.outline(part: try part(of: function.program.name) ?? function.program.name)
        }
        let program = ModelPlan(of: ModelGraph(functions: functions, tensors: []), functions: outlines)
        return try GoldenDecoding(program, golden: golden).sequences
    }
}
