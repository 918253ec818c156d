import AccelPrograms
import AccelTensors

/// What the calls of a run overwrite of states, so that a run that fails can take it back.
///
/// An update in place keeps the block that it replaces, so a step of a decoder costs one more copy of one token's keys
/// and values.
struct StateJournal {
    private var overwritten: [(memory: OperandMemory, before: HostTensor)] = []

    /// Keeps what a call is about to overwrite.
    mutating func note(_ call: PreparedCall) {
        for output in call.outputs {
            guard case .state = output.operand.storage else { continue }
            let part = Self.updated(of: output, by: call)
            overwritten.append((part, part.tensor()))
        }
    }

    /// Takes back what has been noted, the last first.
    func undo() {
        for (memory, before) in overwritten.reversed() { memory.write(before) }
    }

    /// The part of an output that a call writes.
    private static func updated(of output: OperandMemory, by call: PreparedCall) -> OperandMemory {
        guard let update = call.operation as? UpdateSlice, call.inputs.count == 3,
            call.inputs[0].operand == output.operand, call.inputs[2].shape.count == 1
        else { return output }
        let (room, block) = (output.shape, call.inputs[1].shape)
        let place = call.inputs[2].tensor().integers[0]
        // At another place the call writes nothing, and says so.
        guard (0...Int64(room.dimensions[update.axis] - block.dimensions[update.axis])).contains(place) else {
            return output
        }
        var operand = output.operand
        operand.layout.offset += Int(place) * output.layout.strides[update.axis]
        operand.layout.shape = block
        return OperandMemory(operand: operand, place: output.place)
    }
}
