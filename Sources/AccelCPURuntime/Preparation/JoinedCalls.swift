import AccelPrograms

/// A group of calls that run as one: `FunctionPlan.joined` has them, and a rule in `Planning/Joining/` found them.
///
/// Products of the same rows have their steps side by side, so that all workers share the pieces of all of them. A sum that follows
/// a product is made by the product's own step.
struct JoinedCalls {
    let calls: Range<Int>
    /// The part of the group's time that each call stands for, by its multiply-adds.
    let shares: [Double]
    private let steps: [PlacedStep]

    /// - Parameters:
    ///   - calls: the function's calls, in the plan and in memory.
    ///   - kernels: those of the calls when they run alone.
    /// - Returns: nil where a call's operands have to be copied first: then the calls run one after the other.
    init?(
        _ group: Range<Int>, _ calls: (planned: [KernelCall], prepared: [PreparedCall]), _ kernels: [PreparedKernel]
    ) {
        guard let workspace = calls.prepared[group].first?.workspace else { return nil }
        var parts: [[KernelStep]] = []
        var next = group.lowerBound
        while next < group.upperBound {
            var call = calls.prepared[next]
            guard case .kernel(let index, isStaged: false) = kernels[next].chosen else { break }
            if next + 1 < group.upperBound,
                let residual = ResidualSum.residualIndex(of: calls.planned[next + 1], after: calls.planned[next])
            {
                let sum = calls.prepared[next + 1]
                call = call.adding(sum.inputs[residual], into: sum.outputs)
                next += 1
            }
            guard let kernel = try? Kernels.byOperator[call.operation.name]?[index].init(call) else { break }
            parts.append(kernel.steps)
            next += 1
        }
        guard next == group.upperBound else {
            workspace.rewind()
            return nil
        }
        let steps = Self.sideBySide(parts)
        workspace.commit(steps)
        self.calls = group
        self.steps = steps.map { PlacedStep($0, in: workspace) }
        let work = calls.planned[group].map { Double($0.operation.multiplyAdds($0.inputs.map(\.shape))) }
        let all = max(work.reduce(0, +), 1)
        shares = work.map { $0 / all }
    }

    func run(on team: Team) {
        for index in 0..<steps.count { team.run(steps[index]) }
    }

    /// The last steps of all calls become one step, and so on backwards. Of steps that fill in the same memory, the earliest runs:
    /// those that read it come after it.
    static func sideBySide(_ parts: [[KernelStep]]) -> [KernelStep] {
        let parts = parts.map { $0.filter { $0.pieces > 0 } }
        let count = parts.map(\.count).max() ?? 0
        var filled = Set<Int>()
        return (0..<count).map { stage in
            let steps = parts.compactMap { steps -> KernelStep? in
                let index = stage - (count - steps.count)
                guard index >= 0 else { return nil }
                if let scratch = steps[index].fills, !filled.insert(scratch.number).inserted { return nil }
                return steps[index]
            }
            return KernelStep(joining: steps)
        }
    }
}

extension KernelStep {
    /// The pieces of several steps, one step after the other.
    init(joining steps: [KernelStep]) {
        if steps.count == 1 {
            self = steps[0]
            return
        }
        var ends: [Int] = []
        for step in steps { ends.append((ends.last ?? 0) + step.pieces) }
        self.init(ends.last ?? 0, scratchFloats: steps.map(\.scratchFloats).max() ?? 0) { [ends] piece, scratch in
            var index = 0
            while piece >= ends[index] { index += 1 }
            steps[index].body(piece - (ends[index] - steps[index].pieces), scratch)
        }
    }
}

extension PreparedCall {
    /// The same product with another value added to the result, which goes to the memory of the sum.
    fileprivate func adding(_ residual: OperandMemory, into outputs: [OperandMemory]) -> PreparedCall {
        PreparedCall(
            operation: operation, label: label, inputs: inputs, outputs: outputs, residual: residual,
            workspace: workspace)
    }
}
