import AccelByteIO
import AccelTensors

/// A constant that differs between the functions.
struct DifferingConstant {
    /// An operation that reads the constant, in each function.
    struct Location {
        let row: [MILOperation]
        let parameter: String
        /// The operation in words.
        let text: String

        init(_ row: [MILOperation], _ parameter: String, _ text: String) {
            (self.row, self.parameter, self.text) = (row, parameter, text)
        }
    }
    let location: Location
    /// The value in each function.
    let values: [MILValue]
    /// The name in the first function.
    let name: String
}

extension ShapeMerger {
    /// Parameters that may be computed at run time.
    private static let computable: Set<String> = [
        "reshape.shape", "slice_by_size.begin", "slice_by_size.size", "slice_by_index.begin", "slice_by_index.end",
        "fill.shape",
    ]

    /// Returns the replacement of a constant that differs: -1 for one size of a reshape or for the end of a slice, a vector
    /// concatenated from sizes, or a slice of the longest table.
    mutating func constant(_ constant: DifferingConstant) throws -> String {
        let location = constant.location
        let vectors = constant.values.map(\.vector)
        if let first = vectors[0], vectors.allSatisfy({ $0?.count == first.count }) {
            let rows = vectors.compactMap(\.self)
            let differing = first.indices.filter { index in rows.contains { $0[index] != first[index] } }
            if let free = free(differing, rows, location) {
                let numbers = first.indices.map { free.contains($0) ? -1 : first[$0] }
                return declare(MILValue(numbers), named: constant.name)
            }
            guard Self.computable.contains("\(location.row[0].type).\(location.parameter)") else {
                throw rejection(
                    location.text, "has \(location.parameter) \(rows.map(\.description).joined(separator: ", "))")
            }
            return try vector(rows, location)
        }
        if let table = try table(constant) { return table }
        throw rejection(
            location.text, "reads \(constant.values.map(\.type)), of which none is the beginning of another")
    }

    /// Returns the indices of `differing` that -1 can replace; nil if it cannot replace all of them.
    private func free(_ differing: [Int], _ rows: [[Int]], _ location: DifferingConstant.Location) -> [Int]? {
        switch "\(location.row[0].type).\(location.parameter)" {
        case "reshape.shape":
            return differing.count == 1 && rows.allSatisfy { !$0.contains(-1) && !$0.contains(0) } ? differing : nil
        case "slice_by_size.size":
            guard let whole = types("x", of: location.row), let begin = begins(location.row) else { return nil }
            let reachesEnd = differing.allSatisfy { axis in
                rows.indices.allSatisfy { begin[axis] + rows[$0][axis] == whole[$0].dimensions[axis] }
            }
            return reachesEnd ? differing : nil
        default: return nil
        }
    }

    /// Returns the begin of a slice if it is the same in all functions.
    private func begins(_ row: [MILOperation]) -> [Int]? {
        let vectors = row.indices.map { index -> [Int]? in
            guard case .name(let name)? = row[index].binding("begin") else { return nil }
            return constants[index][name]?.vector
        }
        return vectors.allSatisfy({ $0 == vectors[0] }) ? vectors[0] : nil
    }

    /// Returns a vector whose numbers are `rows[i]` in function i.
    private mutating func vector(_ rows: [[Int]], _ location: DifferingConstant.Location) throws -> String {
        var parts: [String] = []
        var same: [Int] = []
        func flush(_ merger: inout ShapeMerger) {
            if !same.isEmpty { parts.append(merger.declare(MILValue(same))) }
            same = []
        }
        for index in rows[0].indices {
            let numbers = rows.map { $0[index] }
            if numbers.allSatisfy({ $0 == numbers[0] }) {
                same.append(numbers[0])
                continue
            }
            flush(&self)
            guard let size = size(numbers) else {
                throw rejection(
                    location.text,
                    "has \(location.parameter) \(numbers.map(String.init).joined(separator: ", ")), no size of a value before it"
                )
            }
            parts.append(size)
        }
        flush(&self)
        guard parts.count > 1 else { return parts[0] }
        let axis = declare(MILValue(0))
        let interleave = declare(MILValue(false))
        return add(
            "concat", "\(location.row[0].outputs.first?.name ?? "vector")_\(location.parameter)",
            MILTensorType(.int32, [rows[0].count]),
            ["values": parts, "axis": [axis], "interleave": [interleave]])
    }

    /// Returns a slice of the longest table; nil if the other tables are not its beginning.
    private mutating func table(_ constant: DifferingConstant) throws -> String? {
        let types = constant.values.map(\.type)
        let sizes = types.compactMap(\.sizes)
        guard let bits = types[0].dataType.bits, bits % 8 == 0, sizes.count == types.count,
            types.allSatisfy({ $0.dataType == types[0].dataType && $0.rank == types[0].rank }),
            let longest = sizes.indices.max(by: {
                sizes[$0].reduce(1, *) < sizes[$1].reduce(1, *)
            })
        else { return nil }
        guard let whole = try bytes(constant.values[longest]) else { return nil }
        for (value, own) in zip(constant.values, sizes) {
            guard let part = try bytes(value),
                part == Self.corner(own, of: whole, sizes[longest], elementBytes: bits / 8)
            else { return nil }
        }
        let name = declare(constant.values[longest], named: constant.name)
        let begin = declare(MILValue(sizes[0].map { _ in 0 }))
        let size = try vector(sizes, constant.location)
        var type = types[0]
        for axis in type.dimensions.indices where sizes.contains(where: { $0[axis] != sizes[0][axis] }) {
            type.dimensions[axis] = nil
        }
        return add("slice_by_size", "\(name)_part", type, ["x": [name], "begin": [begin], "size": [size]])
    }

    private func bytes(_ value: MILValue) throws -> [UInt8]? {
        switch value.content {
        case .blob(let offset): return try content(offset)?.withBytes { Array($0) }
        case .bytes(let bytes): return bytes
        case .floats(let floats): return floats.withUnsafeBytes { Array($0) }
        case .integers(let integers): return integers.withUnsafeBytes { Array($0) }
        case .flags(let flags): return flags.map { $0 ? 1 : 0 }
        case .longs, .doubles, .words: return nil
        }
    }

    /// Returns the leading block of the shape `sizes` of a tensor; nil if the tensor is smaller.
    static func corner(_ sizes: [Int], of whole: [UInt8], _ all: [Int], elementBytes: Int) -> [UInt8]? {
        guard sizes.count == all.count, zip(sizes, all).allSatisfy({ $0 <= $1 }),
            whole.count == all.reduce(elementBytes, *)
        else { return nil }
        var starts = [0]
        var step = whole.count
        for axis in sizes.indices {
            step /= max(all[axis], 1)
            let inner = step
            starts = starts.flatMap { start in (0..<sizes[axis]).map { start + $0 * inner } }
        }
        return starts.flatMap { whole[$0..<$0 + elementBytes] }
    }
}

extension MILValue {
    /// The numbers of a vector of integers.
    fileprivate var vector: [Int]? {
        guard type.rank == 1, type.dataType == .int32, case .integers(let integers) = content else { return nil }
        return integers.map { Int($0) }
    }
}
