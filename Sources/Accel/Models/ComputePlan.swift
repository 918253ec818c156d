public import AccelTensors

/// The execution plan of a backend for a function: its calls in order with their work, and the memory. Making it allocates no memory
/// for the run.
///
///     let plan = try model.function("decoder", shape: ["tokens": 1]).plan()
///     for call in plan.calls { print(call.label, call.kernel, call.multiplyAdds, call.byteCount) }
public struct ComputePlan: Sendable {
    /// An operand of a call.
    public struct Operand: Equatable, Sendable, CustomStringConvertible {
        /// The type that the call computes with; weights are decoded to it.
        public let elementType: ElementType
        /// The shape.
        public let shape: Shape
        public var description: String { "\(elementType.rawValue)\(shape)" }
    }

    /// One call of a kernel.
    public struct Call: Sendable {
        /// The node's label, e.g. `encoder.layer.0.attention.self.query`.
        public let label: String
        /// The operator's name, e.g. `linear`.
        public let operation: String
        /// The backend that makes the call.
        public let backend: BackendID
        /// The kernel's name.
        public let kernel: String
        /// Why this kernel was chosen.
        public let reason: String
        /// The operands that the call reads, in the order of the operator's inputs.
        public let inputs: [Operand]
        /// The operands that the call writes.
        public let outputs: [Operand]
        /// The encoding of the stored weight that the call reads, e.g. `int4:block=32`; nil if it reads none.
        public let weightEncoding: String?
        /// The bytes that the call has to read and write, weights as they are stored.
        public let byteCount: Int
        /// Products of two numbers that are added up.
        public let multiplyAdds: Int
    }

    /// The calls in the order of execution.
    public let calls: [Call]
    /// Bytes of intermediate values.
    public let valueBytes: Int
    /// Bytes of scratch memory, which all calls use.
    public let scratchBytes: Int
    /// Bytes of the states.
    public let stateBytes: Int
    /// Bytes of the weights that the function reads, as they are stored. All functions of a model share them.
    public let weightBytes: Int

    /// Products of all calls.
    public var multiplyAdds: Int { calls.reduce(0) { $0 + $1.multiplyAdds } }
}

extension AccelFunction {
    /// The calls that a run makes, with their kernels and their work.
    /// - Throws: `AccelError` (unsupported) if the backend does not know them.
    public func plan() throws(AccelError) -> ComputePlan {
        if let plan = try model.loaded.plan(of: description.name) { return plan }
        throw AccelError(
            .unsupported, "the backend \(model.info.backend) does not say how it runs a function",
            at: description.name, hint: "open the model with `backends: .only(.cpu)`")
    }
}
