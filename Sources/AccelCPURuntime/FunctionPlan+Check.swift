import AccelByteIO
import AccelPrograms
import AccelTensors

extension FunctionPlan {
    /// Rejects inputs of a wrong name, element type or shape.
    /// - Throws: `RequestError` with the expected and the found value.
    func check(_ inputs: [String: StoredTensor]) throws {
        let expected = self.inputs.map(\.name)
        for name in inputs.keys.sorted() where !expected.contains(name) {
            let hint = suggestion(for: name, among: expected)
            throw RequestError(
                "\(self.name) has no input \"\(name)\"\(hint) (it has: \(expected.joined(separator: ", ")))")
        }
        for port in self.inputs {
            guard let tensor = inputs[port.name] else {
                throw RequestError("input \"\(port.name)\" of \(name) is missing; expected \(port.typeText)")
            }
            guard tensor.elementType == port.elementType, tensor.shape == port.shape else {
                throw RequestError(
                    "input \"\(port.name)\" of \(name): expected \(port.typeText), "
                        + "found \(tensor.elementType.rawValue)\(tensor.shape)")
            }
        }
    }
}
