import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Reads the floats of variables as CTranslate2's converter loads them, and stores them in a type.
struct CTranslate2Values {
    /// Elements of one type in a model file.
    struct Section {
        let name: String
        let elementType: ElementType
        let shape: Shape
        /// The bytes, in pieces.
        let pieces: [ByteView]

        var byteCount: Int { pieces.reduce(0) { $0 + $1.count } }
    }

    let type: CTranslate2Type
    /// The type to which all floats are rounded before anything else; nil to take them as they are stored.
    let loaded: ElementType?

    /// The elements that are read at a time.
    static let blockElements = 1 << 16

    /// - Parameters:
    ///   - elementType: the type that the model's config.json names.
    ///   - isExact: quantizes from the stored floats, without the rounding of CTranslate2's converter.
    init(_ type: CTranslate2Type, elementType: ElementType?, isExact: Bool) {
        self.type = type
        loaded = isExact ? nil : type.loaded ?? elementType
    }

    /// Returns the type that a variable has before the type of the model is applied.
    func base(of variable: CTranslate2Variable) -> ElementType {
        if variable.isComputed { return .float32 }
        if let loaded { return loaded }
        let types = Set(variable.parts.compactMap { $0.tensor?.elementType })
        return types.count == 1 ? types.first ?? .float32 : .float32
    }

    /// Returns whether integers stand for a variable's elements.
    func isQuantized(_ variable: CTranslate2Variable) -> Bool { variable.isWeight && type.codes != .none }

    /// Returns the parts of a variable in a model file, in order.
    /// - Throws: `FormatError` for a number that is not finite, or beyond its type.
    func sections(of variable: CTranslate2Variable) throws -> [Section] {
        if case .scalar(let scalar) = variable.content {
            return [Section(name: variable.name, elementType: scalar.elementType, shape: [], pieces: [scalar.bytes])]
        }
        guard isQuantized(variable) else {
            let type = variable.isComputed ? type.floats ?? .float32 : type.floats ?? base(of: variable)
            return [
                Section(
                    name: variable.name, elementType: type, shape: variable.shape,
                    pieces: try stored(variable) ?? [try narrowed(variable, to: type)])
            ]
        }
        let (codes, scales) = type.codes == .int8 ? try bytes(of: variable) : try words(of: variable)
        let rows = variable.shape.dimensions[0]
        return [
            Section(
                name: variable.name, elementType: type.codes == .int8 ? .int8 : .int16, shape: variable.shape,
                pieces: [codes]),
            Section(
                name: "\(variable.name)_scale", elementType: .float32, shape: type.codes == .int8 ? [rows] : [],
                pieces: [scales]),
        ]
    }

    // MARK: - Floats

    /// Returns the bytes of the model's files, if they need no change.
    private func stored(_ variable: CTranslate2Variable) -> [ByteView]? {
        let wanted = type.floats ?? base(of: variable)
        let width = wanted.byteCount
        var pieces: [ByteView] = []
        for part in variable.parts {
            guard let tensor = part.tensor else {
                pieces.append(ByteView(ByteBuffer(count: part.elements.count * width)))
                continue
            }
            guard tensor.elementType == wanted, variable.isComputed || loaded == nil || loaded == wanted else {
                return nil
            }
            pieces.append(tensor.bytes[part.elements.lowerBound * width..<part.elements.upperBound * width])
        }
        return pieces
    }

    private func narrowed(_ variable: CTranslate2Variable, to type: ElementType) throws -> ByteView {
        let target = try ByteBuffer(allocating: variable.shape.count * type.byteCount, for: variable.name)
        try forEachBlock(of: variable, width: 1) { elements, values in
            guard let start = target.bytes.baseAddress else { return }
            let place = start + elements.lowerBound * type.byteCount
            Self.narrow(values, elements.count, to: type, place)
            if type == .float16 { try check(place, elements, of: variable) }
        }
        return ByteView(target)
    }

    /// Reads elements of a variable.
    func read(_ elements: Range<Int>, of variable: CTranslate2Variable, into target: UnsafeMutablePointer<Float>) throws
    {
        var first = 0
        for part in variable.parts {
            defer { first += part.elements.count }
            let (low, high) = (max(elements.lowerBound, first), min(elements.upperBound, first + part.elements.count))
            guard low < high else { continue }
            let place = target + (low - elements.lowerBound)
            guard let tensor = part.tensor else {
                place.update(repeating: 0, count: high - low)
                continue
            }
            let begin = part.elements.lowerBound - first
            tensor.readFloats(
                begin + low..<begin + high, into: UnsafeMutableBufferPointer(start: place, count: high - low))
            if let loaded, loaded != tensor.elementType, !variable.isComputed {
                try round(place, low..<high, to: loaded, of: variable)
            }
        }
    }

    private func round(
        _ values: UnsafeMutablePointer<Float>, _ elements: Range<Int>, to type: ElementType,
        of variable: CTranslate2Variable
    ) throws {
        guard type != .float32 else { return }
        let buffer = ByteBuffer(count: elements.count * type.byteCount)
        guard let start = buffer.bytes.baseAddress else { return }
        Self.narrow(values, elements.count, to: type, start)
        if type == .float16 { try check(start, elements, of: variable) }
        StoredTensor(name: variable.name, elementType: type, shape: [elements.count], bytes: ByteView(buffer))
            .readFloats(0..<elements.count, into: UnsafeMutableBufferPointer(start: values, count: elements.count))
    }

    private static func narrow(
        _ values: UnsafePointer<Float>, _ count: Int, to type: ElementType, _ target: UnsafeMutableRawPointer
    ) {
        switch type {
        case .float16: Float16Codec.narrow(values, target, count)
        case .bfloat16: BFloat16Codec.narrow(values, target, count)
        default: Float32Codec.narrow(values, target, count)
        }
    }

    /// Fails if a float16 is not finite.
    private func check(_ halves: UnsafeRawPointer, _ elements: Range<Int>, of variable: CTranslate2Variable) throws {
        for index in 0..<elements.count {
            guard halves.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self) & 0x7C00 == 0x7C00 else { continue }
            throw variable.error(
                "is too large for float16", index: elements.lowerBound + index,
                quantization: ["bfloat16", "int8_bfloat16", "int8_float32"])
        }
    }

    /// Calls `body` with blocks of whole rows, in parallel.
    /// - Parameter width: the number of elements in a row.
    func forEachBlock(
        of variable: CTranslate2Variable, width: Int,
        _ body: @Sendable (_ elements: Range<Int>, _ values: UnsafeMutablePointer<Float>) throws -> Void
    ) throws {
        let rows = variable.shape.count / width
        let rowsAtOnce = max(1, Self.blockElements / width)
        let blocks = (rows + rowsAtOnce - 1) / rowsAtOnce
        try Parallel.forEach(blocks, threads: Parallel.processorCount) { block in
            let first = block * rowsAtOnce
            let elements = first * width..<min(first + rowsAtOnce, rows) * width
            let values = UnsafeMutablePointer<Float>.allocate(capacity: elements.count)
            defer { values.deallocate() }
            try read(elements, of: variable, into: values)
            try body(elements, values)
        }
    }
}
