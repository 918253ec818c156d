/// Fuses an activation into the linear operator before it, if nothing else reads the linear result. The fused node
/// takes the label of the activation.
public enum FuseActivations: ProgramPass {
    public static let name = "fuse-activations"

    public static func run(_ program: Program) throws -> Program {
        let uses = program.useCounts
        return try program.rewriting { node, inputs, builder in
            guard let activation = Activation(fusing: node.operation), uses[node.inputs[0]] == 1,
                let producer = builder.producer(of: inputs[0]), let linear = producer.operation as? Linear,
                linear.activation == .none
            else { return nil }
            return [try builder.apply(Linear(activation: activation), producer.inputs)]
        }
    }
}
