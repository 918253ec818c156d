import ByteIO
import Programs

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
        help: "ane: nothing is computed in float32, which the Neural Engine has not")
    static let fallback = ExportOption(
        "allow-fallback", allowed: [],
        help: "write a weight as plain numbers, and say so, where the target cannot express its form")
    public static let options = [target, precision, layout, fallback]

    private let choices: CoreMLOptions

    public init(_ values: ExportOptionValues) throws {
        choices = CoreMLOptions(
            target: CoreMLTarget(rawValue: values.word(Self.target)) ?? .iOS18,
            floatType: values.word(Self.precision) == "float32" ? .float32 : .float16,
            layout: CoreMLOptions.Layout(rawValue: values.word(Self.layout)) ?? .plain,
            allowsFallback: values.has(Self.fallback))
        if choices.keepsHalves, choices.floatType == .float32 {
            throw RequestError("the Neural Engine computes in float16: leave --precision out with --layout ane")
        }
    }

    public func export(_ model: ExportedModel, to path: String) throws -> ExportReport {
        let functions = model.program.functions
        guard functions.count == 1 || choices.target >= .iOS18 else {
            throw RequestError(
                "the model has \(functions.count) functions, and a Core ML package can have several from iOS 18 on: "
                    + "use --target iOS18, or --part and one --shape")
        }
        var weights = WeightLowering(model.program.weights, options: choices)
        var (program, interfaces, counts) = (MILProgram(functions: []), [CoreMLModel.Interface](), LoweringCounts())
        for (index, function) in functions.enumerated() {
            let lowering = FunctionLowering(try function.foldingTables(), weights: weights, options: choices)
            let name = functions.count == 1 ? "main" : Self.name(of: function, index: index, among: functions)
            let lowered = try lowering.lowered(named: name)
            weights = lowered.weights
            program.functions.append(lowered.function)
            interfaces.append(lowered.interface)
            counts.merge(lowered.counts)
        }
        let written = CoreMLModel(
            specificationVersion: choices.target.specificationVersion,
            metadata: CoreMLModel.Metadata(
                description: "\(model.family): \(functions.map(\.functionName).joined(separator: ", "))",
                other: model.provenance.map { MILNamed($0.key, $0.text) }),
            interfaces: interfaces, program: program)
        let encoded = written.encoded
        try CoreMLPackageWriter.write(encoded, weights.blobs, to: path)
        return report(encoded.count + weights.blobs.byteCount, written, weights, counts)
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
