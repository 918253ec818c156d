import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// The functions of a graph or its plan, frozen again: the part of the model that each names, with the recorded
/// dimensions.
struct FrozenFunctions {
    /// The functions in the program's order. A failure has the reason that the model has no function with this
    /// interface.
    let functions: [Result<FrozenProgram, Unlike>]

    struct Unlike: Error {
        let reason: String
    }

    /// - Parameters:
    ///   - fixed: the functions of a model with fixed dimensions only; if empty, the programs are frozen.
    ///   - states: the element type of key/value caches that a package records.
    init(_ programs: [Program], fixed: [FrozenProgram] = [], states: StateStorage = .float32, for planned: ModelPlan) {
        let caches = KeptCaches(of: programs + fixed.map(\.program), in: states)
        functions = planned.functions.map { function in
            Self.frozen(function.part, of: programs, function.bindings, function.inputs, function.states) {
                try Self.freezing($0, function.bindings, fixed).keeping(caches)
            }
        }
    }

    /// - Parameter fixed: as for the other initialiser.
    init(_ programs: [Program], fixed: [FrozenProgram] = [], states: StateStorage = .float32, for graph: ModelGraph) {
        let caches = KeptCaches(of: programs + fixed.map(\.program), in: states)
        functions = graph.functions.map { function in
            let part = function.program.name
            return Self.frozen(part, of: programs, function.bindings, function.inputs, function.states) {
                try Self.freezing($0, function.bindings, fixed).keeping(caches)
            }
        }
    }

    static func freezing(
        _ program: Program, _ bindings: ShapeBindings, _ fixed: [FrozenProgram]
    ) throws -> FrozenProgram {
        let known = fixed.first { $0.program.name == program.name && $0.bindings == bindings }
        return try known ?? program.freezing(bindings)
    }

    private static func frozen(
        _ part: String, of programs: [Program], _ bindings: ShapeBindings, _ inputs: [FrozenProgram.Port],
        _ states: [FrozenProgram.State], _ freezing: (Program) throws -> FrozenProgram
    ) -> Result<FrozenProgram, Unlike> {
        guard let program = programs.first(where: { $0.name == part }) else {
            let parts = programs.map(\.name).joined(separator: ", ")
            return .failure(Unlike(reason: "the model has no part \"\(part)\" (converted are: \(parts))"))
        }
        let frozen: FrozenProgram
        do {
            frozen = try freezing(program)
        } catch {
            // Those of a package are numbers.
            guard program.dimensions.isEmpty, !bindings.numbers.isEmpty else {
                return .failure(Unlike(reason: "the model cannot be frozen to \(bindings): \(error)"))
            }
            let own = program.inputs.map { "\($0.name) \(program.type(of: $0.value))" }.joined(separator: ", ")
            return .failure(
                Unlike(
                    reason:
                        "what it is compared with has other shapes, which are fixed (\(own)): compare it with the model"
                ))
        }
        // The inputs are compared before any computation, because tables and runs of other sizes may be huge.
        var finding = StructureFinding()
        finding.compare("", "input", inputs, frozen.inputs, \.words)
        finding.compare("", "state", states.map(\.port), frozen.states.map(\.port), \.words)
        if let difference = finding.differences.first { return .failure(Unlike(reason: difference.reason)) }
        return .success(frozen)
    }

    /// The frozen functions; nil for a function that the model does not have.
    var frozen: [FrozenProgram?] { functions.map { try? $0.get() } }

    /// Returns the reason that a function has no counterpart; nil if it has one.
    func reason(_ index: Int) -> String? {
        if case .failure(let unlike) = functions[index] { unlike.reason } else { nil }
    }
}

extension FrozenProgram {
    /// The results of a run: the outputs, and the changed states that are not outputs.
    var results: [FrozenProgram.Port] {
        let given = outputs
        let names = Set(given.map(\.name))
        return given
            + program.states.filter { $0.next != $0.value && !names.contains($0.name) }.map { port($0.name, $0.value) }
    }
}

extension FrozenProgram.Port {
    /// e.g. `"input_ids" I64[1,128]`
    var words: String { "\"\(name)\" \(elementType.rawValue)\(shape)" }
}
