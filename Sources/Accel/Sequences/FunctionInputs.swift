package import AccelByteIO
package import AccelCPURuntime
import AccelPrograms
package import AccelTensors

/// Tensors of a file as the inputs of a function. `NamedTensors` finds them by their names. A tensor with the name of a
/// state is its initial value.
package struct FunctionInputs: Sendable {
    /// The tensors by name, without the prefix `in.`.
    package let tensors: [String: StoredTensor]
    /// The path of the file, for errors.
    package let file: String
    /// The path of each tensor's file, where there are several.
    private var paths: [String: String] = [:]

    /// Creates inputs from tensors named `NAME` or `in.NAME`.
    package init(_ tensors: [StoredTensor], file: String) {
        self.init(tensors: NamedTensors(tensors, file: file).inputs, file: file)
    }

    private init(tensors: [String: StoredTensor], file: String) {
        self.tensors = tensors
        self.file = file
    }

    /// The inputs of several files: the tokens of a sequence follow those of the files before, and another tensor replaces that of the same
    /// name.
    /// - Parameter program: says which inputs are tokens.
    /// - Throws: `RequestError` if tokens have other rows or types than those of the files before.
    package init(joining files: [FunctionInputs], for program: ModelPlan) throws {
        let tokens = Set(program.functions.compactMap { $0.input(.tokens)?.name })
        var joined: [String: StoredTensor] = [:]
        var paths: [String: String] = [:]
        for file in files {
            for (name, tensor) in file.tensors {
                paths[name] = file.file
                guard tokens.contains(name), let before = joined[name] else {
                    joined[name] = tensor
                    continue
                }
                guard let longer = before.followed(by: tensor) else {
                    throw RequestError(
                        "\(file.file): \"\(name)\": expected I64[\(before.shape.dimensions.first ?? 1),N], as in the files "
                            + "before, found \(tensor.typeText)")
                }
                joined[name] = longer
            }
        }
        self.init(tensors: joined, file: files.map(\.file).joined(separator: " and "))
        self.paths = paths
    }

    func replacing(_ tensors: [String: StoredTensor]) -> FunctionInputs {
        var inputs = FunctionInputs(tensors: tensors, file: file)
        inputs.paths = paths
        return inputs
    }

    /// Returns the function's inputs, with what stands for a missing mask or token types, and the initial values of the states that the
    /// file names, after checking them.
    /// - Throws: `RequestError` for a missing or unknown name, or for another element type or shape, with the expected
    ///   and the found one.
    package func checked(
        for function: FunctionPlan
    ) throws -> (inputs: [String: StoredTensor], states: [StoredTensor]) {
        let expected = function.givenPorts.map(\.name)
        for name in tensors.keys.sorted() where !expected.contains(name) {
            let hint = suggestion(for: name, among: expected)
            throw RequestError(
                "\(file): \(function.name) has no input \"\(name)\"\(hint) (it has: \(expected.joined(separator: ", ")))"
            )
        }
        func checked(_ tensor: StoredTensor, _ what: String, _ port: FrozenProgram.Port) throws -> StoredTensor {
            guard let fitting = tensor.fitting(port) else {
                throw mismatch(
                    "\(what) \"\(port.name)\" of \(function.name)", expected: port.typeText, found: tensor.typeText,
                    for: [function])
            }
            return fitting
        }
        var inputs: [String: StoredTensor] = [:]
        for port in function.inputs {
            guard let tensor = tensors[port.name] ?? function.standIn(for: port) else {
                throw RequestError(
                    "\(file): input \"\(port.name)\" of \(function.name) is missing; expected \(port.typeText)")
            }
            inputs[port.name] = try checked(tensor, "input", port)
        }
        let given = try function.states.compactMap { state in
            try tensors[state.name].map { try checked($0, "state", state.port) }
        }
        return (inputs, given)
    }

    /// Checks that tokens are of the vocabulary of each function that takes them, and that masks are 0 and 1.
    /// - Throws: `RequestError` for a number that has no meaning.
    func requireKnownNumbers(of functions: [FunctionPlan]) throws {
        for function in functions {
            for port in function.inputs {
                guard let tensor = tensors[port.name],
                    let reason = function.interface.inputs[port.name]?.foreignNumber(in: tensor)
                else { continue }
                throw RequestError("\(file): input \"\(port.name)\" of \(function.name): \(reason)")
            }
        }
    }

    /// With outputs of one part of the model under the names of the inputs that take them in another part.
    func followingLinks(of program: ModelPlan) -> FunctionInputs {
        let ports = Set(program.functions.flatMap(\.givenPorts).map(\.name))
        var linked = tensors
        for link in program.functions.flatMap(\.interface.links)
        where linked[link.input] == nil && !ports.contains(link.output) {
            guard let tensor = linked.removeValue(forKey: link.output) else { continue }
            linked[link.input] = tensor.renamed(link.input)
        }
        return replacing(linked)
    }

    /// Without those that only other functions have; a file may hold the inputs of several.
    func leavingOut(_ functions: [FunctionPlan], for function: FunctionPlan) -> FunctionInputs {
        let others = Set(functions.flatMap(\.givenPorts).map(\.name)).subtracting(function.givenPorts.map(\.name))
        return replacing(tensors.filter { !others.contains($0.key) })
    }

    /// The inputs of each step, in the order of the numbers that all tensor names end in (`frame.0`, `frame.1`), with
    /// the numbers removed from the names; nil if a name has no number.
    package var numbered: [(number: Int, inputs: FunctionInputs)]? {
        var steps: [Int: [String: StoredTensor]] = [:]
        for (name, tensor) in tensors {
            guard let number = name.sampleNumber else { return nil }
            let plain = String(name.dropLast("\(number)".count + 1))
            steps[number, default: [:]][plain] = tensor.renamed(plain)
        }
        return steps.sorted { $0.key < $1.key }.map { ($0.key, FunctionInputs(tensors: $0.value, file: file)) }
    }

    /// The inputs of each run on as many rows as a function takes, where the tensors have several times as many: samples, one after the
    /// other. Nil if they differ in more, and for a function with states, which would go from one sample to the next.
    func rows(for function: FunctionPlan) -> [FunctionInputs]? {
        guard function.states.isEmpty, !tensors.isEmpty else { return nil }
        var runs: Int?
        for (name, tensor) in tensors {
            guard let port = function.inputs.first(where: { $0.name == name }), tensor.hasType(of: port),
                let rows = port.shape.dimensions.first, let found = tensor.shape.dimensions.first, rows > 0,
                found > rows, found % rows == 0, runs ?? found / rows == found / rows,
                tensor.shape.dimensions.dropFirst() == port.shape.dimensions.dropFirst()
            else { return nil }
            runs = found / rows
        }
        guard let runs else { return nil }
        return (0..<runs).map { run in
            replacing(
                tensors.mapValues { tensor in
                    let rows = tensor.shape.dimensions[0] / runs
                    return tensor.rows(run * rows..<(run + 1) * rows)
                })
        }
    }

    /// Returns the index of the function with a name, or of the only one whose name begins so; of functions that take tokens into the
    /// same cache that of the longest blocks, with which a sequence begins.
    /// - Throws: `RequestError` listing the functions' names.
    package static func index(of name: String, in functions: [FunctionPlan]) throws -> Int {
        if let index = functions.firstIndex(where: { $0.name == name }) { return index }
        let beginning = functions.indices.filter { functions[$0].name.hasPrefix(name) }
        if beginning.count == 1 { return beginning[0] }
        let lengths = beginning.compactMap { functions[$0].input(.tokens)?.shape.dimensions.last }
        let caches = Set(beginning.map { Set(functions[$0].states) })
        if lengths.count == beginning.count, caches.count == 1, caches.first?.isEmpty == false,
            let longest = zip(beginning, lengths).max(by: { $0.1 < $1.1 })
        {
            return longest.0
        }
        guard beginning.isEmpty else {
            let names = beginning.map { functions[$0].name }.joined(separator: ", ")
            throw RequestError("several functions begin with \"\(name)\": \(names); name one of them")
        }
        let names = functions.map(\.name)
        let hint = suggestion(for: name, among: names)
        throw RequestError("there is no function \"\(name)\"\(hint) (there is: \(names.joined(separator: ", ")))")
    }

    /// Returns the index of the function that takes these inputs: the one named `name`, or else the first one that they
    /// fit.
    /// - Throws: `RequestError` if the inputs fit no function; it names the first mismatch if there is only one
    ///   function.
    package func choosing(from functions: [FunctionPlan], named name: String? = nil) throws -> Int {
        if let name {
            let index = try Self.index(of: name, in: functions)
            _ = try checked(for: functions[index])
            return index
        }
        if let index = functions.firstIndex(where: { (try? checked(for: $0)) != nil }) { return index }
        let nearest = functions.filter(differsInSizes)
        if functions.count == 1 || nearest.count == 1 { _ = try checked(for: nearest.first ?? functions[0]) }
        for (name, tensor) in tensors.sorted(by: { $0.key < $1.key }) {
            guard let expected = Self.expected(tensor, named: name, of: functions) else { continue }
            guard !expected.isEmpty else {
                throw RequestError("\(file): \(Self.unknown(name, among: tensors, of: functions))")
            }
            throw mismatch("\"\(name)\"", expected: expected, found: tensor.typeText)
        }
        if let function = functions.first(where: { (try? leavingOut(functions, for: $0).checked(for: $0)) != nil }) {
            throw RequestError(
                "\(file) holds inputs of several functions", code: .functionNotChosen, candidates: [function.name])
        }
        let offered = (nearest.isEmpty ? functions : nearest).map {
            "\($0.name) (\($0.inputs.map { "\($0.name): \($0.typeText)" }.joined(separator: ", ")))"
        }
        throw mismatch(
            "no function takes these inputs", expected: offered.joined(separator: " or "), found: typeText, for: nearest
        )
    }

    /// Whether all that differs from the function's inputs is the sizes of dimensions.
    private func differsInSizes(_ function: FunctionPlan) -> Bool {
        let ports = function.givenPorts
        return !tensors.isEmpty
            && tensors.allSatisfy { name, tensor in
                ports.contains { $0.name == name && $0.shape.rank == tensor.shape.rank && tensor.hasType(of: $0) }
            }
    }

    /// The names and types of the tensors.
    var typeText: String {
        let texts = tensors.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.typeText)" }
        return texts.isEmpty ? "no tensor" : texts.joined(separator: ", ")
    }

    /// Returns the error about tensors that do not fit.
    /// - Parameters:
    ///   - subject: the tensor or function, in words.
    ///   - functions: those that may differ in sizes alone; shapes of them are candidates where they would take the tensors.
    func mismatch(
        _ subject: String, expected: String, found: String, for functions: [FunctionPlan] = []
    ) -> RequestError {
        var diagnostic = Diagnostic("\(file): \(subject): expected \(expected), found \(found)")
        (diagnostic.expected, diagnostic.found) = (expected, found)
        if let function = functions.first, functions.allSatisfy({ $0.part == function.part && differsInSizes($0) }) {
            (diagnostic.candidates, diagnostic.subject) = shapes(for: functions, function)
        }
        if !diagnostic.candidates.isEmpty || diagnostic.subject != nil { diagnostic.code = .shapesDoNotFit }
        return RequestError(diagnostic)
    }

    /// Returns the shapes of functions for tensors of these sizes, or the file that has them; neither if no shapes do.
    private func shapes(for functions: [FunctionPlan], _ first: FunctionPlan) -> (shapes: [String], file: String?) {
        if first.input(.position) != nil, let tokens = first.input(.tokens) {
            // A decoder takes any number of tokens, block by block, but one number of rows.
            guard let rows = tensors[tokens.name]?.shape.dimensions.first else { return ([], nil) }
            return (functions.map { "\(ShapeBindings($0.bindings.numbers.merging(["batch": rows]) { $1 }))" }, nil)
        }
        let numbers = Set(first.bindings.numbers.values)
        let isBound = first.inputs.allSatisfy { port in
            zip(port.shape.dimensions, tensors[port.name]?.shape.dimensions ?? []).allSatisfy {
                $0 == $1 || numbers.contains($0)
            }
        }
        return ([], isBound ? first.inputs.lazy.compactMap { paths[$0.name] }.first ?? file : nil)
    }

    /// Returns the sentence about a tensor that no function has.
    package static func unknown(
        _ name: String, among tensors: [String: StoredTensor], of functions: [FunctionPlan]
    ) -> String {
        let hint = suggestion(for: name, among: functions.flatMap(\.givenPorts).map(\.name))
        let missing = functions.flatMap(\.inputs).map(\.name).distinct.filter { tensors[$0] == nil }
        return "no function has an input or state \"\(name)\"\(hint)"
            + (missing.isEmpty ? "" : " (not given: \(missing.joined(separator: ", ")))")
    }

    /// Returns the types that ports of a tensor's name expect, where none has its type and number of dimensions: empty without ports. Nil if
    /// it may fit.
    private static func expected(
        _ tensor: StoredTensor, named name: String, of functions: [FunctionPlan]
    ) -> String? {
        let ports = functions.flatMap(\.givenPorts).filter { $0.name == name }
        guard !ports.contains(where: { tensor.hasType(of: $0) && tensor.shape.rank == $0.shape.rank }) else {
            return nil
        }
        // A decoder takes any number of tokens, block by block.
        let isOfBlocks = functions.contains { $0.input(.tokens)?.name == name && $0.input(.position) != nil }
        let types = ports.map { isOfBlocks ? "I64[\($0.shape.dimensions.first ?? 1),N]" : $0.typeText }
        return Set(types).sorted().joined(separator: " or ")
    }
}

extension StoredTensor {
    /// Its elements are integers that tokens and positions may have: I64, or narrower ones that are widened.
    package var holdsIndices: Bool { [.int64, .int32, .uint32, .int16, .uint16].contains(elementType) }

    /// The element type and the shape.
    var typeText: String { "\(elementType.rawValue)\(shape)" }

    /// Returns its integers with those of another tensor behind them in each row; nil if both are not integers [rows, columns].
    fileprivate func followed(by other: StoredTensor) -> StoredTensor? {
        let (own, more) = (shape.dimensions, other.shape.dimensions)
        guard own.count == 2, more.count == 2, own[0] == more[0], holdsIndices, other.holdsIndices else { return nil }
        let (left, right) = (integers(), other.integers())
        var joined: [Int64] = []
        for row in 0..<own[0] {
            joined += left[row * own[1]..<(row + 1) * own[1]]
            joined += right[row * more[1]..<(row + 1) * more[1]]
        }
        return StoredTensor(name: name, integers: joined, shape: [own[0], own[1] + more[1]])
    }

    /// Returns the tensor for a port of its shape and element type, with narrower integers widened to I64; nil if it does not fit.
    func fitting(_ port: FrozenProgram.Port) -> StoredTensor? {
        guard shape == port.shape, hasType(of: port) else { return nil }
        return elementType == port.elementType ? self : StoredTensor(name: name, integers: integers(), shape: shape)
    }

    /// Its elements are of a port's type, or integers that are widened to it.
    func hasType(of port: FrozenProgram.Port) -> Bool {
        elementType == port.elementType || port.elementType == .int64 && holdsIndices
    }
}

extension Diagnostic.Code {
    /// Tensors are those of several functions, or of another one than the chosen. The candidates are functions that take them.
    package static let functionNotChosen: Self = "function-not-chosen"
    /// No function generates tokens.
    package static let nothingToGenerate: Self = "nothing-to-generate"
    /// Tokens are not the first of their sequence, and the states of those before are missing.
    package static let statesMissing: Self = "states-missing"
}
