import Accel
import AccelByteIO
import AccelCPURuntime
import AccelCalibration
import AccelPrograms
import AccelTensors

/// The blocks in which a decoder's functions process the tokens of each sample of a file, over a cache that they share: what makes the
/// decoder's states first, such as an encoder, then the longest blocks, and the last token in a step of its own where there is a
/// function for one. Tokens that fill a block which that would leave out, such as a prompt of as many tokens as the block has, go through
/// it as in a run, and the step has the last of them once more.
struct SampleDecoding {
    /// A sequence of blocks; it starts with an empty cache, or with the one that the file has.
    struct Sequence {
        let blocks: [GoldenDecoding.Block]
        /// For each row, the tokens that count; those behind them are padding. Nil if all count.
        let lengths: [Int]?
        /// The rows of the batch, and those that count, from the first on; the others fill it up. Nil if all count.
        var rows: (all: Int, own: Int)?

        /// Returns the positions of a block's outputs that count.
        func positions(of block: GoldenDecoding.Block, in function: FrozenProgram) -> CountedPositions {
            let tokens = function.program.input(.tokens)?.name
            return positions(of: block, length: function.inputs.first { $0.name == tokens }?.shape.dimensions.last)
        }

        /// - Parameter length: the tokens of a block in a row; nil for a function that takes none.
        func positions(of block: GoldenDecoding.Block, length: Int?) -> CountedPositions {
            guard let lengths else { return .all }
            guard let length else { return CountedPositions.all.counting(rows) }
            let start = blocks.lazy.compactMap(\.step.positions).first?.lowerBound ?? 0
            return CountedPositions(block.step, of: length, lengths: lengths, from: start)
                .counting(rows)
        }
    }
    let sequences: [Sequence]

    /// - Returns: nil if no function takes blocks of the file's tokens, or if nothing makes the states of an encoder that it reads.
    /// - Throws: `RequestError` for more tokens than a cache has positions, and for tokens of another model.
    init?(_ program: ModelPlan, _ samples: SampleInputs) throws {
        let ports = program.functions.flatMap(\.givenPorts)
        let names = Set(ports.map(\.name))
        let given = samples.tensors.filter { names.contains($0.key) }
        guard
            let decoder = program.functions.first(where: { $0.input(.tokens) != nil && $0.input(.position) != nil }),
            let port = decoder.input(.tokens), let tokens = given[port.name], tokens.holdsIndices,
            tokens.shape.rank == 2, let count = tokens.shape.dimensions.first, count > 0
        else { return nil }
        let (rows, width) = (port.shape.dimensions[0], tokens.shape.dimensions[1])
        guard width > 0, rows > 0 else { return nil }
        if decoder.input(.attentionMask) == nil { try samples.requireMask(over: port.name) }
        if let reason = decoder.interface.inputs[port.name]?.foreignNumber(
            in: tokens, mask: samples.tensors[SampleInputs.maskName].map { HostTensor($0).flags })
        {
            throw RequestError("\(samples.file): \"\(port.name)\": \(reason)")
        }
        let mask = samples.tensors[SampleInputs.maskName].flatMap { $0.shape == tokens.shape ? HostTensor($0) : nil }
        let shown = mask.map { SampleInputs.lengths(of: $0) }
        var sequences: [Sequence] = []
        for start in stride(from: 0, to: count, by: rows) {
            // The last run starts again with the first samples where some are missing, which count once.
            let own = (start..<start + rows).map { $0 % count }
            // A row without a token that counts has one to run on.
            let lengths = own.map { row in shown.map { max($0[row], 1) } ?? width }
            let longest = lengths.max() ?? width
            let inputs = given.reduce(into: [String: StoredTensor]()) { inputs, tensor in
                let isSampled = tensor.value.shape.dimensions.first == count && tensor.value.shape.rank > 1
                guard isSampled else { return inputs[tensor.key] = tensor.value }
                let isTokens = tensor.key == port.name
                inputs[tensor.key] =
                    !isTokens && start + rows <= count && tensor.value.elementType == .float32
                    ? tensor.value.rows(start..<start + rows)
                    : tensor.value.samples(own, positions: isTokens ? longest : nil).stored(name: tensor.key)
            }
            let isEven = lengths.allSatisfy { $0 == longest }
            guard
                let (blocks, more) = try Self.blocks(
                    program, inputs, tokens: port.name, mayRepeat: isEven, file: samples.file)
            else { return nil }
            sequences.append(
                Sequence(blocks: blocks, lengths: lengths.map { $0 + more }, rows: (rows, min(rows, count - start))))
        }
        self.sequences = sequences
    }

    /// - Parameter mayRepeat: the last token of all rows may be given once more.
    /// - Returns: the blocks, and the number of tokens that they have beyond those given.
    private static func blocks(
        _ program: ModelPlan, _ inputs: [String: StoredTensor], tokens name: String, mayRepeat: Bool, file: String
    ) throws -> (blocks: [GoldenDecoding.Block], more: Int)? {
        guard let tokens = inputs[name], let whole = DecodingPlan(program, inputs) else { return nil }
        let read = program.functions.flatMap { $0.states(.crossAttention) }.map(\.name)
        guard read.allSatisfy({ inputs[$0] != nil }) || !DecodingPlan.encoding(program, inputs).isEmpty else {
            return nil
        }
        let count = tokens.shape.dimensions[1]
        var steps: [RunStep]
        var more = 0
        if count > 1, whole.hasSteps {
            let rows = Array(0..<tokens.shape.dimensions[0])
            var before = inputs
            before[name] = HostTensor(tokens).samples(rows, positions: count - 1).stored(name: name)
            guard let plan = DecodingPlan(program, before) else { return nil }
            let last = rows.map { HostTensor(tokens).integers[$0 * count + count - 1] }
            steps = try plan.steps(followedBy: last, file: file)
            let functions = Set(steps.map(\.function))
            if mayRepeat, try !functions.isSuperset(of: whole.steps(file: file).map(\.function)),
                let repeated = try? whole.steps(followedBy: last, file: file)
            {
                (steps, more) = (repeated, 1)
            }
        } else {
            steps = try whole.steps(file: file)
        }
        var blocks = steps.map(block)
        // The states after all blocks are compared, under their own names.
        blocks[blocks.count - 1].states = ""
        return (blocks, more)
    }

    private static func block(_ step: RunStep) -> GoldenDecoding.Block { GoldenDecoding.Block(step: step) { $0 } }
}
