import AccelPrograms
import AccelTensors

/// Sums, means and maxima over some axes, in float64.
struct ReduceKernel: Kernel {
    static let operators: [any Operator.Type] = [Reduce.self]
    private let source: OperandMemory
    private let target: OperandMemory
    private let kind: Reduce.Kind
    private let workspace: Workspace
    /// Where the elements of a result start, and where they lie from there.
    private let (starts, elements): (StridedRows, StridedRows)

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Reduce else { throw Unsuitable("is for reduce only") }
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, target, kind) = (call.inputs[0], call.outputs[0], operation.kind)
        workspace = call.workspace
        let (sizes, strides) = (source.shape.dimensions, source.shape.strides)
        let kept = sizes.indices.filter { !operation.axes.contains($0) }
        starts = StridedRows(
            StridedLayout(shape: Shape(kept.map { sizes[$0] } + [1]), strides: kept.map { strides[$0] } + [1]))
        elements = StridedRows(
            StridedLayout(
                shape: Shape(operation.axes.map { sizes[$0] }), strides: operation.axes.map { strides[$0] }))
    }

    var reason: String { "\(kind.rawValue) in float64" }

    var steps: [KernelStep] {
        let count = elements.count * elements.width
        return [
            .rows(target.shape.count, width: count) { rows in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
                for row in rows {
                    let x = source + starts.start(of: row)
                    switch kind {
                    case .sum: target[row] = Float(sum(x))
                    case .mean: target[row] = Float(sum(x) / Double(count))
                    case .max: target[row] = Float(largest(x))
                    }
                }
            }
        ]
    }

    private func sum(_ x: UnsafePointer<Float>) -> Double {
        var sum = 0.0
        forEachPart(of: x) { x, columns in
            for column in columns { sum += Double(x[column * elements.step]) }
        }
        return sum
    }

    private func largest(_ x: UnsafePointer<Float>) -> Double {
        var largest = -Double.infinity
        forEachPart(of: x) { x, columns in
            for column in columns {
                let value = Double(x[column * elements.step])
                if !(largest > value || largest.isNaN) { largest = value }
            }
        }
        return largest
    }

    /// Calls `body` with the rows of a result's elements, and with the columns of a part of each.
    @inline(__always)
    private func forEachPart(of x: UnsafePointer<Float>, _ body: (UnsafePointer<Float>, Range<Int>) -> Void) {
        workspace.forEachPart(of: elements.count, each: elements.width) { rows in
            for row in rows {
                let x = x + elements.start(of: row)
                workspace.forEachPart(of: elements.width) { body(x, $0) }
            }
        }
    }
}
