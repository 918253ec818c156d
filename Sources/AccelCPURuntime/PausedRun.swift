import AccelByteIO
import AccelPrograms
package import AccelTensors
package import AccelWeightCompression

/// The executors of a model's functions in one memory: one of them runs at a time, and a run that pauses leaves the memory to others.
package final class ExecutorLane {
    private let model: PreparedModel
    private let team: Team
    private let arena = SharedArena()
    private let states: StateMemory
    private var executors: [Executor?]
    /// Replacements of weights, by index, for executors that are made later.
    private var replaced: [Int: CompressedTensor] = [:]

    /// - Parameter threads: the largest number of threads that work on a run.
    package init(_ model: PreparedModel, threads: Int) throws {
        self.model = model
        team = Team(threads: threads)
        states = try StateMemory(model.program.functions)
        executors = model.program.functions.map { _ in nil }
    }

    /// The executor of a function.
    package func executor(of function: Int) throws -> Executor {
        if let executor = executors[function] { return executor }
        let executor = try Executor(model, function: function, team: team, states: states, arena: arena)
        for (index, tensor) in replaced { try executor.replace(weight: index, by: tensor) }
        executors[function] = executor
        return executor
    }

    /// Replaces the weight of an index for all later calls of all functions.
    package func replace(weight index: Int, by tensor: CompressedTensor) throws {
        replaced[index] = tensor
        for executor in executors { try executor?.replace(weight: index, by: tensor) }
    }
}

/// The memory that the calls of a function from one on read, and that earlier calls have written.
package struct LiveMemory: Sendable {
    /// The first of the later calls.
    package let call: Int
    /// Offsets in the arena.
    fileprivate let arena: [Range<Int>]
    /// The indices of states.
    fileprivate let states: [Int]
    /// Bytes of all of it.
    package let byteCount: Int

    /// - Parameter call: the first of the later calls; all calls were made where it is their number.
    package init(of function: FunctionPlan, before call: Int) throws {
        var ranges = RangeSet<Int>()
        func add(_ operand: Operand) {
            if let range = operand.arenaRange { ranges.insert(contentsOf: range) }
        }
        for output in function.outputs { add(output.operand) }
        for later in function.calls[call...].reversed() {
            for output in later.outputs where output.layout.isContiguous {
                if let range = output.arenaRange { ranges.remove(contentsOf: range) }
            }
            later.inputs.forEach(add)
        }
        self.call = call
        arena = Array(ranges.ranges)
        let (before, after) = (function.states(of: 0..<call), function.states(of: call..<function.calls.count))
        let outputs = function.outputs.compactMap { output in
            if case .state(let index) = output.operand.storage { index } else { nil }
        }
        states = before.intersection(after.union(outputs)).sorted()
        byteCount =
            try arena.reduce(0) { $0 + $1.count }
            + states.reduce(0) { try $0 + function.states[$1].port.byteCount(in: function.name) }
    }

    /// Returns the saved bytes of an operand; nil if it is not contiguous, or not all of it is among the live values.
    package func bytes(of operand: Operand) -> Range<Int>? {
        guard operand.layout.isContiguous, let range = operand.arenaRange else { return nil }
        var place = 0
        for part in arena {
            if part.lowerBound <= range.lowerBound, range.upperBound <= part.upperBound {
                let start = place + range.lowerBound - part.lowerBound
                return start..<start + range.count
            }
            place += part.count
        }
        return nil
    }
}

extension Executor {
    /// Copies the values that later calls read.
    /// - Parameter target: `live.byteCount` bytes.
    package func save(_ live: LiveMemory, to target: UnsafeMutableRawBufferPointer) throws {
        var place = 0
        try forEachPart(of: live) { part in
            UnsafeMutableRawBufferPointer(rebasing: target[place..<place + part.count])
                .copyMemory(from: UnsafeRawBufferPointer(part))
            place += part.count
        }
    }

    /// Puts the values back, so that the run continues with the next call. Its inputs have to be set.
    package func restore(_ live: LiveMemory, from source: UnsafeRawBufferPointer) throws {
        var place = 0
        try forEachPart(of: live) { part in
            part.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[place..<place + part.count]))
            place += part.count
        }
    }

    private func forEachPart(of live: LiveMemory, _ body: (UnsafeMutableRawBufferPointer) -> Void) throws {
        for range in live.arena { body(UnsafeMutableRawBufferPointer(rebasing: memory.arena.buffer.bytes[range])) }
        for index in live.states { body(try memory.states.buffer(of: function.states[index]).bytes) }
    }

    /// Gives those states their first values that some calls are the first of a run to use.
    /// - Parameter values: the values that some states have before each run, by name; others have their initial ones.
    package func beginStates(of calls: Range<Int>, with values: [String: StoredTensor]) throws {
        let begun = function.states(of: 0..<calls.lowerBound)
        for index in function.states(of: calls).subtracting(begun) {
            let state = function.states[index]
            guard let value = values[state.name] else {
                memory.states.discard(state)
                continue
            }
            try memory.states.set([value])
        }
    }
}

extension FunctionPlan {
    /// The indices of the states that some calls read or write.
    fileprivate func states(of range: Range<Int>) -> Set<Int> {
        Set(
            calls[range].flatMap { $0.inputs + $0.outputs }.compactMap { operand in
                if case .state(let index) = operand.storage { index } else { nil }
            })
    }
}

extension Operand {
    /// The bytes of the arena that the tensor lies in; nil elsewhere, and for a tensor without elements.
    fileprivate var arenaRange: Range<Int>? {
        guard case .arena(let start) = storage, let last = layout.lastElement else { return nil }
        let first = layout.isContiguous ? layout.offset : 0
        return start + first * elementType.byteCount..<start + (last + 1) * elementType.byteCount
    }
}
