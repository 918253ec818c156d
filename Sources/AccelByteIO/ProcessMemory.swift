import AccelPlatform

/// What the process does with memory that it frees.
public enum ProcessMemory {
    /// Gives large blocks back to the system as soon as they are freed. glibc would keep more and more of them for later,
    /// which doubles what a conversion holds; of smaller blocks it would keep so few that a fifth of the time goes into asking
    /// for them again. Call it first thing in a program.
    public static func returnLargeBlocks() { cp_return_blocks(4 << 20, 16 << 20) }
}
