import AccelTensors

/// A row of float32 as 8-bit codes with one scale: element i stands for `codes[i] * scale`.
///
/// The bytes are the codes in two's complement, and then the scale as a little-endian float32. All arithmetic is float32
/// with one rounding per operation, so kernels find the same bytes.
enum ByteRow {
    /// The bytes of the scale, at the end of a row.
    static let scaleBytes = 4

    /// Returns the scale of a row, `max|x| / 127` but at least 2^-126. It is 0 for a row of zeros, and NaN for a row with an
    /// infinite element or a NaN: then all its values are NaN.
    static func scale(of row: some Sequence<Float>) -> Float {
        var (most, isFinite) = (Float(0), true)
        for element in row {
            isFinite = isFinite && element.isFinite
            most = max(most, abs(element))
        }
        guard isFinite else { return .nan }
        return most == 0 ? 0 : max(most / 127, .leastNormalMagnitude)
    }

    /// Returns the code of an element of a row: the nearest, with ties to even.
    static func code(of element: Float, scale: Float) -> Int8 {
        guard scale > 0 else { return 0 }
        return Int8(min(max((element * (1 / scale)).rounded(.toNearestOrEven), -127), 127))
    }

    /// Returns the value of a code.
    static func value(of code: Int8, scale: Float) -> Float { Float(code) * scale }

    /// Writes the bytes of a row to `bytes`, which has as many elements and `scaleBytes` more.
    static func round(_ row: ArraySlice<Float>, to bytes: UnsafeMutableBufferPointer<Int8>) {
        let scale = scale(of: row)
        for (index, element) in row.enumerated() { bytes[index] = code(of: element, scale: scale) }
        for index in 0..<scaleBytes {
            bytes[row.count + index] = Int8(truncatingIfNeeded: scale.bitPattern >> UInt32(8 * index))
        }
    }

    /// Returns the scale at the end of a row's bytes.
    static func scale(at bytes: ArraySlice<Int8>) -> Float {
        Float(bitPattern: bytes.suffix(scaleBytes).reversed().reduce(0) { $0 << 8 | UInt32(UInt8(bitPattern: $1)) })
    }
}

extension TensorType {
    /// The type with its rows of F32 kept as bytes, I8, or the other way round.
    /// - Parameter elementType: F32 or I8 if the type is the other one; else only the element type is replaced.
    func keepingRows(as elementType: ElementType) -> TensorType {
        var type = TensorType(elementType, dimensions)
        guard let width = dimensions.last else { return type }
        switch (self.elementType, elementType) {
        case (.float32, .int8): type.dimensions[rank - 1] = width + .fixed(ByteRow.scaleBytes)
        case (.int8, .float32): type.dimensions[rank - 1] = width - .fixed(ByteRow.scaleBytes)
        default: break
        }
        return type
    }

    /// Whether rows along the last axis may be codes with a scale each: each has at least one code, or is of free size.
    package var mayBeByteRows: Bool { dimensions.last.map { ($0.value ?? .max) > ByteRow.scaleBytes } ?? false }

    /// Rejects a type that cannot be rows of codes with a scale each.
    /// - Throws: `OperatorError` naming the tensor.
    func requireByteRows(_ what: String) throws {
        try require(rank: 1...8, what)
        guard !mayBeByteRows else { return }
        throw OperatorError(
            "\(what): a row of codes has \(ByteRow.scaleBytes) bytes of its scale and at least one code, found \(self)")
    }
}

extension HostTensor {
    /// Returns F32 rows along the last axis as codes, each with a scale of its own; another tensor unchanged.
    package func roundingRows() -> HostTensor {
        guard case .float32(let floats) = elements, let width = shape.dimensions.last, width > 0 else { return self }
        let (count, wide) = (floats.count / width, width + ByteRow.scaleBytes)
        let bytes = [Int8](unsafeUninitializedCapacity: count * wide) { target, written in
            for row in 0..<count {
                ByteRow.round(
                    floats[row * width..<(row + 1) * width],
                    to: UnsafeMutableBufferPointer(rebasing: target[row * wide..<(row + 1) * wide]))
            }
            written = count * wide
        }
        return HostTensor(.int8(bytes), Shape(shape.dimensions.dropLast() + [wide]))
    }

    /// Returns the values of I8 rows of codes as F32; another tensor unchanged.
    package func wideningRows() -> HostTensor {
        guard case .int8(let bytes) = elements, let wide = shape.dimensions.last, wide > ByteRow.scaleBytes else {
            return self
        }
        let width = wide - ByteRow.scaleBytes
        let floats = Reference.rows(bytes.count / wide, width: width) { row, result in
            let own = bytes[row * wide..<(row + 1) * wide]
            let scale = ByteRow.scale(at: own)
            for (index, code) in own.prefix(width).enumerated() {
                result[index] = ByteRow.value(of: code, scale: scale)
            }
        }
        return HostTensor(floats, Shape(shape.dimensions.dropLast() + [width]))
    }
}
