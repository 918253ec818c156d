import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// An operand and where it lies while its function runs.
struct OperandMemory: @unchecked Sendable {
    // Pieces of work on other threads read inputs, and each writes its own part of an output; no output overlaps an input.
    enum Location {
        /// Element 0 of the layout's storage. The executor that made it keeps it.
        case memory(MemoryLocation)
        /// A compressed weight, decoded while it is read.
        case weight(StoredWeight)
    }
    let operand: Operand
    let location: Location
    /// Whether the elements follow each other without gaps.
    let isContiguous: Bool

    init(operand: Operand, location: Location) {
        (self.operand, self.location) = (operand, location)
        isContiguous = operand.layout.isContiguous
    }

    var layout: StridedLayout { operand.layout }
    var shape: Shape { operand.layout.shape }

    var elementType: ElementType { operand.elementType }

    /// The first element of an operand in memory; nil for a weight that is not.
    func start<Element>(as type: Element.Type) -> UnsafeMutablePointer<Element>? {
        guard case .memory(let location) = location else { return nil }
        return location.start.assumingMemoryBound(to: Element.self) + layout.offset
    }

    /// The first element of a float32 operand in memory; nil for a weight that is not.
    var floats: UnsafeMutablePointer<Float>? {
        operand.elementType == .float32 ? start(as: Float.self) : nil
    }

    /// The first element of a float16 operand in memory; nil for any other.
    var halves: UnsafeMutablePointer<UInt16>? {
        operand.elementType == .float16 ? start(as: UInt16.self) : nil
    }

    /// The first byte of an operand of rows of codes in memory; nil for any other.
    var codes: UnsafeMutablePointer<Int8>? {
        operand.elementType == .int8 ? start(as: Int8.self) : nil
    }

    /// The first byte of an operand in memory.
    var bytes: UnsafeMutableRawPointer? {
        guard case .memory(let location) = location else { return nil }
        return location.start + layout.offset * elementType.byteCount
    }

    /// The weight that is decoded while it is read; nil for a value in memory.
    var storedWeight: StoredWeight? {
        guard case .weight(let weight) = location else { return nil }
        return weight
    }

    /// The operand broadcast to a shape, as rows that count from its first element.
    func rows(broadcastTo shape: Shape) -> StridedRows {
        var layout = layout.expanded(to: shape)
        layout.offset = 0
        return StridedRows(layout)
    }

    var isInMemory: Bool {
        if case .memory = location { true } else { false }
    }

    /// The same when the elements follow each other without gaps.
    var contiguousFloats: UnsafeMutablePointer<Float>? { isContiguous ? floats : nil }
}

// MARK: - Whole tensors

extension OperandMemory {
    /// A copy of the elements, row-major.
    func tensor() -> HostTensor { tensor {} }

    /// A copy of the elements as a named tensor.
    func stored(name: String) -> StoredTensor { stored(name: name) {} }

    /// A copy of the elements, row-major.
    /// - Parameter pause: is called between parts of the copy, so that it can end early.
    func tensor(pause: () throws -> Void) rethrows -> HostTensor {
        switch location {
        case .weight(let weight): HostTensor(weight.floats(), shape)
        case .memory(let location):
            switch operand.elementType {
            case .float32: HostTensor(try elements(from: location.start, as: Float.self, pause), shape)
            case .float16:
                HostTensor(.float16(try elements(from: location.start, as: UInt16.self, pause).map(Half.value)), shape)
            case .int8: HostTensor(.int8(try elements(from: location.start, as: Int8.self, pause)), shape)
            case .int64: HostTensor(try elements(from: location.start, as: Int64.self, pause), shape)
            default: HostTensor(try elements(from: location.start, as: UInt8.self, pause).map { $0 != 0 }, shape)
            }
        }
    }

    /// A copy of the elements as a named tensor.
    /// - Parameter pause: is called between parts of the copy, so that it can end early.
    func stored(name: String, pause: () throws -> Void) rethrows -> StoredTensor {
        let tensor = try tensor(pause: pause)
        try pause()
        return tensor.stored(name: name)
    }

    /// The elements that are copied without a pause.
    private static let part = 1 << 16

    /// Writes elements of the operand's own type and shape; a weight is not written.
    func write(_ tensor: HostTensor) {
        guard case .memory(let location) = location else { return }
        let start = location.start
        switch tensor.elements {
        case .float32(let floats): scatter(floats, to: start)
        case .float16(let floats): scatter(floats.map(Half.bits), to: start)
        case .int8(let bytes): scatter(bytes, to: start)
        case .int64(let integers): scatter(integers, to: start)
        case .bool(let flags): scatter(flags.map { $0 ? 1 : 0 as UInt8 }, to: start)
        }
    }

    private func elements<Element: BitwiseCopyable>(
        from start: UnsafeMutableRawPointer, as type: Element.Type, _ pause: () throws -> Void
    ) rethrows -> [Element] {
        let source = start.assumingMemoryBound(to: Element.self)
        let rows = StridedRows(layout)
        return try [Element](unsafeUninitializedCapacity: shape.count) { target, count in
            var paused = 0
            for row in 0..<rows.count {
                let offset = rows.start(of: row)
                for first in stride(from: 0, to: rows.width, by: Self.part) {
                    for column in first..<min(first + Self.part, rows.width) {
                        target.initializeElement(at: count, to: source[offset + column * rows.step])
                        count += 1
                    }
                    guard count - paused >= Self.part else { continue }
                    try pause()
                    paused = count
                }
            }
        }
    }

    private func scatter<Element: BitwiseCopyable>(_ values: [Element], to start: UnsafeMutableRawPointer) {
        let target = start.assumingMemoryBound(to: Element.self)
        let rows = StridedRows(layout)
        for row in 0..<rows.count {
            let offset = rows.start(of: row)
            for column in 0..<rows.width { target[offset + column * rows.step] = values[row * rows.width + column] }
        }
    }
}

/// A layout as rows along its last axis, in row-major order.
struct StridedRows: Sendable {
    let count: Int
    /// Elements in a row.
    let width: Int
    /// From one element of a row to the next.
    let step: Int
    private let offset: Int
    /// The size and stride of the outer axes, the innermost first.
    private let axes: [(size: Int, stride: Int)]

    init(_ layout: StridedLayout) {
        let sizes = layout.shape.dimensions
        width = sizes.last ?? 1
        step = layout.strides.last ?? 1
        offset = layout.offset
        axes = zip(sizes.dropLast(), layout.strides.dropLast()).filter { $0.0 > 1 }.map { ($0, $1) }.reversed()
        // Rows without elements could be any number.
        count = width == 0 ? 0 : sizes.dropLast().reduce(1, *)
    }

    /// The element at which a row starts.
    func start(of row: Int) -> Int {
        var (rest, start) = (row, offset)
        var axis = 0
        while axis < axes.count {
            let (size, stride) = axes[axis]
            start += rest % size * stride
            rest /= size
            axis += 1
        }
        return start
    }
}
