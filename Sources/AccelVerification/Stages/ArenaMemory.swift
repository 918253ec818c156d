import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The memory of a planned function in its simplest form: operands are read and written element by element where they are
/// strided, and every address is checked.
struct ArenaMemory {
    private let arena: ByteBuffer
    private let states: [ByteBuffer]
    /// Returns the initial value of a state; nil for the function's own.
    private let initial: (String) throws -> HostTensor?
    private let function: FunctionPlan
    let inputs: [HostTensor]

    /// - Parameter initial: returns the initial value of a state by name; nil for the function's own.
    init(_ function: FunctionPlan, inputs: [HostTensor], initial: @escaping (String) throws -> HostTensor?) throws {
        let purpose = "function \(function.name)"
        let sizes = function.states.map { $0.shape.count * $0.elementType.byteCount }
        try MachineMemory.require(MachineMemory.sum([function.arenaBytes] + sizes), for: purpose)
        arena = try ByteBuffer(allocating: function.arenaBytes, for: purpose)
        states = try sizes.map { try ByteBuffer(allocating: $0, for: purpose) }
        (self.function, self.inputs, self.initial) = (function, inputs, initial)
    }

    /// Gives a state its initial value, before the first call that uses it.
    func load(state index: Int) throws {
        let state = function.states[index]
        let type = TensorType(state.elementType, shape: state.shape)
        let value =
            try initial(state.name)?.converted(to: state.elementType) ?? HostTensor(state.initial, filling: type)
        guard value.type == type else { throw outside("state \"\(state.name)\" is to start as \(value.type)") }
        guard let start = states[index].bytes.baseAddress else { return }
        copy(value, StridedLayout(shape: state.shape), to: start)
    }

    /// Gives the memory of a state back, after the last call that uses it.
    func discard(state index: Int) { states[index].clear() }

    /// Returns an operand; a weight whose layout is its own stays one that is read while it is used.
    func operand(_ operand: Operand, weight: (Int) throws -> ReferenceOperand) throws -> ReferenceOperand {
        guard case .weight(let index) = operand.storage, operand.layout.isContiguous, operand.layout.offset == 0 else {
            return .tensor(try read(operand, weight: weight))
        }
        let whole = try weight(index)
        return whole.shape == operand.layout.shape ? whole : .tensor(try strided(whole.tensor, operand.layout))
    }

    /// - Parameter weight: returns the whole weight of an index.
    func read(_ operand: Operand, weight: (Int) throws -> ReferenceOperand) throws -> HostTensor {
        switch operand.storage {
        case .weight(let index): return try strided(weight(index).tensor, operand.layout)
        case .input(let index):
            guard inputs.indices.contains(index) else { throw outside("input \(index) does not exist") }
            return try strided(inputs[index], operand.layout)
        case .arena, .state:
            let start = try start(of: operand)
            switch operand.elementType {
            case .float32: return HostTensor(gathered(operand.layout, from: start, as: Float.self), operand.shape)
            case .float16:
                let halves = gathered(operand.layout, from: start, as: UInt16.self)
                return HostTensor(.float16(halves.map(Half.value)), operand.shape)
            case .int8: return HostTensor(.int8(gathered(operand.layout, from: start, as: Int8.self)), operand.shape)
            case .int64: return HostTensor(gathered(operand.layout, from: start, as: Int64.self), operand.shape)
            default:
                let bytes = gathered(operand.layout, from: start, as: UInt8.self)
                return HostTensor(bytes.map { $0 != 0 }, operand.shape)
            }
        }
    }

    func write(_ tensor: HostTensor, to operand: Operand) throws {
        let start = try start(of: operand)
        guard tensor.shape.count == operand.shape.count, tensor.elementType == operand.elementType else {
            throw outside("a result \(tensor.type) goes to an operand \(operand.elementType.rawValue)\(operand.shape)")
        }
        copy(tensor, operand.layout, to: start)
    }

    private func copy(_ tensor: HostTensor, _ layout: StridedLayout, to start: UnsafeMutableRawPointer) {
        switch tensor.elements {
        case .float32(let floats): scatter(floats, layout, to: start)
        case .float16(let floats): scatter(floats.map(Half.bits), layout, to: start)
        case .int8(let bytes): scatter(bytes, layout, to: start)
        case .int64(let integers): scatter(integers, layout, to: start)
        case .bool(let flags): scatter(flags.map { $0 ? 1 : 0 as UInt8 }, layout, to: start)
        }
    }

    private func outside(_ reason: String) -> OperatorError { OperatorError("the plan is broken: \(reason)") }

    private func start(of operand: Operand) throws -> UnsafeMutableRawPointer {
        let (buffer, offset): (ByteBuffer, Int)
        switch operand.storage {
        case .arena(let start): (buffer, offset) = (arena, start)
        case .state(let index) where states.indices.contains(index): (buffer, offset) = (states[index], 0)
        default: throw outside("an output lies neither in the arena nor in a state")
        }
        guard let last = operand.layout.lastElement,
            case let (length, overflow) = (last + 1).multipliedReportingOverflow(by: operand.elementType.byteCount),
            !overflow, offset >= 0, length <= buffer.bytes.count, offset <= buffer.bytes.count - length,
            let base = buffer.bytes.baseAddress
        else { throw outside("an operand lies outside of its \(buffer.bytes.count) bytes") }
        return base + offset
    }

    private func strided(_ tensor: HostTensor, _ layout: StridedLayout) throws -> HostTensor {
        if layout.isContiguous, layout.offset == 0, layout.shape == tensor.shape { return tensor }
        guard let last = layout.lastElement, last < tensor.shape.count else {
            throw outside("an operand \(layout.shape) lies outside of its tensor \(tensor.type)")
        }
        func moved<Element>(_ elements: [Element]) -> [Element] {
            elements.withUnsafeBufferPointer { elements in self.elements(of: layout) { elements[$0] } }
        }
        return switch tensor.elements {
        case .float32(let floats): HostTensor(moved(floats), layout.shape)
        case .float16(let floats): HostTensor(.float16(moved(floats)), layout.shape)
        case .int8(let bytes): HostTensor(.int8(moved(bytes)), layout.shape)
        case .int64(let integers): HostTensor(moved(integers), layout.shape)
        case .bool(let flags): HostTensor(moved(flags), layout.shape)
        }
    }

    private func gathered<Element: BitwiseCopyable>(
        _ layout: StridedLayout, from start: UnsafeMutableRawPointer, as type: Element.Type
    ) -> [Element] {
        let elements = UnsafeRawPointer(start).assumingMemoryBound(to: Element.self)
        if layout.isContiguous {
            return Array(UnsafeBufferPointer(start: elements + layout.offset, count: layout.shape.count))
        }
        return self.elements(of: layout) { elements[$0] }
    }

    private func scatter<Element: BitwiseCopyable>(
        _ values: [Element], _ layout: StridedLayout, to start: UnsafeMutableRawPointer
    ) {
        let elements = start.assumingMemoryBound(to: Element.self)
        if layout.isContiguous {
            (elements + layout.offset).update(from: values, count: layout.shape.count)
            return
        }
        var index = 0
        layout.shape.forEachOffset(from: layout.offset, by: layout.strides) { offset in
            elements[offset] = values[index]
            index += 1
        }
    }

    /// Returns the element at each offset, in row-major order. A list of the offsets would take more memory than the elements.
    private func elements<Element>(of layout: StridedLayout, _ element: (Int) -> Element) -> [Element] {
        var result: [Element] = []
        result.reserveCapacity(layout.shape.count)
        layout.shape.forEachOffset(from: layout.offset, by: layout.strides) { result.append(element($0)) }
        return result
    }
}
