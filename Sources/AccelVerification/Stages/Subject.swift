import AccelByteIO
public import AccelCPURuntime
public import AccelFormats
public import AccelPackages
public import AccelPrograms
import AccelWeightCompression

/// One side of a comparison.
public enum Subject: Sendable {
    /// A package of accelc; its execution plan is made for this processor.
    case package(AcceleratorPackage)
    /// A planned program in memory; there is no container to check.
    case planned(ModelPlan)
    /// A Core ML package, run by the reference implementation of its operations.
    case coreML(CoreMLPackage)
    /// A model's programs with free or fixed dimensions, run by the operators' reference implementation on the weights
    /// of a checkpoint.
    case reference([Program])
    /// The programs of a model whose files are known; the package's provenance is compared with them too.
    case model(OriginalModel)
    /// An exported model, run by a runtime of another project.
    case runtime(RuntimeSubject)

    /// Creates a subject from a source: an opened package, or any other source compiled in memory for its usual shapes,
    /// with the weights as its files have them.
    /// - Parameter reference: the model that an export is of, whose element types its weights have; nil for those of its files. Packages
    ///   say which these were, so that theirs is not asked for.
    /// - Throws: `FormatError` and `RequestError` as for a conversion.
    public init(
        _ source: any ModelSource, of reference: @autoclosure () throws -> (any ModelSource)? = nil, threads: Int
    ) throws {
        switch source {
        case let source as PackagedModel: self = .package(source.package)
        case let source as CoreMLSource: self = .coreML(source.package)
        default:
            var model = try source.model()
            if let reference = try reference() { model = try model.stating(typesOf: reference.model()) }
            let functions = try model.functions ?? model.programs.freezingToUsualShapes()
            let plain = Recipe(default: try Codecs.codec("stored"))
            let stored = try plain.compressing(functions, threads: threads)
            self = .planned(try stored.replacing(model.encoded.mapValues { try $0.tensor() }).planned())
        }
    }

    /// Checks that a function takes the inputs, before anything is computed. Exports of other formats are checked when they run.
    /// - Throws: `RequestError` (unavailable) with the tensors of the file and the inputs of the functions.
    public func requireInputs(_ source: InputSource) throws {
        guard source.seed == nil else { return }
        if case .coreML(let package) = self {
            guard source.golden == nil else { return }
            let plan = try CoreMLFunction.all(of: package).plan(fitting: source)
            _ = try FeedPlan(plan, on: source, decodesSamples: false)
        } else if let program = try program() {
            _ = try FeedPlan(program, on: source, decodesSamples: false)
        }
    }

    /// The recorded parts (empty for the default ones), the patterns of ignored tensors, and the positions that decoders
    /// compute logits for.
    var madeOf: (parts: [String], ignoredTensors: [String], logits: LogitPositions) {
        switch self {
        case .package(let package):
            (
                package.manifest.provenance.parts, package.manifest.provenance.ignoredTensors,
                package.manifest.provenance.logits
            )
        case .coreML(let package): (package.parts.sorted(), package.model.ignoredTensors, package.model.logits)
        case .runtime(let subject): subject.madeOf
        case .planned, .reference, .model: ([], [], .all)
        }
    }

    /// The programs of a model; nil for a package.
    var programs: [Program]? {
        switch self {
        case .reference(let programs): programs
        case .model(let model): model.programs
        case .package, .planned, .coreML, .runtime: nil
        }
    }

    var original: OriginalModel? { if case .model(let model) = self { model } else { nil } }

    var package: AcceleratorPackage? { if case .package(let package) = self { package } else { nil } }

    /// Plans a package.
    /// - Throws: `RequestError` (unavailable) for a package whose values need more memory than a plan may have.
    func program() throws -> ModelPlan? {
        switch self {
        case .package(let package): try package.graph.planned()
        case .planned(let program): program
        case .reference, .model, .coreML, .runtime: nil
        }
    }
}
