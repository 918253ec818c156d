import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The model that a model plan comes from, frozen to the dimensions of each of the plan's functions.
struct ReferenceModel {
    /// The functions by the plan's function index, with activations rounded as the package's recipe requests; nil if the
    /// model has no function of this interface.
    let functions: [FrozenProgram?]
    /// The same functions with all activations in float32.
    let unrounded: [FrozenProgram?]
    /// The same functions with states as the model has them too, if the package keeps them in another element type; else nil.
    let withOwnStates: [FrozenProgram?]?
    /// The reasons for functions that are nil.
    let reasons: [String?]
    /// The weights that the functions read, by name.
    let weights: [String: StoredTensor]
    /// The factors by which the package has multiplied channels of weights; `weights` are scaled by them too.
    let scalings: [String: ChannelScaling]
    /// These factors smooth activations.
    let isSmoothed: Bool
    /// The tables that compilation derives from the model: the model's own, and those that constant folding makes.
    let tables: [String: [StoredTensor]]

    /// - Parameter package: records which weights are scaled; the model's are scaled too, which leaves the results of
    ///   functions unchanged.
    /// - Throws: `FormatError` if the recorded scalings change the results of the model.
    init(
        _ programs: [Program], fixed: [FrozenProgram] = [], for planned: ModelPlan,
        in package: AcceleratorPackage? = nil
    ) throws {
        let scaled = try package?.scaledWeights(of: programs, for: planned)
        let programs = scaled.map { scaled in programs.map { $0.replacing(scaled.tensors) } } ?? programs
        scalings = scaled?.scalings ?? [:]
        isSmoothed = scaled != nil && (try? package?.manifest.provenance.parsedRecipe())?.smoothsActivations ?? false
        var weights: [String: StoredTensor] = [:]
        var tables: [String: [StoredTensor]] = [:]
        let fixed =
            try scaled.map { scaled in
                try fixed.map { try $0.applying { $0.replacing(scaled.tensors) } }
            } ?? fixed
        let states = package?.manifest.provenance.states ?? .float32
        let functions = FrozenFunctions(programs, fixed: fixed, states: states, for: planned)
        withOwnStates =
            states == .float32
            ? nil
            : functions.frozen.map { frozen in
                guard let frozen, frozen.hasStates(in: states),
                    let program = programs.first(where: { $0.name == frozen.program.name })
                else {
                    return nil
                }
                return try? FrozenFunctions.freezing(program, frozen.bindings, fixed)
            }
        for frozen in functions.frozen.compactMap(\.self) {
            for constant in try frozen.optimized().program.constants {
                let tensor = try constant.requireTensor()
                if constant.isWeight {
                    weights[constant.name] = tensor
                } else {
                    tables[constant.name, default: []].append(tensor)
                }
            }
        }
        unrounded = functions.frozen
        self.functions = try functions.frozen.map { function in
            guard let function, let package else { return function }
            return try package.manifest.provenance.quantizingActivations(in: [function], as: package.graph).first
        }
        reasons = functions.functions.indices.map(functions.reason)
        self.weights = weights
        self.tables = tables
    }

    /// Returns the tensors that a stored tensor of the package may equal. Two functions may have different tables of
    /// one name: the second is stored as `NAME#2`, so any of them will do.
    func sources(of name: String) -> [StoredTensor] {
        if let weight = weights[name] { return [weight] }
        let base = name.lastIndex(of: "#").map { String(name[..<$0]) } ?? name
        return tables[name] ?? tables[base] ?? []
    }

    /// Returns a table with the type, shape and bytes of a stored tensor.
    func table(equalTo stored: CompressedTensor) -> StoredTensor? {
        tables.values.joined().first {
            $0.shape == stored.shape && $0.elementType == stored.elementType && stored.sections == [$0.bytes]
        }
    }
}

extension AcceleratorPackage {
    /// - Returns: nil if no weight is scaled.
    fileprivate func scaledWeights(of programs: [Program], for planned: ModelPlan) throws -> ScaledWeights? {
        let entries = try coverage.filter { $0.scaling != nil }
        guard let first = entries.first else { return nil }
        let scalings = Dictionary(
            uniqueKeysWithValues: entries.compactMap { entry in entry.scaling.map { (entry.tensor.name, $0) } })
        let parts = Set(planned.functions.map(\.part))
        guard let scaled = ScaledWeights(of: programs.filter { parts.contains($0.name) }, scaled: scalings) else {
            throw FormatError(
                file: path, location: .tensor(first.tensor.name, index: nil),
                reason:
                    "the exponents that source-map.json has of this weight and \(entries.count - 1) others do not cancel "
                    + "out in the model that they are compared with")
        }
        return scaled
    }
}
