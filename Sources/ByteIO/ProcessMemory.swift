import CKernels

/// What the process does with memory that it frees.
public enum ProcessMemory {
    /// Gives large blocks back to the system as soon as they are freed. glibc would keep more and more of them for later,
    /// which doubles what a conversion holds. Call it first thing in a program.
    public static func returnLargeBlocks() { ck_return_blocks(1 << 20) }
}
