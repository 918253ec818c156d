import AccelTensors

extension CoreMLLint {
    /// coremltools #2631: a state of 270 positions fails, and one of 256 works. Short axes are left out: each cache has some, such as heads.
    static let stateSizes = Rule(
        "S32", .warning, remedy: "pad the state to a multiple of 32, and slice after reading it"
    ) { function in
        function.values.filter { function.isState($0.name) }.compactMap { state in
            guard let size = state.type.sizes?.first(where: { $0 > 32 && !$0.isMultiple(of: 32) }) else { return nil }
            return (state.name, "a state \(state.type) has an axis of \(size), which is no multiple of 32")
        }
    }

    static let longAxes = Rule.longAxes(of: sized)
    static let ranks = Rule.ranks(of: sized)

    /// Axes that have no number count as none.
    @Sendable private static func sized(_ function: LintedFunction) -> [Rule.Sized] {
        function.values.map { value in
            (value.name, "\(value.type)", value.type.sizes ?? Array(repeating: 0, count: value.type.rank))
        }
    }

    /// A row is aligned to 64 bytes: a last axis of one number takes 32 times its memory.
    static let lastAxes = Rule(
        "LAST", .warning, remedy: "move the longest axis last, or pad it to whole rows of 64 bytes"
    ) { function in
        function.results.compactMap { result in
            guard let sizes = result.type.sizes, let last = sizes.last, let bits = result.type.dataType.bits,
                let count = Shape(sizes + [bits]).checkedCount, result.type.dataType.isFloatingPoint,
                count / 8 > 64 << 10, !(last * bits / 8).isMultiple(of: 64)
            else { return nil }
            return (result.name, "the rows of \(result.type) have \(last * bits / 8) bytes, which is no multiple of 64")
        }
    }

    /// coremltools #2370, #1764, #1029, #2730, #2271, #989, #1249, #1909.
    static let flexibleShapes = Rule("FLEX", .warning, remedy: "export a function for each fixed shape") {
        function in
        let inputs = function.interface?.inputs ?? []
        let enumerated = inputs.filter { $0.enumeratedShapes.count > 1 }
        return inputs.compactMap { input in
            if input.shapeRanges.contains(where: { $0.lowerBound != $0.upperBound }) || input.type.sizes == nil {
                return (input.name, "a range of shapes does not run on the Neural Engine")
            }
            guard input.enumeratedShapes.count > 1 else { return nil }
            if input.enumeratedShapes.count > 120 {
                return (input.name, "\(input.enumeratedShapes.count) enumerated shapes, and more than 120 fail")
            }
            if Set(input.enumeratedShapes.map(\.first)).count > 1 {
                return (input.name, "enumerated batch sizes fail on the Neural Engine")
            }
            if enumerated.count > 1 { return (input.name, "shapes are enumerated for more than one input") }
            if function.operations.contains(where: { $0.type == "layer_norm" }) {
                return (input.name, "layer_norm of enumerated shapes leaves the Neural Engine")
            }
            return (input.name, "shapes but the default one seldom run on the Neural Engine")
        }
    }

    /// hollance/neural-engine #44.
    static let longSoftmax = Rule("SMAX", .note, remedy: "split the heads, or use the channel axis") { function in
        try function.operations.filter { $0.type == "softmax" }.compactMap { operation in
            guard let size = try function.sizeOfAxis(operation), size > 4096 else { return nil }
            return (operation.location, "a softmax over \(size) numbers")
        }
    }
}

extension MILOperation {
    /// The name of the first result.
    var location: String { outputs.first?.name ?? type }
}
