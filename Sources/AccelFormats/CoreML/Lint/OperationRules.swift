extension CoreMLLint {
    /// coremltools #1103; rf-detr #1495.
    static let cuts = Rule("CUT", .note, remedy: "move it to the end, or return scores and choose in the app") {
        function in
        let types: Set = ["topk", "argsort", "gather_along_axis", "non_maximum_suppression", "cond", "while_loop"]
        return function.operations.filter { types.contains($0.type) }.map {
            ($0.location, "\($0.type) runs on the CPU, and cuts the program in two")
        }
    }

    /// coremltools #1780.
    static let recurrences = Rule("RNN", .note, remedy: "put it into a package of its own for the CPU") {
        function in
        function.operations.filter { ["lstm", "gru", "rnn"].contains($0.type) }.map {
            ($0.location, "\($0.type) does not run on the Neural Engine")
        }
    }

    /// FluidAudio #726: such a program does not compile on macOS 26.
    static let sharedNames = Rule("IOID", .error, remedy: "give each output a tensor and a name of its own") {
        function in
        let inputs = Set(function.function.inputs.map(\.name))
        let ports = Set((function.interface?.inputs ?? []).map(\.name))
        let returned = function.function.outputs.filter(inputs.contains)
        let named = (function.interface?.outputs ?? []).map(\.name).filter(ports.contains)
        return (returned + named.filter { !returned.contains($0) }).map { ($0, "an output is an input, too") }
    }

    /// Strides of a convolution or a pooling window have the factors 2 and 3; windows are at most 13 wide in float16.
    static let strides = Rule("CONV", .warning, remedy: "split the kernel, or move space to depth first") {
        function in
        let types: Set = ["conv", "conv_transpose", "max_pool", "avg_pool", "l2_pool"]
        return try function.operations.filter { types.contains($0.type) }.compactMap { operation in
            let strides = try function.numbers(of: "strides", in: operation)?.compactMap { Int(exactly: $0) } ?? []
            if let odd = strides.first(where: { !$0.hasFactorsTwoAndThree }) {
                return (operation.location, "a stride of \(odd), which has other factors than 2 and 3")
            }
            let isPalette =
                function.name(of: "weight", in: operation).map { name in
                    function.constantOperations.contains {
                        $0.type == "constexpr_lut_to_dense" && $0.outputs.first?.name == name
                    }
                } ?? false
            if isPalette, let large = strides.first(where: { $0 > 2 }) {
                return (operation.location, "a stride of \(large) with a weight of a palette")
            }
            let windows = try function.numbers(of: "kernel_sizes", in: operation)?.compactMap { Int(exactly: $0) }
            let kernel =
                windows ?? function.type(of: "weight", in: operation)?.sizes.map { Array($0.dropFirst(2)) } ?? []
            guard let wide = kernel.last, wide > 13 else { return nil }
            return (operation.location, "a window of \(wide), and one of more than 13 is slow")
        }
    }
}

extension Int {
    fileprivate var hasFactorsTwoAndThree: Bool {
        guard self > 0 else { return false }
        var rest = self
        for factor in [2, 3] {
            while rest.isMultiple(of: factor) { rest /= factor }
        }
        return rest == 1
    }
}
