extension Program {
    /// Returns the program without the outputs that depend on some of its weights, and without the weights and nodes that only these need.
    /// - Parameter isLeftOut: whether a weight is one of these, by its name.
    /// - Returns: the program itself if no output depends on them, or if all outputs do.
    /// - Throws: `ShapeError` if the rewritten program is not valid, which is an error of this function.
    package func leavingOut(outputsOf isLeftOut: (String) -> Bool) throws -> Program {
        var dependent = Set(constants.filter { $0.isWeight && isLeftOut($0.name) }.map(\.value))
        for node in nodes where node.inputs.contains(where: dependent.contains) { dependent.formUnion(node.outputs) }
        let kept = outputs.filter { !dependent.contains($0.value) }
        guard kept.count < outputs.count, !kept.isEmpty else { return self }
        var interface = interface
        for output in outputs where dependent.contains(output.value) { interface.outputs[output.name] = nil }
        return try with(outputs: kept, interface: interface).rewriting()
    }
}
