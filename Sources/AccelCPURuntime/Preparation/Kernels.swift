package import AccelPrograms

/// The registry of kernels. A new kernel is a file in `Kernels/` and a line here.
enum Kernels {
    static let all: [any Kernel.Type] = [
        ArgMaxKernel.self,
        DecodeAttentionKernel.self,
        AttentionKernel.self,
        BFloat16GEMMKernel.self,
        BinaryKernel.self,
        BinaryFunctionKernel.self,
        CastKernel.self,
        CompareKernel.self,
        ConcatKernel.self,
        ConvKernel.self,
        ConvTransposeKernel.self,
        ConvTransposeAxesKernel.self,
        CopyKernel.self,
        CumulativeSumKernel.self,
        GatherKernel.self,
        HalfCastKernel.self,
        L2NormKernel.self,
        LSTMCellKernel.self,
        LSTMKernel.self,
        LayerNormKernel.self,
        GEMVKernel.self,
        SmallGEMMKernel.self,
        GEMMKernel.self,
        Int8GEMVKernel.self,
        Int8GEMMKernel.self,
        MatMulKernel.self,
        PadKernel.self,
        PositionNormKernel.self,
        RMSNormKernel.self,
        ReduceKernel.self,
        ResizeKernel.self,
        RopeKernel.self,
        RoundRowsKernel.self,
        SelectKernel.self,
        SnakeKernel.self,
        SoftmaxKernel.self,
        UnaryKernel.self,
        UnaryFunctionKernel.self,
        UpdateSliceKernel.self,
        ViewKernel.self,
        WeightViewKernel.self,
        WidenRowsKernel.self,
    ]

    static let byOperator: [String: [any Kernel.Type]] = all.reduce(into: [:]) { table, kernel in
        for operation in kernel.operators { table[operation.name, default: []].append(kernel) }
    }

    static let factsByOperator = byOperator.mapValues(KernelFacts.init)
}

/// The property of an operator's kernels that the planner needs: whether one of them accepts strided memory.
package struct KernelFacts: Sendable {
    package let readsStrided: Bool
    package let writesStrided: Bool
    package let updatesInPlace: Bool

    fileprivate init(_ kernels: [any Kernel.Type]) {
        readsStrided = kernels.contains { $0.readsStrided }
        writesStrided = kernels.contains { $0.writesStrided }
        updatesInPlace = kernels.contains { $0.updatesInPlace }
    }

    /// Creates the facts of an operation's kernels.
    package init(_ operation: any Operator) {
        self = Kernels.factsByOperator[operation.name] ?? KernelFacts([])
    }
}
