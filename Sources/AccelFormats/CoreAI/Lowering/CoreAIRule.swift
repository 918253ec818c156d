import AccelByteIO
import AccelPrograms

/// The operands of an operator, with the shape and type of its result.
struct CoreAICall {
    let inputs: [CoreAIValue]
    let shape: [Int]
    let element: CoreAIElement
}

/// A lowering rule: one operator to operations of Core AI.
struct CoreAIRule: Sendable {
    let name: String
    /// Whether the operator is computed in float32 even in a float16 model.
    let isPrecise: @Sendable (any Operator) -> Bool
    /// Returns nil if the operator has to be decomposed.
    let emit: @Sendable (any Operator, CoreAICall, inout CoreAIBuilder) throws -> CoreAIValue?

    init<Operation: Operator>(
        _ type: Operation.Type, isPrecise: @escaping @Sendable (Operation) -> Bool = { _ in false },
        _ emit: @escaping @Sendable (Operation, CoreAICall, inout CoreAIBuilder) throws -> CoreAIValue?
    ) {
        name = Operation.name
        self.isPrecise = { ($0 as? Operation).map(isPrecise) ?? false }
        self.emit = { operation, call, builder in
            guard let operation = operation as? Operation else { return nil }
            return try emit(operation, call, &builder)
        }
    }

    /// A rule for an operation of one or two operands.
    init<Operation: Operator>(_ type: Operation.Type, as operation: String, isPrecise: Bool = false) {
        self.init(type, isPrecise: { _ in isPrecise }) { _, call, builder in
            call.inputs.count == 1
                ? builder.unary(operation, call.inputs[0])
                : builder.binary(operation, call.inputs[0], call.inputs[1])
        }
    }
}

/// The lowering rules by operator. Operators without a rule are decomposed into others.
enum CoreAIRules {
    static let byName = Dictionary(
        uniqueKeysWithValues: (elementwise + shapes + reductions + products).map { ($0.name, $0) })

    /// Why the format does not support these operators.
    static let unsupported: [String: Diagnostic] = [
        QuantizedLinear.name: Diagnostic(
            "it has no rounding of activations by row", code: .activationsUnsupported),
        LSTM.name: Diagnostic("it has no loop over a sequence"),
        RoundRows.name: Diagnostic("it has no rows of codes", code: .int8StatesUnsupported),
        WidenRows.name: Diagnostic("it has no rows of codes", code: .int8StatesUnsupported),
    ]

    /// Operators that are computed in float32 in a float16 model even though they are decomposed: sums, small
    /// differences of large numbers, and divisions by numbers that float16 may round to 0.
    static let preciseDecompositions: Set<String> = [
        RMSNorm.name, GroupNorm.name, InstanceNorm.name, L2Norm.name, LayerNorm.name, Snake.name,
    ]
}
