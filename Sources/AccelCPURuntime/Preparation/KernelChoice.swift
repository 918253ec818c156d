import AccelByteIO
import AccelPrograms
import AccelTensors

/// The kernel chosen for a call, with all candidates and their costs.
public struct KernelChoice: Sendable {
    /// A kernel of the operator, with its estimated cost.
    public struct Candidate: Sendable {
        /// The kernel's name.
        public let kernel: String
        /// The estimated cost, comparable only between kernels of one operator; nil if the kernel does not support the
        /// call.
        public let cost: Double?
        /// The reason that it is suitable, or that it is not.
        public let reason: String
    }
    /// Every kernel of the operator, in the order of the registry.
    public let candidates: [Candidate]
    /// The index of the chosen candidate.
    public let chosen: Int
    /// The operands that are copied to or from contiguous memory for the kernel, e.g. `input 1 decoded`.
    public let staged: [String]

    /// The name of the chosen kernel.
    public var kernel: String { candidates[chosen].kernel }
    /// The reason that the chosen kernel is suitable.
    public var reason: String { candidates[chosen].reason }
}

/// The kernel of a call, kept for other sessions of the same model.
enum ChosenKernel: Sendable {
    /// The result has no elements.
    case nothing
    /// The index among the operator's kernels. If staged, the operands are copied to contiguous memory.
    case kernel(Int, isStaged: Bool)
}

/// A call that is ready to run: its kernel is chosen and its memory is planned.
struct PreparedKernel {
    /// nil if the result has no elements, so that no kernel runs.
    let type: (any Kernel.Type)?
    /// nil unless `explains` is set: composing the reasons takes longer than choosing the kernels.
    let choice: KernelChoice?
    let chosen: ChosenKernel
    let check: (@Sendable () throws -> Void)?
    let packing: WeightPacking?
    let steps: [PlacedStep]

    /// Chooses the kernel of least cost among those that support the call. If none does, it copies the operands to
    /// contiguous scratch memory first.
    /// - Parameter known: the kernel that another session has chosen for the call.
    /// - Throws: `FormatError` if no kernel supports the copied operands either.
    init(_ call: PreparedCall, known: ChosenKernel? = nil, explains: Bool = false) throws {
        // A result without elements may still have any number of empty rows.
        guard call.outputs.contains(where: { !$0.shape.dimensions.contains(0) }) else {
            let nothing = KernelChoice.Candidate(kernel: "nothing", cost: 0, reason: "the result has no elements")
            choice = explains ? KernelChoice(candidates: [nothing], chosen: 0, staged: []) : nil
            (type, check, packing, steps, chosen) = (nil, nil, nil, [], .nothing)
            return
        }
        var staging = StagedCall()
        var found: (candidates: [KernelChoice.Candidate], chosen: Int, kernel: any Kernel)?
        if case .kernel(let index, let isStaged)? = known, !explains {
            if isStaged { staging = StagedCall(call) }
            let types = Kernels.byOperator[call.operation.name] ?? []
            found = (try? types[index].init(staging.call ?? call)).map { ([], index, $0) }
        } else {
            found = Self.choice(for: call, explains)
            if found == nil {
                staging = StagedCall(call)
                found = Self.choice(for: staging.call ?? call, explains)
            }
        }
        guard let (candidates, index, kernel) = found else {
            call.workspace.rewind()
            let kinds = call.inputs.map { "\($0.elementType.rawValue)\($0.shape)" }.joined(separator: ", ")
            throw FormatError(
                file: call.label, reason: "there is no kernel for \(call.operation.name) of \(kinds)")
        }
        let steps = staging.before + kernel.steps + staging.after
        call.workspace.commit(steps)
        type = Swift.type(of: kernel)
        chosen = .kernel(index, isStaged: staging.call != nil)
        choice = explains ? KernelChoice(candidates: candidates, chosen: index, staged: staging.remarks) : nil
        (check, packing) = (kernel.check, kernel.packing)
        self.steps = steps.map { PlacedStep($0, in: call.workspace) }
    }

    private static func choice(for call: PreparedCall, _ explains: Bool) -> (
        candidates: [KernelChoice.Candidate], chosen: Int, kernel: any Kernel
    )? {
        let types = Kernels.byOperator[call.operation.name] ?? []
        let start = call.workspace.reserved
        var candidates: [KernelChoice.Candidate] = []
        var best: (index: Int, kernel: any Kernel, cost: Double)?
        for (index, type) in types.enumerated() {
            call.workspace.rewind(to: start)
            do throws(Unsuitable) {
                let kernel = try type.init(call)
                if explains { candidates.append(.init(kernel: "\(type)", cost: kernel.cost, reason: kernel.reason)) }
                if kernel.cost < best?.cost ?? .infinity { best = (index, kernel, kernel.cost) }
            } catch {
                if explains { candidates.append(.init(kernel: "\(type)", cost: nil, reason: error.reason)) }
            }
        }
        call.workspace.rewind(to: start)
        guard let best else { return nil }
        // Once more, for the scratch memory of this one alone.
        guard let kernel = try? types[best.index].init(call) else { return nil }
        return (candidates, best.index, kernel)
    }

    /// Makes the call.
    /// - Throws: `OperatorError`
    func run(on team: Team) throws {
        try check?()
        // Plain loops also where the compiler does not optimise: those over collections may allocate then.
        for index in 0..<steps.count { team.run(steps[index]) }
    }
}
