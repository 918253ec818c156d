import AccelTensors

/// The codes of a weight that are not the nearest ones to the original numbers.
///
/// Some converters choose codes in float16, after rounding numbers and tables to it. The comparison therefore tolerates half
/// a unit in the last place of float16 for each of them.
public struct NearestCodes: Equatable, Sendable {
    /// The number of compared codes.
    public private(set) var count = 0
    /// The row-major index of the first code that is not the nearest; nil if all are.
    public private(set) var first: Int?
    /// The number of codes that are not the nearest.
    public private(set) var far = 0

    /// A description of the codes that are not the nearest; nil if all are.
    public var failureReason: String? {
        first.map {
            "\(far) of \(count) codes are not the nearest to the model's elements, the first that of element \($0)"
        }
    }

    mutating func record(_ index: Int, isNear: Bool) {
        count += 1
        guard !isNear else { return }
        far += 1
        first = min(first ?? index, index)
    }

    /// Half a unit in the last place of float16: relative to a normal number, and absolute near zero.
    private static let (halfUnit, leastHalf): (Float, Float) = (0x1p-11, 0x1p-24)

    /// Compares indices into tables of scalar entries.
    mutating func look(_ indices: Decompression.Elements, tables: Decompression.Elements, for numbers: [Float]) {
        let rank = indices.sizes.count
        guard tables.sizes.count == rank + 2,
            let blocks = WeightBlocks(indices.sizes, counts: Array(tables.sizes[..<rank]))
        else { return }
        let entries = tables.sizes[rank]
        let sorted = stride(from: 0, to: tables.count, by: max(entries, 1)).map { start in
            tables.numbers[start..<min(start + entries, tables.count)].sorted()
        }
        blocks.forEachRun { run, _, block in
            for index in run {
                let (wanted, table) = (numbers[index], sorted[block])
                let chosen = tables.numbers[block * entries + Int(indices.numbers[index])]
                var (low, high) = (0, table.count)
                while low < high {
                    let middle = (low + high) / 2
                    if table[middle] < wanted { low = middle + 1 } else { high = middle }
                }
                let near =
                    [low - 1, low].filter(table.indices.contains).map { abs(table[$0] - wanted) }.min() ?? .infinity
                let rounding = 2 * Self.halfUnit * (abs(wanted) + max(abs(chosen), abs(wanted) + near))
                record(index, isNear: abs(chosen - wanted) <= near + rounding + 4 * Self.leastHalf)
            }
        }
    }

    /// Compares integers with scales and offsets; the offsets are in units of codes.
    mutating func look(
        _ data: Decompression.Elements, scale: Decompression.Elements, offset: Decompression.Elements?,
        for numbers: [Float]
    ) {
        guard let blocks = WeightBlocks(data.sizes, counts: scale.sizes), let bits = data.type.bits else { return }
        let isSigned = data.type == .int8 || data.type == .int4
        let lowest: Float = isSigned ? -Float(1 << (bits - 1)) : 0
        let highest = lowest + Float((1 << bits) - 1)
        blocks.forEachRun { run, _, block in
            let (scale, offset) = (scale.numbers[block], offset?.numbers[block] ?? 0)
            for index in run {
                // A scale rounds to zero in float16 only if the numbers are this small.
                guard scale != 0 else {
                    record(index, isNear: abs(numbers[index]) <= 2 * Self.leastHalf * Float(1 << bits))
                    continue
                }
                let code = data.numbers[index]
                let exact = numbers[index] / scale + offset
                // A symmetric range does not use the lowest code.
                let isEnd = exact < code ? code <= lowest + (isSigned ? 1 : 0) : code >= highest
                let rounding = 2 * Self.halfUnit * (abs(code - offset) + 1) + 2 * Self.leastHalf / abs(scale)
                record(index, isNear: abs(exact - code) <= 0.5 + rounding || isEnd)
            }
        }
    }
}

extension CoreMLPackage {
    /// Compares the codes of a compressed weight with the nearest codes.
    /// - Parameters:
    ///   - weight: a weight of this package.
    ///   - numbers: the original elements in the weight's order.
    /// - Returns: nil for schemes that are not supported: sparse ones, vector palettes, scales over tables.
    /// - Throws: `FormatError` if the weight is corrupt.
    public func nearestCodes(of weight: CoreMLWeight, for numbers: [Float]) throws -> NearestCodes? {
        guard numbers.count == weight.shape.count,
            let function = model.program.functions.first(where: { $0.name == weight.function }),
            let parameters = try FunctionConstants(function, of: self).parameters(of: weight.name)
        else { return nil }
        do {
            let codes = try nearestCodes(parameters, weight.operation, numbers)
            return codes?.count == numbers.count ? codes : nil
        } catch let problem as Decompression.Problem {
            throw error(weight.name, problem.reason)
        }
    }

    private func nearestCodes(
        _ parameters: FunctionConstants.Parameters, _ operation: String, _ numbers: [Float]
    ) throws -> NearestCodes? {
        var codes = NearestCodes()
        switch operation {
        case "constexpr_lut_to_dense":
            guard let (indices, tables) = try parameters.table(), tables.sizes.last == 1 else { return nil }
            codes.look(indices, tables: tables, for: numbers)
        case "constexpr_blockwise_shift_scale":
            let data = try parameters.required("data")
            guard !data.type.isFloatingPoint else { return nil }
            codes.look(
                data, scale: try parameters.required("scale"), offset: try parameters.optional("offset"), for: numbers)
        case "constexpr_affine_dequantize":
            let data = try parameters.required("quantized_data")
            let axis = try parameters.integer("axis") ?? 0
            func spread(_ name: String) throws -> Decompression.Elements {
                try Decompression.spread(parameters.required(name), over: data.sizes, axis: axis)
            }
            codes.look(data, scale: try spread("scale"), offset: try spread("zero_point"), for: numbers)
        default: return nil
        }
        return codes
    }
}
