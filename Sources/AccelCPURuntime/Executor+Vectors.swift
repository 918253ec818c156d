import AccelByteIO
import AccelPrograms
import AccelTensors

extension KernelCall {
    /// The index of the weight of a linear operator or a convolution, whose rows are multiplied with vectors of the
    /// first input; nil for other calls.
    public var multipliedWeight: Int? {
        guard operation is any LinearOperator || operation is Conv, inputs.count > 1,
            case .weight(let index) = inputs[1].storage
        else { return nil }
        return index
    }
}

extension Executor {
    /// Visits the vectors that a call with a `multipliedWeight` multiplies the weight's rows with: the rows of a linear
    /// operator's input, or the windows of a convolution's input in all groups. Visits none if the input is not
    /// contiguous.
    /// - Parameter body: called with the elements of each vector, and the index of its row or window.
    public func forEachVector(ofCall index: Int, _ body: (UnsafePointer<Float>, _ position: Int) -> Void) {
        let prepared = calls[index]
        if prepared.operation is any LinearOperator, let floats = prepared.inputs[0].contiguousFloats {
            let sizes = prepared.inputs[0].shape.dimensions
            let depth = sizes.last ?? 1
            for row in 0..<sizes.dropLast().reduce(1, *) { body(floats + row * depth, row) }
        } else if let kernel = try? ConvKernel(prepared) {
            prepared.workspace.rewind()
            forEachWindow(of: kernel, body)
        }
    }

    private func forEachWindow(of kernel: ConvKernel, _ body: (UnsafePointer<Float>, Int) -> Void) {
        let (windows, width) = (kernel.windows, Panels.width)
        let depth = windows.depth
        withUnsafeTemporaryAllocation(of: Float.self, capacity: max(depth, 1) * (width + 1)) { memory in
            guard let panel = memory.baseAddress else { return }
            let vector = panel + depth * width
            for group in 0..<kernel.batch * kernel.groups {
                guard let input = kernel.input(of: group) else { return }
                for start in stride(from: 0, to: windows.positions, by: width) {
                    let range = start..<min(start + width, windows.positions)
                    windows.fill(panel, width: width, range, of: input)
                    for column in 0..<range.count {
                        for element in 0..<depth { vector[element] = panel[element * width + column] }
                        body(vector, group / kernel.groups * windows.positions + start + column)
                    }
                }
            }
        }
    }
}
