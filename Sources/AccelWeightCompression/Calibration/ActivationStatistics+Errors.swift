public import AccelTensors
import CAccelKernels

extension ActivationStatistics {
    /// Returns the squared error of a compressed weight's outputs for the held-out vectors, against the outputs of the
    /// original model. The result has the same bits for any number of threads.
    public func heldOutError(of stored: CompressedTensor, from source: StoredTensor, threads: Int) throws -> Double {
        let errors = HeldOutErrors(self)
        return try Self.sum(over: stored, from: source, threads: threads) { errors.sum($0, original: $1, rows: $2) }
    }

    /// Returns the mean squared error of a compressed weight's outputs over all vectors except the held-out ones,
    /// without the drift. The result has the same bits for any number of threads.
    public func meanError(of stored: CompressedTensor, from source: StoredTensor, threads: Int) throws -> Double {
        let panels = VectorPanels(moments, columns: columns)
        return try Self.sum(over: stored, from: source, threads: threads) { errors, _, rows in
            var sum = 0.0
            for panel in 0..<panels.count {
                let first = panel * VectorPanels.width
                let made = panels.products(errors, rows: rows, panel: panel)
                for row in 0..<rows {
                    for column in first..<min(first + VectorPanels.width, columns) {
                        sum +=
                            Double(errors[row * columns + column])
                            * Double(made[row * VectorPanels.width + column - first])
                    }
                }
            }
            return sum
        }
    }

    /// Returns the sum of `body` over blocks of rows; `body` gets the errors of the weights and their original values.
    private static func sum(
        over stored: CompressedTensor, from source: StoredTensor, threads: Int,
        _ body: @Sendable (_ errors: [Float], _ original: [Float], _ rows: Int) -> Double
    ) throws -> Double {
        let pieces = (source.shape.rows + rowsAtOnce - 1) / rowsAtOnce
        return try Parallel.map(pieces, threads: threads) { piece in
            let rows = piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, source.shape.rows)
            let (errors, original) = errors(of: stored, from: source, rows: rows)
            return body(errors, original, rows.count)
        }.reduce(0, +)
    }

    fileprivate static let rowsAtOnce = 64

    /// Returns the errors of some rows of a weight, and their original values.
    fileprivate static func errors(
        of stored: CompressedTensor, from source: StoredTensor, rows: Range<Int>
    ) -> (errors: [Float], original: [Float]) {
        let elements = source.elements(ofRows: rows)
        var original = [Float](repeating: 0, count: elements.count)
        var errors = original
        original.withUnsafeMutableBufferPointer { source.readFloats(elements, into: $0) }
        errors.withUnsafeMutableBufferPointer { stored.codec.decode(rows, of: stored, into: $0) }
        for index in errors.indices { errors[index] -= original[index] }
        return (errors, original)
    }

    /// Returns the statistics of the same vectors with their elements multiplied by powers of two.
    public func scaled(by exponents: [Int]) -> ActivationStatistics {
        let lines = ChannelScaling(columns: exponents)
        func scaled(_ vectors: [Float], by scaling: ChannelScaling) -> [Float] {
            var vectors = vectors
            let rows = vectors.count / max(columns, 1)
            vectors.withUnsafeMutableBufferPointer { scaling.apply(to: $0, rows: 0..<rows) }
            return vectors
        }
        let products = ChannelScaling(rows: exponents, columns: exponents)
        return ActivationStatistics(
            columns: columns, count: count, moments: scaled(moments, by: products), drift: scaled(drift, by: products),
            heldOut: HeldOutVectors(
                vectors: scaled(heldOut.vectors, by: lines), drifts: scaled(heldOut.drifts, by: lines)))
    }
}

/// The squared errors of a weight's outputs for held-out vectors, against the outputs of the original model.
struct HeldOutErrors: Sendable {
    private let count: Int
    private let panels: VectorPanels
    private let drifts: VectorPanels?

    init(_ statistics: ActivationStatistics) {
        let (held, columns) = (statistics.heldOut, statistics.columns)
        count = held.vectors.count / max(columns, 1)
        panels = VectorPanels(held.vectors, columns: columns)
        drifts = held.drifts.isEmpty ? nil : VectorPanels(held.drifts, columns: columns)
    }

    /// Returns the sum for some rows of a weight.
    func sum(of stored: CompressedTensor, from source: StoredTensor, rows: Range<Int>) -> Double {
        stride(from: rows.lowerBound, to: rows.upperBound, by: ActivationStatistics.rowsAtOnce).reduce(0) {
            sum, start in
            let part = start..<min(start + ActivationStatistics.rowsAtOnce, rows.upperBound)
            let (errors, original) = ActivationStatistics.errors(of: stored, from: source, rows: part)
            return sum + self.sum(errors, original: original, rows: part.count)
        }
    }

    fileprivate func sum(_ errors: [Float], original: [Float], rows: Int) -> Double {
        var sum = 0.0
        for panel in 0..<panels.count {
            let made = panels.products(errors, rows: rows, panel: panel)
            let missing = drifts?.products(original, rows: rows, panel: panel)
            let wide = min(VectorPanels.width, count - panel * VectorPanels.width)
            for row in 0..<rows {
                for slot in row * VectorPanels.width..<row * VectorPanels.width + wide {
                    let error = Double(made[slot]) - Double(missing?[slot] ?? 0)
                    sum += error * error
                }
            }
        }
        return sum
    }
}

/// Vectors packed into panels for matrix products.
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

    /// Returns the products of a matrix with the panel's vectors: `rows` lines of `width` numbers.
    func products(_ matrix: [Float], rows: Int, panel: Int) -> [Float] {
        [Float](unsafeUninitializedCapacity: rows * Self.width) { target, filled in
            filled = rows * Self.width
            packed.withUnsafeBufferPointer { packed in
                guard let start = packed.baseAddress, let target = target.baseAddress else { return }
                ck_gemm_panels(
                    matrix, columns, rows, columns, start + panel * Self.width * columns, nil, target, Self.width,
                    Self.width)
            }
        }
    }
}
