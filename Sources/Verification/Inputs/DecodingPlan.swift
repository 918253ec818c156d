import ByteIO
import Programs
import Tensors

/// How a decoder's functions are fed with the tokens of a golden: all at once, and as a prefill with single steps after
/// it that share a cache.
struct DecodingPlan {
    struct Block {
        /// In the program.
        let function: Int
        let inputs: [String: HostTensor]
        /// Inputs that are outputs of blocks before it, by the input's name.
        var carried: [String: String] = [:]
        /// What the golden calls an output of this block.
        let name: @Sendable (String) -> String
        /// What the golden calls the states after it, before the state's name; nil where it holds none.
        var states: String?
    }
    /// Each starts with an empty cache.
    let sequences: [[Block]]

    /// - Throws: `RequestError` with exit status 3 when no function takes the golden's blocks.
    init(_ program: CompiledProgram, golden: Golden) throws {
        let feeds = program.functions.indices.compactMap { Feed($0, program.functions[$0], golden: golden) }
        func feed(_ length: Int) -> Feed? { feeds.first { $0.length == length } }
        let count = feeds.first?.tokens.shape.dimensions[1] ?? 0
        let prefill = golden.outputs.first { $0.key.hasPrefix("prefill_") }?.value.shape.dimensions.dropFirst().first

        var sequences: [[Block]] = []
        if let full = feed(count) {
            sequences.append([Block(function: full.index, inputs: full.inputs(at: 0)) { "\($0)_full" }])
        }
        if let prefill, let first = feed(prefill), let step = feed(1), prefill > 0, prefill <= count {
            var blocks = [
                Block(
                    function: first.index, inputs: first.inputs(at: 0), name: { "prefill_\($0)" }, states: "kv_prefill."
                )
            ]
            for place in prefill..<count {
                blocks.append(
                    Block(
                        function: step.index, inputs: step.inputs(at: place), name: { "step\(place - prefill)_\($0)" }))
            }
            if blocks.count > 1 { blocks[blocks.count - 1].states = "kv_final." }
            sequences.append(blocks)
        }
        let before = Self.encoding(program, golden: golden)
        sequences = sequences.map { before + $0 }
        guard !sequences.isEmpty else {
            let offered = program.functions.map {
                "\($0.name): \($0.inputs.map(\.description).joined(separator: ", "))"
            }
            let held = golden.inputs.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.shape)" }
            let wanted = prefill.map { ", in a block of \($0) and blocks of 1, or all at once" } ?? ""
            throw RequestError(
                "no function of the package takes the tokens of \(golden.path) (\(held.joined(separator: ", "))\(wanted)); "
                    + "the package has \(offered.joined(separator: "; ")); convert with --shape-from \(golden.path)",
                status: .unavailable)
        }
        self.sequences = sequences
    }

    /// What runs before a decoder that reads states of an encoder: a function fed by the golden alone, and one that makes
    /// states of what it gives.
    private static func encoding(_ program: CompiledProgram, golden: Golden) -> [Block] {
        func fits(_ port: CompiledFunction.Port) -> Bool { golden.inputs[port.name]?.shape == port.shape }
        for (index, encoder) in program.functions.enumerated()
        where encoder.states.isEmpty && !encoder.inputs.isEmpty && encoder.inputs.allSatisfy(fits) {
            for (other, keeper) in program.functions.enumerated() where !keeper.states.isEmpty {
                guard keeper.inputs.count == 1, let port = keeper.inputs.first, !fits(port),
                    let output = encoder.outputs.first(where: { $0.operand.shape == port.shape })
                else { continue }
                let inputs = Dictionary(
                    uniqueKeysWithValues: encoder.inputs.compactMap { port in
                        golden.inputs[port.name].map { (port.name, HostTensor($0)) }
                    })
                return [
                    Block(function: index, inputs: inputs) { $0 == "last_hidden_state" ? "encoder_hidden" : $0 },
                    Block(function: other, inputs: [:], carried: [port.name: output.name]) { $0 },
                ]
            }
        }
        return []
    }

    /// A function that takes blocks of a golden's tokens, and the place of the block's first token.
    private struct Feed {
        let index: Int
        let length: Int
        let tokens: HostTensor
        private let port: String
        /// The place among the tokens.
        private let position: String?
        private let others: [String: HostTensor]

        init?(_ index: Int, _ function: CompiledFunction, golden: Golden) {
            guard !function.states.isEmpty,
                let port = function.inputs.first(where: {
                    $0.elementType == .int64 && $0.shape.rank == 2 && golden.inputs[$0.name] != nil
                }), let stored = golden.inputs[port.name], stored.shape.rank == 2,
                stored.shape.dimensions[0] == port.shape.dimensions[0]
            else { return nil }
            var others: [String: HostTensor] = [:]
            var position: String?
            for other in function.inputs where other.name != port.name {
                if let given = golden.inputs[other.name], given.shape == other.shape {
                    others[other.name] = HostTensor(given)
                } else if other.elementType == .int64, other.shape.count == 1, position == nil {
                    position = other.name
                } else {
                    return nil
                }
            }
            self.index = index
            length = port.shape.dimensions[1]
            tokens = HostTensor(stored)
            self.port = port.name
            self.position = position
            self.others = others
        }

        func inputs(at place: Int) -> [String: HostTensor] {
            let (rows, width) = (tokens.shape.dimensions[0], tokens.shape.dimensions[1])
            let all = tokens.integers
            let block = (0..<rows).flatMap { row in all[row * width + place..<row * width + place + length] }
            var inputs = others
            inputs[port] = HostTensor(block, [rows, length])
            if let position { inputs[position] = HostTensor([Int64(place)], [1]) }
            return inputs
        }
    }
}
