import AccelPrograms

/// The registry of kernels. A new kernel is a file in `Kernels/` and a line here.
enum Kernels {
    static let all: [any Kernel.Type] = [
        AttentionStepKernel.self,
        AttentionKernel.self,
        BinaryKernel.self,
        ConvKernel.self,
        ConvTransposeKernel.self,
        CopyKernel.self,
        GatherKernel.self,
        LayerNormKernel.self,
        LinearStepKernel.self,
        LinearKernel.self,
        MatMulKernel.self,
        PositionNormKernel.self,
        RMSNormKernel.self,
        RopeKernel.self,
        SnakeKernel.self,
        SoftmaxKernel.self,
        UnaryKernel.self,
        UpdateSliceKernel.self,
        WeightViewKernel.self,
    ]

    private static let byOperator: [String: [any Kernel.Type]] = all.reduce(into: [:]) { table, kernel in
        for operation in kernel.operators { table[operation.name, default: []].append(kernel) }
    }

    /// The first kernel that takes the call, else the operator's reference meaning.
    static func kernel(for call: PreparedCall) -> any Kernel {
        for type in byOperator[call.operation.name] ?? [] {
            if let kernel = type.init(call) { return kernel }
        }
        return ReferenceKernel(call)
    }
}
