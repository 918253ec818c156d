import AccelByteIO
import AccelTensors
import CAccelKernels

/// Fast encoding of rows by C kernels that read the stored type directly. Scales and codes equal those of `LinearGrid`.
/// Squared errors are summed in float32 over short runs, then in float64.
struct LinearRows {
    private let source: StoredTensor
    private let type: ck_type
    private let search: LinearGridSearch

    /// Returns nil if there is no kernel for the grid or the element type.
    init?(_ source: StoredTensor, _ search: LinearGridSearch) {
        guard search.isSymmetric, search.fit == .absmax || search.isOfNibbles, source.shape.count > 0 else {
            return nil
        }
        switch source.elementType {
        case .float32: type = CK_F32
        case .float16: type = CK_F16
        case .bfloat16: type = CK_BF16
        default: return nil
        }
        self.source = source
        self.search = search
    }

    /// Returns the smallest and the largest of a row's values and 0; nil if a value is not finite.
    private func extremes(_ values: UnsafeRawPointer, _ count: Int) -> (low: Float, high: Float)? {
        var (low, high) = (Float(0), Float(0))
        return ck_extremes(values, type, count, &low, &high) != 0 ? (low, high) : nil
    }

    /// Encodes a row with one code per byte.
    /// - Returns: Nil for a row that needs the slow path; nothing is written then.
    func encodeBytes(_ row: Int, grid shared: LinearGrid?, into codes: UnsafeMutablePointer<UInt8>) -> (
        LinearGrid, Distortion
    )? {
        let columns = source.shape.columns
        return withRow(row) { values in
            guard let (low, high) = extremes(values, columns),
                let grid = try? shared ?? search.grid(low: low, high: high)
            else { return nil }
            // A row of zeros has the scale 1.
            guard max(-low, high) == 0 || max(-low, high) >= 0x1p-40, 0x1p-40...0x1p50 ~= grid.scale else { return nil }
            var errors = ck_errors()
            ck_quantize_bytes(values, type, columns, grid.scale, codes, &errors)
            return (grid, Distortion(errors, count: columns))
        }
    }

    /// Encodes a row as nibbles, with one scale per `block` codes.
    /// - Returns: Nil for a row that needs the slow path; the written bytes are undefined then.
    func encodeNibbles(
        _ row: Int, block: Int, into codes: UnsafeMutablePointer<UInt8>, scales: UnsafeMutablePointer<UInt8>
    ) -> Distortion? {
        let columns = source.shape.columns
        guard columns % 16 == 0, block % 16 == 0 else { return nil }
        return withRow(row) { values in
            var errors = ck_errors()
            let isDone = ck_quantize_nibbles(
                values, type, columns, block, Int32(-search.codes.lowerBound), search.fit == .mse ? 1 : 0,
                search.scaleType == .float16 ? 1 : 0, codes, scales, &errors)
            return isDone != 0 ? Distortion(errors, count: columns) : nil
        }
    }

    private func withRow<Result>(_ row: Int, _ body: (UnsafeRawPointer) -> Result?) -> Result? {
        let size = source.shape.columns * source.elementType.byteCount
        return source.bytes[row * size..<(row + 1) * size].withBytes { $0.baseAddress.flatMap(body) }
    }
}

extension Distortion {
    init(_ errors: ck_errors, count: Int) {
        self.init()
        self.count = count
        energy = errors.energy
        squaredError = errors.squares
        maximumError = errors.maximum
    }
}
