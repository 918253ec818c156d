package import AccelTensors
package import AccelWeightCompression

/// An operand of a reference implementation.
package enum ReferenceOperand: Sendable {
    /// A tensor in memory.
    case tensor(HostTensor)
    /// A weight whose rows are read a few at a time, so that all of it is never in memory as float32.
    case rows(ReferenceRows)

    /// Creates the operand for a tensor of a checkpoint, as `HostTensor(_:)` converts it.
    package init(_ tensor: StoredTensor) {
        let columns = tensor.shape.columns
        self =
            tensor.elementType.isFloatingPoint
            ? .rows(
                ReferenceRows(tensor.shape) { rows, target in
                    tensor.readFloats(rows.lowerBound * columns..<rows.upperBound * columns, into: target)
                }) : .tensor(HostTensor(tensor))
    }

    /// Creates the operand for a stored floating-point weight, decoded from its bytes.
    package init(decoding weight: CompressedTensor) {
        self = .rows(ReferenceRows(weight.shape) { weight.codec.decode($0, of: weight, into: $1) })
    }

    package var shape: Shape {
        switch self {
        case .tensor(let tensor): tensor.shape
        case .rows(let rows): rows.shape
        }
    }

    package var elementType: ElementType {
        switch self {
        case .tensor(let tensor): tensor.elementType
        case .rows: .float32
        }
    }

    /// The whole tensor in memory.
    package var tensor: HostTensor {
        switch self {
        case .tensor(let tensor): tensor
        case .rows(let rows): HostTensor(rows.floats(0..<rows.shape.rows), rows.shape)
        }
    }
}

/// The rows of a float32 weight, as codecs see them: a vector is one row.
package struct ReferenceRows: Sendable {
    package let shape: Shape
    private let read: @Sendable (Range<Int>, UnsafeMutableBufferPointer<Float>) -> Void

    /// - Parameter read: writes some rows to memory for exactly their elements. Any thread may call it.
    package init(
        _ shape: Shape, read: @escaping @Sendable (Range<Int>, UnsafeMutableBufferPointer<Float>) -> Void
    ) {
        (self.shape, self.read) = (shape, read)
    }

    /// The rows of a tensor in memory.
    init(_ floats: [Float], _ shape: Shape) {
        let columns = shape.columns
        self.init(shape) { rows, target in
            floats.withUnsafeBufferPointer { floats in
                let part = floats[rows.lowerBound * columns..<rows.upperBound * columns]
                _ = target.update(fromContentsOf: part)
            }
        }
    }

    /// Writes some rows to the start of `target`.
    func read(_ rows: Range<Int>, into target: UnsafeMutableBufferPointer<Float>) {
        read(rows, UnsafeMutableBufferPointer(rebasing: target[..<(rows.count * shape.columns)]))
    }

    /// Returns some rows.
    func floats(_ rows: Range<Int>) -> [Float] {
        let count = rows.count * shape.columns
        return [Float](unsafeUninitializedCapacity: count) { target, written in
            target.initialize(repeating: 0)
            read(rows, into: target)
            written = count
        }
    }
}

/// An operator whose reference implementation reads the rows of a weight when it needs them.
package protocol StreamingOperator: Operator {
    /// Computes the same result as `evaluate(_:)`.
    /// - Throws: `OperatorError` for values that are not valid, such as an index out of range.
    func evaluate(streaming operands: [ReferenceOperand]) throws -> [HostTensor]
}

extension Operator {
    /// Computes the reference result. Operands are read whole unless the operator streams them.
    /// - Throws: as `evaluate(_:)`.
    package func evaluate(operands: [ReferenceOperand]) throws -> [HostTensor] {
        if let streaming = self as? any StreamingOperator { return try streaming.evaluate(streaming: operands) }
        return try evaluate(operands.map(\.tensor))
    }
}

extension Array where Element == ReferenceOperand {
    /// The input of this name; nil where it is left out.
    func named(_ name: String, of operation: any Operator) -> ReferenceOperand? {
        type(of: operation).position(of: name, among: map(\.elementType)).map { self[$0] }
    }
}
