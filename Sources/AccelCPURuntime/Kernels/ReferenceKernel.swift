import AccelPrograms

/// Any operator, by its reference meaning on copies of its inputs.
struct ReferenceKernel: Kernel {
    static let operators: [any Operator.Type] = []
    let call: PreparedCall

    init(_ call: PreparedCall) { self.call = call }

    func run(on workers: Workers) throws {
        let results = try call.operation.evaluate(call.inputs.map { $0.tensor() })
        for (output, result) in zip(call.outputs, results) { output.write(result) }
    }
}
