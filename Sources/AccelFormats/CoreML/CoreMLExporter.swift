public import AccelByteIO
import AccelPrograms

/// Writes a Core ML package (`.mlpackage`, an ML Program) without Apple's tools.
public struct CoreMLExporter: Exporter {
    public static let name = "coreml"
    public static let summary = "a Core ML package (.mlpackage, ML Program)"

    public static let output = OutputKind.coreMLPackage

    static let target = ExportOption(
        "target", allowed: ["iOS18", "iOS16", "iOS17", "iOS26"], help: "the oldest system that loads the package"
    ).common
    static let precision = ExportOption(
        "precision", allowed: ["float16", "float32"],
        help:
            "the type of the arithmetic. float16 keeps float32 where sums or angles need it, but not in the layout ane"
    ).common
    static let layout = ExportOption(
        "layout", allowed: ["plain", "ane"],
        help:
            "the layout of activations. ane is the layout of the Neural Engine, (batch, channels, 1, positions) in float16, with a "
            + "report of the operators that the Neural Engine does not run"
    ).common
    static let fallback = ExportOption.allowFallback
    public static let version = 10
    static let shapes = ExportOption(
        "shapes-as", allowed: ["functions", "enumerated"],
        help:
            "the form of several shapes. They become functions (from iOS 18 on), or one function with enumerated shapes"
    )
    static let inputs = ExportOption(
        "inputs-as", allowed: ["float32", "float16"], help: "the type of floating-point inputs")
    static let outputs = ExportOption(
        "outputs-as", allowed: ["float32", "float16"],
        help: "the type of floating-point outputs. Core ML converts inputs to their types, and outputs to none")
    public static let options = [target, precision, layout, shapes, inputs, outputs, fallback]

    let choices: CoreMLOptions

    public init(_ values: ExportOptionValues) throws {
        choices = CoreMLOptions(
            target: CoreMLTarget(rawValue: values.word(Self.target)) ?? .iOS18,
            floatType: values.word(Self.precision) == "float32" ? .float32 : .float16,
            layout: CoreMLOptions.Layout(rawValue: values.word(Self.layout)) ?? .plain,
            enumeratesShapes: values.word(Self.shapes) == "enumerated",
            allowsFallback: values.has(Self.fallback),
            inputType: values.word(Self.inputs) == "float16" ? .float16 : .float32,
            outputType: values.word(Self.outputs) == "float16" ? .float16 : .float32)
        if choices.layout == .ane, choices.floatType == .float32 {
            throw RequestError(
                "the Neural Engine computes in float16", code: .unsupportedByFormat,
                candidates: [Self.precision.candidate("float16")])
        }
    }

    init(_ choices: CoreMLOptions) { self.choices = choices }

    public func check(_ model: PlannedExport) throws -> [String: String] {
        let rejections = try lowered(model.functions, WeightLowering(asking: model.plan, options: choices)).weights
            .rejections
        if !choices.allowsFallback { try rejections.reject() }
        return rejections.reasons
    }

    public func export(_ model: ExportedModel, to path: String) throws -> ExportReport {
        let draft = try draft(of: model)
        let encoded = draft.model.encoded
        try CoreMLPackageWriter.write(encoded, draft.weights.blobs, to: path)
        return report(draft.model, draft.weights, draft.counts, lint: try CoreMLPackage(at: path).lint())
    }

    /// Lowers a model to the package that `export` writes.
    /// - Throws: `RequestError` with the unsupported operator or tensor, and advice.
    public func draft(of model: ExportedModel) throws -> CoreMLDraft {
        let functions = model.program.functions
        let all = try lowered(functions, WeightLowering(model.program.weights, plain: model.plain, options: choices))
        var written = CoreMLModel(
            specificationVersion: choices.target.specificationVersion,
            metadata: CoreMLModel.Metadata(
                description: "\(model.family): \(functions.map(\.functionName).joined(separator: ", "))",
                other: model.provenance.map { MILNamed($0.key, $0.text) } + all.notes
                    + Self.interfaceNotes(functions)
                    + Self.weightNotes(model) + [MILNamed(Self.metadataKey, text)]),
            interfaces: all.interfaces, program: MILProgram(functions: all.functions))
        written.seal(try all.weights.blobs.digests())
        return CoreMLDraft(model: written, weights: all.weights, counts: all.counts)
    }

    /// Functions lowered to MIL, with shared weights.
    private struct Lowered {
        var functions: [MILFunction] = []
        var interfaces: [CoreMLModel.Interface] = []
        var counts = LoweringCounts()
        /// Metadata of outputs and weights that are split into parts.
        var notes: [MILNamed<String>] = []
        var weights: WeightLowering
    }

    private func lowered(_ functions: [FrozenProgram], _ weights: WeightLowering) throws -> Lowered {
        let isOne = functions.count == 1 || choices.enumeratesShapes
        if choices.target < .iOS18, let function = functions.first(where: { !$0.states.isEmpty }) {
            throw RequestError(
                "\(function.functionName) keeps the state \"\(function.states[0].name)\", which is not supported before "
                    + "iOS 18", code: .unsupportedByFormat, candidates: [Self.target.candidate("iOS18")])
        }
        guard isOne || choices.target >= .iOS18 else {
            throw RequestError(
                "the model has \(functions.count) functions, and a Core ML package has one before iOS 18",
                code: .unsupportedByFormat,
                candidates: [Self.target.candidate("iOS18")]
                    + (Set(functions.map(\.program.name)).count > 1 ? [] : [Self.shapes.candidate("enumerated")]))
        }
        let parts = functions.map(\.program.name)
        if isOne, let other = parts.first(where: { $0 != parts[0] }) {
            throw RequestError(
                "enumerated shapes are those of one part, but \(parts[0]) and \(other) are two",
                code: .unsupportedByFormat, candidates: [Self.shapes.candidate("functions")])
        }
        if let function = functions.first(where: { $0.hasStates(in: .int8) }) {
            throw RequestError(
                "\(function.functionName): its key/value caches are int8, and states of Core ML are float16",
                code: .int8StatesUnsupported)
        }
        var result = Lowered(weights: weights)
        let names = CoreMLNames.functions(functions.map(\.functionName))
        for (index, function) in functions.enumerated() {
            // States of Core ML are float16 in any case.
            let folded = try function.wideningStates().foldingTables().splittingActivations()
            let lowering = FunctionLowering(folded, weights: result.weights, options: choices)
            let name = isOne ? "main" : names[index]
            let lowered = try lowering.lowered(named: name)
            result.weights = lowered.weights
            result.functions.append(lowered.function)
            result.interfaces.append(lowered.interface)
            // Functions that are merged into one have the names of the first.
            defer { result.weights.held = [:] }
            if isOne, index > 0 { continue }
            result.counts.merge(lowered.counts)
            result.notes += lowered.counts.joined.map {
                MILNamed(CoreMLModel.partsKey(of: $0.key, in: name), $0.value.joined(separator: " "))
            }
            result.notes += result.weights.held.map {
                MILNamed(CoreMLModel.rowsKey(of: $0.key, in: name), $0.value.text)
            }
        }
        if isOne, functions.count > 1 {
            let blobs = result.weights.blobs
            let function = try ShapeMerger(result.functions) { try blobs.content(at: $0) }.merged()
            result.interfaces = [
                CoreMLModel.Interface(enumerating: result.interfaces, as: function, for: choices.target)
            ]
            result.functions = [function]
        }
        return result
    }
}
