extension FrozenProgram {
    /// Returns the function with fused activations as nodes of their own, as a model has them before `FuseActivations`: for formats
    /// whose products have none. Products of rounded activations stay as they are.
    package func splittingActivations() throws -> FrozenProgram {
        try applying { program in
            try program.rewriting { node, inputs, builder in
                guard let linear = node.operation as? any LinearOperator, linear.activation != .none,
                    !(node.operation is QuantizedLinear)
                else { return nil }
                return try node.operation.decomposed(inputs, in: &builder)
            }
        }
    }
}
