import AccelByteIO
public import AccelPrograms
import AccelWeightCompression

/// The bytes that a model takes. They follow from the package alone: what a processor adds, such as weights that it packs for
/// its own products, is not in them.
public struct Footprint: Equatable, Sendable {
    /// The bytes of all files of the package.
    public let packageBytes: Int
    /// The bytes of the stored weights, which are mapped and shared by all sessions.
    public let weightBytes: Int
    /// The bytes of the values of the function that needs most.
    public let valueBytes: Int
    /// The bytes of the states of one session.
    public let stateBytes: Int

    /// Memory for the weights and one session, in bytes.
    public var memoryBytes: Int { MachineMemory.sum([weightBytes, valueBytes, stateBytes]) }

    /// The least that a package with these weights takes.
    package init(weightBytes: Int) {
        (packageBytes, self.weightBytes, valueBytes, stateBytes) = (weightBytes, weightBytes, 0, 0)
    }

    /// Plans the functions of a package, without taking memory for them.
    /// - Parameters:
    ///   - graph: the package's functions and weights.
    ///   - packageBytes: the bytes of the package's files.
    /// - Throws: `RequestError` (unavailable) for functions whose values or states need more memory than there can be.
    public init(of graph: ModelGraph, packageBytes: Int) throws {
        let plan = try graph.planned()
        self.packageBytes = packageBytes
        weightBytes = MachineMemory.sum(graph.tensors.map(\.byteCount))
        valueBytes = plan.functions.map(\.arenaBytes).max() ?? 0
        stateBytes = try StateMemory(plan).byteCount
    }
}
