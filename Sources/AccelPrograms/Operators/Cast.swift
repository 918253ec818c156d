public import AccelTensors

/// Conversion to another element type: F32, I64 (truncated toward zero), BOOL (true if not zero), or F16 (rounded to
/// nearest, with ties to even; out of range it is infinite), which is from and to F32 only. Elementwise.
public struct Cast: Operator {
    public static let name = "cast"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [OperatorInput("x", .any)]
    /// The element type of the output.
    public var elementType: ElementType

    /// Creates the conversion to F32, F16, I64 or BOOL.
    public init(to elementType: ElementType) { self.elementType = elementType }
    public init(attributes: Attributes) throws { elementType = try attributes.choice("to", as: ElementType.self) }
    public var attributes: Attributes { ["to": .word(elementType.rawValue)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let input = inputs[0]
        guard elementType.isValueType, elementType != .int8 else {
            throw OperatorError("casts are to F32, F16, I64 or BOOL, not \(elementType.rawValue)")
        }
        guard input.elementType != .int8 else {
            throw OperatorError("x: I8 is rows of codes, which \(WidenRows.name) widens")
        }
        for (type, other) in [(input.elementType, elementType), (elementType, input.elementType)]
        where type == .float16 && !other.isFloatingPoint {
            throw OperatorError("F16 is cast from and to F32 only, not \(other.rawValue)")
        }
        return [TensorType(elementType, input.dimensions)]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (input, shape) = (inputs[0], inputs[0].shape)
        return switch elementType {
        case .int64: [HostTensor(input.integers, shape)]
        case .bool: [HostTensor(input.flags, shape)]
        case .float16: [HostTensor(rounding: input.floats, shape)]
        default: [HostTensor(input.floats, shape)]
        }
    }
}
