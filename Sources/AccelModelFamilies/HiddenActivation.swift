import AccelByteIO
import AccelPrograms

/// Elementwise functions by their names in configurations.
enum HiddenActivation {
    static let named: [String: any Operator] = [
        "gelu": Gelu(.erf), "gelu_python": Gelu(.erf),
        "gelu_new": Gelu(.tanh), "gelu_fast": Gelu(.tanh), "gelu_pytorch_tanh": Gelu(.tanh),
        "gelu_python_tanh": Gelu(.tanh), "gelu_accurate": Gelu(.tanh),
        "quick_gelu": Gelu(.quick), "relu": Relu(), "silu": Silu(), "swish": Silu(), "tanh": Tanh(),
        "elu": Elu(alpha: 1),
        "sigmoid": Sigmoid(),
    ]

    /// Reads the name of a function.
    /// - Throws: `RequestError` (unavailable) for an unsupported function.
    static func read(_ field: JSONField, default other: String) throws -> any Operator {
        let name = field.exists ? try field.string() : other
        guard let operation = named[name] else {
            throw RequestError(
                "\(field.file), field \(field.path): the activation \"\(name)\" is not supported "
                    + "(supported: \(named.keys.sorted().joined(separator: ", ")))", status: .unavailable)
        }
        return operation
    }
}

extension Operator {
    /// Returns whether name and attributes are equal.
    func isSame(as other: any Operator) -> Bool {
        Self.name == type(of: other).name && attributes == other.attributes
    }
}
