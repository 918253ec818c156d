package import AccelPrograms

extension Executor {
    /// Copies of the outputs of a call that has just run.
    package func results(ofCall index: Int) -> [HostTensor] { calls[index].outputs.map { $0.tensor() } }
}
