/// A function of a Core AI model as rules of the linter see it.
struct LintedGraph {
    /// An operation that computes something, with the values of its operands and its first result.
    struct Step {
        let operation: CoreAIOperation
        let index: Int
        let firstResult: Int

        /// The name without the dialect and the version, e.g. `argmax`.
        var kind: String {
            let name = operation.name.split(separator: ".").last.map(String.init) ?? operation.name
            let words = name.split(separator: "_")
            guard let last = words.last, last.first == "v", words.count > 1, last.dropFirst().allSatisfy(\.isNumber)
            else {
                return name
            }
            return words.dropLast().joined(separator: "_")
        }

        /// The location in reports.
        var title: String { "\(kind), operation \(index)" }

        /// Returns the value of an operand; nil if it has fewer.
        func operand(_ index: Int) -> Int? {
            operation.operands.indices.contains(index) ? operation.operands[index] : nil
        }
    }

    /// All operations but constants.
    private(set) var steps: [Step] = []
    private var types: [CoreAIType] = []
    /// The index of the step that computes each value; nil for arguments and constants.
    private var producers: [Int?] = []
    /// Whether each value depends on constants alone.
    private var areConstant: [Bool] = []
    let argumentCount: Int
    /// The functions of the model, by name.
    private let functions: [String: CoreAIOperation]

    /// - Parameters:
    ///   - graph: an operation `dataflow.graph_v1`.
    ///   - functions: those of the model, by name.
    init(_ graph: CoreAIOperation, calling functions: [String: CoreAIOperation]) {
        self.functions = functions
        let body = graph.regions.first ?? CoreAIBlock()
        argumentCount = body.arguments.count
        types = body.arguments
        producers = Array(repeating: nil, count: argumentCount)
        areConstant = Array(repeating: false, count: argumentCount)
        for (index, operation) in body.operations.enumerated() {
            let isConstant = operation.name == CoreAIOperation.constant
            let isFixed =
                isConstant || !operation.operands.isEmpty && operation.operands.allSatisfy { isConstantValue($0) }
            if !isConstant { steps.append(Step(operation: operation, index: index, firstResult: types.count)) }
            let producer = isConstant ? nil : steps.indices.last
            types += operation.results
            producers += operation.results.map { _ in producer }
            areConstant += operation.results.map { _ in isFixed }
        }
    }

    /// Whether a value depends on constants alone.
    func isConstantValue(_ value: Int) -> Bool { areConstant.indices.contains(value) && areConstant[value] }

    /// The results of all steps, with their tensors.
    var results: [(step: Step, sizes: [Int], element: CoreAIElement)] {
        steps.flatMap { step in
            step.operation.results.compactMap { type in Self.tensor(type).map { (step, $0.sizes, $0.element) } }
        }
    }

    /// The tensors of the arguments; those of states are inside their handles.
    var arguments: [(name: String, sizes: [Int], element: CoreAIElement, isState: Bool)] {
        types.prefix(argumentCount).enumerated().compactMap { index, type in
            let isState = if case .handle = type { true } else { false }
            return Self.tensor(type).map { ("argument \(index)", $0.sizes, $0.element, isState) }
        }
    }

    /// Returns the tensor of an operand; nil for another type.
    func tensor(of operand: Int, in step: Step) -> (sizes: [Int], element: CoreAIElement)? {
        step.operand(operand).flatMap { types.indices.contains($0) ? Self.tensor(types[$0]) : nil }
    }

    /// Returns the step that computes an operand; nil for an argument or a constant.
    func producer(of operand: Int, in step: Step) -> Step? {
        // A corrupt operation may take its own result.
        guard let value = step.operand(operand), value < step.firstResult, producers.indices.contains(value),
            let index = producers[value]
        else { return nil }
        return steps[index]
    }

    /// Returns the step that computes an operand, behind conversions and changes of shape.
    func origin(of operand: Int, in step: Step) -> Step? {
        var found = producer(of: operand, in: step)
        while let step = found, Self.passing.contains(step.kind) { found = producer(of: 0, in: step) }
        return found
    }

    /// Returns the kind of the composite that a step calls; nil for another step.
    func composite(_ step: Step) -> String? {
        guard step.operation.name == CoreAIOperation.invoke else { return nil }
        let symbols = step.operation.properties.compactMap { property -> String? in
            if case .parameter(.symbols(let names), _)? = property.attribute { names.first } else { nil }
        }
        guard let callee = symbols.first.flatMap({ functions[$0] }), callee.properties.indices.contains(1),
            case .named(let kind, _)? = callee.properties[1].attribute
        else { return nil }
        return kind
    }

    private static let passing: Set<String> = ["cast", "reshape", "expand_dims", "broadcast_in_dims", "transpose"]

    private static func tensor(_ type: CoreAIType) -> (sizes: [Int], element: CoreAIElement)? {
        switch type {
        case .tensor(let sizes, let element), .sparse(let sizes, let element, _): (sizes, element)
        case .handle(let inner): tensor(inner)
        case .element, .function, .token, .symbol: nil
        }
    }
}
