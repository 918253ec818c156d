import AccelByteIO

/// A tensor in a block.
struct CoreAIValue: Hashable {
    let id: Int
    let shape: [Int]
    let element: CoreAIElement

    var rank: Int { shape.count }
    var type: CoreAIType { .tensor(shape, element) }
}

/// Collects the operations of a block. Equal operations are one.
///
/// Operations of Core AI do not broadcast; `aligned` makes shapes equal.
struct CoreAIBuilder {
    private(set) var block = CoreAIBlock()
    private var count = 0
    private var known: [CoreAIOperation: Int] = [:]
    /// The type that the block computes in.
    var floatType: CoreAIElement

    init(floatType: CoreAIElement) { self.floatType = floatType }

    // MARK: - Operations

    /// Adds an argument of any type, before all operations.
    mutating func argument(_ type: CoreAIType) -> Int {
        block.arguments.append(type)
        count += 1
        return count - 1
    }

    mutating func argument(_ shape: [Int], _ element: CoreAIElement) -> CoreAIValue {
        CoreAIValue(id: argument(.tensor(shape, element)), shape: shape, element: element)
    }

    /// Appends an operation with results of any type, and returns the first one's number.
    @discardableResult
    mutating func append(_ operation: CoreAIOperation) -> Int {
        block.operations.append(operation)
        defer { count += operation.results.count }
        return count
    }

    /// Appends an operation with one tensor as its result, or returns that of an equal one.
    mutating func apply(
        _ name: String, _ operands: [CoreAIValue], _ shape: [Int], _ element: CoreAIElement? = nil,
        property: CoreAIAttribute? = nil, region: CoreAIBlock? = nil
    ) -> CoreAIValue {
        let element = element ?? operands.first?.element ?? floatType
        let operation = CoreAIOperation(
            name: name, operands: operands.map(\.id), results: [.tensor(shape, element)],
            properties: property.map { [.required($0)] } ?? [], regions: region.map { [$0] } ?? [])
        let id = known[operation] ?? append(operation)
        known[operation] = id
        return CoreAIValue(id: id, shape: shape, element: element)
    }

    /// Appends an operation that runtimes may compute by its decomposition.
    /// - Parameter body: builds the decomposition from arguments of the operands' types.
    mutating func composed(
        _ name: String, _ operands: [CoreAIValue], _ shape: [Int], _ element: CoreAIElement? = nil,
        _ body: (inout CoreAIBuilder, [CoreAIValue]) -> CoreAIValue
    ) -> CoreAIValue {
        apply(name, operands, shape, element, region: Self.region(of: operands, body))
    }

    private static func region(
        of operands: [CoreAIValue], _ body: (inout CoreAIBuilder, [CoreAIValue]) -> CoreAIValue
    ) -> CoreAIBlock {
        var inner = CoreAIBuilder(floatType: operands.first?.element ?? .float32)
        let arguments = operands.map { inner.argument($0.shape, $0.element) }
        let result = body(&inner, arguments)
        inner.append(CoreAIOperation(name: CoreAIOperation.yield, operands: [result.id]))
        return inner.block
    }

    // MARK: - Constants

    /// A constant whose elements are inside of the operation. Elements of less than a byte take a whole one.
    mutating func constant(_ bytes: [UInt8], _ shape: [Int], _ element: CoreAIElement, isSplat: Bool) -> CoreAIValue {
        apply(CoreAIOperation.constant, [], shape, element, property: .elements(bytes, isSplat: isSplat))
    }

    mutating func constant(_ integers: [Int], _ element: CoreAIElement = .int32, shape: [Int]? = nil) -> CoreAIValue {
        let isSplat = !integers.isEmpty && integers.allSatisfy { $0 == integers[0] }
        let bytes = (isSplat ? [integers[0]] : integers).flatMap {
            Self.bytes(of: UInt64(bitPattern: Int64($0)), element)
        }
        return constant(bytes, shape ?? [integers.count], element, isSplat: isSplat)
    }

    /// A number in a shape of its own.
    mutating func number(_ number: Double, _ shape: [Int] = [], _ element: CoreAIElement? = nil) -> CoreAIValue {
        let element = element ?? floatType
        let bits: UInt64 =
            switch element {
            case .float16:
                UInt64(
                    [Float(number).keptFromZero].halfBytes.enumerated().reduce(0) {
                        $0 | UInt64($1.1) << UInt64(8 * $1.0)
                    })
            case .float32: UInt64(Float(number).bitPattern)
            case .bfloat16: UInt64(Float(number).bitPattern >> 16)
            case .float64: number.bitPattern
            default: UInt64(bitPattern: Int64(exactly: number.rounded()) ?? 0)
            }
        return constant(Self.bytes(of: bits, element), shape, element, isSplat: true)
    }

    private static func bytes(of bits: UInt64, _ element: CoreAIElement) -> [UInt8] {
        (0..<max(element.bits / 8, 1)).map { UInt8(truncatingIfNeeded: bits >> UInt64(8 * $0)) }
    }

    // MARK: - Shapes

    mutating func reshaped(_ x: CoreAIValue, _ shape: [Int]) -> CoreAIValue {
        if x.shape == shape { return x }
        return apply("primitive.reshape_v2", [x, constant(shape, .uint32)], shape)
    }

    mutating func broadcast(_ x: CoreAIValue, to shape: [Int]) -> CoreAIValue {
        if x.shape == shape { return x }
        let aligned = reshaped(x, [Int](repeating: 1, count: shape.count - x.rank) + x.shape)
        let axes = shape.indices.filter { aligned.shape[$0] != shape[$0] }
        if axes.isEmpty { return aligned }
        return apply(
            "primitive.broadcast_in_dims_v1", [aligned, constant(axes.map { shape[$0] }, .uint32), constant(axes)],
            shape)
    }

    mutating func transposed(_ x: CoreAIValue, _ permutation: [Int]) -> CoreAIValue {
        if permutation == Array(permutation.indices) { return x }
        return apply(
            "primitive.transpose_v1", [x, constant(permutation, .uint32)], permutation.map { x.shape[$0] })
    }

    mutating func slice(_ x: CoreAIValue, from begin: [Int], _ sizes: [Int]) -> CoreAIValue {
        if x.shape == sizes { return x }
        return apply(
            "primitive.slice_v1",
            [x, constant(begin), constant(zip(begin, sizes).map { $0 + $1 }), constant(begin.map { _ in 1 })], sizes)
    }

    mutating func joined(_ parts: [CoreAIValue], axis: Int) -> CoreAIValue {
        if parts.count == 1 { return parts[0] }
        var shape = parts[0].shape
        shape[axis] = parts.reduce(0) { $0 + $1.shape[axis] }
        return apply(
            "primitive.concat_v1", [constant([axis], shape: [])] + parts, shape, parts[0].element)
    }

    mutating func padded(_ x: CoreAIValue, before: [Int], after: [Int], with value: Double = 0) -> CoreAIValue {
        if (before + after).allSatisfy({ $0 == 0 }) { return x }
        let shape = x.shape.indices.map { before[$0] + x.shape[$0] + after[$0] }
        return apply(
            "primitive.pad_v1",
            [x, constant(zip(before, after).flatMap { [$0, $1] }, .uint32), number(value, [], x.element)], shape,
            property: .choice(.padding, 1))
    }

    /// Returns rows of the first axis.
    mutating func gathered(_ table: CoreAIValue, _ indices: CoreAIValue) -> CoreAIValue {
        let deep = reshaped(indices, indices.shape + [1])
        return apply("primitive.gather_nd_v1", [table, deep], indices.shape + table.shape.dropFirst())
    }

    /// Returns elements of an axis, by numbers that are known now.
    mutating func picked(_ x: CoreAIValue, _ indices: [Int], axis: Int) -> CoreAIValue {
        let swapped = Array([axis] + x.shape.indices.filter { $0 != axis })
        let picked = gathered(transposed(x, swapped), constant(indices))
        return transposed(picked, Array(1..<axis + 1) + [0] + Array(axis + 1..<x.rank))
    }

    // MARK: - Arithmetic

    mutating func cast(_ x: CoreAIValue, to element: CoreAIElement) -> CoreAIValue {
        if x.element == element { return x }
        // A cast to bool is not the comparison with 0.
        if element == .bool { return binary("not_equal", x, number(0, [], x.element), .bool) }
        return apply("primitive.cast_v1", [x], x.shape, element)
    }

    mutating func unary(_ name: String, _ x: CoreAIValue) -> CoreAIValue {
        apply("primitive.\(name)_v1", [x], x.shape)
    }

    /// Applies an operation to operands of one shape.
    mutating func binary(
        _ name: String, _ x: CoreAIValue, _ y: CoreAIValue, _ element: CoreAIElement? = nil
    ) -> CoreAIValue {
        let shape = Self.broadcastShape([x.shape, y.shape])
        return apply("primitive.\(name)_v1", [broadcast(x, to: shape), broadcast(y, to: shape)], shape, element)
    }

    mutating func binary(_ name: String, _ x: CoreAIValue, _ y: Double) -> CoreAIValue {
        binary(name, x, number(y, [], x.element))
    }

    mutating func selected(_ condition: CoreAIValue, _ x: CoreAIValue, _ y: CoreAIValue) -> CoreAIValue {
        let shape = Self.broadcastShape([condition.shape, x.shape, y.shape])
        let operands = [condition, x, y].map { broadcast($0, to: shape) }
        return apply("primitive.where_v1", operands, shape, x.element)
    }

    /// Returns the shape that all shapes broadcast to; they do, since shape rules have checked it.
    static func broadcastShape(_ shapes: [[Int]]) -> [Int] {
        let rank = shapes.map(\.count).max() ?? 0
        return (0..<rank).map { axis in
            let sizes = shapes.compactMap { shape in
                axis < rank - shape.count ? nil : shape[axis - (rank - shape.count)]
            }
            return sizes.first { $0 != 1 } ?? 1
        }
    }

    /// Multiplies matrices; other axes broadcast.
    mutating func product(_ a: CoreAIValue, _ b: CoreAIValue) -> CoreAIValue {
        let batch = Self.broadcastShape([a.shape.dropLast(2), b.shape.dropLast(2)])
        let (left, right) = (
            broadcast(a, to: batch + a.shape.suffix(2)), broadcast(b, to: batch + b.shape.suffix(2))
        )
        return apply(
            "primitive.batch_matmul_v1", [left, right], batch + [a.shape[a.rank - 2], b.shape[b.rank - 1]])
    }

    // MARK: - Reductions

    enum Reduction: String {
        case sum, mean, max

        fileprivate var combiner: String { self == .max ? "maximum" : "add" }
    }

    /// Reduces axes, which stay with size 1.
    mutating func reduced(_ x: CoreAIValue, _ kind: Reduction, axes: [Int]) -> CoreAIValue {
        let shape = x.shape.indices.map { axes.contains($0) ? 1 : x.shape[$0] }
        let list = constant(axes)
        return composed("reduce_\(kind.rawValue)_v1", [x, list], shape) { inner, operands in
            let total = inner.accumulated(operands[0], operands[1], kind, shape)
            guard kind == .mean else { return total }
            let count = axes.reduce(1) { $0 * x.shape[$1] }
            return inner.binary("divide", total, Double(Swift.max(count, 1)))
        }
    }

    /// Appends the reduction that decompositions use.
    private mutating func accumulated(
        _ x: CoreAIValue, _ axes: CoreAIValue, _ kind: Reduction, _ shape: [Int]
    ) -> CoreAIValue {
        let start = number(kind == .max ? -.infinity : 0, [], x.element)
        let scalar = CoreAIValue(id: 0, shape: [], element: x.element)
        let combiner = Self.region(of: [scalar, scalar]) { $0.binary(kind.combiner, $1[0], $1[1]) }
        return apply("primitive.reduce_v1", [x, axes, start], shape, region: combiner)
    }

    /// Returns the index of the largest element of an axis, which stays with size 1.
    mutating func largest(_ x: CoreAIValue, axis: Int) -> CoreAIValue {
        var shape = x.shape
        shape[axis] = 1
        let index = composed("argmax_v1", [x, constant([axis], shape: [])], shape, .uint32) { inner, operands in
            let scalar = CoreAIValue(id: 0, shape: [], element: x.element)
            let isLarger = Self.region(of: [scalar, scalar]) { $0.binary("greater", $1[1], $1[0], .bool) }
            let start = [inner.number(-.infinity, [], x.element), inner.constant([0], .uint32, shape: [])]
            return inner.apply("primitive.reduce_index_v1", operands + start, shape, .uint32, region: isLarger)
        }
        return cast(index, to: .int32)
    }

    mutating func softmax(_ x: CoreAIValue) -> CoreAIValue {
        var shape = x.shape
        shape[x.rank - 1] = 1
        return composed("softmax_v1", [x, constant([x.rank - 1], shape: [])], x.shape) { inner, operands in
            let axes = inner.reshaped(operands[1], [1])
            let largest = inner.accumulated(operands[0], axes, .max, shape)
            let powers = inner.unary("exp", inner.binary("sub", operands[0], largest))
            return inner.binary("divide", powers, inner.accumulated(powers, axes, .sum, shape))
        }
    }

    mutating func sigmoid(_ x: CoreAIValue) -> CoreAIValue {
        composed("sigmoid_v1", [x], x.shape) { $0.plainSigmoid($1[0]) }
    }

    mutating func silu(_ x: CoreAIValue) -> CoreAIValue {
        composed("silu_v1", [x], x.shape) { inner, x in inner.binary("mul", x[0], inner.plainSigmoid(x[0])) }
    }

    private mutating func plainSigmoid(_ x: CoreAIValue) -> CoreAIValue {
        let power = unary("exp", binary("mul", x, -1))
        return binary("divide", number(1, [], x.element), binary("add", power, 1))
    }

    mutating func relu(_ x: CoreAIValue) -> CoreAIValue {
        composed("relu_v1", [x], x.shape) { $0.binary("maximum", $1[0], 0) }
    }
}
