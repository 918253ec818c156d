import AccelByteIO

/// The memory for values of samples, which all runs over the same samples share.
final class SampleMemory: Sendable {
    /// The most bytes.
    let limit: Int
    private let taken = Locked(0)

    /// The limit by default, in bytes: a quarter of the machine's memory, at most 512 MiB.
    static var defaultLimit: Int { min(MachineMemory.total / 4, 512 << 20) }

    /// - Parameter limit: the most bytes.
    init(limit: Int = defaultLimit) { self.limit = limit }

    /// Takes memory; returns false where too little is left.
    func take(_ bytes: Int) -> Bool {
        taken.withLock { taken in
            guard bytes <= limit - taken else { return false }
            taken += bytes
            return true
        }
    }

    /// Gives memory back.
    func giveBack(_ bytes: Int) { taken.withLock { $0 -= bytes } }
}
