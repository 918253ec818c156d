import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Lowers weights and tables: small ones into the program, large ones into the blob file, where all functions share them.
struct WeightLowering {
    let tensors: [String: CompressedTensor]
    /// Weights that are not compressed yet, for a check of whether the target supports them.
    private let planned: [String: PlannedWeight]
    /// The planned weights with an unsupported scheme.
    private(set) var rejections = WeightRejections()
    /// Weights that the check left uncompressed, with the reason.
    private let plain: [String: String]
    private var probes: [String: WeightEncoding?] = [:]
    let options: CoreMLOptions
    var blobs = BlobFile()
    /// The outcome of each part of a weight, by the weight's name and the part's first row; a whole weight is one part at row 0.
    private var written: [String: [Int: WeightOutcome]] = [:]
    private(set) var clamped: Set<String> = []
    /// The rows of weights that have other names than their tensor: parts of it, and further views.
    var held: [String: TensorRows] = [:]

    init(_ weights: [CompressedWeight], plain: [String: String] = [:], options: CoreMLOptions) {
        self.plain = plain
        tensors = Dictionary(uniqueKeysWithValues: weights.map { ($0.tensor.name, $0.tensor) })
        planned = [:]
        self.options = options
    }

    /// Makes a lowering that only checks planned weights; it cannot write anything.
    init(asking plan: [PlannedWeight], options: CoreMLOptions) {
        tensors = [:]
        plain = [:]
        planned = Dictionary(plan.map { ($0.source.name, $0) }) { first, _ in first }
        self.options = options
    }

    /// Returns the operand for a constant of the program.
    /// - Parameter view: some rows under another shape; nil for the whole constant in its own shape.
    /// - Throws: `RequestError` with the tensor whose scheme the target does not support; `FormatError` for a weight that
    ///   does not fit float16.
    mutating func lowered(
        _ constant: Program.Constant, as type: MILDataType, _ view: ConstantView? = nil, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let name = constant.name
        if constant.isWeight, let plan = planned[name] { return try asked(plan, type, view, in: &builder) }
        guard constant.isWeight, let weight = tensors[name] else {
            return try table(constant.requireTensor(), as: type, view, in: &builder)
        }
        let first = view?.rows?.lowerBound ?? 0
        var lowered = LoweredWeight(
            name: view?.rows.map { "\(name) \($0.lowerBound)" } ?? name,
            sizes: view?.sizes ?? weight.shape.dimensions, type: type)
        lowered.fallback = plain[name]
        func note(_ lowered: LoweredWeight, _ operand: MILOperand) {
            written[name, default: [:]][first] = WeightOutcome(
                operation: lowered.operation, byteCount: max(written[name]?[first]?.byteCount ?? 0, lowered.byteCount),
                count: lowered.sizes.reduce(1, *), fallback: lowered.fallback, widening: lowered.widening,
                remark: lowered.remark)
            guard operand.name != MILBuilder.identifier(name) || view?.rows != nil else { return }
            held[operand.name] = TensorRows(
                tensor: name, rows: view?.rows ?? 0..<(weight.shape.dimensions.first ?? 1))
        }
        if type.isFloatingPoint {
            do {
                let operand = try compressed(encoding(of: weight, view?.rows), &lowered, in: &builder)
                if let operand {
                    note(lowered, operand)
                    return operand
                }
            } catch let gap as LoweringGap {
                guard options.allowsFallback else {
                    throw RequestError(
                        words(on: name, weight.codec, gap), code: .packageSchemeUnsupported,
                        candidates: gap.candidates + [ExportOption.allowFallback.name])
                }
                lowered.fallback = "\(gap.reason), with what \(weight.codec.name) has lost"
            }
        }
        let operand = try dense(weight, view, lowered, in: &builder)
        lowered.operation = "const"
        lowered.byteCount = lowered.sizes.reduce(1, *) * (type.bits ?? 32) / 8
        note(lowered, operand)
        return operand
    }

    private func words(on name: String, _ codec: any WeightCodec, _ gap: LoweringGap) -> String {
        "weight \"\(name)\" as \(codec.specification) cannot be written for \(options.target.rawValue): \(gap.reason)"
    }

    /// Checks a weight that is not compressed yet, by lowering a few rows of zeros with its scheme.
    private mutating func asked(
        _ plan: PlannedWeight, _ type: MILDataType, _ view: ConstantView?, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let (codec, shape) = (plan.choice.codec.dataFree, plan.source.shape)
        let sizes = view?.sizes ?? shape.dimensions
        let groups = codec.values.layers.compactMap { $0.integer("group") }
        let rows = min(shape.rows, (groups.max() ?? 1) + 1)
        let probe = shape.rank < 2 ? shape : Shape([rows] + shape.dimensions.dropFirst())
        let key = "\(codec.specification) \(probe)"
        if probes[key] == nil {
            let zeros = StoredTensor(
                name: plan.source.name, elementType: .float32, shape: probe,
                bytes: ByteView(ByteBuffer(count: probe.count * 4)))
            probes[key] = .some((try? CompressedTensor.compressing(zeros, with: codec, threads: 1))?.tensor.encoding)
        }
        let result = builder.declare(plan.source.name, MILValue(MILTensorType(type, sizes), .blob(offset: 0)))
        guard type.isFloatingPoint, let known = probes[key] else { return result }
        var lowered = LoweredWeight(
            name: plan.source.name, sizes: shape.rank < 2 ? sizes : [rows] + sizes.dropFirst(), type: type)
        var (scratch, scratchBuilder) = (self, MILBuilder(floatType: type))
        do {
            _ = try scratch.compressed(known, &lowered, in: &scratchBuilder)
        } catch let gap as LoweringGap {
            rejections.add(
                plan.source.name, gap.reason, words(on: plan.source.name, codec, gap),
                candidates: gap.candidates)
        }
        return result
    }

    /// The outcomes of the weights by name.
    var outcomes: [String: WeightOutcome] {
        written.mapValues { parts in
            let first = parts[0] ?? parts.values.first
            return WeightOutcome(
                operation: first?.operation ?? "const", byteCount: parts.values.reduce(0) { $0 + $1.byteCount },
                count: parts.values.reduce(0) { $0 + $1.count }, fallback: parts.values.compactMap(\.fallback).first,
                widening: parts.values.compactMap(\.widening).first,
                remark: parts.sorted { $0.key < $1.key }.compactMap { row, part in
                    part.remark.map { parts.count > 1 ? "\($0), in the part from row \(row) on" : $0 }
                }.first)
        }
    }

    /// The number of parts of the weights that are written in several.
    var divided: [String: Int] { written.mapValues(\.count).filter { $0.value > 1 } }

    /// Splits the rows of a constant into the fewest parts of at most `longest` rows. A part has whole groups of the tables.
    func parts(of constant: Program.Constant, rows: Int, atMost longest: Int) -> [Range<Int>] {
        var unit = 1
        if constant.isWeight, case .palette(let palette)? = tensors[constant.name]?.encoding,
            palette.tables.count > 1
        {
            unit = palette.rowsPerTable
        }
        let count = (rows + longest - 1) / max(longest, 1)
        guard count > 1, unit <= longest else { return [0..<rows] }
        let size = min(((rows + count - 1) / count + unit - 1) / unit * unit, longest / unit * unit)
        return stride(from: 0, to: rows, by: size).map { $0..<min($0 + size, rows) }
    }

    private func encoding(of weight: CompressedTensor, _ rows: Range<Int>?) -> WeightEncoding? {
        guard let rows, let encoding = weight.encoding else { return weight.encoding }
        return encoding.rows(rows, of: weight.shape.dimensions.first ?? 1)
    }

    private mutating func compressed(
        _ encoding: WeightEncoding?, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand? {
        switch encoding {
        case nil: throw LoweringGap(reason: "no operation of Core ML's holds it", candidates: ["int8", "palette"])
        case .values: nil
        case .affine(let affine): try self.affine(affine, &lowered, in: &builder)
        case .palette(let palette): try self.palette(palette, &lowered, in: &builder)
        case .vectors(let vectors): try self.vectors(vectors, &lowered, in: &builder)
        case .sparse(let sparse): try self.sparse(sparse, &lowered, in: &builder)
        }
    }

    /// Writes all elements as plain numbers of `lowered.type`.
    private mutating func dense(
        _ weight: CompressedTensor, _ view: ConstantView?, _ lowered: LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard lowered.type.isFloatingPoint else {
            let stored = StoredTensor(
                name: weight.name, elementType: weight.elementType, shape: weight.shape, bytes: weight.sections[0])
            return try table(stored, as: lowered.type, view, in: &builder)
        }
        let stored: ElementType = lowered.type == .float16 ? .float16 : .float32
        let value = value(lowered.name, lowered.type, lowered.sizes) {
            let all: ByteView
            if case .values(stored, let bytes)? = weight.encoding {
                all = bytes
            } else {
                all = try StoredTensor(name: weight.name, floats: weight.floats(), shape: weight.shape)
                    .bytes(as: stored)
            }
            return try view.map { try $0.part(of: all, rows: weight.shape.dimensions.first ?? 1) } ?? all
        }
        return builder.declare(lowered.name, try value())
    }

    /// Lowers a table that accelc computed, or a weight of integers.
    private mutating func table(
        _ tensor: StoredTensor, as type: MILDataType, _ view: ConstantView?, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let host = HostTensor(tensor)
        let sizes = view?.sizes ?? tensor.shape.dimensions
        guard type.isFloatingPoint else {
            let content: MILValue.Content =
                type == .bool ? .flags(host.flags) : .integers(host.integers.map(Int32.init(clamping:)))
            return builder.declare(tensor.name, MILValue(MILTensorType(type, sizes), content))
        }
        var floats = host.floats
        if type == .float16 {
            // Attention masks have the lowest float32 for hidden positions. Half of float16's range hides a position as
            // well, and does not overflow when a score is added.
            for index in floats.indices where abs(floats[index]) > Self.largestHalf && floats[index].isFinite {
                // The largest float32 is a marker of masks, so replacing it needs no warning.
                if abs(floats[index]) < .greatestFiniteMagnitude { clamped.insert(tensor.name) }
                floats[index] = floats[index] < 0 ? -30000 : 30000
            }
            // A number that keeps a division from 0 must not become 0.
            if floats.count == 1 { floats[0] = floats[0].keptFromZero }
        }
        let all = ByteView(floats)
        let content = try view.map { try $0.part(of: all, rows: tensor.shape.dimensions.first ?? 1) } ?? all
        let key = "\(tensor.name) \(SHA256.digest(of: content))"
        let value = value(key, type, sizes) {
            try StoredTensor(name: tensor.name, elementType: .float32, shape: Shape(sizes), bytes: content)
                .bytes(as: type == .float16 ? .float16 : .float32)
        }
        return builder.declare(tensor.name, try value())
    }

    private static let largestHalf: Float = 65504

    /// Writes a constant: into the blob file from 10 elements on, like coremltools, else into the program.
    mutating func value(
        _ key: String, _ type: MILDataType, _ sizes: [Int], _ content: @escaping () throws -> ByteView
    ) -> () throws -> MILValue {
        let (milType, count) = (MILTensorType(type, sizes), sizes.reduce(1, *))
        if count >= 10 {
            let offset = blobs.offset("\(key) \(type.word)", type, elements: count, content: content)
            return { MILValue(milType, .blob(offset: offset)) }
        }
        return {
            let bytes = try content().withBytes { Array($0) }
            guard type == .float32 else { return MILValue(milType, .bytes(bytes)) }
            let floats = bytes.withUnsafeBytes { raw in
                (0..<count).map { raw.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
            }
            return MILValue(milType, .floats(floats))
        }
    }
}

/// A view of a constant: some of its rows, with another shape.
struct ConstantView: Hashable {
    let sizes: [Int]
    /// The rows; nil for all.
    let rows: Range<Int>?

    /// Returns the bytes of the rows.
    func part(of all: ByteView, rows count: Int) throws -> ByteView {
        guard let rows else { return all }
        guard count > 0, rows.upperBound <= count else {
            throw RequestError("a constant of \(count) rows has no rows \(rows)", status: .internalFailure)
        }
        let row = all.count / count
        return all[rows.lowerBound * row..<rows.upperBound * row]
    }
}

/// A weight that is being lowered.
struct LoweredWeight {
    let name: String
    let sizes: [Int]
    /// The type after decompression.
    let type: MILDataType
    /// The operation that makes the weight, e.g. `constexpr_lut_to_dense`.
    var operation = "const"
    var byteCount = 0
    /// The reason that it is not stored in the recipe's scheme; nil if it is.
    var fallback: String?
    /// The bits of the codes, and those in which they are stored; nil if they are the same.
    var widening: CodeWidening?
    /// The part that takes more bytes than the recipe specifies, with the reason; nil if there is none.
    var remark: String?

    var rows: Int { sizes.first ?? 1 }
    var columns: Int { sizes.dropFirst().reduce(1, *) }

    /// The shape as an argument of the iOS 16 operations.
    var shapeValue: MILValue {
        let bytes = sizes.flatMap { size in
            (0..<4).map { UInt8(truncatingIfNeeded: UInt32(truncatingIfNeeded: size) >> UInt32($0 * 8)) }
        }
        return MILValue(MILTensorType(.uint32, [sizes.count]), .bytes(bytes))
    }
}

/// The error for a storage scheme that a target does not support.
struct LoweringGap: Error {
    let reason: String
    /// Schemes, and values of the exporter's options, that the target supports.
    let candidates: [String]
}

extension StoredTensor {
    /// Returns the elements as float16 or float32.
    /// - Throws: `FormatError` with the element that is too large.
    func bytes(as type: ElementType) throws -> ByteView {
        let codec = try Codecs.codec(type == .float16 ? "float16" : "float32")
        return try CompressedTensor.compressing(self, with: codec, threads: 1).tensor.sections[0]
    }
}

extension [Float] {
    /// The numbers rounded to binary16, little-endian; too large ones become infinite.
    var halfBytes: [UInt8] {
        flatMap { value in
            let bits = Half.bits(value)
            return [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)]
        }
    }
}
