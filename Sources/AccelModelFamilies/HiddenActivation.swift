import AccelByteIO
import AccelPrograms

/// The elementwise functions by the names that configurations give them.
enum HiddenActivation {
    static let named: [String: any Operator] = [
        "gelu": Gelu(.erf), "gelu_python": Gelu(.erf),
        "gelu_new": Gelu(.tanh), "gelu_fast": Gelu(.tanh), "gelu_pytorch_tanh": Gelu(.tanh),
        "gelu_python_tanh": Gelu(.tanh), "gelu_accurate": Gelu(.tanh),
        "quick_gelu": Gelu(.quick), "relu": Relu(), "silu": Silu(), "swish": Silu(), "tanh": Tanh(),
        "elu": Elu(alpha: 1),
        "sigmoid": Sigmoid(),
    ]

    /// - Throws: `RequestError` (unavailable) naming a function that is not known.
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
    /// Whether it computes the same by name and attributes.
    func isSame(as other: any Operator) -> Bool {
        Self.name == type(of: other).name && attributes == other.attributes
    }
}
