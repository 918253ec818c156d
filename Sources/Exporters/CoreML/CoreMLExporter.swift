import ByteIO
public import Programs

/// Writes a Core ML package (`.mlpackage`, an ML Program), with no tool of Apple's.
public struct CoreMLExporter: Exporter {
    public static let name = "coreml"
    public static let summary = "a Core ML package (.mlpackage, ML Program)"

    static let target = ExportOption(
        "target", allowed: ["iOS18", "iOS16", "iOS17", "iOS26"], help: "the oldest system that has to load it")
    static let precision = ExportOption(
        "precision", allowed: ["float16", "float32"],
        help: "what the model computes in; float16 keeps float32 where sums or angles need it")
    static let layout = ExportOption(
        "layout", allowed: ["plain", "ane"],
        help: "ane: (batch, channels, 1, positions), as the Neural Engine wants it, and a report of what keeps off it")
    static let fallback = ExportOption(
        "allow-fallback", allowed: [],
        help: "write a weight as plain numbers, and say so, where the target cannot express its form")
    public static let version = 2
    public static let options = [target, precision, layout, fallback]

    let choices: CoreMLOptions

    public init(_ values: ExportOptionValues) throws {
        choices = CoreMLOptions(
            target: CoreMLTarget(rawValue: values.word(Self.target)) ?? .iOS18,
            floatType: values.word(Self.precision) == "float32" ? .float32 : .float16,
            layout: CoreMLOptions.Layout(rawValue: values.word(Self.layout)) ?? .plain,
            allowsFallback: values.has(Self.fallback))
        if choices.layout == .ane, choices.floatType == .float32 {
            throw RequestError("the Neural Engine computes in float16: leave --precision out with --layout ane")
        }
    }

    init(_ choices: CoreMLOptions) { self.choices = choices }

    public func check(_ functions: [FrozenProgram], _ plan: [PlannedWeight]) throws -> [String: String] {
        try lowered(functions, WeightLowering(asking: plan, options: choices)).weights.gaps
    }

    public func export(_ model: ExportedModel, to path: String) throws -> ExportReport {
        let functions = model.program.functions
        let all = try lowered(functions, WeightLowering(model.program.weights, plain: model.plain, options: choices))
        let written = CoreMLModel(
            specificationVersion: choices.target.specificationVersion,
            metadata: CoreMLModel.Metadata(
                description: "\(model.family): \(functions.map(\.functionName).joined(separator: ", "))",
                other: (model.provenance.map { MILNamed($0.key, $0.text) } + all.joined).sorted { $0.name < $1.name }),
            interfaces: all.interfaces, program: MILProgram(functions: all.functions))
        let encoded = written.encoded
        try CoreMLPackageWriter.write(encoded, all.weights.blobs, to: path)
        return report(encoded.count + all.weights.blobs.byteCount, written, all.weights, all.counts)
    }

    /// Functions in MIL, over one set of weights.
    private struct Lowered {
        var functions: [MILFunction] = []
        var interfaces: [CoreMLModel.Interface] = []
        var counts = LoweringCounts()
        /// Metadata of outputs that are given in parts.
        var joined: [MILNamed<String>] = []
        var weights: WeightLowering
    }

    private func lowered(_ functions: [FrozenProgram], _ weights: WeightLowering) throws -> Lowered {
        guard functions.count == 1 || choices.target >= .iOS18 else {
            throw RequestError(
                "the model has \(functions.count) functions, and a Core ML package can have several from iOS 18 on: "
                    + "use --target iOS18, or --part and one --shape")
        }
        var result = Lowered(weights: weights)
        for (index, function) in functions.enumerated() {
            let lowering = FunctionLowering(try function.foldingTables(), weights: result.weights, options: choices)
            let name = functions.count == 1 ? "main" : Self.name(of: function, index: index, among: functions)
            let lowered = try lowering.lowered(named: name)
            result.weights = lowered.weights
            result.functions.append(lowered.function)
            result.interfaces.append(lowered.interface)
            result.counts.merge(lowered.counts)
            result.joined += lowered.counts.joined.map {
                MILNamed(CoreMLModel.partsKey(of: $0.key, in: name), $0.value.joined(separator: " "))
            }
        }
        return result
    }

    /// A name that Core ML takes, unique among the functions.
    private static func name(of function: FrozenProgram, index: Int, among functions: [FrozenProgram]) -> String {
        let name = MILBuilder.identifier(function.functionName.replacing("]", with: ""))
        let same = functions[..<index].contains {
            MILBuilder.identifier($0.functionName.replacing("]", with: "")) == name
        }
        return same ? "\(name)_\(index)" : name
    }
}
