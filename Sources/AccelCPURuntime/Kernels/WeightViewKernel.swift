import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A part of a stored weight that is whole rows, or all of it under other extents: only those rows are decoded. Of values
/// in memory such a view costs nothing and is no call.
struct WeightViewKernel: Kernel {
    static let operators: [any Operator.Type] = [Reshape.self, Slice.self]
    private let weight: CompressedTensor
    private let target: OperandMemory
    private let rows: Range<Int>

    init?(_ call: PreparedCall) {
        guard call.inputs.count == 1, case .weight(let weight) = call.inputs[0].place,
            let view = call.operation.view(of: StridedLayout(shape: weight.shape)), view.isContiguous,
            call.outputs[0].contiguousFloats != nil
        else { return nil }
        let columns = weight.shape.columns
        guard columns > 0, view.offset % columns == 0, view.shape.count % columns == 0 else { return nil }
        rows = view.offset / columns..<(view.offset + view.shape.count) / columns
        self.weight = weight
        target = call.outputs[0]
    }

    func run(on workers: Workers) {
        let columns = weight.shape.columns
        workers.forEachRows(rows.count, width: columns) { part in
            guard let target = target.contiguousFloats else { return }
            weight.codec.decode(
                rows.lowerBound + part.lowerBound..<rows.lowerBound + part.upperBound, of: weight,
                into: UnsafeMutableBufferPointer(
                    start: target + part.lowerBound * columns, count: part.count * columns))
        }
    }
}
