import AccelByteIO
import AccelPrograms
import AccelTensors

/// Imports a function of an ML Program as a program of accelc's operators, with fixed shapes.
///
/// Results of type fp16 are rounded to it after each operation; within an operation the computation is in float32, as
/// fp16 hardware accumulates at least as exactly.
struct FunctionInterpreter {
    private let package: CoreMLPackage
    private let function: MILFunction
    private let constants: FunctionConstants
    private var call: MILCall
    private var values: [String: MILArgument] = [:]
    /// The names of the operators that rules have made so far, by the operation's type.
    private(set) var made: [String: Set<String>] = [:]

    init(_ function: MILFunction, of package: CoreMLPackage, for purpose: ImportPurpose) throws {
        (self.function, self.package) = (function, package)
        constants = try FunctionConstants(function, of: package)
        call = MILCall(operation: MILOperation(""), builder: ProgramBuilder(name: function.name))
        call.purpose = purpose
    }

    /// - Parameter shapes: the shapes of inputs that allow several, by name.
    mutating func program(shapes: [String: [Int]]) throws -> Program {
        for input in function.inputs { try read(input, shapes) }
        for operation in function.operations { try read(operation) }
        for output in function.outputs {
            guard let value = values[output] else { throw error(output, "is an output that nothing makes") }
            do {
                let result = try call.value(value)
                call.builder.output(output, result)
            } catch let problem as MILCall.Problem {
                throw error(output, problem.reason)
            }
        }
        for (name, value) in call.states { call.builder.update(name, to: value) }
        do {
            return try call.builder.finish()
        } catch let failure as any ReportedError {
            throw error("", failure.description)
        }
    }

    private func error(_ name: String, _ reason: String) -> FormatError {
        package.error(name.isEmpty ? function.name : "\(function.name).\(name)", reason)
    }

    private mutating func read(_ input: MILNamed<MILType>, _ shapes: [String: [Int]]) throws {
        let type = input.content.tensor
        let feature = package.model.interfaces.first { $0.function == function.name }.flatMap { interface in
            (interface.inputs + interface.states).first { $0.name == input.name }
        }
        guard let sizes = shapes[input.name] ?? type.sizes ?? feature?.type.sizes, sizes.count == type.rank,
            zip(sizes, type.dimensions).allSatisfy({ $1 == nil || $0 == $1 })
        else { throw error(input.name, "\(type) cannot be \(shapes[input.name] ?? feature?.type.sizes ?? [])") }
        guard let element = type.dataType.hostType else { throw error(input.name, "cannot be text") }
        let own = TensorType(element, shape: Shape(sizes))
        switch input.content {
        case .state:
            call.states[input.name] = call.builder.state(input.name, own)
            values[input.name] = MILArgument(type: type.dataType, content: .state(input.name))
        case .tensor:
            var value = call.builder.input(input.name, own)
            if type.dataType == .float16, call.purpose == .meaning {
                value = try call.builder.apply(HalfRounding(), [value])
            }
            values[input.name] = MILArgument(type: type.dataType, content: .computed(value))
        }
    }

    private mutating func read(_ operation: MILOperation) throws {
        let name = operation.outputs.first?.name ?? operation.type
        if operation.isConstant {
            for output in operation.outputs { values[output.name] = try constant(output, operation) }
            return
        }
        guard let rule = ImportRules.byName[operation.type] else {
            throw error(name, "accelc does not know the operation \(operation.type)")
        }
        do {
            call.operation = operation
            call.arguments = try arguments(operation)
            let results = try rule.body(&call)
            made[operation.type, default: []].formUnion(call.takeOperators())
            guard results.count == operation.outputs.count else {
                throw MILCall.Problem(reason: "makes \(results.count) values, not \(operation.outputs.count)")
            }
            for (output, result) in zip(operation.outputs, results) {
                let declared = output.content.tensor
                let found = try call.type(of: result)
                let sizes = found.shape?.dimensions ?? []
                guard sizes.count == declared.rank, found.elementType == declared.dataType.hostType,
                    zip(sizes, declared.dimensions).allSatisfy({ $1 == nil || $0 == $1 })
                else { throw MILCall.Problem(reason: "is said to make \(declared), but makes \(found)") }
                var value = result
                value.type = declared.dataType
                if declared.dataType == .float16, !rule.movesOnly, call.purpose == .meaning {
                    value = try call.apply(HalfRounding(), [value])
                    value.type = .float16
                }
                values[output.name] = value
            }
        } catch let gap as MILCall.Gap {
            throw RequestError(
                "\(package.path): \(operation.type) \"\(function.name).\(name)\" can be verified, but not converted: \(gap.reason)",
                status: .unavailable)
        } catch let problem as MILCall.Problem {
            throw error(name, "\(operation.type): \(problem.reason)")
        } catch let failure as FormatError {
            throw failure
        } catch let failure as any ReportedError {
            throw error(name, "\(operation.type): \(failure.description)")
        }
    }

    private func arguments(_ operation: MILOperation) throws -> [String: [MILArgument]] {
        var arguments: [String: [MILArgument]] = [:]
        for input in operation.inputs {
            arguments[input.name] = try input.content.map { binding in
                switch binding {
                case .name(let name):
                    guard let value = values[name] else { throw error(name, "is read before anything makes it") }
                    return value
                case .value(let value): return try argument(value, input.name)
                }
            }
        }
        return arguments
    }

    private func constant(_ output: MILNamed<MILType>, _ operation: MILOperation) throws -> MILArgument {
        if operation.type == "const" {
            guard let value = operation["val"] else { throw error(output.name, "a constant without elements") }
            guard value.type == output.content.tensor else {
                throw error(output.name, "is said to be \(output.content.tensor), but is \(value.type)")
            }
            return try argument(value, output.name)
        }
        guard output.content.tensor.dataType.isFloatingPoint, let tensor = try constants.tensor(output.name) else {
            // Codes and masks; only other constants read them.
            return MILArgument(type: output.content.tensor.dataType, content: .words([]))
        }
        return MILArgument(type: output.content.tensor.dataType, content: .weight(tensor))
    }

    /// Returns the argument for a constant: known at import if small or of integers, else a weight.
    private func argument(_ value: MILValue, _ name: String) throws -> MILArgument {
        if case .words(let words) = value.content { return MILArgument(type: .string, content: .words(words)) }
        let stored = try constants.stored(value, name)
        let isKnown = !value.type.dataType.isFloatingPoint || stored.shape.count <= 16
        return MILArgument(
            type: value.type.dataType, content: isKnown ? .known(HostTensor(stored)) : .weight(stored))
    }
}

extension MILDataType {
    /// The element type in accelc's programs; nil for strings.
    var hostType: ElementType? {
        switch self {
        case .string: nil
        case .bool: .bool
        default: isFloatingPoint ? .float32 : .int64
        }
    }
}
