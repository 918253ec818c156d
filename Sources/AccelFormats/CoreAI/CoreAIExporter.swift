public import AccelByteIO
import AccelPrograms
import AccelTensors

/// Writes a Core AI model (`.aimodel`) without Apple's tools.
public struct CoreAIExporter: Exporter {
    public static let name = "coreai"
    public static let summary = "a Core AI model (.aimodel, for iOS 27 and macOS 27)"
    public static let output = OutputKind.coreAIModel
    public static let version = 3

    static let precision = ExportOption(
        "precision", allowed: ["float16", "float32"],
        help: "the type of the arithmetic. float16 keeps float32 where sums or angles need it"
    ).common
    static let composites = ExportOption(
        "composites", allowed: ["yes", "no"],
        help: "declare attention and layer norms as composites. Apple's fused kernels run them")
    static let engine = ExportOption(
        "engine", allowed: ["none", "static"],
        help:
            "the engine of apple/coreai-models that functions are for. static has ports and states of float16, positions of uint16, "
            + "and names such as extend_256_8")
    public static let options = [precision, composites, engine, .allowFallback]

    private let options: CoreAIOptions

    public init(_ values: ExportOptionValues) {
        options = CoreAIOptions(
            floatType: values.word(Self.precision) == "float32" ? .float32 : .float16,
            declaresComposites: values.word(Self.composites) == "yes",
            isForStaticEngine: values.word(Self.engine) == "static",
            allowsFallback: values.has(.allowFallback))
    }

    public func check(_ model: PlannedExport) throws -> [String: String] {
        let rejections = try lowered(model.functions, CoreAIWeights(asking: model.plan, options: options)).parts.weights
            .rejections
        if !options.allowsFallback { try rejections.reject() }
        return rejections.reasons
    }

    public func export(_ model: ExportedModel, to path: String) throws -> ExportReport {
        let program = model.program
        let (graphs, parts) = try lowered(
            program.functions, CoreAIWeights(program.weights, plain: model.plain, options: options))
        let module = CoreAIModule(
            root: CoreAIOperation(asset: parts.graphs + graphs), resources: parts.weights.resources)
        let file = CoreAIEncoder(module).encoded()
        let metadata = CoreAIMetadata(model, graphs.map(\.name), exporter: text)
        try CoreAIFolder.write(file, metadata, to: path)
        return report(graphs, parts, lint: try CoreAIPackage(at: path).lint())
    }

    public static func provenance(ofExport file: (_ name: String) throws -> ByteView?) throws -> [String: String] {
        guard let bytes = try file(CoreAIFolder.metadataName) else {
            throw FormatError(file: CoreAIFolder.metadataName, reason: "the export has no such file")
        }
        let entries = try CoreAIMetadata.entries(in: bytes, file: CoreAIFolder.metadataName)
        return entries.filter { $0.key.hasPrefix("accelc.") }
    }

    /// The exporter's version and options, as an export records them.
    private var text: String {
        "\(Self.name) \(Self.version) precision=\(options.floatType) composites=\(options.declaresComposites ? "yes" : "no")"
            + (options.isForStaticEngine ? " engine=static" : "")
            + " allow-fallback=\(options.allowsFallback ? "yes" : "no")"
    }

    /// Lowers all functions, which share weights and private graphs.
    private func lowered(
        _ functions: [FrozenProgram], _ weights: CoreAIWeights
    ) throws -> (graphs: [CoreAIGraph], parts: CoreAIParts) {
        var (graphs, parts) = ([CoreAIGraph](), CoreAIParts(weights))
        for function in functions {
            try Self.checkStates(of: function)
            let name = functions.count == 1 ? "main" : name(of: function)
            guard !graphs.contains(where: { $0.name == name }) else {
                throw RequestError("two functions are called \(name)", code: .severalFunctionsOfOneName)
            }
            let lowered = try CoreAIFunctionLowering.graph(
                of: function.foldingTables(), named: name, parts, options: options)
            graphs.append(lowered.graph)
            parts = lowered.parts
        }
        return (graphs, parts)
    }

    /// Returns the name of one of several functions: that of a package, or for the static engine the part's with the numbers of its
    /// dimensions, such as `extend_256_8` of 256 positions and 8 tokens.
    private func name(of function: FrozenProgram) -> String {
        guard options.isForStaticEngine else { return function.functionName }
        let numbers = function.bindings.numbers.sorted { $0.key < $1.key }.map { "\($0.value)" }
        return ([function.program.name] + numbers).joined(separator: "_")
    }

    private static func checkStates(of function: FrozenProgram) throws {
        guard !function.hasStates(in: .int8) else {
            throw RequestError(
                "\(function.functionName): its key/value caches are int8, and Core AI has no rows of codes",
                code: .int8StatesUnsupported)
        }
    }
}
