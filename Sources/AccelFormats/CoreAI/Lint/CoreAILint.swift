/// The rules for Core AI models. A new one is a value here.
enum CoreAILint {
    typealias Rule = LintRule<LintedGraph>

    static let rules: [Rule] = [
        ranks, longAxes, float32, emptyTensors, stateWrites, halfIndices, rounding, castPairs, integerMasks,
        computedPositions, freeStates, unequalHeads, linearInt4, channelInt8,
    ]

    private static let ranks = Rule.ranks(of: sized)
    private static let longAxes = Rule.longAxes(of: sized)

    @Sendable private static func sized(_ graph: LintedGraph) -> [Rule.Sized] {
        graph.results.map { ($0.step.title, "\($0.sizes)", $0.sizes) }
    }

    /// neural_engine_rules.md of coreai-models: an operation in float32 leaves the Neural Engine.
    private static let float32 = Rule(
        "F32", .warning, remedy: "compute in float16, or put the float32 part into a model for the CPU"
    ) { graph in
        let computing = graph.results.filter { $0.step.kind != "cast" }
        guard computing.contains(where: { $0.element == .float16 }) else { return [] }
        return computing.filter { $0.element == .float32 }.map {
            ($0.step.title, "it computes in float32, and others in float16")
        }
    }

    /// coreai-torch #68.
    private static let emptyTensors = Rule("CAI2", .error, remedy: "leave the operation out") { graph in
        graph.results.filter { $0.sizes.contains(0) }.map {
            ($0.step.title, "\($0.sizes) has no elements, which ends the program on the GPU and the Neural Engine")
        }
    }

    /// pipelined-engine.md of coreai-model-zoo.
    private static let stateWrites = Rule("CAI3", .error, remedy: "write the state once, with all changes") { graph in
        let writes = graph.steps.filter { $0.kind == "write_handle" }
        return Dictionary(grouping: writes) { $0.operand(0) ?? -1 }.values.filter { $0.count > 1 }
            .map { ($0[1].title, "a state is written \($0.count) times in a run, and all but one are dropped") }
            .sorted { $0.0 < $1.0 }
    }

    /// coreai-torch #115, #116.
    private static let halfIndices = Rule("CAI1", .warning, remedy: "return the scores, and choose in the app") {
        graph in
        graph.steps.filter { $0.kind.hasPrefix("gather") }.compactMap { gather in
            guard let choice = graph.origin(of: 1, in: gather),
                ["argmax", "topk", "argsort", "sort"].contains(choice.kind),
                graph.tensor(of: 0, in: choice)?.element == .float16
            else { return nil }
            return (choice.title, "an index of float16 numbers leads to \(gather.title); it is wrong on some phones")
        }
    }

    /// coreai-torch #10.
    private static let rounding = Rule("CAI2G", .warning, remedy: "divide twice the number by two, rounding down") {
        graph in
        graph.steps.filter { ["floor", "trunc", "ceil"].contains($0.kind) }.map {
            ($0.title, "\($0.kind) does nothing on the GPU")
        }
    }

    /// coreai-torch #9.
    private static let castPairs = Rule("CAI2C", .warning, remedy: "round by an operation") { graph in
        graph.steps.compactMap { step in
            guard step.kind == "cast", let first = graph.producer(of: 0, in: step), first.kind == "cast",
                case .tensor(_, let element)? = step.operation.results.first, element.isFloatingPoint,
                let middle = graph.tensor(of: 0, in: step)?.element, middle.isInteger,
                let start = graph.tensor(of: 0, in: first)?.element, start.isFloatingPoint
            else { return nil }
            return (step.title, "numbers become integers and numbers again, which is left out")
        }
    }

    /// coreai-torch #11.
    private static let integerMasks = Rule("CAI2M", .warning, remedy: "make the mask by arithmetic") { graph in
        graph.steps.compactMap { step in
            guard step.kind == "cast", let compare = graph.producer(of: 0, in: step),
                ["greater", "greater_equal", "equal", "not_equal", "less", "less_equal"].contains(compare.kind),
                graph.tensor(of: 0, in: compare)?.element == .int64
            else { return nil }
            return (step.title, "a comparison of int64 becomes numbers, which corrupts memory")
        }
    }

    /// coreai-models #5; Apple says that later systems do it.
    private static let computedPositions = Rule(
        "CAI3W", .warning, remedy: "take the position from a shape, or blend with a mask"
    ) { graph in
        graph.steps.filter { $0.kind == "slice_update" }.compactMap { update in
            guard let begin = update.operand(1), !graph.isConstantValue(begin) else { return nil }
            return (update.title, "the position of the change is computed, which ends the program on the first systems")
        }
    }

    /// coreai-models #124.
    private static let freeStates = Rule(
        "CAI4", .warning, remedy: "give the state a fixed shape, or at most 1024 positions"
    ) { graph in
        graph.arguments.filter { $0.isState && $0.sizes.contains { $0 < 0 } }.map {
            ($0.name, "a state with a free axis gives wrong outputs on iOS 27 from 2048 positions on")
        }
    }

    /// coreai-error-index.md of coreai-model-zoo.
    private static let unequalHeads = Rule("CAI4H", .warning, remedy: "pad the values to the width of the queries") {
        graph in
        graph.steps.compactMap { step in
            guard graph.composite(step) == "scaled_dot_product_attention",
                let query = graph.tensor(of: 0, in: step)?.sizes.last,
                let value = graph.tensor(of: 2, in: step)?.sizes.last,
                query != value
            else { return nil }
            return (step.title, "queries have \(query) columns and values \(value), and the GPU wants the same")
        }
    }

    /// coreai-models #205, #55.
    private static let linearInt4 = Rule("CAI5", .warning, remedy: "use a palette") { graph in
        graph.scalings.filter { [.int4, .uint4].contains($0.data.element) }.map {
            ($0.step.title, "weights of four bits with scales run on the GPU only, and nothing says so")
        }
    }

    /// pipelined-engine.md of coreai-model-zoo.
    private static let channelInt8 = Rule("CAI5G", .warning, remedy: "use blocks of 32") { graph in
        graph.scalings.filter { $0.isByChannel && [.int8, .uint8].contains($0.data.element) }.map {
            ($0.step.title, "int8 weights with a scale for each channel are wrong on some GPUs")
        }
    }
}

extension CoreAIElement {
    fileprivate var isInteger: Bool { !isFloatingPoint && self != .bool }
}

extension LintedGraph {
    /// The steps that scale codes of weights.
    fileprivate var scalings: [(step: Step, data: (sizes: [Int], element: CoreAIElement), isByChannel: Bool)] {
        steps.filter { $0.kind == "blockwise_shift_scale" }.compactMap { step in
            guard let data = tensor(of: 0, in: step), let scale = tensor(of: 1, in: step) else { return nil }
            let (row, rest) = (scale.sizes.first, scale.sizes.dropFirst())
            return (step, data, row == data.sizes.first && rest.allSatisfy { $0 == 1 } && !rest.isEmpty)
        }
    }
}

extension CoreAIPackage {
    /// Returns what the rules of the linter find in the functions that applications call, the most severe first.
    public func lint() throws -> [LintFinding] {
        let functions = functions
        let named = Dictionary(functions.map { ($0.name, $0.graph) }) { _, last in last }
        return try [LintFinding](
            CoreAILint.rules,
            in: functions.filter(\.isPublic).map { ($0.name, LintedGraph($0.graph, calling: named)) })
    }
}
