import AccelPrograms
import AccelTensors

/// A block written into a tensor at a place that is known when it runs: in the tensor's own memory when the result lies
/// there, else in a copy.
struct UpdateSliceKernel: Kernel {
    static let operators: [any Operator.Type] = [UpdateSlice.self]
    private let axis: Int
    private let block: OperandMemory
    private let place: OperandMemory
    private let target: OperandMemory
    /// Nil when the target is updated in place.
    private let original: OperandMemory?

    init?(_ call: PreparedCall) {
        guard let operation = call.operation as? UpdateSlice, call.inputs.count == 3,
            call.outputs[0].layout.isContiguous, case .memory = call.inputs[1].place
        else { return nil }
        axis = operation.axis
        (block, place, target) = (call.inputs[1], call.inputs[2], call.outputs[0])
        original = call.inputs[0].operand == call.outputs[0].operand ? nil : call.inputs[0]
    }

    func run(on workers: Workers) throws {
        let room = target.shape.dimensions[axis]
        let extent = block.shape.dimensions[axis]
        let places = place.tensor().integers
        for place in places where place < 0 || place > Int64(room - extent) {
            throw OperatorError("a block of \(extent) at \(place) lies outside of the \(room) of axis \(axis)")
        }
        if let original { target.write(original.tensor()) }
        guard !places.isEmpty else { return }
        switch target.operand.elementType.byteCount {
        case 8: write(places, as: UInt64.self)
        case 4: write(places, as: UInt32.self)
        default: write(places, as: UInt8.self)
        }
    }

    private func write<Element: BitwiseCopyable>(_ places: [Int64], as type: Element.Type) {
        guard case .memory(let from) = block.place, case .memory(let to) = target.place else { return }
        let source = from.assumingMemoryBound(to: Element.self)
        let target = to.assumingMemoryBound(to: Element.self)
        let extents = block.shape.dimensions
        let blockRows = StridedRows(block.layout)
        // The block's own box of the target, as if every place were 0; places are added row by row.
        let targetRows = StridedRows(
            StridedLayout(
                offset: self.target.layout.offset, shape: block.shape, strides: self.target.layout.strides))
        let rowsAPlace = blockRows.count / places.count
        let stride = self.target.layout.strides[axis]
        for row in 0..<blockRows.count {
            let index = places.count == 1 ? 0 : row / rowsAPlace
            let (start, end) = (blockRows.start(of: row), targetRows.start(of: row) + Int(places[index]) * stride)
            for column in 0..<(extents.last ?? 1) {
                target[end + column * targetRows.step] = source[start + column * blockRows.step]
            }
        }
    }
}
