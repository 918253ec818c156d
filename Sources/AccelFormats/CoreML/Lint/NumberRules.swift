extension CoreMLLint {
    /// An operation in float32 leaves the Neural Engine, and so do conversions in the middle.
    static let float32 = Rule(
        "F32", .warning,
        remedy:
            "compute in float16 with one conversion at each end, as the layout of the Neural Engine does, or put the float32 part into a package for the CPU"
    ) { function in
        guard function.computesInHalf else { return [] }
        let outputs = Set(function.function.outputs)
        return function.results.compactMap { result in
            if result.operation.type == "cast" {
                guard let source = function.name(of: "x", in: result.operation),
                    function.type(of: source)?.dataType.isFloatingPoint == true,
                    result.type.dataType.isFloatingPoint, !function.isInput(source), !outputs.contains(result.name)
                else { return nil }
                return (result.name, "a conversion to \(result.type.dataType.word) between operations")
            }
            guard result.type.dataType == .float32 else { return nil }
            return (result.name, "\(result.operation.type) computes in float32 among operations in float16")
        }
    }

    /// cactus #734: -1e9 becomes -inf in float16, and rows that are masked whole NaN.
    static let infinities = Rule(
        "INF", .error, remedy: "use -40000 in masks of float16, and finite numbers elsewhere"
    ) { function in
        guard function.computesInHalf else { return [] }
        return try function.constantOperations.compactMap { operation in
            guard let floats = try function.floats(of: operation),
                let bad = floats.first(where: { !$0.isFinite || $0.magnitude > 65_504 })
            else { return nil }
            return (operation.location, "a constant has \(bad), which float16 cannot hold")
        }
    }

    /// coremltools #2821: the mean of squares exceeds float16 from 256 on.
    static let squares = Rule(
        "NORM", .warning, remedy: "divide by the largest magnitude first, or use layer_norm, which sums in float32"
    ) { function in
        function.operations.filter { ["reduce_mean", "reduce_sum"].contains($0.type) }.compactMap { operation in
            guard let square = function.producer(of: "x", in: operation),
                square.outputs.first?.content.tensor.dataType == .float16
            else { return nil }
            let isSquare =
                switch square.type {
                case "square": true
                case "mul":
                    function.name(of: "x", in: square) != nil
                        && function.name(of: "x", in: square) == function.name(of: "y", in: square)
                case "pow": (try? function.numbers(of: "y", in: square)) == [2]
                default: false
                }
            // A product with a constant before it keeps squares small.
            let source = function.producer(of: "x", in: square)
            guard isSquare, source?.type != "real_div" else { return nil }
            return (operation.location, "the \(operation.type == "reduce_sum" ? "sum" : "mean") of squares in float16")
        }
    }

    /// An epsilon below the smallest number of float16 is 0.
    static let smallEpsilons = Rule(
        "EPS", .warning, remedy: "use an epsilon of at least 6e-8, scaled with the input"
    ) { function in
        try function.operations.compactMap { operation in
            guard operation.binding("epsilon") != nil,
                operation.outputs.first?.content.tensor.dataType == .float16,
                let epsilon = try function.numbers(of: "epsilon", in: operation)?.first, epsilon > 0, epsilon < 6e-8
            else { return nil }
            return (operation.location, "\(operation.type) has an epsilon of \(epsilon), which float16 does not have")
        }
    }

    /// coreai-torch #21, coremltools #2359: e to the power of 12 exceeds float16.
    static let exponentials = Rule(
        "EXP", .warning, remedy: "subtract the largest value first, or use softmax or softplus"
    ) { function in
        function.operations.compactMap { operation in
            guard operation.type == "exp", operation.outputs.first?.content.tensor.dataType == .float16 else {
                return nil
            }
            if let difference = function.producer(of: "x", in: operation), difference.type == "sub",
                function.producer(of: "y", in: difference)?.type == "reduce_max"
            {
                return nil
            }
            return (operation.location, "exp in float16 of numbers that may exceed 11")
        }
    }

    /// Cumulative phases drift in float16.
    static let phases = Rule(
        "PHASE", .warning, remedy: "compute phases in float32 on the CPU, or wrap them to [0, 1)"
    ) { function in
        try function.operations.compactMap { operation in
            guard operation.outputs.first?.content.tensor.dataType == .float16 else { return nil }
            if operation.type == "cumsum", let size = try function.sizeOfAxis(operation), size > 256 {
                return (operation.location, "a cumulative sum of \(size) numbers in float16")
            }
            return operation.type == "atan2" ? (operation.location, "atan2 in float16") : nil
        }
    }
}
