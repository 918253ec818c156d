import Accel
import AccelByteIO
import AccelCPURuntime
import AccelCalibration
import AccelPrograms
import AccelTensors

/// The blocks in which a decoder's functions process the tokens of a golden: all tokens at once, and a prefill followed
/// by decode steps that share a cache.
struct GoldenDecoding {
    struct Block {
        let step: RunStep
        /// Returns the golden's name of an output of this block.
        let name: @Sendable (String) -> String
        /// The golden's prefix for the states after this block; nil if it has none.
        var states: String?
    }
    /// The sequences of blocks. Each starts with an empty cache.
    let sequences: [SampleDecoding.Sequence]

    /// - Throws: `RequestError` with exit status 3 when no function takes the golden's blocks; `RequestError` for padding in front of tokens.
    init(_ program: ModelPlan, golden: Golden) throws {
        let lengths = try golden.tokenCounts(for: program)
        let prefill = golden.prefillLength
        let plan = DecodingPlan(program, Self.inputs(of: golden, for: program))
        let count = plan?.count ?? 0
        var sequences: [[Block]] = []
        if let steps = plan?.steps(inBlocksOf: [count]) {
            sequences.append(Self.blocks(steps, program, of: golden) { _, name in "\(name)_full" })
        }
        if let prefill, prefill > 0, prefill <= count,
            let steps = plan?.steps(inBlocksOf: [prefill] + Array(repeating: 1, count: count - prefill))
        {
            var blocks = Self.blocks(steps, program, of: golden) { first, name in
                first == 0 ? "prefill_\(name)" : "step\(first - prefill)_\(name)"
            }
            if count > prefill { blocks[blocks.count - 1].states = "kv_final." }
            blocks[blocks.count - 1 - (count - prefill)].states = "kv_prefill."
            sequences.append(blocks)
        }
        guard !sequences.isEmpty else { throw Self.noFunction(of: program, takes: golden, prefill: prefill) }
        self.sequences = sequences.map { .init(blocks: $0, lengths: lengths) }
    }

    /// The name that goldens of a decoder may have for the encoder's output.
    static let encoderHidden = "encoder_hidden"

    /// The golden's inputs. Where it gives the keys and values that a decoder reads of an encoder, the decoder starts from these, and not from
    /// what the package's functions make of the encoder's inputs.
    private static func inputs(of golden: Golden, for program: ModelPlan) -> [String: StoredTensor] {
        let read = Set(program.functions.flatMap { $0.states(.crossAttention).map(\.name) })
        guard !read.isEmpty, read.allSatisfy({ golden.inputs[$0] != nil }) else { return golden.inputs }
        let decoders = program.functions.filter { $0.input(.tokens) != nil }
        let own = Set(decoders.flatMap { $0.inputs.map(\.name) + $0.states.map(\.name) })
        return golden.inputs.filter { own.contains($0.key) }
    }

    /// - Parameter name: returns the name of an output of the block at a position.
    private static func blocks(
        _ steps: [RunStep], _ program: ModelPlan, of golden: Golden, _ name: @escaping @Sendable (Int, String) -> String
    ) -> [Block] {
        let hidden = golden.outputs[encoderHidden] == nil ? nil : encoderHidden
        return steps.map { step in
            guard let first = step.positions?.lowerBound else {
                let interface = program.functions[step.function].interface
                return Block(step: step) { output in
                    interface.role == .encode && interface.outputs[output]?.kind == .hiddenStates
                        ? hidden ?? output : output
                }
            }
            return Block(step: step) { name(first, $0) }
        }
    }

    private static func noFunction(
        of program: ModelPlan, takes golden: Golden, prefill: Int?
    ) -> RequestError {
        let offered = program.functions.map {
            "\($0.name): \($0.inputs.map(\.description).joined(separator: ", "))"
        }
        let held = golden.inputs.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.shape)" }
        let wanted = prefill.map { ", in a block of \($0) and blocks of 1, or all at once" } ?? ""
        return RequestError(
            Diagnostic(
                "no function of the package takes the tokens of \(golden.path) (\(held.joined(separator: ", "))\(wanted)); "
                    + "the package has \(offered.joined(separator: "; "))", code: .noFunctionForInputs,
                subject: golden.path),
            status: .unavailable)
    }
}
