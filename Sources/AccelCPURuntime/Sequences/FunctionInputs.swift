import AccelByteIO
import AccelPrograms
public import AccelTensors

/// Tensors of a file as the inputs of a function. `NamedTensors` finds them by their names. A tensor with the name of a
/// state is its initial value.
public struct FunctionInputs: Sendable {
    /// Without `in.`
    public let tensors: [String: StoredTensor]
    public let file: String

    public init(_ tensors: [StoredTensor], file: String) {
        self.init(tensors: NamedTensors(tensors, file: file).inputs, file: file)
    }

    private init(tensors: [String: StoredTensor], file: String) {
        self.tensors = tensors
        self.file = file
    }

    /// The tensors, once they are known to be the function's inputs and what some of its states start as.
    /// - Throws: `RequestError` for a missing or unknown name, another element type, another shape: expected and found.
    public func checked(
        for function: CompiledFunction
    ) throws -> (inputs: [String: StoredTensor], states: [StoredTensor]) {
        let states = function.states.map(\.port)
        let expected = (function.inputs + states).map(\.name)
        for name in tensors.keys.sorted() where !expected.contains(name) {
            let hint = nearestName(to: name, among: expected).map { "; did you mean \"\($0)\"?" } ?? ""
            throw RequestError(
                "\(file): \(function.name) has no input \"\(name)\"\(hint) (it has: \(expected.joined(separator: ", ")))"
            )
        }
        func checked(_ tensor: StoredTensor, _ what: String, _ port: FrozenProgram.Port) throws -> StoredTensor {
            guard tensor.elementType == port.elementType, tensor.shape == port.shape else {
                throw RequestError(
                    "\(file): \(what) \"\(port.name)\" of \(function.name): expected \(port.typeText), "
                        + "found \(tensor.elementType.rawValue)\(tensor.shape)")
            }
            return tensor
        }
        var inputs: [String: StoredTensor] = [:]
        for port in function.inputs {
            guard let tensor = tensors[port.name] else {
                throw RequestError(
                    "\(file): input \"\(port.name)\" of \(function.name) is missing; expected \(port.typeText)")
            }
            inputs[port.name] = try checked(tensor, "input", port)
        }
        let given = try states.compactMap { port in
            try tensors[port.name].map { try checked($0, "state", port) }
        }
        return (inputs, given)
    }

    /// Of tensors whose names all end in a number (`frame.0`, `frame.1`): those of each number under their names without
    /// it, in the order of the numbers; else nil.
    public var numbered: [(number: Int, inputs: FunctionInputs)]? {
        var steps: [Int: [String: StoredTensor]] = [:]
        for (name, tensor) in tensors {
            guard let number = name.sampleNumber else { return nil }
            let plain = String(name.dropLast("\(number)".count + 1))
            steps[number, default: [:]][plain] = tensor.renamed(plain)
        }
        return steps.sorted { $0.key < $1.key }.map { ($0.key, FunctionInputs(tensors: $0.value, file: file)) }
    }

    /// The index of the function of a name.
    /// - Throws: `RequestError` with the names that there are.
    public static func index(of name: String, in functions: [CompiledFunction]) throws -> Int {
        if let index = functions.firstIndex(where: { $0.name == name }) { return index }
        let names = functions.map(\.name)
        let hint = nearestName(to: name, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
        throw RequestError("there is no function \"\(name)\"\(hint) (there is: \(names.joined(separator: ", ")))")
    }

    /// The index of the function that takes these inputs: the one called `name`, or else the first one that they fit.
    /// - Throws: `RequestError`; when there is but one function, with what does not fit.
    public func choosing(from functions: [CompiledFunction], named name: String? = nil) throws -> Int {
        if let name {
            let index = try Self.index(of: name, in: functions)
            _ = try checked(for: functions[index])
            return index
        }
        if let index = functions.firstIndex(where: { (try? checked(for: $0)) != nil }) { return index }
        if functions.count == 1 { _ = try checked(for: functions[0]) }
        let found = tensors.sorted { $0.key < $1.key }.map {
            "\($0.key): \($0.value.elementType.rawValue)\($0.value.shape)"
        }
        let offered = functions.map {
            "\($0.name) (\($0.inputs.map { "\($0.name): \($0.typeText)" }.joined(separator: ", ")))"
        }
        throw RequestError(
            "\(file): no function takes these inputs; expected those of \(offered.joined(separator: " or ")), "
                + "found \(found.joined(separator: ", "))")
    }
}
