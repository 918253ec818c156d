import AccelPrograms
import AccelTensors

/// Lowers one frozen program to kernel calls over an arena.
///
/// A view operator (reshape, transpose, slice) costs nothing: its output is another layout of its input's memory. Where
/// a kernel needs contiguous memory and has none, a copy goes before it.
struct FunctionPlanner {
    /// Where a value lies while offsets are not yet known.
    struct Placement: Equatable {
        enum Home: Hashable {
            case input(Int)
            case weight(Int)
            case buffer(Int)
            case state(Int)
        }
        var home: Home
        var elementType: ElementType
        var layout: StridedLayout
    }
    struct Call {
        var operation: any Operator
        var label: String
        var inputs: [Placement]
        var outputs: [Placement]
    }

    private let function: FrozenProgram
    private let uses: [Value: Int]
    /// The value of each state for the next run, by its value before the run.
    private let nextOfState: [Value: Value]
    private var placements: [Value: Placement] = [:]
    private var calls: [Call] = []
    private var buffers: [MemoryPlan.Buffer] = []

    init(_ function: FrozenProgram) {
        self.function = function
        uses = function.program.useCounts
        nextOfState = Dictionary(function.program.states.map { ($0.value, $0.next) }) { first, _ in first }
    }

    /// - Parameter weights: the indices of all tensors by name; every constant is one of them.
    mutating func planned(with weights: [String: Int]) throws -> FunctionPlan {
        let program = function.program
        for (index, input) in program.inputs.enumerated() {
            placements[input.value] = placement(.input(index), of: input.value)
        }
        for constant in program.constants {
            guard let index = weights[constant.name] else {
                throw ShapeError(
                    operator: "constant \"\(constant.name)\"", reason: "the graph has no tensor of this name")
            }
            placements[constant.value] = placement(.weight(index), of: constant.value)
        }
        for (index, state) in program.states.enumerated() {
            placements[state.value] = placement(.state(index), of: state.value)
        }
        let preferred = preferredLayouts()
        for node in program.nodesWithSiblings { lower(node, preferred: preferred) }
        let outputs = finalOutputs()
        updateStates()
        let joined = JoinRules.groups(of: calls, outputs: outputs.map(\.1.home))
        // The calls of a group run at the same time.
        for group in joined {
            for output in group.flatMap({ calls[$0].outputs }) { extendLifetime(of: output, from: group.lowerBound) }
        }
        for (_, placement) in outputs { extendLifetime(of: placement, to: calls.count) }
        let plan = try MemoryPlan(buffers, of: function.functionName)
        return FunctionPlan(
            name: function.functionName, part: program.name, bindings: function.bindings,
            inputs: function.inputs, outputs: outputs.map { .init(name: $0, operand: operand($1, plan)) },
            states: function.states,
            arenaBytes: plan.arenaBytes,
            calls: calls.map { call in
                KernelCall(
                    operation: call.operation, label: call.label, inputs: call.inputs.map { operand($0, plan) },
                    outputs: call.outputs.map { operand($0, plan) })
            },
            joined: joined,
            interface: program.interface)
    }

    private mutating func lower(_ node: Program.Node, preferred: [Value: StridedLayout]) {
        var inputs = node.inputs.compactMap { placements[$0] }
        if let source = inputs.first, let output = node.outputs.first, canBeView(node.operation, of: source) {
            let seen =
                node.operation.view(of: source.layout) == nil ? contiguousCopy(of: source, label: node.label) : source
            if let layout = node.operation.view(of: seen.layout) {
                placements[output] = Placement(home: seen.home, elementType: seen.elementType, layout: layout)
                return
            }
        }
        if !KernelFacts(node.operation).readsStrided {
            inputs = inputs.map { $0.layout.isContiguous ? $0 : contiguousCopy(of: $0, label: node.label) }
        }
        let outputs = node.outputs.map { value in
            updatedInPlace(node)
                ?? newBuffer(of: value, layout: preferred[value] ?? StridedLayout(shape: function.shape(of: value)))
        }
        append(Call(operation: node.operation, label: node.label, inputs: inputs, outputs: outputs))
        for (value, placement) in zip(node.outputs, outputs) { placements[value] = placement }
    }

    /// Returns the state that a node may overwrite with its value for the next run: one whose old value nothing else
    /// reads.
    private func updatedInPlace(_ node: Program.Node) -> Placement? {
        guard KernelFacts(node.operation).updatesInPlace, let source = node.inputs.first, uses[source] == 1,
            let next = nextOfState[source], next == node.outputs.first
        else { return nil }
        return placements[source]
    }

    /// The function's outputs. A value that a state update would overwrite is copied first.
    private mutating func finalOutputs() -> [(String, Placement)] {
        let states = function.program.states
        return function.program.outputs.compactMap { output in
            guard let placement = placements[output.value] else { return nil }
            guard case .state(let index) = placement.home, states[index].next != states[index].value,
                placements[states[index].next]?.home != placement.home
            else { return (output.name, placement) }
            return (output.name, contiguousCopy(of: placement, label: output.name))
        }
    }

    /// Copies the value for the next run into each state, unless it was written in place. Values that lie in another
    /// state are taken out of there first.
    private mutating func updateStates() {
        var pending: [(source: Placement, target: Placement, label: String)] = []
        for (index, state) in function.program.states.enumerated() {
            guard var source = placements[state.next] else { continue }
            let target = placement(.state(index), of: state.value)
            if source == target { continue }
            if case .state = source.home { source = contiguousCopy(of: source, label: state.name) }
            pending.append((source, target, state.name))
        }
        for (source, target, name) in pending {
            append(Call(operation: Copy(), label: "\(name).update", inputs: [source], outputs: [target]))
        }
    }

    /// Weights are decoded while they are read, so they have no memory that a view could refer to.
    private func canBeView(_ operation: any Operator, of source: Placement) -> Bool {
        if case .weight = source.home { return false }
        return operation.view(of: StridedLayout(shape: source.layout.shape)) != nil
    }

    private mutating func contiguousCopy(of source: Placement, label: String) -> Placement {
        let layout = StridedLayout(shape: source.layout.shape)
        let copy = newBuffer(source.elementType, layout: layout)
        append(Call(operation: Copy(), label: "\(label).copy", inputs: [source], outputs: [copy]))
        return copy
    }

    /// For a value that only a transpose reads: the layout that makes the transposed value contiguous.
    private func preferredLayouts() -> [Value: StridedLayout] {
        let program = function.program
        let writers = Set(program.nodes.filter { KernelFacts($0.operation).writesStrided }.flatMap(\.outputs))
        var layouts: [Value: StridedLayout] = [:]
        for node in program.nodes {
            guard let transpose = node.operation as? Transpose, let source = node.inputs.first, uses[source] == 1,
                writers.contains(source)
            else { continue }
            var strides = function.shape(of: source).strides
            let contiguous = function.shape(of: node.outputs[0]).strides
            for (axis, from) in transpose.permutation.enumerated() { strides[from] = contiguous[axis] }
            layouts[source] = StridedLayout(shape: function.shape(of: source), strides: strides)
        }
        return layouts
    }

    private func placement(_ home: Placement.Home, of value: Value) -> Placement {
        Placement(
            home: home, elementType: function.program.type(of: value).elementType,
            layout: StridedLayout(shape: function.shape(of: value)))
    }

    private mutating func newBuffer(of value: Value, layout: StridedLayout) -> Placement {
        newBuffer(function.program.type(of: value).elementType, layout: layout)
    }

    private mutating func newBuffer(_ elementType: ElementType, layout: StridedLayout) -> Placement {
        buffers.append(
            .init(byteCount: layout.shape.count * elementType.byteCount, lifetime: calls.count...calls.count))
        return Placement(home: .buffer(buffers.count - 1), elementType: elementType, layout: layout)
    }

    private mutating func append(_ call: Call) {
        for placement in call.inputs { extendLifetime(of: placement, to: calls.count) }
        calls.append(call)
    }

    private mutating func extendLifetime(of placement: Placement, to call: Int) {
        guard case .buffer(let index) = placement.home else { return }
        buffers[index].lifetime = buffers[index].lifetime.lowerBound...max(buffers[index].lifetime.upperBound, call)
    }

    private mutating func extendLifetime(of placement: Placement, from call: Int) {
        guard case .buffer(let index) = placement.home else { return }
        let lifetime = buffers[index].lifetime
        buffers[index].lifetime = min(lifetime.lowerBound, call)...lifetime.upperBound
    }

    private func operand(_ placement: Placement, _ plan: MemoryPlan) -> Operand {
        let storage: Operand.Storage =
            switch placement.home {
            case .input(let index): .input(index)
            case .weight(let index): .weight(index)
            case .buffer(let index): .arena(plan.offsets[index])
            case .state(let index): .state(index)
            }
        return Operand(storage: storage, elementType: placement.elementType, layout: placement.layout)
    }
}
