public import AccelByteIO
public import AccelTensors

/// Sums in a safetensors file: `moments` (float64, the lower triangle row by row), `drift` (columns x columns) if one is not 0, `held`
/// and `held-drift` (held-out vectors x columns). The metadata hold the numbers of columns and of vectors.
extension MomentPart {
    /// Returns the content of a file, in parts.
    public func content() throws -> [ByteView] {
        try resume()
        let triangle = ByteBuffer(count: Self.triangleCount(columns) * MemoryLayout<Double>.stride)
        if let source = moments.doubles, let target = triangle.doubles {
            for row in 0..<columns {
                (target + row * (row + 1) / 2).update(from: source + row * columns, count: row + 1)
            }
        }
        var tensors = [
            StoredTensor(
                name: "moments", elementType: .float64, shape: [Self.triangleCount(columns)], bytes: ByteView(triangle))
        ]
        if hasDrifted, let drift {
            tensors.append(
                StoredTensor(
                    name: "drift", elementType: .float64, shape: Shape([columns, columns]), bytes: ByteView(drift)))
        }
        let held = heldOut.result
        for (name, values) in [("held", held.vectors), ("held-drift", held.drifts)] where !values.isEmpty {
            tensors.append(
                StoredTensor(name: name, floats: values, shape: Shape([values.count / columns, columns])))
        }
        return try SafetensorsWriter.parts(tensors, metadata: [("columns", "\(columns)"), ("count", "\(count)")])
    }

    /// Reads sums; nil for a file that has none of so many columns.
    public convenience init?(_ file: SafetensorsFile, columns: Int, hasDrift: Bool) {
        let metadata = Dictionary(file.metadata.map { ($0.key, $0.value) }) { first, _ in first }
        let size = MemoryLayout<Double>.stride
        guard metadata["columns"] == "\(columns)", let count = metadata["count"].flatMap({ Int($0) }), count >= 0,
            let triangle = file["moments"], triangle.elementType == .float64,
            triangle.shape == [Self.triangleCount(columns)]
        else { return nil }
        let held = [file["held"], file["held-drift"]].map { $0?.floats() ?? [] }
        guard held.allSatisfy({ $0.count.isMultiple(of: columns) }),
            hasDrift ? held[0].count == held[1].count : held[1].isEmpty
        else { return nil }
        self.init(columns: columns, hasDrift: hasDrift, mostHeld: held[0].count / columns)
        self.count = count
        heldOut = HeldOutCollector(
            columns: columns, hasDrift: hasDrift, HeldOutVectors(vectors: held[0], drifts: held[1]))
        for row in 0..<columns {
            let start = row * (row + 1) / 2 * size
            let target = UnsafeMutableRawBufferPointer(
                rebasing: moments.bytes[row * columns * size..<(row * columns + row + 1) * size])
            triangle.bytes.read(start..<start + (row + 1) * size, into: target)
        }
        guard let stored = file["drift"] else { return }
        guard stored.elementType == .float64, stored.shape == Shape([columns, columns]), let drift else { return nil }
        stored.bytes.read(0..<drift.bytes.count, into: drift.bytes)
        hasDrifted = true
    }

    private static func triangleCount(_ columns: Int) -> Int { columns * (columns + 1) / 2 }
}
