import CKernels
public import Tensors

extension CompressedTensor {
    /// Compresses a weight for its inputs; by gptq unless the codec without statistics serves the vectors that were held
    /// out better: then so. (An importance of each column alone is judged by the model's outputs, weight by weight it is not:
    /// which of the two gives a weight's own outputs less error by chance says nothing of theirs.)
    public static func compressing(
        _ source: StoredTensor, with codec: any WeightCodec, judgedBy statistics: ActivationStatistics, threads: Int
    ) throws -> (tensor: CompressedTensor, distortion: Distortion) {
        let made = try compressing(source, with: codec, given: statistics, threads: threads)
        guard codec.method == .gptq, !statistics.heldOut.vectors.isEmpty else { return made }
        let plain = try compressing(source, with: codec.dataFree, threads: threads)
        let error = try statistics.heldOutError(of: made.tensor, from: source, threads: threads)
        let bound = try statistics.heldOutError(of: plain.tensor, from: source, threads: threads)
        return error <= bound ? made : plain
    }
}

extension ActivationStatistics {
    /// Squared error of a stored weight's outputs for the vectors held out, from the outputs of the model as it was; the
    /// same bits for any number of threads.
    func heldOutError(of stored: CompressedTensor, from source: StoredTensor, threads: Int) throws -> Double {
        let rowsAtOnce = 64
        let count = heldOut.vectors.count / max(columns, 1)
        let panels = VectorPanels(heldOut.vectors, columns: columns)
        let drifts = heldOut.drifts.isEmpty ? nil : VectorPanels(heldOut.drifts, columns: columns)
        let pieces = (source.shape.rows + rowsAtOnce - 1) / rowsAtOnce
        return try Parallel.map(pieces, threads: threads) { piece in
            let rows = piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, source.shape.rows)
            let elements = source.elements(ofRows: rows)
            var original = [Float](repeating: 0, count: elements.count)
            var errors = original
            original.withUnsafeMutableBufferPointer { source.readFloats(elements, into: $0) }
            errors.withUnsafeMutableBufferPointer { stored.codec.decode(rows, of: stored, into: $0) }
            for index in errors.indices { errors[index] -= original[index] }
            var sum = 0.0
            for panel in 0..<panels.count {
                let made = panels.products(errors, rows: rows.count, panel: panel)
                let missing = drifts?.products(original, rows: rows.count, panel: panel)
                let wide = min(VectorPanels.width, count - panel * VectorPanels.width)
                for row in 0..<rows.count {
                    for place in row * VectorPanels.width..<row * VectorPanels.width + wide {
                        let error = Double(made[place]) - Double(missing?[place] ?? 0)
                        sum += error * error
                    }
                }
            }
            return sum
        }.reduce(0, +)
    }
}

/// Vectors packed for products with matrices.
private struct VectorPanels {
    static let width = ck_panel_width()
    let count: Int
    private let columns: Int
    private let packed: [Float]

    init(_ vectors: [Float], columns: Int) {
        self.columns = columns
        let (width, total) = (Self.width, vectors.count / max(columns, 1))
        count = (total + width - 1) / width
        var packed = [Float](repeating: 0, count: count * width * columns)
        for panel in 0..<count {
            let first = panel * width
            vectors.withUnsafeBufferPointer { vectors in
                packed.withUnsafeMutableBufferPointer { packed in
                    guard let source = vectors.baseAddress, let target = packed.baseAddress else { return }
                    ck_pack_panel(
                        source + first * columns, columns, min(width, total - first), columns,
                        target + first * columns)
                }
            }
        }
        self.packed = packed
    }

    /// `rows` lines of `width` products of a matrix with the panel's vectors.
    func products(_ matrix: [Float], rows: Int, panel: Int) -> [Float] {
        [Float](unsafeUninitializedCapacity: rows * Self.width) { target, filled in
            filled = rows * Self.width
            packed.withUnsafeBufferPointer { packed in
                guard let start = packed.baseAddress, let target = target.baseAddress else { return }
                ck_gemm_panel(
                    matrix, columns, rows, columns, start + panel * Self.width * columns, nil, target, Self.width,
                    Self.width)
            }
        }
    }
}
