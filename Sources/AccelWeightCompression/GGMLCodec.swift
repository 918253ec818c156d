public import AccelByteIO
public import AccelTensors
import CAccelKernels

/// How the scales of a type of ggml are searched for.
enum GGMLFit: String, CaseIterable {
    /// As ggml does: the same bytes.
    case ggml
    /// For the least squared error, weighted by the importance if there is one; never worse than ggml.
    case mse

    static let option = CodecOption(
        "fit", allowed: allCases.map(\.rawValue), default: ggml.rawValue,
        help: "search for scales: ggml: the bytes of ggml's quantizer; mse: least squared error, of the same size")
}

/// A codec whose bytes are those of a type of ggml, the same on every processor.
///
/// Sections: `blocks`, the blocks of all rows. Weights after the last one of a row, up to a whole block, are zeros, which GGUF files
/// cannot have. With `method=weighted` then `importance`: how much errors count in each column (float32), all zeros if that is not
/// known. The source and the importance determine the blocks.
public struct GGMLCodec: WeightCodec {
    public static let numericsVersion = 1
    public static let schemes = GGMLFormat.all.map { format in
        let options =
            (format.isSearched ? [GGMLFit.option] : [])
            + (format.hasFeedback
                ? [CalibrationMethod.blockOption] : format.takesImportance ? [CalibrationMethod.importanceOption] : [])
        return CodecScheme(format.name, options: options, type: GGMLCodec.self)
    }

    package let format: GGMLFormat
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) throws {
        guard let format = GGMLFormat.all.first(where: { $0.name == values.codec }) else {
            throw RequestError("ggml has no type \"\(values.codec)\"")
        }
        (self.format, self.values) = (format, values)
    }

    /// The bits of a weight in a whole block, scales included.
    package var bitsPerWeight: Double { Double(format.bytes * 8) / Double(format.elements) }

    /// Returns the bytes of a row.
    package func bytesPerRow(_ shape: Shape) -> Int { format.blocksPerRow(shape) * format.bytes }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        let blocks = SectionLayout("blocks", byteCount: shape.rows * bytesPerRow(shape))
        guard method == .weighted else { return [blocks] }
        return [blocks, SectionLayout("importance", byteCount: shape.columns * MemoryLayout<Float>.stride)]
    }

    public func corruption(in sections: [ByteView], shape: Shape) -> String? {
        guard method == .weighted else { return nil }
        let bad = importance(in: sections).firstIndex { !($0.isFinite && $0 >= 0) }
        return bad.map { "the importance of column \($0) is not a number of at least 0" }
    }

    private func importance(in sections: [ByteView]) -> [Float] {
        guard method == .weighted else { return [] }
        return sections[1].withBytes { bytes in
            (0..<bytes.count / MemoryLayout<Float>.stride).map {
                bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<Float>.stride, as: Float.self)
            }
        }
    }

    public func units(shape: Shape) -> [Range<Int>] { shape.rowBlocks(of: 1 << 17) }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        if method == .gptq, let statistics {
            return try encoding(unit, of: source, feedingBackBy: statistics, into: sections[0])
        }
        let importance = method == .weighted ? statistics?.meanSquares ?? [] : []
        // All rows have the same one, which the first unit writes.
        if unit.contains(0), !importance.isEmpty {
            importance.withUnsafeBytes { sections[1].copyMemory(from: $0) }
        }
        return try rows(importance).encode(unit, of: source, into: sections[0])
    }

    private func rows(_ importance: [Float]) -> GGMLRows {
        GGMLRows(format: format, isLeastError: isLeastError, importance: importance)
    }

    /// Whether scales of the least squared error are searched for, instead of ggml's.
    var isLeastError: Bool { values["fit"] == GGMLFit.mse.rawValue }

    /// The last block of each row, if the row ends within it.
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        shape.columns % format.elements == 0 ? 0 : format.elements * MemoryLayout<Float>.stride
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let (columns, rowBytes) = (weight.shape.columns, bytesPerRow(weight.shape))
        let (whole, rest) = (columns / format.elements, columns % format.elements)
        weight.forEachPackedRow(rows, rowBytes: rowBytes, into: target) { _, codes, target in
            ck_ggml_decode(format.type, codes, whole, target)
            guard rest > 0 else { return }
            let last = scratch.assumingMemoryBound(to: Float.self)
            ck_ggml_decode(format.type, codes + whole * format.bytes, 1, last)
            (target + whole * format.elements).update(from: last, count: rest)
        }
    }

    /// Encodes the weights again, with the stored importance, and compares the bytes; of error feedback it checks the codes.
    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        method == .gptq
            ? feedbackViolation(rows, of: weight, source: source)
            : self.rows(importance(in: weight.sections)).violation(rows, of: weight, source: source)
    }
}

/// Encoding of rows of one type. It is not generic: the compiler would make a copy for each type.
private struct GGMLRows {
    let format: GGMLFormat
    /// Whether scales of the least squared error are searched for, instead of ggml's.
    let isLeastError: Bool
    /// The importance of each column; all columns count the same if it is empty or has zeros only.
    let importance: [Float]

    /// Encodes rows at their offsets in the blocks of all rows.
    func encode(
        _ unit: Range<Int>, of source: StoredTensor, into blocks: UnsafeMutableRawBufferPointer
    ) throws -> Distortion {
        let shape = source.shape
        var distortion = Distortion()
        try forEachEncodedRow(unit, of: source) { row, values, stored, codes in
            if let index = stored.firstNotFinite {
                throw format.overflow(in: source, at: row * shape.columns + index)
            }
            distortion.add(values, storedAs: stored)
            let start = row * codes.count
            UnsafeMutableRawBufferPointer(rebasing: blocks[start..<start + codes.count])
                .copyMemory(from: UnsafeRawBufferPointer(codes))
        }
        return distortion
    }

    /// Calls `body` with each row's index, its weights, the weights that its codes stand for, and the codes.
    private func forEachEncodedRow(
        _ rows: Range<Int>, of source: StoredTensor,
        _ body: (
            Int, UnsafeMutableBufferPointer<Float>, UnsafeMutableBufferPointer<Float>, UnsafeMutableBufferPointer<UInt8>
        ) throws -> Void
    ) throws {
        let (columns, blocks) = (source.shape.columns, format.blocksPerRow(source.shape))
        let padded = max(blocks * format.elements, 1)
        let isKnown = importance.contains { $0 != 0 }
        let encode = isLeastError ? ck_ggml_fit : ck_ggml_encode
        let weights = importance + [Float](repeating: 0, count: padded - min(importance.count, padded))
        try withUnsafeTemporaryAllocation(of: Float.self, capacity: 2 * padded) { floats in
            try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(blocks * format.bytes, 1)) { codes in
                floats.initialize(repeating: 0)
                codes.initialize(repeating: 0)
                let values = UnsafeMutableBufferPointer(rebasing: floats[..<padded])
                let decoded = UnsafeMutableBufferPointer(rebasing: floats[padded...])
                for row in rows {
                    try source.readFinite(source.elements(ofRows: row..<row + 1), into: values)
                    weights.withUnsafeBufferPointer {
                        encode(
                            format.type, values.baseAddress, isKnown ? $0.baseAddress : nil, blocks, codes.baseAddress)
                    }
                    ck_ggml_decode(format.type, codes.baseAddress, blocks, decoded.baseAddress)
                    try body(
                        row, UnsafeMutableBufferPointer(rebasing: values[..<columns]),
                        UnsafeMutableBufferPointer(rebasing: decoded[..<columns]),
                        UnsafeMutableBufferPointer(rebasing: codes[..<(blocks * format.bytes)]))
                }
            }
        }
    }

    /// Encodes the weights again and compares the bytes.
    func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let columns = weight.shape.columns
        var found: (index: Int, reason: String)?
        do {
            try forEachEncodedRow(rows, of: source) { row, _, expected, codes in
                guard found == nil else { return }
                let change = weight.sections[0].withBytes { bytes in
                    let stored = bytes[(row * codes.count)..<((row + 1) * codes.count)]
                    return zip(stored, codes).enumerated().first { $0.element.0 != $0.element.1 }?.offset
                }
                guard let change else { return }
                // The weights of the block are changed together, if its scale is.
                let start = change / format.bytes * format.elements
                let decoded = weight.floats(ofRow: row)
                let index = (start..<min(start + format.elements, columns)).first { decoded[$0] != expected[$0] }
                found = (
                    row * columns + (index ?? start),
                    index == nil
                        ? "starts a block with other bytes than \(format.name) of ggml"
                        : "is not stored as \(format.name) of ggml stores it"
                )
            }
        } catch let error as FormatError {
            guard case .tensor(_, let index?)? = error.location else { return (0, error.reason) }
            return (index, error.reason)
        } catch { return (0, "\(error)") }
        return found
    }
}

extension CompressedTensor {
    /// Returns one decoded row.
    fileprivate func floats(ofRow row: Int) -> [Float] {
        [Float](unsafeUninitializedCapacity: shape.columns) { target, count in
            codec.decode(row..<row + 1, of: self, into: target)
            count = shape.columns
        }
    }
}
