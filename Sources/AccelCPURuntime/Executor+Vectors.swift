import AccelByteIO
import AccelPrograms
import AccelTensors

/// What a run leaves in the arena, to go on from there again.
public struct ArenaSnapshot: Sendable {
    fileprivate let bytes: [UInt8]
}

extension KernelCall {
    /// The index of the weight whose rows the call multiplies with vectors of its first input: that of a linear operator
    /// or a convolution. nil for other calls.
    public var multipliedWeight: Int? {
        guard operation is Linear || operation is Conv, inputs.count > 1, case .weight(let index) = inputs[1].storage
        else { return nil }
        return index
    }
}

extension Executor {
    public func snapshot() -> ArenaSnapshot {
        ArenaSnapshot(bytes: Array(memory.arena.buffer.bytes[..<function.arenaBytes]))
    }

    /// The arena as it was. States are not part of it.
    public func restore(_ snapshot: ArenaSnapshot) { memory.arena.buffer.bytes.copyBytes(from: snapshot.bytes) }

    /// The vectors that a call with a `multipliedWeight` is about to multiply its rows with: the last axis of a linear
    /// operator's input, the windows of a convolution's (those of all its groups). None where the input is not contiguous.
    /// - Parameter body: called with the elements of each vector, and its row among those of a linear operator's input,
    ///   or the place of its window.
    public func forEachVector(ofCall index: Int, _ body: (UnsafePointer<Float>, _ place: Int) -> Void) {
        let prepared = calls[index]
        if prepared.operation is Linear, let floats = prepared.inputs[0].contiguousFloats {
            let extents = prepared.inputs[0].shape.dimensions
            let depth = extents.last ?? 1
            for row in 0..<extents.dropLast().reduce(1, *) { body(floats + row * depth, row) }
        } else if let kernel = try? ConvKernel(prepared) {
            prepared.workspace.rewind()
            forEachWindow(of: kernel, body)
        }
    }

    private func forEachWindow(of kernel: ConvKernel, _ body: (UnsafePointer<Float>, Int) -> Void) {
        let (windows, width) = (kernel.windows, WeightPanels.width)
        let depth = windows.depth
        withUnsafeTemporaryAllocation(of: Float.self, capacity: max(depth, 1) * (width + 1)) { memory in
            guard let panel = memory.baseAddress else { return }
            let vector = panel + depth * width
            for group in 0..<kernel.batch * kernel.groups {
                guard let input = kernel.input(of: group) else { return }
                for start in stride(from: 0, to: windows.positions, by: width) {
                    let range = start..<min(start + width, windows.positions)
                    windows.fill(panel, width: width, range, of: input)
                    for column in 0..<range.count {
                        for element in 0..<depth { vector[element] = panel[element * width + column] }
                        body(vector, group / kernel.groups * windows.positions + start + column)
                    }
                }
            }
        }
    }
}
