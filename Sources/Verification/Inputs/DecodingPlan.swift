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
