import AccelByteIO
public import AccelTensors
import CAccelKernels

/// 8-bit integers with a scale per row or tensor: `scale * (code - zero)`. Each code is the true quotient by the stored
/// scale, rounded to nearest (ties to even).
///
/// Sections: `codes` (one signed byte per weight, row-major), `scales` (one per row, or one), and for `mode=asymmetric`
/// `zeros` (one signed byte per scale).
public struct Int8Codec: SingleSchemeCodec {
    public static let name = "int8"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "axis", allowed: ["channel", "tensor"], default: "channel",
            help: "weights that share a scale: an output channel, or the tensor"),
        CodecOption(
            "mode", allowed: ["symmetric", "asymmetric"], default: "symmetric",
            help: "symmetric: codes -127 to 127 about 0; asymmetric: -128 to 127 about a stored zero point"),
        // One scale serves a whole channel, so float32 costs few hundredths of a bit per weight, and covers any
        // magnitude.
        CodecOption("scales", allowed: ["float32", "float16"], default: "float32", help: "type of the scales"),
        ScaleFit.option(default: .absmax),
        CalibrationMethod.option,
    ]

    public let values: CodecOptionValues
    /// Each row has its own scale; if false, the tensor has one.
    public let isPerChannel: Bool
    /// There is no zero point: codes are symmetric about 0.
    public let isSymmetric: Bool
    let search: LinearGridSearch

    public init(_ values: CodecOptionValues) {
        self.values = values
        isPerChannel = values["axis"] == "channel"
        isSymmetric = values["mode"] == "symmetric"
        search = LinearGridSearch(
            codes: isSymmetric ? -127...127 : -128...127, isSymmetric: isSymmetric,
            scaleType: ScaleType(rawValue: values["scales"]) ?? .float32,
            fit: ScaleFit(rawValue: values["fit"]) ?? .absmax)
    }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        let scales = isPerChannel ? shape.rows : 1
        return [
            SectionLayout("codes", byteCount: shape.count),
            SectionLayout("scales", byteCount: scales * search.scaleType.byteCount),
        ] + (isSymmetric ? [] : [SectionLayout("zeros", byteCount: scales)])
    }

    public func units(shape: Shape) -> [Range<Int>] {
        isPerChannel ? shape.rowBlocks(of: 1 << 18) : [0..<shape.rows]
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        if method == .gptq, let statistics {
            return try encoding(unit, of: source, feedingBackBy: statistics, into: sections)
        }
        let columns = source.shape.columns
        let importance = method == .weighted && isPerChannel ? statistics?.importance : nil
        var distortion = Distortion()
        let shared = isPerChannel ? nil : try sharedGrid(of: source)
        if let shared { store(shared, in: sections, at: 0) }
        guard let codes = sections[0].baseAddress?.assumingMemoryBound(to: UInt8.self) else { return distortion }
        let rows = importance == nil ? LinearRows(source, search) : nil
        try withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { stored in
            for index in unit {
                let codes = codes + index * columns
                if let (grid, errors) = rows?.encodeBytes(index, grid: shared, into: codes) {
                    if isPerChannel { store(grid, in: sections, at: index) }
                    distortion.merge(errors)
                    continue
                }
                try source.forEachFiniteRow(index..<index + 1) { index, row in
                    let grid =
                        try shared
                        ?? source.grid(
                            search, for: UnsafeBufferPointer(row), weights: importance?[...],
                            firstIndex: index * columns)
                    if isPerChannel { store(grid, in: sections, at: index) }
                    guard let values = row.baseAddress, let back = stored.baseAddress else { return }
                    grid.encode(values, columns, within: search.codes, codes: codes, stored: back)
                    distortion.add(row, storedAs: UnsafeMutableBufferPointer(rebasing: stored[..<columns]))
                }
            }
        }
        return distortion
    }

    func sharedGrid(of source: StoredTensor) throws -> LinearGrid {
        if search.fit == .mse {
            let values = try [Float](unsafeUninitializedCapacity: source.shape.count) { target, count in
                count = source.shape.count
                try source.readFinite(0..<count, into: target)
            }
            return try values.withUnsafeBufferPointer { try source.grid(search, for: $0, firstIndex: 0) }
        }
        var (low, high) = (Float(0), Float(0))
        try source.forEachFiniteRow(0..<source.shape.rows) { _, row in
            let (rowLow, rowHigh) = search.extremes(UnsafeBufferPointer(row))
            (low, high) = (min(low, rowLow), max(high, rowHigh))
        }
        do { return try search.grid(low: low, high: high) } catch { throw source.error(error, index: nil) }
    }

    func store(_ grid: LinearGrid, in sections: [UnsafeMutableRawBufferPointer], at index: Int) {
        search.scaleType.store(grid.scale, in: sections[1], at: index)
        if !isSymmetric { sections[2][index] = UInt8(truncatingIfNeeded: grid.zero) }
    }

    /// Reads the scales of some rows.
    package func loadScales(
        of rows: Range<Int>, of weight: CompressedTensor, into scales: UnsafeMutablePointer<Float>
    ) {
        weight.sections[1].withBytes { section in
            if isPerChannel { return search.scaleType.load(section, rows, into: scales) }
            scales.update(repeating: search.scaleType.load(section, at: 0), count: rows.count)
        }
    }

    /// Reads the zero points of some rows: 0 where codes are symmetric.
    package func loadZeros(
        of rows: Range<Int>, of weight: CompressedTensor, into zeros: UnsafeMutablePointer<Float>
    ) {
        if isSymmetric { return zeros.update(repeating: 0, count: rows.count) }
        weight.sections[2].withBytes { section in
            for index in 0..<rows.count {
                let byte = section[isPerChannel ? rows.lowerBound + index : 0]
                zeros[index] = Float(Int8(bitPattern: byte))
            }
        }
    }

    func grid(of weight: CompressedTensor, row: Int) -> LinearGrid {
        let index = isPerChannel ? row : 0
        let zero = isSymmetric ? 0 : weight.sections[2].withBytes { Int(Int8(bitPattern: $0[index])) }
        return LinearGrid(scale: weight.sections[1].withBytes { search.scaleType.load($0, at: index) }, zero: zero)
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let columns = weight.shape.columns
        weight.sections[0].withBytes { codes in
            guard let start = codes.baseAddress, let target = target.baseAddress else { return }
            for index in 0..<rows.count {
                let row = rows.lowerBound + index
                let grid = grid(of: weight, row: row)
                ck_decode_int8(
                    (start + row * columns).assumingMemoryBound(to: Int8.self), grid.scale, Float(grid.zero),
                    target + index * columns, columns)
            }
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (columns, reach) = (weight.shape.columns, reach)
        return weight.sections[0].withBytes { codes in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { row in
                guard let start = codes.assumingMemoryBound(to: Int8.self).baseAddress, let values = row.baseAddress
                else { return nil }
                for index in rows {
                    source.readFloats(index * columns..<(index + 1) * columns, into: row)
                    let found = search.violation(
                        of: values, codes: start + index * columns, columns, on: grid(of: weight, row: index),
                        reach: reach)
                    if let found { return (index * columns + found.index, found.reason) }
                }
                return nil
            }
        }
    }
}

extension LinearGridSearch {
    /// Returns the first value whose code cannot be the nearest, with the reason; nil if all can.
    /// - Parameter reach: the allowed distance from the nearest code, in codes.
    func violation(
        of values: UnsafePointer<Float>, codes stored: UnsafePointer<Int8>, _ count: Int, on grid: LinearGrid,
        reach: Int
    ) -> (index: Int, reason: String)? {
        let atOnce = 64
        for start in stride(from: 0, to: count, by: atOnce) {
            let end = min(start + atOnce, count)
            if reach == 0, areNear(values + start, stored + start, end - start, grid) { continue }
            for index in start..<end {
                let reason = violation(of: values[index], code: Int(stored[index]), on: grid, reach: reach)
                if let reason { return (index, reason) }
            }
        }
        return nil
    }

    /// Returns true if all codes are valid, and clearly within half a step of their values: a test without a division
    /// that nearly all weights pass. False says nothing.
    private func areNear(
        _ values: UnsafePointer<Float>, _ stored: UnsafePointer<Int8>, _ count: Int, _ grid: LinearGrid
    ) -> Bool {
        let (scale, zero) = (Double(grid.scale), Double(grid.zero))
        // The products are exact, and the margin is wider than the rounding of the quotient that `violation` takes.
        let limit = LinearGrid.halfStep * (1 - 0x1p-30) * abs(scale)
        let (low, high) = (Int8(clamping: codes.lowerBound), Int8(clamping: codes.upperBound))
        var others = 0
        for index in 0..<count {
            let error = Double(values[index]) - scale * (Double(stored[index]) - zero)
            // The comparison is written so that NaN is not near.
            others &+= abs(error) <= limit && stored[index] >= low && stored[index] <= high ? 0 : 1
        }
        return others == 0
    }
}

extension LinearGridSearch {
    /// Returns why `code` cannot be the nearest to `value`; nil if it can.
    /// - Parameter reach: the allowed distance from the nearest code, in codes.
    func violation(of value: Float, code: Int, on grid: LinearGrid, reach: Int = 0) -> String? {
        guard codes.contains(code) else { return "has the code \(code), outside of \(codes)" }
        let steps = grid.steps(from: code, to: value)
        if reach > 0 { return feedbackViolation(steps, code: code, reach: reach) }
        if fit == .mse, code == codes.lowerBound && steps < 0 || code == codes.upperBound && steps > 0 { return nil }
        // The comparison is written so that a NaN scale is a violation too.
        return abs(steps) <= LinearGrid.halfStep
            ? nil : "is \(abs(steps)) steps from its stored value, more than half a step"
    }
}

extension StoredTensor {
    /// Finds the grid for values that start at element `firstIndex`.
    /// - Throws: `FormatError`, naming the largest value, if the scale exceeds its type.
    func grid(
        _ search: LinearGridSearch, for values: UnsafeBufferPointer<Float>, weights: ArraySlice<Float>? = nil,
        firstIndex: Int
    ) throws -> LinearGrid {
        do {
            guard let weights else { return try search.grid(for: values) }
            return try weights.withUnsafeBufferPointer { try search.grid(for: values, weights: $0.baseAddress) }
        } catch let overflow as LinearGridSearch.Overflow {
            let largest = values.indices.max { abs(values[$0]) < abs(values[$1]) } ?? 0
            throw error(overflow, index: firstIndex + largest)
        }
    }

    func error(_ overflow: LinearGridSearch.Overflow, index: Int?) -> FormatError {
        error("needs a scale of \(Float(overflow.needed)), beyond float16; store it with scales=float32", index: index)
    }
}
