import Accel
package import AccelByteIO
import AccelCPURuntime
import AccelCalibration
import AccelPrograms
import AccelTensors

/// The source of the inputs of a comparison.
public enum InputSource: Sendable {
    /// Random inputs of this seed; see `SeededInputs`.
    case seeded(UInt64)
    /// A file with `NAME` or `in.NAME` tensors, or a text.
    case file(InputFile)
    /// The inputs recorded in a golden file; its outputs are compared too.
    case golden(Golden)

    /// The default seed; it is printed with every report.
    public static let defaultSeed: UInt64 = 1

    /// The error for a comparison without a model and without expected values.
    static let nothingToCompareWith = RequestError(
        "there is nothing to compare with", status: .unavailable, code: .nothingToCompareWith)

    var golden: Golden? {
        guard case .golden(let golden) = self else { return nil }
        return golden
    }

    /// The note on padding, which the figures leave out: all masked positions, or only the values that fill samples up if the inputs have
    /// no mask.
    var withoutPadding: String {
        get throws {
            let isMasked =
                switch self {
                case .seeded: false
                case .file(let file): try InputMatcher(file, for: []).tensors[SampleInputs.maskName] != nil
                case .golden(let golden): golden.inputs[SampleInputs.maskName] != nil
                }
            return isMasked
                ? "without padding"
                : "without what fills samples up; padding of the file counts, as it has no \(SampleInputs.maskName)"
        }
    }

    /// nil if the inputs come from a file.
    var seed: UInt64? { if case .seeded(let seed) = self { seed } else { nil } }

    /// The seed of the rows of large weights that operators are compared on.
    var samplingSeed: UInt64 { seed ?? Self.defaultSeed }

    /// The name in reports. It has no folders, so that the report does not depend on the file's location.
    var summary: String {
        switch self {
        case .seeded(let seed): SeededInputs.words(seed)
        case .file(let file): "file \(Files.name(of: file.path))"
        case .golden(let golden): "golden \(golden.name)"
        }
    }

    /// Returns the name with the functions that get random inputs because a file has none for them.
    func summary(drawing functions: [String]) -> String {
        guard !functions.isEmpty else { return summary }
        return
            "\(summary); \(SeededInputs.words(samplingSeed)) for \(functions.joined(separator: ", ")), of whose shapes the file has no inputs, or no states"
    }
}

/// The inputs and initial states of one run of a function.
struct FunctionFeed {
    /// All inputs of the function, by name.
    var inputs: [String: HostTensor] = [:]
    /// Given initial states, by name.
    var states: [String: HostTensor] = [:]
    /// Initial states that an earlier run has left; nil for none.
    var kept: KeptStates?
    /// Returns a random initial state, which is made each time that it is needed: the states of a large cache take more memory
    /// than the layer that reads them. nil makes none.
    var drawnState: ((String) -> HostTensor?)?
    /// The number of rows, and of those, from the first on, whose samples no other run has; nil if all rows count.
    var rows: (all: Int, own: Int)?
    /// The number of samples of the file; nil for no samples.
    var samples: Int?

    /// Makes the inputs of a sample, and the inputs and states that other runs leave, such as an encoder's keys and values: when the run
    /// begins, since those of all samples take more memory than a model. nil if there are none.
    var making: (() throws -> (inputs: [String: HostTensor], states: [String: HostTensor]))?
    /// The names of the states that `making` makes.
    var made: Set<String> = []

    /// Returns an initial state; nil for one that starts with the function's own initial value.
    /// - Throws: `RequestError` (unavailable) if a state that was kept cannot be read.
    func state(_ name: String) throws -> HostTensor? {
        if let state = states[name] { return state }
        return try kept?.state(name) ?? drawnState?(name)
    }

    /// Whether there is an initial state of this name.
    func hasState(_ name: String) -> Bool {
        states[name] != nil || kept?.names.contains(name) == true || drawnState?(name) != nil
    }

    /// Adds inputs and states that are made when the run begins.
    mutating func add(_ more: @escaping () throws -> (inputs: [String: HostTensor], states: [String: HostTensor])) {
        guard let first = making else { return making = more }
        making = {
            let (made, added) = (try first(), try more())
            return (made.inputs.merging(added.inputs) { $1 }, made.states.merging(added.states) { $1 })
        }
    }

    /// Returns the feed with the inputs and states that are made when the run begins.
    func completed() throws -> FunctionFeed {
        guard let making else { return self }
        var feed = self
        let (inputs, states) = try making()
        feed.inputs.merge(inputs) { $1 }
        feed.states.merge(states) { $1 }
        feed.making = nil
        return feed
    }
}

/// The inputs of a run, checked against a function's ports.
struct InputMatcher {
    /// Tensors by name, without the prefix `in.`.
    let tensors: [String: StoredTensor]
    let file: String
    /// The tensors as samples that a function takes one after the other; nil for a golden, whose outputs are those of its own sizes.
    let samples: SampleInputs?

    init(golden: Golden) {
        (tensors, samples) = (golden.inputs, nil)
        file = golden.path
    }

    /// - Parameter interfaces: of the functions that take the inputs, for which padding in front of samples is moved behind them.
    init(_ file: InputFile, for interfaces: [Interface]) throws {
        let samples = try SampleInputs(file.tensors(), file: file.path)
            .withoutLeadingPadding(for: interfaces)
        (self.file, tensors, self.samples) = (file.path, samples.tensors, samples)
    }

    /// Returns the runs of a function over all samples of the file; empty if they do not fit it.
    private func feeds(for function: FunctionPlan, leavingOut leavesOut: Bool = false) throws -> [FunctionFeed] {
        guard let samples else { return feed(for: function).map { [$0] } ?? [] }
        var states: [String: HostTensor] = [:]
        for state in function.states where tensors[state.name] != nil {
            guard let tensor = tensor(for: state.port) else { return [] }
            states[state.name] = tensor
        }
        let runs = try samples.runs(of: function.name, function.inputs, function.interface, leavingOut: leavesOut) ?? []
        return runs.map { run in
            FunctionFeed(states: states, rows: run.rows, samples: run.samples, making: { (run.inputs, [:]) })
        }
    }

    /// Returns the function's inputs from the file, with stand-ins for missing ones, and the initial value of each state that the file
    /// names; nil if an input is missing or has another shape or kind of element type.
    private func feed(for function: FunctionPlan) -> FunctionFeed? {
        var feed = FunctionFeed()
        for port in function.inputs {
            guard let tensor = tensors[port.name] == nil ? standIn(for: port, of: function) : tensor(for: port) else {
                return nil
            }
            feed.inputs[port.name] = tensor
        }
        for state in function.states where tensors[state.name] != nil {
            guard let tensor = tensor(for: state.port) else { return nil }
            feed.states[state.name] = tensor
        }
        return feed
    }

    /// Returns the stand-in for an input that the file lacks: a mask, token types, or the position 0 where the file has no caches.
    private func standIn(for port: FrozenProgram.Port, of function: FunctionPlan) -> HostTensor? {
        if let tensor = function.standIn(for: port) { return HostTensor(tensor) }
        guard function.interface.inputs[port.name]?.kind == .position, port.elementType == .int64,
            function.states(.keyValueCache).allSatisfy({ tensors[$0.name] == nil })
        else { return nil }
        return HostTensor([Int64](repeating: 0, count: port.shape.count), port.shape)
    }

    private func tensor(for port: FrozenProgram.Port) -> HostTensor? {
        guard let stored = tensors[port.name], stored.shape == port.shape else { return nil }
        let tensor = HostTensor(stored)
        return switch (port.elementType, tensor.elementType) {
        case (.bool, .bool), (.int64, .int64), (.float32, .float32): tensor
        case (.int64, .bool): HostTensor(tensor.integers, tensor.shape)
        case (.bool, .int64): HostTensor(tensor.flags, tensor.shape)
        default: nil
        }
    }

    /// Returns the functions that take the file's inputs. Where one takes all samples, one that is too short for some takes the others.
    /// - Throws: `RequestError` with exit status 3 that lists the tensors of the file and the inputs of the functions.
    func functions(of program: ModelPlan) throws -> [(function: Int, feed: FunctionFeed)] {
        let largest = program.functions.map { function in
            MachineMemory.sum(
                function.givenPorts.filter { tensors[$0.name]?.shape == $0.shape }
                    .map { TensorType($0.elementType, shape: $0.shape).hostBytes })
        }
        try MachineMemory.require(largest.max() ?? 0, for: "the inputs out of \(file)")
        try samples?.rejectMisspelt(besides: program.functions.flatMap(\.givenPorts).map(\.name))
        var fitting: [(function: Int, feed: FunctionFeed)] = []
        var rejections: [(function: Int, error: SamplesTooLong)] = []
        for index in program.functions.indices {
            do {
                fitting += try feeds(for: program.functions[index]).map { (function: index, feed: $0) }
            } catch let error as SamplesTooLong {
                rejections.append((index, error))
            }
        }
        let part = { program.functions[$0].part }
        for (index, _) in rejections where fitting.contains(where: { part($0.function) == part(index) }) {
            let short = try? feeds(for: program.functions[index], leavingOut: true)
            fitting += (short ?? []).map { (function: index, feed: $0) }
        }
        guard fitting.isEmpty else { return fitting.sorted { $0.function < $1.function } }
        if let rejection = rejections.first { throw rejection.error }
        // No shape mends another type, or another number of dimensions.
        let ports = program.functions.flatMap(\.givenPorts)
        for (name, tensor) in tensors.sorted(by: { $0.key < $1.key }) {
            let own = ports.filter { $0.name == name }
            let kind = HostTensor(tensor).elementType
            let isOther = own.allSatisfy { port in
                let isWhole = [.int64, .bool].contains(port.elementType)
                return isWhole != [.int64, .bool].contains(kind) || port.shape.rank != tensor.shape.rank
            }
            guard let port = own.first, isOther else { continue }
            throw RequestError(
                "\(file): \"\(name)\" is \(tensor.elementType.rawValue)\(tensor.shape), but the input is \(port.typeText)",
                status: .unavailable)
        }
        // Nor does one mend a wrong name.
        let known = Set(ports.map(\.name) + [SampleInputs.maskName])
        if let name = tensors.keys.sorted().first(where: { !known.contains($0) }) {
            throw RequestError(
                "\(file): \(FunctionInputs.unknown(name, among: tensors, of: program.functions))", status: .unavailable)
        }
        let offered = program.functions.map { "\($0.name): \($0.inputs.map(\.description).joined(separator: ", "))" }
        throw RequestError(
            Diagnostic(
                "no function of the package takes the inputs of \(file): \(heldText); the package has "
                    + offered.joined(separator: "; "), code: .noFunctionForInputs, subject: file),
            status: .unavailable)
    }

    /// e.g. `the file holds input_ids I64[1,128]`
    var heldText: String {
        let held = tensors.sorted { $0.key < $1.key }.map {
            "\($0.key) \($0.value.elementType.rawValue)\($0.value.shape)"
        }
        return "the file holds \(held.joined(separator: ", "))"
    }
}

extension Diagnostic.Code {
    /// There is neither a model nor a golden.
    package static let nothingToCompareWith: Self = "nothing-to-compare-with"
    /// No function has the sizes of the file, which is the subject.
    package static let noFunctionForInputs: Self = "no-function-for-inputs"
    /// A file of inputs alone is no golden.
    package static let notGolden: Self = "not-golden"
    /// A runtime does not read the format of an export. Candidates are the runtimes that do; the runtime's own format is expected.
    package static let formatOfRuntime: Self = "format-of-runtime"
}

extension FrozenProgram.Port {
    /// e.g. `input_ids I64[1,128]`
    var description: String { "\(name) \(elementType.rawValue)\(shape)" }
}
