public import AccelTensors

/// Conversion to another element type: F32, I64 (truncated toward zero) or BOOL (true if not zero). Elementwise.
public struct Cast: Operator {
    public static let name = "cast"
    public static let inputs: [OperatorInput] = [OperatorInput("x", .any)]
    /// The element type of the output.
    public var elementType: ElementType

    /// Creates the conversion to F32, I64 or BOOL.
    public init(to elementType: ElementType) { self.elementType = elementType }
    public init(attributes: Attributes) throws { elementType = try attributes.choice("to", as: ElementType.self) }
    public var attributes: Attributes { ["to": .word(elementType.rawValue)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let input = inputs[0]
        guard [.float32, .int64, .bool].contains(elementType) else {
            throw OperatorError("programs compute in F32, I64 and BOOL, not in \(elementType.rawValue)")
        }
        return [TensorType(elementType, input.dimensions)]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (input, shape) = (inputs[0], inputs[0].shape)
        return switch elementType {
        case .int64: [HostTensor(input.integers, shape)]
        case .bool: [HostTensor(input.flags, shape)]
        default: [HostTensor(input.floats, shape)]
        }
    }
}
