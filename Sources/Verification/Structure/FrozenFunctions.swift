import Programs
import Tensors

/// The functions of a compiled program, frozen anew: the part of the model that each names, with the extents that it
/// names.
struct FrozenFunctions {
    /// In the program's order. A failure says why the model has no function with this interface.
    let functions: [Result<FrozenProgram, Unlike>]

    struct Unlike: Error {
        let reason: String
    }

    init(_ programs: [Program], for compiled: CompiledProgram) {
        functions = compiled.functions.map { function in Self.frozen(function, programs) }
    }

    private static func frozen(_ function: CompiledFunction, _ programs: [Program]) -> Result<FrozenProgram, Unlike> {
        guard let program = programs.first(where: { $0.name == function.part }) else {
            let parts = programs.map(\.name).joined(separator: ", ")
            return .failure(Unlike(reason: "the model has no part \"\(function.part)\" (converted are: \(parts))"))
        }
        let frozen: FrozenProgram
        do {
            frozen = try program.freezing(function.bindings)
        } catch {
            return .failure(Unlike(reason: "the model cannot be frozen to \(function.bindings): \(error)"))
        }
        // What it takes is compared before anything is computed with it: tables and runs of other extents may be huge.
        var finding = StructureFinding()
        finding.compare("", "input", function.inputs, frozen.inputs, \.words)
        finding.compare("", "state", function.states.map(\.port), frozen.states, \.words)
        if let difference = finding.differences.first { return .failure(Unlike(reason: difference.reason)) }
        return .success(frozen)
    }

    /// nil where the model has no such function.
    var frozen: [FrozenProgram?] { functions.map { try? $0.get() } }

    /// Why a function has no counterpart; nil where it has one.
    func reason(_ index: Int) -> String? {
        if case .failure(let unlike) = functions[index] { unlike.reason } else { nil }
    }
}

extension FrozenProgram {
    fileprivate var inputs: [CompiledFunction.Port] { program.inputs.map { port($0.name, $0.value) } }
    fileprivate var states: [CompiledFunction.Port] { program.states.map { port($0.name, $0.value) } }

    /// What a run gives: the outputs, and the states that it changes and that are no outputs.
    var results: [CompiledFunction.Port] {
        let given = program.outputs.map { port($0.name, $0.value) }
        let names = Set(given.map(\.name))
        return given
            + program.states.filter { $0.next != $0.value && !names.contains($0.name) }.map { port($0.name, $0.value) }
    }

    private func port(_ name: String, _ value: Value) -> CompiledFunction.Port {
        .init(name: name, elementType: program.type(of: value).elementType, shape: shape(of: value))
    }
}

extension CompiledFunction.Port {
    /// e.g. `"input_ids" I64[1,128]`
    var words: String { "\"\(name)\" \(elementType.rawValue)\(shape)" }
}
