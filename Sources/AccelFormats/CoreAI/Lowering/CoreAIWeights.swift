import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Lowers constants: weights as their codecs store them, and tables. Functions share the bytes.
struct CoreAIWeights {
    private let tensors: [String: CompressedTensor]
    /// Weights that are not compressed yet, for a check of whether the format supports them.
    private let planned: [String: PlannedWeight]
    /// Weights that the check left uncompressed, with the reason.
    private let plain: [String: String]
    /// The planned weights with an unsupported scheme.
    private(set) var rejections = WeightRejections()
    private var probes: Set<String> = []
    let options: CoreAIOptions
    private(set) var resources: [CoreAIResource] = []
    private var numbers: [String: Int] = [:]
    private(set) var outcomes: [String: WeightOutcome] = [:]
    /// Tables with numbers beyond float16, which became 30000 or -30000.
    private(set) var clamped: Set<String> = []

    init(_ weights: [CompressedWeight], plain: [String: String], options: CoreAIOptions) {
        tensors = Dictionary(weights.map { ($0.tensor.name, $0.tensor) }) { first, _ in first }
        (planned, self.plain, self.options) = ([:], plain, options)
    }

    /// Makes a lowering that only checks planned weights; it cannot write anything.
    init(asking plan: [PlannedWeight], options: CoreAIOptions) {
        planned = Dictionary(plan.map { ($0.source.name, $0) }) { first, _ in first }
        (tensors, plain, self.options) = ([:], [:], options)
    }

    // MARK: - Constants

    /// Returns the value of a constant: floats in the type of the graph or in float32, integers of 32 bits, flags.
    /// - Throws: `RequestError` with the tensor whose scheme the format does not support.
    mutating func lowered(_ constant: Program.Constant, in builder: inout CoreAIBuilder) throws -> CoreAIValue {
        let name = constant.name
        if constant.isWeight, let plan = planned[name] { return try asked(plan, in: &builder) }
        guard constant.isWeight, let weight = tensors[name] else {
            return try table(constant.requireTensor(), in: &builder)
        }
        guard weight.elementType.isFloatingPoint else {
            let stored = StoredTensor(
                name: name, elementType: weight.elementType, shape: weight.shape, bytes: weight.sections[0])
            return try table(stored, in: &builder)
        }
        var lowering = CoreAIWeightLowering(name, weight.shape.dimensions, floatType: options.floatType, self, builder)
        var fallback = plain[name]
        var value: CoreAIValue?
        do {
            value = try lowering.value(of: weight)
        } catch let gap as LoweringGap {
            guard options.allowsFallback else {
                throw RequestError(
                    words(on: name, weight.codec, gap), code: .packageSchemeUnsupported,
                    candidates: gap.candidates + [ExportOption.allowFallback.name])
            }
            fallback = "\(gap.reason), with what \(weight.codec.name) has lost"
            lowering = CoreAIWeightLowering(name, weight.shape.dimensions, floatType: options.floatType, self, builder)
        }
        let result = try value ?? lowering.dense(weight.floats())
        (self, builder) = (lowering.weights, lowering.builder)
        outcomes[name] = WeightOutcome(
            operation: lowering.operation, byteCount: lowering.byteCount, count: weight.shape.count, fallback: fallback)
        return result
    }

    private func words(on name: String, _ codec: any WeightCodec, _ gap: LoweringGap) -> String {
        "weight \(quoted(name)) as \(codec.specification) cannot be written for Core AI: \(gap.reason)"
    }

    /// Checks a weight that is not compressed yet, by lowering a few rows of zeros with its scheme.
    private mutating func asked(_ plan: PlannedWeight, in builder: inout CoreAIBuilder) throws -> CoreAIValue {
        let (codec, shape) = (plan.choice.codec.dataFree, plan.source.shape)
        let element = CoreAIElement(plan.source.elementType)
        let result = builder.constant(
            [0], shape.dimensions, element.isFloatingPoint ? options.floatType : element, isSplat: true)
        let groups = codec.values.layers.compactMap { $0.integer("group") }
        // Of some rows a mask has to leave several.
        let rows = min(shape.rows, max(groups.max() ?? 1, 8) + 1)
        let probe = shape.rank < 2 ? shape : Shape([rows] + shape.dimensions.dropFirst())
        guard element.isFloatingPoint, probes.insert("\(plan.source.name)").inserted else { return result }
        let zeros = StoredTensor(
            name: plan.source.name, elementType: .float32, shape: probe,
            bytes: ByteView(ByteBuffer(count: probe.count * 4)))
        guard let weight = try? CompressedTensor.compressing(zeros, with: codec, threads: 1).tensor else {
            return result
        }
        do {
            var scratch = CoreAIWeightLowering(
                plan.source.name, probe.dimensions, floatType: options.floatType, self,
                CoreAIBuilder(floatType: options.floatType))
            _ = try scratch.value(of: weight)
        } catch let gap as LoweringGap {
            rejections.add(
                plan.source.name, gap.reason, words(on: plan.source.name, codec, gap),
                candidates: gap.candidates)
        }
        return result
    }

    /// Lowers a table that accelc computed, or a weight of integers.
    private mutating func table(_ tensor: StoredTensor, in builder: inout CoreAIBuilder) throws -> CoreAIValue {
        let (host, shape) = (HostTensor(tensor), tensor.shape.dimensions)
        let element: CoreAIElement
        let bytes: ByteView
        switch host.elements {
        case .bool(let flags):
            (element, bytes) = (.bool, ByteView(flags.map { $0 ? 1 : 0 as UInt8 }))
        case .int64(let integers):
            (element, bytes) = (.int32, ByteView(integers.map { Int32(clamping: $0) }))
        default:
            let floats = host.floats
            // The lowest numbers mark masked positions, and stay finite.
            if options.floatType == .float16, floats.contains(where: { abs($0) > 65504 && $0.isFinite }) {
                if floats.contains(where: { abs($0) > 65504 && abs($0) < .greatestFiniteMagnitude }) {
                    clamped.insert(tensor.name)
                }
                let kept = floats.map {
                    abs($0) > 65504 && $0.isFinite
                        ? ($0 < 0 ? -30000 : 30000) : floats.count == 1 ? $0.keptFromZero : $0
                }
                (element, bytes) = (.float32, ByteView(kept))
            } else {
                (element, bytes) = (.float32, ByteView(floats))
            }
        }
        if bytes.count <= Self.largestInline {
            let content = bytes.withBytes { Array($0) }
            let size = element.bits / 8
            let isSplat =
                !content.isEmpty
                && stride(from: 0, to: content.count, by: size).allSatisfy {
                    content[$0..<$0 + size].elementsEqual(content[..<size])
                }
            return builder.constant(isSplat ? Array(content[..<size]) : content, shape, element, isSplat: isSplat)
        }
        let attribute = resource("\(tensor.name) \(SHA256.digest(of: bytes))", bytes)
        return builder.apply(CoreAIOperation.constant, [], shape, element, property: attribute)
    }

    /// Bytes of the largest constant inside of an operation.
    private static let largestInline = 768

    // MARK: - Resources

    /// Returns the resource of this key, which is added if it is new.
    mutating func resource(_ key: String, _ content: ByteView) -> CoreAIAttribute {
        if let number = numbers[key] { return .resource(number) }
        numbers[key] = resources.count
        resources.append(CoreAIResource(key: key, content: content))
        return .resource(resources.count - 1)
    }
}
