import AccelByteIO
public import AccelCPURuntime
public import AccelFormats
public import AccelPackages
public import AccelPrograms
import AccelWeightCompression

/// One side of a comparison.
public enum Subject: Sendable {
    case package(AcceleratorPackage)
    /// A compiled program in memory; there is no container to check.
    case compiled(CompiledProgram)
    /// A Core ML package, by the reference meaning of its operations.
    case coreML(CoreMLPackage)
    /// A model's programs with free or fixed dimensions, by the operators' reference meaning on the weights of a checkpoint.
    case reference([Program])
    /// The same, of the model whose files are known too: what a package says of them is compared as well.
    case model(OriginalModel)

    /// A source as what is verified: a package or a Core ML package as it is, another one compiled in memory for its usual
    /// shapes, with its weights as they are.
    /// - Throws: `FormatError` and `RequestError` as for a conversion.
    public init(_ source: any ModelSource, threads: Int) throws {
        switch source {
        case let source as PackagedModel: self = .package(source.package)
        case let source as CoreMLSource: self = .coreML(source.package)
        default:
            let model = try source.model()
            let functions = try model.functions ?? model.programs.freezingToUsualShapes()
            let plain = Recipe(default: try Codecs.codec("stored"))
            self = .compiled(try plain.compressing(functions, threads: threads).compiled())
        }
    }

    /// The parts that it says it was made of, empty for the usual ones, and the patterns of tensors that were left out.
    var madeOf: (parts: [String], ignoredTensors: [String]) {
        switch self {
        case .package(let package):
            (package.manifest.provenance.parts, package.manifest.provenance.ignoredTensors)
        case .coreML(let package): (package.parts.sorted(), package.model.ignoredTensors)
        case .compiled, .reference, .model: ([], [])
        }
    }

    /// Of a model.
    var programs: [Program]? {
        switch self {
        case .reference(let programs): programs
        case .model(let model): model.programs
        case .package, .compiled, .coreML: nil
        }
    }

    var original: OriginalModel? { if case .model(let model) = self { model } else { nil } }

    var package: AcceleratorPackage? { if case .package(let package) = self { package } else { nil } }

    /// Plans a package.
    /// - Throws: `RequestError` (unavailable) for a package whose values need more memory than a plan may have.
    func program() throws -> CompiledProgram? {
        switch self {
        case .package(let package): try package.graph.planned()
        case .compiled(let program): program
        case .reference, .model, .coreML: nil
        }
    }
}
