/// Work shared out over threads. Results land by index, so they do not depend on timing.
public enum Parallel {
    /// Calls `body` once for each of `0..<count`, on up to `threads` threads. The error of the lowest failing index is thrown.
    public static func forEach(_ count: Int, threads: Int, _ body: @Sendable (Int) throws -> Void) throws { fatalError("helper") }
    /// The same, gathering a result for each index.
    public static func map<Result: Sendable>(_ count: Int, threads: Int, _ body: @Sendable (Int) throws -> Result) throws -> [Result] { fatalError("helper") }
    /// The processors of this machine.
    public static var processorCount: Int { fatalError("helper") }
}
