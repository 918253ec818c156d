import Accel
import AccelByteIO

/// Waits for the result of asynchronous work, because commands are synchronous. The work runs on the thread that waits, so that it needs no
/// thread of a pool in which all others wait too.
func waiting<Success: Sendable>(for body: @escaping @Sendable () async throws -> Success) throws -> Success {
    let made = try WaitingThread.wait { () async throws(AccelError) -> Result<Success, any Error> in
        do { return .success(try await body()) } catch { return .failure(error) }
    }
    return try made.get()
}
