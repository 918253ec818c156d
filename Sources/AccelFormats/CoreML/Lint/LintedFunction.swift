import AccelByteIO
import AccelTensors

/// A function as rules of the linter see it.
struct LintedFunction {
    let function: MILFunction
    /// The ports for applications; nil if the model declares none.
    let interface: CoreMLModel.Interface?
    /// The operations that compute something.
    let operations: [MILOperation]
    private let package: CoreMLPackage
    private let constants: FunctionConstants
    private var types: [String: MILTensorType] = [:]
    private var producers: [String: Int] = [:]
    private let states: Set<String>

    init(_ function: MILFunction, of package: CoreMLPackage) throws {
        (self.function, self.package) = (function, package)
        interface = package.model.interfaces.first { $0.function == function.name }
        constants = try FunctionConstants(function, of: package)
        operations = function.operations.filter { !$0.isConstant }
        states = Set(
            function.inputs.compactMap { if case .state = $0.content { $0.name } else { nil } })
        for input in function.inputs { types[input.name] = input.content.tensor }
        for (index, operation) in function.operations.enumerated() {
            for output in operation.outputs {
                types[output.name] = output.content.tensor
                producers[output.name] = index
            }
        }
    }

    var hasStates: Bool { !states.isEmpty }

    /// Whether an operation, not only a conversion, computes in float16.
    var computesInHalf: Bool {
        results.contains { $0.type.dataType == .float16 && $0.operation.type != "cast" }
    }

    func isState(_ name: String) -> Bool { states.contains(name) }

    func isInput(_ name: String) -> Bool { function.inputs.contains { $0.name == name } }

    func type(of name: String) -> MILTensorType? { types[name] }

    /// All inputs, constants and results, with their types, in the order of the program.
    var values: [(name: String, type: MILTensorType)] {
        function.inputs.map { ($0.name, $0.content.tensor) }
            + function.operations.flatMap(\.outputs).map { ($0.name, $0.content.tensor) }
    }

    /// The results of operations that compute something.
    var results: [(name: String, type: MILTensorType, operation: MILOperation)] {
        operations.flatMap { operation in
            operation.outputs.map { ($0.name, $0.content.tensor, operation) }
        }
    }

    /// The constant operations.
    var constantOperations: [MILOperation] { function.operations.filter(\.isConstant) }

    /// Returns the operation that computes an argument; nil for an input or a constant.
    func producer(of parameter: String, in operation: MILOperation) -> MILOperation? {
        guard case .name(let name)? = operation.binding(parameter), let index = producers[name] else { return nil }
        let producer = function.operations[index]
        return producer.isConstant ? nil : producer
    }

    /// Returns the name of an argument's value; nil for an immediate constant.
    func name(of parameter: String, in operation: MILOperation) -> String? {
        guard case .name(let name)? = operation.binding(parameter) else { return nil }
        return name
    }

    func type(of parameter: String, in operation: MILOperation) -> MILTensorType? {
        switch operation.binding(parameter) {
        case .name(let name)?: types[name]
        case .value(let value)?: value.type
        case nil: nil
        }
    }

    /// Returns the numbers of an argument that is a small constant; nil for a computed or large one.
    func numbers(of parameter: String, in operation: MILOperation) throws -> [Double]? {
        let tensor: StoredTensor?
        switch operation.binding(parameter) {
        case .value(let value)?: tensor = try constants.stored(value, parameter)
        case .name(let name)?:
            guard let type = types[name], (Shape(type.sizes ?? []).checkedCount ?? .max) <= Self.smallCount else {
                return nil
            }
            tensor = try constants.tensor(name)
        case nil: tensor = nil
        }
        guard let tensor, tensor.elementType != .bool else { return nil }
        return tensor.floats().map(Double.init)
    }

    /// Returns the number of elements of the results of operations; of too many, the largest number.
    func elements(of operations: [MILOperation]) -> Int {
        MachineMemory.sum(operations.map { Shape($0.outputs.first?.content.tensor.sizes ?? []).checkedCount ?? .max })
    }

    /// Returns the size of the axis that an operation works along, from its parameters `x` and `axis`; nil if it is not known.
    func sizeOfAxis(_ operation: MILOperation) throws -> Int? {
        guard let sizes = type(of: "x", in: operation)?.sizes,
            let axis = try numbers(of: "axis", in: operation)?.first.flatMap({ Int(exactly: $0) })
        else { return nil }
        let index = axis < 0 ? axis + sizes.count : axis
        return sizes.indices.contains(index) ? sizes[index] : nil
    }

    /// Returns the numbers of a plain floating-point constant, unless it has more than a million.
    func floats(of operation: MILOperation) throws -> [Float]? {
        guard operation.type == "const", let output = operation.outputs.first, let value = operation["val"],
            output.content.tensor.dataType.isFloatingPoint,
            (Shape(output.content.tensor.sizes ?? []).checkedCount ?? .max) <= Self.largeCount
        else { return nil }
        return try constants.stored(value, output.name).floats()
    }

    private static let smallCount = 64
    private static let largeCount = 1 << 20
}
