import AccelByteIO

extension CoreMLModel.Interface {
    /// The interface of a function that was merged from functions of several shapes.
    /// - Parameter interfaces: the interfaces of the functions, with equal order of inputs and outputs; the first has the defaults.
    init(enumerating interfaces: [CoreMLModel.Interface], as function: MILFunction, for target: CoreMLTarget) {
        self = interfaces[0]
        let rows = inputs.indices.map { index in interfaces.compactMap { $0.inputs[index].type.sizes } }
        var hasEnumerated = false
        for (index, sizes) in rows.enumerated() where sizes.contains(where: { $0 != sizes[0] }) {
            // The k-th shapes of all inputs belong together. Before iOS 18 only one input can have enumerated shapes.
            if target >= .iOS18 || !hasEnumerated {
                inputs[index].enumeratedShapes =
                    target >= .iOS18
                    ? sizes : sizes.distinct
                hasEnumerated = true
            } else {
                inputs[index].shapeRanges = sizes[0].indices.map { axis in
                    let all = sizes.map { $0[axis] }
                    return (all.min() ?? 0)...(all.max() ?? 0)
                }
            }
        }
        var types: [String: MILTensorType] = [:]
        for output in function.operations.flatMap(\.outputs) { types[output.name] = output.content.tensor }
        for index in outputs.indices { outputs[index].type = types[outputs[index].name] ?? outputs[index].type }
    }

    /// The allowed shapes of the inputs in words.
    var shapesInWords: [String] {
        func text(_ shape: [Int]) -> String { shape.map(String.init).joined(separator: "x") }
        return inputs.compactMap { input in
            if !input.enumeratedShapes.isEmpty {
                return "shapes: \(input.name) is \(input.enumeratedShapes.map(text).joined(separator: " or "))"
            }
            if input.shapeRanges.isEmpty { return nil }
            let (least, most) = (input.shapeRanges.map(\.lowerBound), input.shapeRanges.map(\.upperBound))
            return "shapes: \(input.name) is \(text(least)) to \(text(most)), "
                + "as only one input can enumerate its shapes before iOS 18"
        }
    }
}
