import AccelByteIO
import AccelPackages
import AccelTensors

extension PackageProbe {
    /// Runs every function of a probe on a loaded model, each in a session of its own.
    /// - Returns: the largest difference and its limit, in units of the largest sample of an output.
    /// - Throws: `AccelError` (numerics) with the output, the difference and the limit.
    func check(_ model: any LoadedModel, of backend: BackendID) throws(AccelError) -> (largest: Double, limit: Double) {
        let limit = tolerance(of: backend.rawValue)
        var largest = 0.0
        for run in runs {
            let function = model.functions[try model.functions.index(named: run.function)]
            var inputs: [String: StoredTensor] = [:]
            for input in run.inputs {
                guard let port = function.inputs.first(where: { $0.name == input.name }) else {
                    throw AccelError(
                        .corrupt, "the probe has an input \"\(input.name)\", which the function has not",
                        at: function.name)
                }
                inputs[input.name] = input.tensor(port.elementType, port.shape)
            }
            let made = try model.makeSession().run(run.function, inputs, outputs: Set(run.outputs.map(\.name)))
            for output in run.outputs {
                let place = "\(function.name), output \"\(output.name)\""
                guard let numbers = made[output.name].map(PackageProbe.numbers) else {
                    throw AccelError(.backend, "the backend does not give it", at: place)
                }
                let found = stride(from: 0, to: numbers.count, by: output.stride).map { numbers[$0] }
                guard found.count == output.values.count else {
                    throw AccelError(
                        .corrupt, "the probe has \(output.values.count) samples, expected \(found.count)", at: place,
                        expected: "\(found.count) samples", found: "\(output.values.count)")
                }
                let differences = output.differences(of: found)
                if let index = differences.firstIndex(where: { $0 > limit }) {
                    let (number, expected) = (found[index], output.values[index])
                    throw AccelError(
                        .numerics,
                        "element \(index * output.stride) is \(number), the package's probe has \(expected): "
                            + "differs by \(differences[index]) of the largest, at most \(limit) is allowed for \(backend)",
                        at: place, expected: "\(expected)", found: "\(number)")
                }
                largest = max(largest, differences.max() ?? 0)
            }
        }
        return (largest, limit)
    }
}

extension BackendRequest {
    /// The package's probe.
    /// - Throws: `AccelError` (invalid) for a package without one.
    func probe() throws(AccelError) -> PackageProbe {
        do {
            if let probe = try package.probe { return probe }
        } catch {
            throw AccelError(error, at: package.path)
        }
        throw AccelError(
            .invalid, "has no probe to check a backend by", at: package.path,
            hint: "open it with probe = false")
    }
}
