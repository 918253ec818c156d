import AccelPrograms
import AccelTensors

/// Whole rows of a stored weight, or all of it with another shape: only those rows are decoded. Of values in memory
/// such a view costs nothing and is no call.
struct WeightViewKernel: Kernel {
    static let operators: [any Operator.Type] = [Copy.self, Reshape.self, Slice.self]
    private let weight: StoredWeight
    private let target: MemoryLocation
    private let rows: Range<Int>

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let weight = call.inputs[0].storedWeight, case .memory(let location) = call.outputs[0].location
        else {
            throw Unsuitable("takes stored weights only")
        }
        try call.requireContiguousFloats(call.outputs)
        let layout = StridedLayout(shape: weight.shape)
        guard let view = call.operation is Copy ? layout : call.operation.view(of: layout), view.isContiguous else {
            throw Unsuitable("takes elements that follow each other")
        }
        let columns = weight.columns
        guard columns > 0, view.offset % columns == 0, view.shape.count % columns == 0 else {
            throw Unsuitable("takes whole rows only")
        }
        rows = view.offset / columns..<(view.offset + view.shape.count) / columns
        self.weight = weight
        target = MemoryLocation(
            cell: location.cell, offset: location.offset + call.outputs[0].layout.offset * MemoryLayout<Float>.stride)
    }

    var reason: String { "\(rows.count) rows of \(weight.encoding) decoded" }
    var steps: [KernelStep] { [weight.decoding(rows, to: target, elements: 1 << 13)] }
}
