import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// The constexpr operations, which decompress weights. All numbers are float32, which holds every code and every float16
/// exactly; results of type fp16 are rounded like in coremltools.
enum Decompression {
    /// The largest vector of a palette: a limit for corrupt files.
    static let maximumVector = 64

    struct Problem: Error {
        let reason: String
    }

    struct Elements {
        var type: MILDataType
        var sizes: [Int]
        var numbers: [Float]

        var count: Int { numbers.count }
    }

    /// Computes `scale * (data - offset)`, with a scale and an offset for each block.
    static func shiftScale(_ data: Elements, scale: Elements, offset: Elements?) throws -> Elements {
        guard let blocks = WeightBlocks(data.sizes, counts: scale.sizes) else {
            throw Problem(reason: "scales \(scale.sizes) do not divide the data \(data.sizes)")
        }
        guard offset == nil || offset?.sizes == scale.sizes else {
            throw Problem(reason: "offsets have other sizes than the scales \(scale.sizes)")
        }
        let isHalf = scale.type == .float16
        var numbers = data.numbers
        if isHalf { numbers.roundToHalf() }
        if let offset {
            blocks.forEachRun { run, _, block in
                for index in run { numbers[index] -= offset.numbers[block] }
            }
            if isHalf { numbers.roundToHalf() }
        }
        blocks.forEachRun { run, _, block in
            for index in run { numbers[index] *= scale.numbers[block] }
        }
        if isHalf { numbers.roundToHalf() }
        return Elements(type: scale.type, sizes: data.sizes, numbers: numbers)
    }

    /// Computes the affine scheme of iOS 16: one scale and zero point, or one for each index of an axis.
    static func affine(_ data: Elements, scale: Elements, zero: Elements, axis: Int) throws -> Elements {
        try shiftScale(
            data, scale: spread(scale, over: data.sizes, axis: axis),
            offset: spread(zero, over: data.sizes, axis: axis))
    }

    /// Converts a parameter for each index of an axis to a parameter for blocks.
    static func spread(_ parameter: Elements, over shape: [Int], axis: Int) throws -> Elements {
        let axis = axis < 0 ? axis + shape.count : axis
        guard shape.indices.contains(axis) else { throw Problem(reason: "there is no axis \(axis)") }
        var (sizes, numbers) = (shape.map { _ in 1 }, parameter.numbers)
        sizes[axis] = shape[axis]
        if parameter.count == 1, parameter.sizes.allSatisfy({ $0 == 1 }) {
            numbers = [Float](repeating: numbers[0], count: sizes[axis])
        }
        guard numbers.count == sizes[axis] else {
            throw Problem(reason: "\(parameter.sizes) parameters do not fit axis \(axis) of \(shape)")
        }
        return Elements(type: parameter.type, sizes: sizes, numbers: numbers)
    }

    /// Looks up the indices in tables. A table has 2^n vectors; each fills neighbours along `vectorAxis`.
    static func lookUp(_ indices: Elements, tables: Elements, vectorAxis: Int?) throws -> Elements {
        let rank = indices.sizes.count
        guard tables.sizes.count == rank + 2, let vector = tables.sizes.last,
            (1...maximumVector).contains(vector)
        else {
            throw Problem(reason: "tables \(tables.sizes) do not fit indices \(indices.sizes)")
        }
        guard let blocks = WeightBlocks(indices.sizes, counts: Array(tables.sizes[..<rank])) else {
            throw Problem(reason: "tables \(tables.sizes) do not divide the indices \(indices.sizes)")
        }
        let entries = tables.sizes[rank]
        guard let bits = indices.type.bits, indices.type == MILDataType(codeBits: bits), 1 << bits == entries else {
            throw Problem(reason: "tables of \(entries) entries do not fit indices of type \(indices.type.word)")
        }
        let axis = vectorAxis.map { $0 < 0 ? $0 + rank : $0 } ?? rank - 1
        guard indices.sizes.indices.contains(axis), vector == 1 || vectorAxis != nil else {
            throw Problem(reason: "vectors of \(vector) have no axis")
        }
        var sizes = indices.sizes
        let (count, overflow) = indices.count.multipliedReportingOverflow(by: vector)
        guard !overflow, count < 1 << 40 else { throw Problem(reason: "too many elements") }
        try MachineMemory.require(count * MemoryLayout<Float>.stride, for: "decompressing a palette of vectors")
        sizes[axis] *= vector
        let strides = Shape(sizes).strides
        var numbers = [Float](repeating: 0, count: count)
        blocks.forEachRun { run, coordinates, block in
            var target = 0
            for (other, position) in coordinates.enumerated() {
                target += position * (other == axis ? vector : 1) * strides[other]
            }
            let step = strides[rank - 1] * (axis == rank - 1 ? vector : 1)
            for (offset, index) in run.enumerated() {
                let entry = (block * entries + Int(indices.numbers[index])) * vector
                for part in 0..<vector {
                    numbers[target + offset * step + part * strides[axis]] = tables.numbers[entry + part]
                }
            }
        }
        return Elements(type: tables.type, sizes: sizes, numbers: numbers)
    }

    /// Returns zeros, with the values in order at the positions where `mask` is 1.
    static func scatter(_ values: Elements, mask: Elements) throws -> Elements {
        var numbers = [Float](repeating: 0, count: mask.count)
        var next = 0
        for index in numbers.indices where mask.numbers[index] != 0 {
            guard next < values.count else {
                throw Problem(reason: "the mask selects more elements than \(values.count)")
            }
            numbers[index] = values.numbers[next]
            next += 1
        }
        guard next == values.count else {
            throw Problem(reason: "the mask selects \(next) elements for \(values.count) values")
        }
        return Elements(type: values.type, sizes: mask.sizes, numbers: numbers)
    }

    /// Returns the values of `dense` where `mask` is 1, in order.
    static func collect(_ dense: Elements, mask: Elements) -> Elements {
        let numbers = zip(dense.numbers, mask.numbers).filter { $0.1 != 0 }.map(\.0)
        return Elements(type: dense.type, sizes: [numbers.count], numbers: numbers)
    }

    /// Unpacks the first `count` codes of type `type` from a stream of bits.
    static func codes(_ bytes: UnsafeRawBufferPointer, _ type: MILDataType, count: Int) -> [Float] {
        guard let bits = type.bits, bits <= 8, let start = bytes.baseAddress, count > 0 else { return [] }
        var codes = [UInt8](repeating: 0, count: count)
        codes.withUnsafeMutableBufferPointer {
            BitPacking.unpack(start.assumingMemoryBound(to: UInt8.self), bits: bits, into: $0)
        }
        let limit = 1 << (bits - 1)
        let isSigned = type == .int4 || type == .int8
        return codes.map { Float(isSigned && Int($0) >= limit ? Int($0) - 2 * limit : Int($0)) }
    }
}
