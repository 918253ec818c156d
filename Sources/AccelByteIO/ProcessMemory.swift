import AccelPlatform

/// The allocator's policy for freed memory.
public enum ProcessMemory {
    /// Returns large blocks to the system as soon as they are freed. By default, glibc keeps them, which doubles the
    /// memory of a conversion; of smaller blocks it keeps so few that a fifth of the time is spent on allocations. Has
    /// to be called at the start of the program.
    public static func returnLargeBlocks() { cp_return_blocks(4 << 20, 16 << 20) }
}
