import AccelPrograms

extension SeededInputs {
    /// Draws the inputs of a run and its initial states, so that the comparison covers how a function uses them.
    func feed(for function: FrozenProgram) -> FunctionFeed {
        FunctionFeed(inputs: inputs(for: function), drawnState: { state($0, of: function) })
    }
}
