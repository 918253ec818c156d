import AccelPrograms
import AccelTensors

/// A block written into a tensor at a position that is known at run time: in the tensor's own memory when the result
/// lies there, else in a copy.
struct UpdateSliceKernel: Kernel {
    static let operators: [any Operator.Type] = [UpdateSlice.self]
    static let readsStrided = true
    static let updatesInPlace = true
    private let axis: Int
    private let block: OperandMemory
    private let position: OperandMemory
    private let target: OperandMemory
    private let isInPlace: Bool
    private let workspace: Workspace

    /// The steps that copy the target's elements; empty if it is updated in place.
    private let copying: [KernelStep]

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? UpdateSlice else { throw Unsuitable("is for update_slice only") }
        try call.require(call.outputs[0].layout.isContiguous, "writes contiguous memory only")
        try call.require(call.inputs[1].isInMemory, "reads no stored block")
        try call.require(call.inputs[2].layout.isContiguous, "reads contiguous positions only")
        (axis, workspace) = (operation.axis, call.workspace)
        (block, position, target) = (call.inputs[1], call.inputs[2], call.outputs[0])
        isInPlace = call.inputs[0].operand == call.outputs[0].operand
        if isInPlace {
            copying = []
        } else {
            try call.require(call.inputs[0].isInMemory, "reads no stored weight")
            copying = [CopyKernel.step(from: call.inputs[0], to: target)]
        }
    }

    var reason: String { isInPlace ? "written in place" : "written to a copy" }

    var check: (@Sendable () throws -> Void)? {
        let capacity = target.shape.dimensions[axis]
        let size = block.shape.dimensions[axis]
        let count = position.shape.count
        return {
            guard let positions = position.start(as: Int64.self) else { return }
            for index in 0..<count where positions[index] < 0 || positions[index] > Int64(capacity - size) {
                throw OperatorError(
                    "a block of \(size) elements at position \(positions[index]) exceeds axis \(axis), which has \(capacity)"
                )
            }
        }
    }

    var steps: [KernelStep] {
        guard position.shape.count > 0, block.shape.count > 0 else { return copying }
        switch target.elementType.byteCount {
        case 8: return copying + [writing(UInt64.self)]
        case 4: return copying + [writing(UInt32.self)]
        case 2: return copying + [writing(UInt16.self)]
        default: return copying + [writing(UInt8.self)]
        }
    }

    private func writing<Element: BitwiseCopyable & Sendable>(_ type: Element.Type) -> KernelStep {
        let blockRows = block.rows(broadcastTo: block.shape)
        // The block's box of the target at position 0; the positions are added row by row.
        let targetRows = StridedRows(StridedLayout(shape: block.shape, strides: target.layout.strides))
        let count = position.shape.count
        let rowsPerPosition = blockRows.count / count
        let stride = target.layout.strides[axis]
        return KernelStep(1) { _, _ in
            guard let source = block.start(as: Element.self), let target = target.start(as: Element.self),
                let positions = position.start(as: Int64.self)
            else { return }
            workspace.forEachPart(of: blockRows.count, each: blockRows.width) { rows in
                for row in rows {
                    let index = count == 1 ? 0 : row / rowsPerPosition
                    let from = source + blockRows.start(of: row)
                    let to = target + targetRows.start(of: row) + Int(positions[index]) * stride
                    workspace.forEachPart(of: blockRows.width) { columns in
                        for column in columns { to[column * targetRows.step] = from[column * blockRows.step] }
                    }
                }
            }
        }
    }
}
