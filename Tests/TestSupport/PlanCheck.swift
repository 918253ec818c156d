public import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Proves that an execution plan can be run: every operand lies inside of its storage, every call satisfies its operator's shape
/// rule, and no call writes what it reads; nor do calls that run as one write what others of them read or write. Laws hold every plan to it.
public struct PlanCheck {
    private let weights: [CompressedTensor]

    /// What is wrong with a plan, in words.
    public struct Violation: Error, CustomStringConvertible {
        public let description: String
    }

    /// - Throws: `Violation` naming function and call.
    public static func check(_ program: ModelPlan) throws {
        let check = PlanCheck(weights: program.weights)
        for function in program.functions { try check.check(function) }
    }

    /// What is wrong with a plan, in words; nil: nothing.
    public static func violation(of program: ModelPlan) -> String? {
        do { try check(program) } catch { return "\(error)" }
        return nil
    }

    private func check(_ function: FunctionPlan) throws {
        func fail(_ reason: String) -> Violation { Violation(description: "function \"\(function.name)\": \(reason)") }
        for call in function.calls {
            do {
                try check(call, in: function)
            } catch let problem as Problem {
                throw fail("call \(call.operation.name) \"\(call.label)\": \(problem.reason)")
            } catch let error as OperatorError {
                throw fail("call \(call.operation.name) \"\(call.label)\": \(error.description)")
            }
        }
        for group in function.joined {
            do {
                try check(group, of: function)
            } catch let problem as Problem {
                throw fail("calls \(group): \(problem.reason)")
            }
        }
        for output in function.outputs {
            do {
                _ = try byteRange(of: output.operand, in: function)
            } catch let problem as Problem {
                throw fail("output \"\(output.name)\": \(problem.reason)")
            }
        }
    }

    private struct Problem: Error {
        var reason: String
    }

    private func check(_ call: KernelCall, in function: FunctionPlan) throws {
        let facts = KernelFacts(call.operation)
        var read: [(storage: Operand.Storage, bytes: Range<Int>)] = []
        for (index, input) in call.inputs.enumerated() {
            do {
                let byteRange = try byteRange(of: input, in: function)
                let isUpdated = facts.updatesInPlace && index == 0 && input == call.outputs.first
                if input.storage.isWritable, !isUpdated { read.append((input.storage.memory, byteRange)) }
            } catch let problem as Problem {
                throw Problem(reason: "input \(index): \(problem.reason)")
            }
            guard facts.readsStrided || input.layout.isContiguous else {
                throw Problem(reason: "input \(index) has gaps, which \(call.operation.name) does not read")
            }
        }
        var written: [(storage: Operand.Storage, bytes: Range<Int>)] = []
        for (index, output) in call.outputs.enumerated() {
            let byteRange: Range<Int>
            do {
                byteRange = try self.byteRange(of: output, in: function)
            } catch let problem as Problem {
                throw Problem(reason: "output \(index): \(problem.reason)")
            }
            guard output.storage.isWritable else {
                throw Problem(reason: "output \(index) is neither in the arena nor in a state")
            }
            guard output.layout.isContiguous || (facts.writesStrided && output.layout.isInjective) else {
                throw Problem(reason: "output \(index) has a layout that \(call.operation.name) cannot write")
            }
            let memory = output.storage.memory
            guard !(read + written).contains(where: { $0.storage == memory && $0.bytes.overlaps(byteRange) }) else {
                throw Problem(reason: "output \(index) overlaps an input or another output")
            }
            written.append((memory, byteRange))
        }
        let expected = try call.operation.outputTypes(call.inputs.map(Self.type))
        let found = call.outputs.map(Self.type)
        guard expected == found else {
            throw Problem(reason: "makes \(expected), but its outputs are \(found)")
        }
    }

    /// A call of a group may read the result of one before it, and nothing else that the others write.
    private func check(_ group: Range<Int>, of function: FunctionPlan) throws {
        guard group.count > 1, function.calls.indices.contains(group.lowerBound),
            group.upperBound <= function.calls.count
        else { throw Problem(reason: "are not two calls or more of the function's \(function.calls.count)") }
        for writer in group {
            for output in function.calls[writer].outputs {
                let written = try byteRange(of: output, in: function)
                for other in group where other != writer {
                    let results = function.calls[other].outputs
                    let read = function.calls[other].inputs.filter {
                        $0.storage.isWritable && !(writer < other && $0.storage == output.storage)
                    }
                    for operand in results + read where operand.storage.memory == output.storage.memory {
                        guard try !byteRange(of: operand, in: function).overlaps(written) else {
                            throw Problem(reason: "call \(writer) writes what call \(other) reads or writes")
                        }
                    }
                }
            }
        }
    }

    private static func type(of operand: Operand) -> TensorType {
        TensorType(operand.elementType, shape: operand.shape)
    }

    /// What an operand touches of its storage: bytes from the arena's start, elements elsewhere.
    private func byteRange(of operand: Operand, in function: FunctionPlan) throws -> Range<Int> {
        let layout = operand.layout
        guard operand.elementType.isValueType else {
            throw Problem(reason: "is \(operand.elementType.rawValue); values are F32, F16, I8, I64 or BOOL")
        }
        guard layout.strides.count == layout.shape.rank, layout.offset >= 0, let last = layout.lastElement,
            last < 1 << 48
        else { throw Problem(reason: "shape \(layout.shape) with strides \(layout.strides) is too large") }
        // An empty operand touches nothing, wherever it is.
        let first = last < 0 ? 0 : layout.offset
        let end = last + 1
        switch operand.storage {
        case .input(let index):
            guard function.inputs.indices.contains(index) else {
                throw Problem(reason: "there is no input \(index)")
            }
            try require(operand, end, in: function.inputs[index])
        case .state(let index):
            guard function.states.indices.contains(index) else {
                throw Problem(reason: "there is no state \(index)")
            }
            try require(operand, end, in: function.states[index].port)
        case .weight(let index):
            guard weights.indices.contains(index) else { throw Problem(reason: "there is no weight \(index)") }
            let weight = weights[index]
            guard weight.shape == layout.shape, layout.isContiguous, layout.offset == 0,
                weight.elementType.valueType == operand.elementType
            else {
                throw Problem(
                    reason:
                        "does not fit weight \"\(weight.name)\" of type \(weight.elementType.rawValue)\(weight.shape)")
            }
        case .arena(let offset):
            let size = operand.elementType.byteCount
            guard offset >= 0, offset % 64 == 0, offset <= function.arenaBytes,
                end <= (function.arenaBytes - offset) / size
            else {
                throw Problem(
                    reason: "does not lie in the arena of \(function.arenaBytes) bytes on a multiple of 64 bytes")
            }
            return offset + first * size..<offset + end * size
        }
        return first..<end
    }

    private func require(_ operand: Operand, _ end: Int, in port: FrozenProgram.Port) throws {
        guard port.elementType == operand.elementType, end <= port.shape.count else {
            throw Problem(reason: "does not lie in \"\(port.name)\" of type \(port.typeText)")
        }
    }
}

extension Operand.Storage {
    /// Calls may write there.
    fileprivate var isWritable: Bool {
        switch self {
        case .arena, .state: true
        case .input, .weight: false
        }
    }

    /// What shares memory with it: the whole arena is one.
    fileprivate var memory: Operand.Storage {
        if case .arena = self { return .arena(0) }
        return self
    }
}

extension StridedLayout {
    /// No two indices are the same element, as far as nested strides tell.
    fileprivate var isInjective: Bool {
        if shape.dimensions.contains(0) { return true }
        var covered = 0
        for (stride, size) in zip(strides, shape.dimensions).filter({ $0.1 > 1 }).sorted(by: { $0.0 < $1.0 }) {
            guard stride > covered else { return false }
            covered += stride * (size - 1)
        }
        return true
    }
}
