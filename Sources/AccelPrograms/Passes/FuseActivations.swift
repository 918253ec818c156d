/// Fuses an activation into the linear operator before it, if nothing else reads the linear result. The fused node
/// takes the label of the activation.
public enum FuseActivations: ProgramPass {
    public static let name = "fuse-activations"

    public static func run(_ program: Program) throws -> Program {
        let uses = program.useCounts
        return try program.rewriting { node, inputs, builder in
            guard let activation = Activation(fusing: node.operation), uses[node.inputs[0]] == 1,
                let producer = builder.producer(of: inputs[0]),
                var linear = producer.operation as? any LinearOperator, linear.activation == .none
            else { return nil }
            linear.activation = activation
            return [try builder.apply(linear, producer.inputs)]
        }
    }
}
