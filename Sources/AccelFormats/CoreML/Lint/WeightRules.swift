extension CoreMLLint {
    /// coremltools #2716, #2688, #2777.
    static let statesBesidePalettes = Rule(
        "SPAL", .warning, remedy: "pass the cache as inputs and outputs, or store weights in blocks of int8"
    ) { function in
        guard function.hasStates else { return [] }
        return function.constantOperations.filter { $0.type == "constexpr_lut_to_dense" }.map {
            ($0.location, "a palette in a function with states")
        }
    }

    /// coremltools #2758, #2503: such a package loads, and ends the process at its first prediction.
    static let largeFunctions = Rule(
        "BIG", .warning, remedy: "split it into functions or packages of at most 500 MB, or use palettes"
    ) { function in
        let elements = function.elements(
            of: function.constantOperations.filter {
                $0.type == "const" && $0.outputs.first?.content.tensor.dataType.isFloatingPoint == true
            })
        return elements > 300_000_000
            ? [(function.function.name, "plain weights of \(elements / 500_000) MB in float16")] : []
    }

    /// FluidAudio #828: an encoder in int8 fails on A16.
    static let largeInt8 = Rule(
        "I8A", .note, remedy: "export a twin in float16 for devices up to A16, and try both"
    ) { function in
        guard !function.hasStates else { return [] }
        let parts = function.constantOperations.filter { operation in
            operation.type == "constexpr_affine_dequantize"
                || operation.type == "constexpr_blockwise_shift_scale"
                    && function.type(of: "data", in: operation)?.dataType.bits == 8
        }
        let bytes = function.elements(of: parts)
        return bytes > 300_000_000 ? [(function.function.name, "weights of \(bytes / 1_000_000) MB in int8")] : []
    }
}
