import AccelByteIO
import AccelTensors

/// Signed codes of eight bits in rows.
struct Int8Rows {
    let tensor: StoredTensor
    /// One for the tensor, one for each row, or several for each row.
    let scales: [Float]
    /// One for each scale; nil for 0.
    let zeros: [Int8]?
    private let (rows, columns): (Int, Int)

    /// - Throws: `FormatError` if scales do not fit the rows.
    init(_ tensor: StoredTensor, scales: [Float], zeros: [Int8]? = nil) throws {
        (rows, columns) = tensor.shape.matrix
        (self.tensor, self.scales) = (tensor, scales)
        self.zeros = zeros?.allSatisfy { $0 == 0 } ?? true ? nil : zeros
        guard zeros == nil || zeros?.count == scales.count,
            !scales.isEmpty, scales.count == 1 || scales.count % rows == 0 && columns % (scales.count / rows) == 0
        else { throw tensor.error("\(scales.count) scales do not fit rows of \(tensor.shape)") }
    }

    func weight() -> QuantizedWeight {
        let bytes = tensor.byteArray
        if scales.count > max(rows, 1) {
            return GroupedCodes(
                rows: rows, columns: columns, bits: 8, codes: bytes.map { $0 ^ 128 },
                group: columns / (scales.count / rows),
                scales: scales, zeros: zeros?.map { Float($0) + 128 } ?? scales.map { _ in 128 }, hasHalfScales: false
            ).weight()
        }
        let axis = scales.count == 1 && rows > 1 ? "tensor" : "channel"
        // Symmetric codes end at -127.
        let isSymmetric = zeros == nil && !bytes.contains(128)
        return .encoded(
            codec: "int8:axis=\(axis)" + (isSymmetric ? "" : ",mode=asymmetric"), shape: tensor.shape,
            sections: [tensor.bytes, ByteView(scales)]
                + (isSymmetric ? [] : [ByteView(zeros ?? scales.map { _ in Int8(0) })]))
    }
}
