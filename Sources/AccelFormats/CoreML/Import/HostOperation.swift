import AccelPrograms
import AccelTensors

/// A Core ML operation without an operator in accelc's registry. It has a reference implementation only, for verification.
struct HostOperation: Operator {
    static let name = "mil"
    /// Any inputs; `type` checks them for each operation.
    static let inputs = [OperatorInput("x", .any, presence: .repeated)]
    /// The operation with its parameters as text; equal texts mean equal operations.
    let meaning: String
    private let type: @Sendable ([TensorType]) throws -> TensorType
    private let body: @Sendable ([HostTensor]) throws -> HostTensor
    /// The operation in registered operators; nil if not supported.
    private(set) var graph: GraphForm?

    init(
        _ meaning: String, type: @escaping @Sendable ([TensorType]) throws -> TensorType,
        _ body: @escaping @Sendable ([HostTensor]) throws -> HostTensor
    ) {
        (self.meaning, self.type, self.body) = (meaning, type, body)
    }

    /// Adds the registered operators to the graph.
    typealias GraphForm = @Sendable (inout MILCall, [MILArgument]) throws -> MILArgument

    /// Returns the operation with its form in registered operators.
    func becoming(_ graph: @escaping GraphForm) -> HostOperation {
        var operation = self
        operation.graph = graph
        return operation
    }

    init(attributes: Attributes) throws {
        throw OperatorError("an operation that only stands in programs of Core ML packages")
    }
    var attributes: Attributes { ["meaning": .word(meaning)] }

    func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] { [try type(inputs)] }

    func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let result = try body(inputs)
        guard result.type == (try type(inputs.map(\.type))) else {
            throw OperatorError("\(meaning) makes \(result.type), where \(try type(inputs.map(\.type))) is due")
        }
        return [result]
    }
}

extension HostOperation {
    /// An elementwise function, computed in float64.
    static func mapping(_ name: String, _ function: @escaping @Sendable (Double) -> Double) -> HostOperation {
        HostOperation(name, type: { $0[0] }) { inputs in
            HostTensor(inputs[0].floats.map { Float(function(Double($0))) }, inputs[0].shape)
        }
    }

    /// A broadcasting function of pairs of integers, or of booleans as 0 and 1.
    static func zipping(
        _ name: String, to result: ElementType = .int64,
        _ function: @escaping @Sendable (Int64, Int64) throws -> Int64
    ) -> HostOperation {
        HostOperation(
            name,
            type: { inputs in
                // `Add` has the shape rule of all broadcasting operators.
                let floats = inputs.map { TensorType(.float32, $0.dimensions) }
                return TensorType(result, try Add().outputTypes(floats)[0].dimensions)
            },
            { inputs in
                let shape = try broadcastShape(inputs)
                let (x, y) = (
                    try inputs[0].expanded(toShape: shape).integers, try inputs[1].expanded(toShape: shape).integers
                )
                let integers = try zip(x, y).map { try function($0, $1) }
                return result == .bool ? HostTensor(integers.map { $0 != 0 }, shape) : HostTensor(integers, shape)
            })
    }

    /// A rearrangement: for each element of the output, the index of its source in the input.
    static func picking(
        _ name: String, to sizes: [Int], _ sources: @escaping @Sendable (Shape) throws -> [Int]
    ) -> HostOperation {
        HostOperation(name, type: { TensorType($0[0].elementType, shape: Shape(sizes)) }) { inputs in
            inputs[0].picking(try sources(inputs[0].shape), Shape(sizes))
        }
    }
}

/// Returns the shape that tensors broadcast to.
func broadcastShape(_ tensors: [HostTensor]) throws -> Shape {
    var types = tensors.map { TensorType(.float32, shape: $0.shape) }
    var result = types.removeFirst()
    for type in types { result = try Add().outputTypes([result, type])[0] }
    return result.shape ?? []
}

extension HostTensor {
    func expanded(toShape shape: Shape) throws -> HostTensor {
        self.shape == shape ? self : try Expand(to: shape.dimensions.map(Dimension.fixed)).evaluate([self])[0]
    }

    /// Returns the elements at `sources`, in that order.
    func picking(_ sources: [Int], _ shape: Shape) -> HostTensor {
        switch elements {
        case .float32(let floats): HostTensor(sources.map { floats[$0] }, shape)
        case .float16(let floats): HostTensor(rounding: sources.map { floats[$0] }, shape)
        case .int8(let bytes): HostTensor(.int8(sources.map { bytes[$0] }), shape)
        case .int64(let integers): HostTensor(sources.map { integers[$0] }, shape)
        case .bool(let flags): HostTensor(sources.map { flags[$0] }, shape)
        }
    }

    /// Returns the tensor with the elements at the indices `positions` replaced by those of `values`.
    func replacing(_ positions: [Int], by values: HostTensor) -> HostTensor {
        func replaced<Element>(_ old: [Element], _ new: [Element]) -> [Element] {
            var result = old
            for (index, value) in zip(positions, new) { result[index] = value }
            return result
        }
        return switch elements {
        case .float32(let floats): HostTensor(replaced(floats, values.floats), shape)
        case .float16(let floats): HostTensor(rounding: replaced(floats, values.floats), shape)
        case .int8(let bytes):
            HostTensor(.int8(replaced(bytes, values.integers.map { Int8(truncatingIfNeeded: $0) })), shape)
        case .int64(let integers): HostTensor(replaced(integers, values.integers), shape)
        case .bool(let flags): HostTensor(replaced(flags, values.flags), shape)
        }
    }
}
