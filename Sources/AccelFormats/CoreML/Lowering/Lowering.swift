import AccelByteIO
import AccelPrograms

/// A lowering rule: one operator to MIL operations.
struct Lowering: Sendable {
    let name: String
    /// The oldest target that supports the operations.
    let since: CoreMLTarget
    /// Whether the operator is computed in float32 even in a float16 model: sums that overflow, angles, small differences of
    /// large numbers.
    let isPrecise: @Sendable (any Operator) -> Bool
    /// Whether the rule supports these inputs; else the operator is decomposed.
    let fits: @Sendable (any Operator, [MILOperand]) -> Bool
    let emit: @Sendable (any Operator, [MILOperand], inout MILBuilder) throws -> MILOperand

    init<Operation: Operator>(
        _ type: Operation.Type, since: CoreMLTarget = .iOS16,
        isPrecise: @escaping @Sendable (Operation) -> Bool = { _ in false },
        fits: @escaping @Sendable (Operation, [MILOperand]) -> Bool = { _, _ in true },
        _ emit: @escaping @Sendable (Operation, [MILOperand], inout MILBuilder) throws -> MILOperand
    ) {
        name = Operation.name
        self.since = since
        self.isPrecise = { ($0 as? Operation).map(isPrecise) ?? false }
        self.fits = { operation, inputs in (operation as? Operation).map { fits($0, inputs) } ?? false }
        self.emit = { operation, inputs, builder in
            guard let operation = operation as? Operation else {
                throw OperatorError("\(operation.name) is no \(Operation.name)")
            }
            return try emit(operation, inputs, &builder)
        }
    }

    /// A rule for a MIL operation whose only parameters are the operator's inputs, named `parameters`.
    init<Operation: Operator>(
        _ type: Operation.Type, as operation: String, _ parameters: [String] = ["x"], isPrecise: Bool = false
    ) {
        self.init(type, isPrecise: { _ in isPrecise }) { _, inputs, builder in
            switch parameters.count {
            case 1: builder.result(operation, [parameters[0]: .operand(inputs[0])])
            case 2: builder.result(operation, [parameters[0]: .operand(inputs[0]), parameters[1]: .operand(inputs[1])])
            default:
                builder.result(
                    operation,
                    [
                        parameters[0]: .operand(inputs[0]), parameters[1]: .operand(inputs[1]),
                        parameters[2]: .operand(inputs[2]),
                    ])
            }
        }
    }
}

/// The lowering rules by operator. Operators without a rule are decomposed into others.
enum Lowerings {
    static let all: [Lowering] = elementwise + reductions + shapes + products + memory

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    /// Why no target supports these operators.
    static let unsupported: [String: Diagnostic] = [
        QuantizedLinear.name: Diagnostic(
            "Core ML rounds activations by fixed scales only, which accelc does not write",
            code: .activationsUnsupported),
        LSTM.name: Diagnostic("Core ML's lstm projects its inputs itself, and knows no valid length"),
        RoundRows.name: Diagnostic("it has no rows of codes", code: .int8StatesUnsupported),
        WidenRows.name: Diagnostic("it has no rows of codes", code: .int8StatesUnsupported),
    ]

    /// Operators that are computed in float32 even if they are decomposed.
    static let preciseDecompositions: Set<String> = [
        RMSNorm.name, GroupNorm.name, InstanceNorm.name, L2Norm.name, LayerNorm.name, Snake.name,
    ]
}
