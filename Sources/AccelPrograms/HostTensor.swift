import AccelByteIO
public import AccelTensors

/// A tensor in ordinary memory, as the reference meaning of operators reads and makes it.
public struct HostTensor: Equatable, Sendable {
    public enum Elements: Equatable, Sendable {
        case float32([Float])
        case int64([Int64])
        case bool([Bool])
    }
    public var shape: Shape
    public var elements: Elements

    public init(_ floats: [Float], _ shape: Shape) {
        self.shape = shape
        elements = .float32(floats)
    }
    public init(_ integers: [Int64], _ shape: Shape) {
        self.shape = shape
        elements = .int64(integers)
    }
    public init(_ flags: [Bool], _ shape: Shape) {
        self.shape = shape
        elements = .bool(flags)
    }

    /// The elements of a stored tensor: floating point widened or rounded to float32, integers as int64.
    public init(_ stored: StoredTensor) {
        shape = stored.shape
        if stored.elementType == .bool {
            elements = .bool(stored.integers().map { $0 != 0 })
        } else if stored.elementType.isFloatingPoint {
            elements = .float32(stored.floats())
        } else {
            elements = .int64(stored.integers())
        }
    }

    /// One number, converted, in every element of a type whose extents are numbers.
    public init(_ number: Double, filling type: TensorType) {
        let shape = type.shape ?? []
        switch type.elementType {
        case .int64: self.init([Int64](repeating: Int64(exactly: number) ?? 0, count: shape.count), shape)
        case .bool: self.init([Bool](repeating: number != 0, count: shape.count), shape)
        default: self.init([Float](repeating: Float(number), count: shape.count), shape)
        }
    }

    public var elementType: ElementType {
        switch elements {
        case .float32: .float32
        case .int64: .int64
        case .bool: .bool
        }
    }

    public var type: TensorType { TensorType(elementType, shape: shape) }

    /// The elements as float32 (integers and booleans convert).
    public var floats: [Float] {
        switch elements {
        case .float32(let floats): floats
        case .int64(let integers): integers.map(Float.init)
        case .bool(let flags): flags.map { $0 ? 1 : 0 }
        }
    }

    /// The elements as int64 (floating point is truncated; NaN and what does not fit become 0).
    public var integers: [Int64] {
        switch elements {
        case .float32(let floats): floats.map { Int64(exactly: $0.rounded(.towardZero)) ?? 0 }
        case .int64(let integers): integers
        case .bool(let flags): flags.map { $0 ? 1 : 0 }
        }
    }

    /// The elements as booleans (not zero).
    public var flags: [Bool] {
        switch elements {
        case .float32(let floats): floats.map { $0 != 0 }
        case .int64(let integers): integers.map { $0 != 0 }
        case .bool(let flags): flags
        }
    }

    /// What its elements take in memory.
    var byteCount: Int { type.hostBytes }

    public func stored(name: String) -> StoredTensor {
        switch elements {
        case .float32(let floats): StoredTensor(name: name, floats: floats, shape: shape)
        case .int64(let integers): StoredTensor(name: name, integers: integers, shape: shape)
        case .bool(let flags):
            StoredTensor(
                name: name, elementType: .bool, shape: shape, bytes: ByteView(flags.map { $0 ? 1 : 0 as UInt8 }))
        }
    }
}

extension TensorType {
    /// What a `HostTensor` of this type takes in memory; 0 with free dimensions.
    package var hostBytes: Int {
        guard let shape else { return 0 }
        let size = elementType == .int64 ? 8 : elementType == .bool ? 1 : 4
        guard let (bytes, overflow) = shape.checkedCount?.multipliedReportingOverflow(by: size), !overflow else {
            return .max
        }
        return bytes
    }
}
