public import AccelCPURuntime
public import AccelFormats
public import AccelPackages
public import AccelPrograms

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
