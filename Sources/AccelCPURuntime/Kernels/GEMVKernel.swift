import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation for few rows of x, as in a decode step: the rows of the weight are multiplied in
/// registers while they are decoded, and no panels are packed.
struct GEMVKernel: Kernel {
    static let operators: [any Operator.Type] = [Linear.self]
    private let source: OperandMemory
    private let product: any VectorProduct
    /// Nil: none.
    private let bias: OperandMemory?
    private let target: OperandMemory
    private let activation: Activation
    /// Rows of x.
    private let rows: Int
    private let (depth, width): (Int, Int)
    /// The rows of x in the order in which codes of four bits are read.
    private let pairs: MemoryLocation

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Linear, case .weight(let weight) = call.inputs[1].location else {
            throw Unsuitable("takes stored weights only")
        }
        bias = call.input("bias")
        try call.requireContiguousFloats([call.inputs[0], call.outputs[0]] + (bias.map { [$0] } ?? []))
        (source, target) = (call.inputs[0], call.outputs[0])
        product = VectorProducts.product(of: weight)
        activation = operation.activation
        rows = source.shape.dimensions.dropLast().reduce(1, *)
        (depth, width) = (weight.columns, weight.rows)
        pairs = call.workspace.reserve(floats: product.readsPairs ? rows * Self.pairCount(depth) : 0)
    }

    var cost: Double { LinearCost.vectors(rows: rows) }
    var reason: String { product.reason + "; \(rows == 1 ? "1 row" : "\(rows) rows") of input" }

    private static func pairCount(_ depth: Int) -> Int { (depth + 31) / 32 * 32 }

    var steps: [KernelStep] {
        let depth = depth, width = width
        // Some 32 KB of codes of 4 bits, in whole groups of rows that share a palette.
        let columnsAtOnce = max(16, (1 << 16) / max(depth, 1) / 16 * 16)
        let split = KernelStep(product.readsPairs ? 1 : 0) { _, _ in
            guard let source = source.contiguousFloats else { return }
            for row in 0..<rows { ck_split_pairs(source + row * depth, depth, pairs(ofRow: row)) }
        }
        let multiply = KernelStep(
            (width + columnsAtOnce - 1) / columnsAtOnce,
            scratchFloats: product.scratchFloats(rows: min(columnsAtOnce, max(width, 1)))
        ) { piece, scratch in
            guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
            let columns = piece * columnsAtOnce..<min((piece + 1) * columnsAtOnce, width)
            for row in 0..<rows {
                let part = target + row * width + columns.lowerBound
                product.multiply(
                    columns, with: DotVector(floats: source + row * depth, pairs: pairs(ofRow: row)), into: part,
                    scratch: scratch)
                activation.apply(to: part, of: columns, adding: bias)
            }
        }
        return [split, multiply]
    }

    private func pairs(ofRow row: Int) -> UnsafeMutablePointer<Float> {
        pairs.start.assumingMemoryBound(to: Float.self) + row * Self.pairCount(depth)
    }
}
