import AccelByteIO
public import AccelTensors
import AccelWeightCompression

extension AcceleratorPackage {
    /// Decodes the weights, restores the checkpoint's tensors from them, and writes a safetensors file. Rows are
    /// processed block by block, so memory does not grow with the model; only a weight-normed weight is decoded as a
    /// whole.
    /// - Parameter elementType: float32 or float16.
    /// - Returns: The names of the written tensors.
    /// - Throws: `RequestError` for another element type; `FormatError` for a value that exceeds float16.
    @discardableResult
    public func decompress(
        to path: String, as elementType: ElementType, progress: (_ tensor: String) -> Void = { _ in }
    ) throws -> [String] {
        let map = try sourceMap()
        let originals = map.originals
        var output = try DecompressedFile(
            replacing: path, of: originals.map { ($0.name, $0.shape) }, as: elementType, from: self.path)
        for entry in map.coverage {
            progress(entry.tensor.name)
            if let derivation = entry.derivation, derivation.rule == .weightNorm {
                let (weight, sources) = (entry.tensor, derivation.sources)
                var floats: [Float] = []
                try entry.decode { rows, _ in floats += rows }
                let (lengths, directions) = WeightNorm.factors(
                    of: floats, shape: weight.shape, lengthShape: sources[0].shape)
                try output.append(lengths, of: sources[0].name)
                try output.append(directions, of: sources[1].name)
            } else if let derivation = entry.derivation, derivation.rule == .transpose {
                var floats: [Float] = []
                try entry.decode { rows, _ in floats += rows }
                let matrix = StoredTensor(name: entry.tensor.name, floats: floats, shape: entry.tensor.shape)
                try output.append(matrix.transposed().floats(), of: derivation.sources[0].name)
            } else {
                // Reshaped tensors keep the order of their elements.
                for name in [entry.derivation?.sources[0].name ?? entry.tensor.name] + entry.copies {
                    try entry.decode { rows, start in try output.append(rows, of: name, from: start) }
                }
            }
        }
        for tensor in map.keptTensors { try output.append(tensor.floats(), of: tensor.name) }
        try output.finish()
        return originals.map(\.name)
    }
}

extension CoverageEntry {
    /// Calls `body` with the decoded tensor in blocks of rows, and the index of the first element of each block.
    fileprivate func decode(_ body: (_ floats: [Float], _ start: Int) throws -> Void) throws {
        let columns = max(tensor.shape.columns, 1)
        let rowsAtOnce = max(1, (1 << 18) / columns)
        for start in stride(from: 0, to: tensor.shape.columns == 0 ? 0 : tensor.shape.rows, by: rowsAtOnce) {
            let rows = start..<min(start + rowsAtOnce, tensor.shape.rows)
            var floats = [Float](repeating: 0, count: rows.count * columns)
            floats.withUnsafeMutableBufferPointer {
                tensor.codec.decode(rows, of: tensor, into: $0)
                scaling?.inverse.apply(to: $0, rows: rows)
            }
            try body(floats, start * columns)
        }
    }
}
