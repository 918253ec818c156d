import AccelByteIO
public import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// A tensor in ordinary memory: the operand and result of reference implementations.
public struct HostTensor: Equatable, Sendable {
    /// The elements in row-major order, in one of the types of values.
    public enum Elements: Equatable, Sendable {
        /// Elements of type F32.
        case float32([Float])
        /// Elements of type F16, each as the float32 that it equals.
        case float16([Float])
        /// Elements of type I8: rows of codes with a scale each, as `RoundRows` makes them.
        case int8([Int8])
        /// Elements of type I64.
        case int64([Int64])
        /// Elements of type BOOL.
        case bool([Bool])
    }
    /// The shape; its element count is the number of `elements`.
    public var shape: Shape
    /// The elements in row-major order.
    public var elements: Elements

    /// Creates an F32 tensor. `floats` has as many elements as `shape`.
    public init(_ floats: [Float], _ shape: Shape) {
        self.shape = shape
        elements = .float32(floats)
    }
    /// Creates an F16 tensor of floats that are rounded to the nearest float16, with ties to even; values out of range
    /// become infinite. `floats` has as many elements as `shape`.
    public init(rounding floats: [Float], _ shape: Shape) {
        var halves = floats
        halves.roundToHalf()
        self.init(.float16(halves), shape)
    }
    /// Creates a tensor of elements of any type. There are as many as `shape` has.
    package init(_ elements: Elements, _ shape: Shape) { (self.shape, self.elements) = (shape, elements) }
    /// Creates an I64 tensor. `integers` has as many elements as `shape`.
    public init(_ integers: [Int64], _ shape: Shape) {
        self.shape = shape
        elements = .int64(integers)
    }
    /// Creates a BOOL tensor. `flags` has as many elements as `shape`.
    public init(_ flags: [Bool], _ shape: Shape) {
        self.shape = shape
        elements = .bool(flags)
    }

    /// Converts the content of a state: as any stored tensor, but I8 stays rows of codes.
    package static func content(_ stored: StoredTensor) -> HostTensor {
        guard stored.elementType == .int8 else { return HostTensor(stored) }
        return HostTensor(.int8(stored.integers().map { Int8(truncatingIfNeeded: $0) }), stored.shape)
    }

    /// Converts a stored tensor: floating-point types become float32 (widened or rounded), integers become int64.
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

    /// Creates a tensor of integer shape in which every element is `number`, converted to the element type.
    public init(_ number: Double, filling type: TensorType) {
        let shape = type.shape ?? []
        switch type.elementType {
        case .int64: self.init([Int64](repeating: Int64(exactly: number) ?? 0, count: shape.count), shape)
        case .bool: self.init([Bool](repeating: number != 0, count: shape.count), shape)
        case .float16: self.init(rounding: [Float](repeating: Float(number), count: shape.count), shape)
        case .int8: self.init(.int8([Int8](repeating: Int8(exactly: number) ?? 0, count: shape.count)), shape)
        default: self.init([Float](repeating: Float(number), count: shape.count), shape)
        }
    }

    /// F32, F16, I8, I64 or BOOL.
    public var elementType: ElementType {
        switch elements {
        case .float32: .float32
        case .float16: .float16
        case .int8: .int8
        case .int64: .int64
        case .bool: .bool
        }
    }

    /// The element type with the shape.
    public var type: TensorType { TensorType(elementType, shape: shape) }

    /// The elements as float32; integers and booleans are converted. Those of I8 are bytes: `WidenRows` gives their values.
    public var floats: [Float] {
        switch elements {
        case .float32(let floats), .float16(let floats): floats
        case .int8(let bytes): bytes.map { Float($0) }
        case .int64(let integers): integers.map(Float.init)
        case .bool(let flags): flags.map { $0 ? 1 : 0 }
        }
    }

    /// The elements as int64. Floating-point values are truncated; NaN and values out of range become 0.
    public var integers: [Int64] {
        switch elements {
        case .float32(let floats), .float16(let floats): floats.map { Int64(exactly: $0.rounded(.towardZero)) ?? 0 }
        case .int8(let bytes): bytes.map { Int64($0) }
        case .int64(let integers): integers
        case .bool(let flags): flags.map { $0 ? 1 : 0 }
        }
    }

    /// The elements of an I8 tensor; none of any other.
    var bytes: [Int8] { if case .int8(let bytes) = elements { bytes } else { [] } }

    /// The elements as booleans: true if not zero.
    public var flags: [Bool] {
        switch elements {
        case .float32(let floats), .float16(let floats): floats.map { $0 != 0 }
        case .int8(let bytes): bytes.map { $0 != 0 }
        case .int64(let integers): integers.map { $0 != 0 }
        case .bool(let flags): flags
        }
    }

    /// The size of the elements in memory, in bytes.
    var byteCount: Int { type.hostBytes }

    /// Returns the tensor in another of the types of key/value caches, F32, F16 and I8, rounded or widened; itself for all
    /// other types. To and from I8 the last axis changes, by the bytes of the rows' scales.
    package func converted(to type: ElementType) -> HostTensor {
        switch (elements, type) {
        case (.float32(let floats), .float16): HostTensor(rounding: floats, shape)
        case (.float16(let floats), .float32): HostTensor(floats, shape)
        case (.float32, .int8): roundingRows()
        case (.float16(let floats), .int8): HostTensor(floats, shape).roundingRows()
        case (.int8, .float32): wideningRows()
        case (.int8, .float16): wideningRows().converted(to: .float16)
        default: self
        }
    }

    /// Returns the tensor as an F32, F16, I8, I64 or BOOL tensor of a checkpoint.
    public func stored(name: String) -> StoredTensor {
        switch elements {
        case .float32(let floats): StoredTensor(name: name, floats: floats, shape: shape)
        case .float16(let floats):
            StoredTensor(name: name, elementType: .float16, shape: shape, bytes: ByteView(floats.halves))
        case .int8(let bytes):
            StoredTensor(name: name, elementType: .int8, shape: shape, bytes: ByteView(bytes))
        case .int64(let integers): StoredTensor(name: name, integers: integers, shape: shape)
        case .bool(let flags):
            StoredTensor(
                name: name, elementType: .bool, shape: shape, bytes: ByteView(flags.map { $0 ? 1 : 0 as UInt8 }))
        }
    }
}

extension TensorType {
    /// The size in bytes of a `HostTensor` of this type; 0 while a dimension is free.
    package var hostBytes: Int {
        guard let shape else { return 0 }
        let size = elementType == .int64 ? 8 : elementType == .bool || elementType == .int8 ? 1 : 4
        guard let (bytes, overflow) = shape.checkedCount?.multipliedReportingOverflow(by: size), !overflow else {
            return .max
        }
        return bytes
    }
}

extension [Float] {
    /// The bits of the nearest float16 of each element.
    fileprivate var halves: [UInt16] {
        [UInt16](unsafeUninitializedCapacity: count) { target, count in
            count = self.count
            if let start = target.baseAddress { ck_f32_to_f16(self, start, count) }
        }
    }
}
